import { expect, test } from 'vitest'
import { workerDuties } from './duties.ts'
import { testEnvelope } from '../test/support/envelope.ts'

test('a notification is a hint, which may be lost: every duty that one wakes looks on its own at most 20 s later', () => {
  const about = { envelope: testEnvelope(), adapters: {}, drawing: {}, mailing: {}, copies: {} }
  const woken = workerDuties(about as unknown as Parameters<typeof workerDuties>[0]).filter(({ wakesOn }) => wakesOn)
  expect(woken.length).toBeGreaterThan(5)
  expect(woken.filter(({ everyMs }) => everyMs > 20_000).map(({ name }) => name)).toEqual([])
})
