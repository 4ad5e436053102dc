import { expect, test } from 'vitest'
import {
  addCustomer,
  addPackage,
  checkBooks,
  day,
  differencesOf,
  moveTo,
  readSubscription,
  rowsOf,
  type RateWish,
} from '../support/shop.ts'
import { addComponent, TIERS, use } from '../../src/features/subscriptions/components.testing.ts'
import { startTestService } from '../support/app.ts'

/** A customer that is not billed for a while: what is dropped, what waits, where it goes on. */

const service = await startTestService()

async function household(clockAt: string) {
  const client = await service.newAccount({ clockAt: `${clockAt}T08:00:00.000Z` })
  const customerID = await addCustomer(client)
  const subscribe = async (wish: RateWish, body: object = {}): Promise<number> => {
    const { packageID } = await addPackage(client, wish)
    const added = await client.post('/v1/subscriptions', { customerID, packageID, ...body })
    expect(added.status).toBe(201)
    return added.body.subscriptionID
  }
  const put = async (word: string) => expect((await client.put(`/v1/customers/${customerID}/${word}`)).status).toBe(204)
  const rows = (id: number) => rowsOf(client, `subscriptionID=${id}`)
  return { client, customerID, subscribe, put, rows }
}

test('suspended, archived over it, unsuspended, reopened: one gap from 20 February to 11 May for five subscriptions', async () => {
  const { client, subscribe, put, rows } = await household('2027-01-01')
  const quarterly = await subscribe({ price: 91, term: 3 })
  const onThe10th = await subscribe({}, { StartDate: '2027-01-10' })
  const onThe11th = await subscribe({}, { StartDate: '2027-02-11' })
  const ending = await subscribe({}, { StartDate: '2027-02-01', EndDate: '2027-04-01' })
  const beginning = await subscribe(
    { price: 10, setupFee: 12, trialFee: 3, trialPeriod: 14 },
    { StartDate: '2027-03-01' },
  )
  await moveTo(client, '2027-02-20')
  await put('suspend')
  for (const id of [quarterly, onThe10th, onThe11th, ending, beginning])
    expect((await readSubscription(client, id)).comp_nextInvDate).toBeNull()
  await moveTo(client, '2027-03-05')
  await put('archive')
  expect(await readSubscription(client, beginning)).toMatchObject({ comp_Status: 'Trial', lastInvDate: null })
  await moveTo(client, '2027-03-20')
  await put('unsuspend')
  expect(await moveTo(client, '2027-05-11')).toMatchObject({ Invoices: 0 })
  expect(await readSubscription(client, ending)).toMatchObject({ comp_Status: 'Expired' })
  await put('reopen')
  await moveTo(client, '2027-07-01')
  expect(await rows(quarterly)).toEqual([
    '2027-01-01: 2027-01-01 to 2027-03-31 91 = 91',
    '2027-05-11: 2027-05-11 to 2027-06-30, 51 of 91 days 51 = 51',
    '2027-07-01: 2027-07-01 to 2027-09-30 91 = 91',
  ])
  expect(await rows(onThe10th)).toEqual([
    '2027-01-10: 2027-01-10 to 2027-02-09 31 = 31',
    '2027-02-10: 2027-02-10 to 2027-03-09 31 = 31',
    '2027-06-10: 2027-06-10 to 2027-07-09 31 = 31',
  ])
  expect(await rows(onThe11th)).toEqual([
    '2027-02-11: 2027-02-11 to 2027-03-10 31 = 31',
    '2027-05-11: 2027-05-11 to 2027-06-10 31 = 31',
    '2027-06-11: 2027-06-11 to 2027-07-10 31 = 31',
  ])
  expect(await rows(ending)).toEqual(['2027-02-01: 2027-02-01 to 2027-02-28 31 = 31'])
  expect(await rows(beginning)).toEqual([
    '2027-05-11: Set-up fee 12 + Trial fee 3 = 15',
    '2027-05-15: 2027-05-15 to 2027-06-14 10 = 10',
    '2027-06-15: 2027-06-15 to 2027-07-14 10 = 10',
  ])
  await checkBooks(service, client)
})

test('what was invoiced before the gap stays, and a gap inside one period costs nothing', async () => {
  const { client, subscribe, put, rows } = await household('2027-01-01')
  const quarterly = await subscribe({ price: 91, term: 3 })
  const ahead = await subscribe({}, { numDaysBeforeToInv: 10 })
  await moveTo(client, '2027-01-25')
  await put('suspend')
  await put('suspend')
  await moveTo(client, '2027-02-20')
  await put('unsuspend')
  // 19 February, the day of the March invoice, lay in the gap; March itself begins after it.
  await moveTo(client, '2027-04-01')
  expect(await rows(quarterly)).toEqual([
    '2027-01-01: 2027-01-01 to 2027-03-31 91 = 91',
    '2027-04-01: 2027-04-01 to 2027-06-30 91 = 91',
  ])
  expect(await rows(ahead)).toEqual([
    '2027-01-01: 2027-01-01 to 2027-01-31 31 = 31',
    '2027-01-22: 2027-02-01 to 2027-02-28 31 = 31',
    '2027-02-20: 2027-03-01 to 2027-03-31 31 = 31',
    '2027-03-22: 2027-04-01 to 2027-04-30 31 = 31',
  ])
})

