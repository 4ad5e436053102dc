import { describe, expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer, addPackage, checkBooks, invoicesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { sql } from '../../platform/database/sql.ts'
import { lockCustomer } from '../customers/queries.ts'
import { readFigures } from '../billing-run/figures.ts'
import { newRun, sleepUntil } from '../billing-run/run.testing.ts'
import { workRun } from '../billing-run/run.ts'
import { reported, tamperWith } from '../verification/tamper.testing.ts'
import { dueSubscriptions, sweepCycles } from './cycles.ts'
import { subscriptionsDue } from './due.ts'

const service = await startTestService()

interface Place {
  dueOn: IsoDate | null
  cycleOn: IsoDate | null
  cycleDay: number | null
}

const placeOf = async (client: TestClient, id: number): Promise<Place | undefined> =>
  (
    await service.db.reader(client.id).rows<Place>(sql`
      select due_on as "dueOn", due_in_cycle_on as "cycleOn", cycle_day as "cycleDay" from subscription_billing
       where account_id = ${client.id} and subscription_id = ${id}`)
  )[0]

const sweptOn = async (client: TestClient): Promise<IsoDate | undefined> =>
  (
    await service.db
      .reader(client.id)
      .rows<{ day: IsoDate }>(sql`select swept_on as "day" from billing_cycles where account_id = ${client.id}`)
  )[0]?.day

const inCycle = (day: IsoDate): Place => ({ dueOn: null, cycleOn: day, cycleDay: Number(day.slice(8)) })
const byItself = (day: IsoDate | null): Place => ({ dueOn: day, cycleOn: null, cycleDay: null })

/** An account with a subscription of 31.00 that began on a day. */
async function subscribed(start: IsoDate = '2027-01-01', wish: object = {}) {
  const made = await shop(service, wish, `${start}T08:00:00.000Z`)
  const { body } = await made.add()
  return { ...made, id: body.subscriptionID as number }
}

const daysOf = async (client: TestClient): Promise<string[]> =>
  (await invoicesOf(client)).map(({ InvoiceDate }) => InvoiceDate.slice(0, 10))

const deps = { db: service.db, realClock: Date.now, order: ORDER_OF_DAY }

describe('a subscription in cycle', () => {
  test('is put there by the first run that bills it in the middle of its life, and stays there month by month', async () => {
    const { client, id } = await subscribed()
    expect(await placeOf(client, id)).toEqual(byItself('2027-02-01'))
    await moveTo(client, '2027-02-01')
    expect(await placeOf(client, id)).toEqual(inCycle('2027-03-01'))
    expect(await sweptOn(client)).toBe('2027-02-01')
    await moveTo(client, '2027-03-01')
    expect(await placeOf(client, id)).toEqual(inCycle('2027-04-01'))
    await moveTo(client, '2028-01-15')
    expect(await placeOf(client, id)).toEqual(inCycle('2028-02-01'))
    expect((await daysOf(client)).length).toBe(13)
    await checkBooks(service, client)
  })

  test('is found on days that not every month has, and after terms of many months', async () => {
    const { client } = await subscribed('2027-01-31')
    const yearly = await addPackage(client, { term: 12 })
    const customerID = await addCustomer(client)
    await client.post('/v1/subscriptions', { customerID, packageID: yearly.packageID })
    await moveTo(client, '2029-03-15')
    const days = await daysOf(client)
    expect(days.filter((day) => day.endsWith('-01-31'))).toEqual(
      ['2027', '2027', '2028', '2028', '2029', '2029'].map((year) => `${year}-01-31`),
    )
    expect(days.filter((day) => day.startsWith('2028'))).toEqual([
      ...['2028-01-31', '2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30', '2028-05-31', '2028-06-30'],
      ...['2028-07-31', '2028-08-31', '2028-09-30', '2028-10-31', '2028-11-30', '2028-12-31'],
    ])
    await checkBooks(service, client)
  })

  test('leaves its cycle by a change that moves its day, and is billed on the new one', async () => {
    const { client, id } = await subscribed()
    await moveTo(client, '2027-02-01')
    await client.put(`/v1/subscriptions/${id}`, { numDaysBeforeToInv: 5 })
    expect(await placeOf(client, id)).toEqual(byItself('2027-02-24'))
    await moveTo(client, '2027-02-24')
    expect(await placeOf(client, id)).toEqual(inCycle('2027-03-27'))
    expect(await daysOf(client)).toEqual(['2027-01-01', '2027-02-01', '2027-02-24'])
    await client.delete(`/v1/subscriptions/${id}`)
  })

  test('of a paused customer leaves it behind its day, and is billed again when the customer has returned', async () => {
    const { client, id, customerID, add } = await subscribed()
    const other = (await add({ customerID: await addCustomer(client) })).body.subscriptionID as number
    await moveTo(client, '2027-02-01')
    await client.put(`/v1/customers/${customerID}/suspend`)
    await moveTo(client, '2027-03-10')
    expect(await placeOf(client, other)).toEqual(inCycle('2027-04-01'))
    expect(await placeOf(client, id)).toEqual(byItself('2027-03-01'))
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    expect(await placeOf(client, id)).toEqual(byItself('2027-04-01'))
    await moveTo(client, '2027-04-01')
    const theirs = (await invoicesOf(client, `customerID=${customerID}`)).map(({ InvoiceDate }) => InvoiceDate)
    expect(theirs.map((day) => day.slice(0, 10))).toEqual(['2027-01-01', '2027-02-01', '2027-04-01'])
    expect(await placeOf(client, id)).toEqual(inCycle('2027-05-01'))
    await checkBooks(service, client)
  })

  test('is found while nobody has noted yet up to which day the account is swept', async () => {
    const { client, id } = await subscribed()
    await moveTo(client, '2027-02-01')
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update billing_cycles set swept_on = '2020-01-01' where account_id = ${client.id}`),
    )
    const reader = service.db.reader(client.id)
    expect(await dueSubscriptions.findAfter(reader, client.id, '0001-01-01', '2027-12-31')).toBe('2027-03-01')
    await moveTo(client, '2027-03-01')
    expect(await placeOf(client, id)).toEqual(inCycle('2027-04-01'))
    expect(await sweptOn(client)).toBe('2027-03-01')
  })

  test('is not put there on a day that is over already, however late a run bills it', async () => {
    const { client, id } = await subscribed()
    await sleepUntil(service, client, '2027-04-15T08:00:00.000Z')
    const run = await newRun(service, client.id, '2027-04-15')
    expect(await workRun(deps, client.id, run)).toMatchObject({ invoices: 3 })
    expect(await placeOf(client, id)).toEqual(inCycle('2027-05-01'))
    expect(await sweptOn(client)).toBe('2027-04-01')
  })
})

describe('behind a day', () => {
  test('whom a caller held is swept out of the cycle, waited for and billed by the same run', async () => {
    const { client, id, customerID, add } = await subscribed()
    await add({ customerID: await addCustomer(client) })
    await moveTo(client, '2027-02-01')
    await sleepUntil(service, client, '2027-03-01T08:00:00.000Z')
    const run = await newRun(service, client.id, '2027-03-01')
    let working: Promise<unknown> = Promise.resolve()
    const seen: (Place | undefined)[] = []
    await service.db.transaction(client.id, async (tx) => {
      await lockCustomer(tx, client.id, BigInt(customerID))
      working = workRun(deps, client.id, run, () => {
        seen.push(undefined)
      })
      await expect.poll(() => seen.length).toBeGreaterThan(0)
      expect(await placeOf(client, id)).toEqual(inCycle('2027-03-01'))
    })
    expect(await working).toMatchObject({ invoices: 2 })
    expect(await placeOf(client, id)).toEqual(inCycle('2027-04-01'))
    expect((await daysOf(client)).length).toBe(6)
    await checkBooks(service, client)
  })

  test('those that are left have their day by themselves, and sweeping once more changes nothing', async () => {
    const { client, id } = await subscribed()
    await moveTo(client, '2027-02-01')
    await sweepCycles(service.db, client.id, '2027-02-28')
    expect(await placeOf(client, id)).toEqual(inCycle('2027-03-01'))
    await sweepCycles(service.db, client.id, '2027-03-01')
    expect(await placeOf(client, id)).toEqual(byItself('2027-03-01'))
    await sweepCycles(service.db, client.id, '2027-02-01')
    // Where nobody is in cycle nothing is noted.
    expect(await sweptOn(client)).toBe('2027-02-28')
    await moveTo(client, '2027-03-01')
    expect(await placeOf(client, id)).toEqual(inCycle('2027-04-01'))
    await checkBooks(service, client)
  })
})

test('what is due is counted, listed and found alike in cycle and by itself', async () => {
  const { client, add } = await subscribed()
  await moveTo(client, '2027-02-01')
  const late = (await add({ customerID: await addCustomer(client) })).body.subscriptionID as number
  const reader = service.db.reader(client.id)
  for (const [until, count] of [
    ['2027-02-28', 0],
    ['2027-03-01', 2],
    ['2027-06-01', 2],
  ] as const)
    expect([until, await dueSubscriptions.count(reader, client.id, until)]).toEqual([until, count])
  expect(await dueSubscriptions.findAfter(reader, client.id, '0001-01-01', '2027-02-28')).toBeNull()
  expect(await dueSubscriptions.findAfter(reader, client.id, '2027-02-10', '2029-01-01')).toBe('2027-03-01')
  expect(await dueSubscriptions.findAfter(reader, client.id, '2027-03-01', '2029-01-01')).toBeNull()
  const due = { day: '2027-03-01', after: 0n, runId: 0n } as const
  const all = await dueSubscriptions.listCustomers(reader, client.id, { ...due, limit: 10 })
  expect(all.length).toBe(2)
  const pages = [all[0]!, all[1]!].map((_, page) => (page === 0 ? 0n : all[0]!))
  for (const [page, after] of pages.entries())
    expect(await dueSubscriptions.listCustomers(reader, client.id, { ...due, after, limit: 1 })).toEqual([all[page]])
  const records = await subscriptionsDue.listDue(reader, client.id, all, due)
  expect(records.map(({ dueOn }) => dueOn)).toEqual(['2027-03-01', '2027-03-01'])
  expect((await client.get(`/v1/subscriptions/${late}`)).status).toBe(200)
})

test('a subscription in cycle that no run has billed shows among what is due', async () => {
  const made = await subscribed()
  await moveTo(made.client, '2027-02-01')
  // On real time from now on, at noon of the day on which it is due.
  await service.db.transaction(made.client.id, (tx) =>
    tx.rows(sql`update accounts set clock_at = null where account_id = ${made.client.id}`),
  )
  const dueAt = async (day: IsoDate) => {
    const figures = await readFigures(service.db, () => Date.parse(`${day}T12:00:00Z`), ORDER_OF_DAY)
    return figures.find(({ name, label }) => name === 'due' && label === 'subscription')?.value
  }
  expect(await dueAt('2027-02-28')).toBe(0)
  for (const day of ['2027-03-01', addDays('2027-03-01', 1), '2027-05-20']) expect(await dueAt(day)).toBe(1)
})

describe('verification', async () => {
  const { client } = await subscribed()
  await moveTo(client, '2027-02-01')
  const { tampered } = await tamperWith(service, () => client)
  const within = 'where account_id = :account'

  test('finds a subscription that is due on no day, too late, or on a day that is over, and one that is kept under another day', async () => {
    const dueOn = 'subscription # of customer #: day on which it is due'
    expect(
      reported(await tampered(`update subscription_billing set due_in_cycle_on = null, cycle_day = null ${within}`)),
    ).toEqual([`due subscriptions: ${dueOn} says none, should say 2027-03-01`])
    expect(
      reported(await tampered(`update subscription_billing set due_in_cycle_on = '2027-04-01' ${within}`)),
    ).toEqual([`due subscriptions: ${dueOn} in its cycle says 2027-04-01, should say 2027-03-01`])
    expect(reported(await tampered(`update billing_cycles set swept_on = '2027-03-01' ${within}`))).toEqual([
      `due subscriptions: ${dueOn} in its cycle says 2027-03-01, should say a day after 2027-03-01`,
    ])
    expect(reported(await tampered(`update subscription_billing set cycle_day = 2 ${within}`))).toEqual([
      'due subscriptions: subscription # of customer #: day of the month under which it is found says 2, should say 1',
    ])
  })
})
