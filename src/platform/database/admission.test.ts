import { expect, test, vi } from 'vitest'
import { Admission } from './admission.ts'

const refusalOf = ({ refusal }: Admission) => [refusal?.problems[0]?.code, refusal?.retryAfterSeconds]

test('maintenance ends by its time, also if the database cannot be asked, and work that begins then has a signal of its own', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const admission = new Admission(6)
  const before = admission.signal
  admission.learn({ least: 6, maintenanceSeconds: 40 })
  expect(refusalOf(admission)).toEqual(['maintenance', 30])
  expect([before.aborted, before.reason.problems[0].code]).toEqual([true, 'maintenance'])
  vi.advanceTimersByTime(30_500)
  expect(refusalOf(admission)).toEqual(['maintenance', 10])
  vi.advanceTimersByTime(9_500)
  expect([admission.state, admission.refusal, admission.signal.aborted]).toEqual([undefined, undefined, false])
  vi.useRealTimers()
})

test('a schema of which the program knows too little counts for more than maintenance, and more than it knows of does not matter', () => {
  const admission = new Admission(6)
  admission.learn({ least: 7, maintenanceSeconds: 60 })
  expect([admission.state, ...refusalOf(admission)]).toEqual(['outdated', 'outdated', undefined])
  admission.learn({ least: 6, maintenanceSeconds: null })
  expect(admission.state).toBeUndefined()
  // What a server keeps to itself decides nothing.
  admission.learn({ least: null, maintenanceSeconds: null })
  expect(() => admission.check()).not.toThrow()
})