test('suspended and back on the same day changes nothing', async () => {
  const { client, subscribe, put, rows } = await household('2027-01-01')
  const monthly = await subscribe({})
  await moveTo(client, '2027-02-01')
  await put('suspend')
  await put('unsuspend')
  await moveTo(client, '2027-03-01')
  expect(await rows(monthly)).toHaveLength(3)
})

test('the rest of a long period is cut by EndDate too, and charged by the day also without pro rata', async () => {
  const { client, subscribe, put, rows } = await household('2027-01-01')
  const cut = await subscribe({ price: 91, term: 3 }, { EndDate: '2027-06-01' })
  const whole = await subscribe({ price: 91, term: 3 }, { isProRata: false })
  await moveTo(client, '2027-03-20')
  await put('archive')
  await moveTo(client, '2027-05-11')
  await put('reopen')
  expect((await rows(cut)).at(-1)).toBe('2027-05-11: 2027-05-11 to 2027-05-31, 21 of 91 days 21 = 21')
  expect((await rows(whole)).at(-1)).toBe('2027-05-11: 2027-05-11 to 2027-06-30, 51 of 91 days 51 = 51')
})

test('a pending cancellation keeps its date through the gap; dropped, it goes on after it', async () => {
  const { client, subscribe, put, rows } = await household('2027-01-01')
  const ends = await subscribe({})
  const stays = await subscribe({})
  await moveTo(client, '2027-01-20')
  for (const id of [ends, stays]) await client.put(`/v1/subscriptions/${id}/cancel/renewal`)
  await put('suspend')
  await moveTo(client, '2027-01-25')
  expect((await client.delete(`/v1/subscriptions/${stays}/futurechanges`)).status).toBe(204)
  await moveTo(client, '2027-03-10')
  await put('unsuspend')
  await moveTo(client, '2027-04-01')
  expect(await rows(ends)).toHaveLength(1)
  const ended = await readSubscription(client, ends)
  expect([ended.comp_Status, day(ended.EndDate)]).toEqual(['Cancelled', '2027-02-01'])
  expect(await rows(stays)).toEqual([
    '2027-01-01: 2027-01-01 to 2027-01-31 31 = 31',
    '2027-04-01: 2027-04-01 to 2027-04-30 31 = 31',
  ])
})

test.each(['suspend', 'archive'])(
  'a cancellation at renewal gives back on its day what was charged beyond it though the customer is away (%s)',
  async (word) => {
    const { client, customerID, subscribe, put, rows } = await household('2027-01-01')
    const seats = await addComponent(client, { term: 3, brackets: [[90, null]] })
    const calls = await addComponent(client, { type: 'metered', brackets: TIERS, scheme: 'tiered', name: 'Calls' })
    const componentUsage = [{ componentID: seats.componentID, NumUnits: 1 }, { componentID: calls.componentID }]
    const id = await subscribe({}, { componentUsage })
    const entry = { componentID: calls.componentID, NumUnits: 3 }
    expect((await use(client, id, entry)).status).toBe(204)
    expect((await client.put(`/v1/subscriptions/${id}/cancel/renewal`)).status).toBe(204)
    await put(word)
    const owed = async () => (await client.get(`/v1/customers/${customerID}`)).body.Balance
    expect(await owed()).toBe(121)
    // 59 of the 90 days of the seat come after 31 January.
    expect(await moveTo(client, '2027-02-01')).toMatchObject({ Invoices: 0, Failed: [] })
    expect(await owed()).toBe(62)
    expect(await readSubscription(client, id)).toMatchObject({ comp_Status: 'Cancelled', isCancelled: true })
    const ends = async () => (await client.get('/v1/events?type=subscription.cancelled')).body
    expect((await ends()).map(({ Date: at }: any) => day(at))).toEqual(['2027-02-01'])
    await moveTo(client, '2027-03-10')
    await put(word === 'suspend' ? 'unsuspend' : 'reopen')
    expect((await rows(id)).slice(1)).toEqual(['2027-03-10: 2027-01-01 to 2027-01-31 15 = 15'])
    expect([await owed(), (await ends()).length]).toEqual([77, 1])
    await moveTo(client, '2027-05-01')
    expect(await rows(id)).toHaveLength(2)
    expect(await differencesOf(service, client)).toEqual([])
  },
)

test('an EndDate that comes while the customer is away is counted and told on its day', async () => {
  const { client, subscribe, put } = await household('2027-01-01')
  await subscribe({}, { EndDate: '2027-02-10' })
  await moveTo(client, '2027-01-20')
  await put('archive')
  expect(await moveTo(client, '2027-03-01')).toMatchObject({ Invoices: 0, Expired: 1 })
  const { body } = await client.get('/v1/events?type=subscription.expired')
  expect(body.map(({ Date: at }: any) => day(at))).toEqual(['2027-02-10'])
  await put('reopen')
  expect(await moveTo(client, '2027-04-01')).toMatchObject({ Invoices: 0, Expired: 0 })
})
