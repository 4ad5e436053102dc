import { describe, expect, test } from 'vitest'
import { conflict } from '../../kernel/fault.ts'
import {
  constraintOf,
  databaseFault,
  isOfWorkerAway,
  isRetryable,
  isUnavailable,
  refuseOn,
  unavailable,
} from './failures.ts'

describe('what the driver throws', () => {
  test('a database that is away is 503 and says when to come back', () => {
    for (const error of [
      { code: 'ECONNREFUSED' },
      { code: '57P01' },
      { code: '57P03' },
      { code: '53300' },
      new Error('Connection terminated unexpectedly'),
      // Somebody has closed it for a while.
      { code: '55000', message: 'database "billing" is not currently accepting connections' },
    ])
      expect(databaseFault(error)).toMatchObject({ kind: 'unavailable', retryAfterSeconds: 2 })
  })

  test('a standby, and whatever ends a connection, is away', () => {
    for (const code of ['25006', '25P03', '25P04', '57P04', '57P05'])
      expect([code, databaseFault({ code })?.problems[0]?.code, isUnavailable({ code })]).toEqual([
        code,
        'database_unavailable',
        true,
      ])
  })

  test('a full disk, no memory and a cancelled statement are 503 too, keep their connection, and keep what they were for the log', () => {
    for (const [code, word] of [
      ['53100', 'database_exhausted'],
      ['53200', 'database_exhausted'],
      ['53400', 'database_exhausted'],
      ['58030', 'database_exhausted'],
      ['57014', 'database_cancelled'],
      ['55P03', 'database_cancelled'],
    ] as const) {
      const error = { code }
      expect(databaseFault(error)).toMatchObject({ kind: 'unavailable', problems: [{ code: word }], cause: error })
      expect(isUnavailable(error)).toBe(false)
    }
  })

  test('a mistake of ours, and a refusal, stay what they are', () => {
    for (const error of [new Error('boom'), { code: '42703' }, undefined, 'text', conflict('x', 'y')])
      expect(databaseFault(error)).toBeUndefined()
  })

  test('dead-locks and serialisation failures are tried again', () => {
    expect(['40P01', '40001', '23505'].map((code) => isRetryable({ code }))).toEqual([true, true, false])
  })

  test('a named constraint becomes its refusal, any other violation stays a surprise', async () => {
    const refusals = { customers_reference_key: () => conflict('taken', 'Taken.') }
    const violation = (code: string, constraint: string) =>
      Promise.reject(Object.assign(new Error('x'), { code, constraint }))
    await expect(refuseOn(violation('23505', 'customers_reference_key'), refusals)).rejects.toMatchObject({
      kind: 'conflict',
    })
    await expect(refuseOn(violation('23505', 'other_key'), refusals)).rejects.toMatchObject({ code: '23505' })
    await expect(refuseOn(violation('23514', 'customers_reference_key'), refusals)).rejects.toMatchObject({
      code: '23514',
    })
    await expect(refuseOn(Promise.resolve(5), refusals)).resolves.toBe(5)
  })

  test('a worker of a cluster that its coordinator does not reach is 503, and leaves the connection to the coordinator as it is', () => {
    const error = { severity: 'ERROR', code: '08006', message: 'connection to the remote node failed' }
    const fault = databaseFault(error)
    expect(fault).toMatchObject({
      kind: 'unavailable',
      retryAfterSeconds: 2,
      problems: [{ code: 'database_unavailable' }],
    })
    expect(fault?.message).toMatch(/^A server on which accounts lie /)
    expect([isOfWorkerAway(error), isOfWorkerAway(fault), isOfWorkerAway(unavailable())]).toEqual([true, true, false])
    expect(isUnavailable(error)).toBe(false)
    expect(isUnavailable({ ...error, code: '08P01' })).toBe(true)
  })

  test('a worker of a cluster tells a constraint in its message, with the number of its shard', () => {
    const message = 'duplicate key value violates unique constraint "customers_pkey_102008"'
    expect(constraintOf({ code: '23505', message })).toBe('customers_pkey')
    expect(constraintOf({ code: '23505', message, constraint: 'taxes_2' })).toBe('taxes_2')
    expect(constraintOf({ code: '22012', message })).toBeUndefined()
  })
})
