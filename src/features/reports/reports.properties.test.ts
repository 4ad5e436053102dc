import { expect, test } from 'vitest'
import fc from 'fast-check'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { addDays } from '../../kernel/calendar.ts'
import { daySummer } from '../ledger/days.testing.ts'
import { FIRST, History, type Step, step } from './history.testing.ts'
import { reconcileMonths } from './reconciliation.testing.ts'

/** Reports of random histories: they come to the movements of the ledger, and a closed month stays as it was. */

const service = await startTestService()
const sumAllDays = await daySummer(service)

const MONTHS = 5

const reportOf = async (client: TestClient, to: string): Promise<unknown[]> => {
  const read = async (by: string) => (await client.get(`/v1/reports/tax?from=${FIRST}&to=${to}&by=${by}`)).body
  return [await read('rate'), await read('customer')]
}

const lockOf = async (client: TestClient): Promise<string | null> =>
  (await client.get('/v1/account')).body.LockDate?.slice(0, 10) ?? null

test('every month comes to the movements of the ledger in each currency and form, and what is closed never changes', async () => {
  const steps = fc.array(step, { minLength: 25, maxLength: 45 })
  const property = fc.asyncProperty(steps, async (taken) => {
    const client = await service.newAccount()
    const history = new History(client)
    await history.begin()
    for (const [number, one] of taken.entries()) {
      if (number === 20) await sumAllDays()
      const lock = one.kind === 'lock' ? null : await lockOf(client)
      const closed = lock === null ? null : await reportOf(client, lock)
      await history.take(one)
      if (lock !== null) expect(await reportOf(client, lock), `closed up to ${lock} after ${one.kind}`).toEqual(closed)
    }
    await reconcileMonths(client, FIRST, MONTHS)
    expect(await differencesOf(service, client)).toEqual([])
  })
  await fc.assert(property, { numRuns: 6, seed: 20_271_123 })
})

/** Steps of some kinds alone. */
const stepOf = (...kinds: Step['kind'][]) =>
  fc.tuple(step, fc.constantFrom(...kinds)).map(([one, kind]): Step => ({ ...one, kind }))

const LATER = [
  'credit_lines',
  'credit_lines',
  'note',
  'list',
  'credit',
  'end',
  'cancel',
  'delete_note',
  'clock',
] as const

test('what revenue and deferred amounts were up to a closed day stays, however invoices are credited, cancelled and ended later', async () => {
  const before = fc.array(stepOf('recurring', 'subscription', 'note'), {
    minLength: 8,
    maxLength: 12,
  })
  const after = fc.array(stepOf(...LATER), { minLength: 12, maxLength: 20 })
  const read = async (client: TestClient, lock: string): Promise<unknown[]> => {
    const queries = [
      'deferred?date=',
      'deferred?by=package&date=',
      'revenue?by=package&from=2027-01-01&to=',
      'revenue?by=month&from=2027-01-01&to=',
    ]
    return Promise.all(queries.map(async (query) => (await client.get(`/v1/reports/${query}${lock}`)).body))
  }
  const property = fc.asyncProperty(before, after, async (first, then) => {
    const client = await service.newAccount()
    const history = new History(client)
    await history.begin()
    await history.take({ kind: 'subscription', one: 0, two: 0, amount: 1 })
    for (const one of first) await history.take(one)
    await history.take({ kind: 'clock', one: 11, two: 0, amount: 1 })
    const lock = addDays(history.today, -1)
    expect((await client.put('/v1/account', { LockDate: lock })).status).toBe(204)
    const closed = await read(client, lock)
    expect(closed[0]).not.toEqual([])
    for (const one of then) {
      await history.take(one)
      expect(await read(client, lock), `closed up to ${lock} after ${one.kind}`).toEqual(closed)
    }
    await reconcileMonths(client, FIRST, 2)
  })
  await fc.assert(property, { numRuns: 6, seed: 20_271_124, endOnFailure: true })
})
