import { afterAll, expect } from 'vitest'
import { keepExecuted, notedStatements, WIDE } from './wide.ts'

/** Set up for each test file on a cluster: in the wide form, keeps what it executes. */

const root = new URL('../../', import.meta.url).pathname

const folder = WIDE
if (folder !== undefined) {
  const sent = notedStatements()
  afterAll(() => {
    keepExecuted(folder, (expect.getState().testPath ?? '').replace(root, ''), sent)
    sent.clear()
  })
}
