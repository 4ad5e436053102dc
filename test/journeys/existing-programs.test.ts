import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { differencesOf } from '../support/shop.ts'
import { type Answered, playExistingProgram } from './existing-programs.testing.ts'

/** A program that knows nothing of what credit notes correct gets the answers that it got before, with more fields. */

const service = await startTestService()

/** Answers of the build before settlements; identifiers by the order in which they came. */
const RECORDED = readFileSync(new URL('existing-programs.json', import.meta.url), 'utf8')

/** Codes that have another word since; the status stays. */
const RENAMED: Record<string, string> = { service_made: 'note_closed' }

/** Memos of the service that have another wording since: days as people read them, the last one covered. */
const REWORDED = [
  ['Subscription 1, unused 2027-01-16 to 2027-01-31', 'Subscription 1: unused Jan 16, 2027 to Jan 31, 2027'],
] as const

test('notes created, allocated, moved, edited, deleted, read and sent back are answered as before, with more fields', async () => {
  const client = await service.newAccount()
  const now = await playExistingProgram(client)
  const reworded = REWORDED.reduce((text, [before, since]) => text.replaceAll(before, since), RECORDED)
  const answers = JSON.parse(reworded) as Answered[]
  expect(now.map(({ call }) => call)).toEqual(answers.map(({ call }) => call))
  for (const [place, old] of answers.entries()) {
    const codes = old.codes?.map((code) => RENAMED[code] ?? code)
    const where = `call ${place}: ${old.call}`
    expect(now[place], where).toMatchObject({ ...old, ...(codes ? { codes } : {}) })
  }
  expect(await differencesOf(service, client)).toEqual([])
})
