import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { checkBooks, codesOf, differencesOf, invoicesOf, shop } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { addComponent, use } from '../subscriptions/components.testing.ts'

const service = await startTestService()

/** A shop on 1 February whose first subscription cannot be billed: two reports of 6 × 10¹¹ units at 1; four others have 5 units each. */
async function spoiledShop() {
  const { client, add } = await shop(service, { price: 10 })
  const { componentID } = await addComponent(client, { type: 'metered', brackets: [[1, null]], name: 'Units' })
  const ids: number[] = []
  for (let count = 0; count < 5; count += 1)
    ids.push((await add({ componentUsage: [{ componentID }] })).body.subscriptionID)
  const [id = 0, ...others] = ids
  const report = (entry: object) => use(client, id, { componentID, ...entry })
  for (let count = 0; count < 2; count += 1) expect((await report({ NumUnits: 6e11 })).status).toBe(204)
  for (const other of others) await use(client, other, { componentID, NumUnits: 5 })
  const moved = await client.put('/v1/clock', { Now: '2027-02-01T08:00:00.000Z' })
  const path = `/v1/subscriptions/${id}`
  return { client, id, others, path, report, moved }
}

const failingOf = async (client: any) => (await client.get('/v1/billingfailures')).body

const typesOf = async (client: any) =>
  (await client.get('/v1/events?page_size=200')).body
    .map(({ Type }: any) => Type)
    .filter((type: string) => type.includes('.billing_'))

const moveTo = (client: any, day: string) => client.put('/v1/clock', { Now: `${day}T08:00:00.000Z` })

const totalsOf = async (client: any, id: number) =>
  (await invoicesOf(client)).filter(({ subscriptionID }) => subscriptionID === id).map(({ Total }) => Total)

test('usage that cannot be billed stops one subscription: the others are billed, its reports stay, and nothing else is done to it', async () => {
  const { client, id, others, path, report, moved } = await spoiledShop()
  expect(moved.body.Failed).toHaveLength(1)
  expect(moved.body.Failed[0]).toMatchObject({ subscriptionID: id, DueDate: '2027-02-01T00:00:00Z' })
  for (const other of others) expect(await totalsOf(client, other)).toEqual([10, 15])
  const stays = await report({ NumUnits: 1 })
  expect([stays.status, stays.headers['perennial-warning']]).toEqual([204, 'billing_failed'])
  expect((await client.get(`${path}/usage`)).body).toHaveLength(3)
  for (const refused of [
    await client.put(`${path}/cancel/norefund`),
    await client.put(path, { poNumber: 'A1' }),
    await client.put(`${path}/changeenddate`, { EndDate: '2027-06-01' }),
  ]) {
    expect([refused.status, codesOf(refused)]).toEqual([409, ['billing_failed']])
    expect(refused.text).toContain('reaches 1,000,000,000,000')
    expect(refused.text).toContain(`${path}/components/recordusage`)
    expect(refused.text).toContain(`${path}/skip`)
  }
  expect(await totalsOf(client, id)).toEqual([10])
  await checkBooks(service, client)
})

test('a corrected report mends it in the same request, and then all is possible again', async () => {
  const { client, id, path, report } = await spoiledShop()
  const mended = await report({ NumUnits: 7, isSetUnits: true, Date: '2027-01-31' })
  expect([mended.status, mended.headers['perennial-warning']]).toEqual([204, undefined])
  expect(await totalsOf(client, id)).toEqual([10, 17])
  expect((await client.put('/v1/clock', { Now: '2027-03-01T08:00:00.000Z' })).body.Failed).toEqual([])
  expect((await client.put(`${path}/cancel/norefund`)).status).toBe(204)
  await checkBooks(service, client)
  expect(await differencesOf(service, client)).toEqual([])
})

test('skip counts what is due as billed at 0.00, once, and late usage after it is charged by the difference', async () => {
  const { client, id, path, report } = await spoiledShop()
  const skip = { Until: '2027-02-01', Reason: 'The meter ran away' }
  const skipped = await client.post(`${path}/skip`, skip)
  expect([skipped.status, skipped.body]).toEqual([
    201,
    {
      Skipped: [
        { Kind: 'package', From: '2027-02-01T00:00:00Z', To: '2027-02-28T00:00:00Z' },
        { Kind: 'metered', From: '2027-01-01T00:00:00Z', To: '2027-01-31T00:00:00Z' },
      ],
    },
  ])
  expect((await client.post(`${path}/skip`, skip)).body).toEqual({ Skipped: [] })
  const events = (await client.get('/v1/events?pageSize=200')).body.filter(
    (one: any) => one.Type === 'subscription.skipped',
  )
  expect(events).toHaveLength(1)
  expect((await report({ NumUnits: 3, Date: '2027-01-31' })).status).toBe(204)
  expect((await client.put('/v1/clock', { Now: '2027-03-01T08:00:00.000Z' })).body.Failed).toEqual([])
  expect(await totalsOf(client, id)).toEqual([10, 13])
  expect((await client.put(`${path}/cancel/norefund`)).status).toBe(204)
  await checkBooks(service, client)
  expect(await differencesOf(service, client)).toEqual([])
})

test('a skip beside a skip and beside a run bills once; its day is not in the future and its reason is needed', async () => {
  const { client, id, path } = await spoiledShop()
  const bad = await client.post(`${path}/skip`, { Until: '2027-02-02' })
  expect([bad.status, bad.body.Errors.map(({ Field }: any) => Field).toSorted()]).toEqual([400, ['Reason', 'Until']])
  const skip = () => client.post(`${path}/skip`, { Until: '2027-02-01', Reason: 'Twice' })
  const [one, two] = await Promise.all([skip(), skip(), client.post('/v1/billingruns', {})])
  expect([one.status, two.status]).toEqual([201, 201])
  expect([one.body.Skipped.length, two.body.Skipped.length].toSorted()).toEqual([0, 2])
  expect(await totalsOf(client, id)).toEqual([10])
  expect(await differencesOf(service, client)).toEqual([])
})

test('usage that alone reaches the bound in its price is refused at once, one by one and in bulk', async () => {
  const { client, add } = await shop(service, { price: 10 })
  const { componentID } = await addComponent(client, { type: 'metered', brackets: [[2, null]], name: 'Units' })
  const id = (await add({ componentUsage: [{ componentID }] })).body.subscriptionID
  const refused = await use(client, id, { componentID, NumUnits: 5e11 })
  expect([refused.status, codesOf(refused), refused.body.Errors[0].Field]).toEqual([
    400,
    ['amount_too_large'],
    'NumUnits',
  ])
  const bulk = { Usage: [{ subscriptionID: id, componentID, NumUnits: 5e11, UsageKey: 'a' }] }
  const many = await client.post('/v1/usage', bulk)
  expect([many.status, codesOf(many), many.body.Errors[0].Field]).toEqual([
    400,
    ['amount_too_large'],
    'Usage[0].NumUnits',
  ])
  expect((await use(client, id, { componentID, NumUnits: 499_999_999_999 })).status).toBe(204)
  expect((await client.get(`/v1/subscriptions/${id}/usage`)).body).toHaveLength(1)
})

test('failing is listed until it is billed, and has one event when it begins and one when it is over', async () => {
  const { client, id, report } = await spoiledShop()
  const { customerID } = (await client.get(`/v1/subscriptions/${id}`)).body
  const first = await failingOf(client)
  expect(first).toEqual([
    {
      subscriptionID: id,
      recurInvoiceID: null,
      customerID,
      Since: '2027-02-01T08:00:00.000Z',
      LastTried: '2027-02-01T08:00:00.000Z',
      Reason: 'An amount of the invoice reaches 1,000,000,000,000.',
    },
  ])
  await moveTo(client, '2027-02-03')
  expect((await report({ NumUnits: 1 })).headers['perennial-warning']).toBe('billing_failed')
  expect(await failingOf(client)).toEqual([{ ...first[0], LastTried: '2027-02-03T08:00:00.000Z' }])
  expect(await typesOf(client)).toEqual(['subscription.billing_failed'])
  await report({ NumUnits: 7, isSetUnits: true, Date: '2027-01-31' })
  expect(await failingOf(client)).toEqual([])
  expect(await typesOf(client)).toEqual(['subscription.billing_failed', 'subscription.billing_recovered'])
  const [event] = (await client.get('/v1/events?type=subscription.billing_failed')).body
  expect([event.RecordID, event.customerID, event.Record.Reason]).toEqual([id, customerID, first[0].Reason])
})

test('a return is not held up: what it brings is billed once the record is mended, as if it had been right, through two pauses', async () => {
  const { client, add } = await shop(service, { price: 10 })
  const { componentID } = await addComponent(client, { type: 'metered', brackets: [[1, null]], name: 'Units' })
  const body = { componentUsage: [{ componentID }] }
  const id = (await add(body)).body.subscriptionID
  const twin = (await add(body)).body.subscriptionID
  const { customerID } = (await client.get(`/v1/subscriptions/${id}`)).body
  const both = async (entry: object) => {
    for (const one of [id, twin]) expect((await use(client, one, { componentID, ...entry })).status).toBe(204)
  }
  for (let count = 0; count < 2; count += 1) await use(client, id, { componentID, NumUnits: 6e11 })
  await use(client, twin, { componentID, NumUnits: 7 })
  await moveTo(client, '2027-02-10')
  await client.put(`/v1/customers/${customerID}/suspend`)
  await moveTo(client, '2027-03-05')
  await both({ NumUnits: 3 })
  await moveTo(client, '2027-04-15')
  const back = await client.put(`/v1/customers/${customerID}/unsuspend`)
  expect([back.status, back.text]).toEqual([204, ''])
  expect((await client.get(`/v1/customers/${customerID}`)).body.comp_status).toBe('Active')
  // February with January's units; in the gap only March's units; no package of March and April.
  expect(await totalsOf(client, twin)).toEqual([10, 17, 3])
  expect(await totalsOf(client, id)).toEqual([10])
  await moveTo(client, '2027-05-10')
  await client.put(`/v1/customers/${customerID}/suspend`)
  await moveTo(client, '2027-06-20')
  expect((await client.put(`/v1/customers/${customerID}/unsuspend`)).status).toBe(204)
  await moveTo(client, '2027-07-02')
  expect(await totalsOf(client, twin)).toEqual([10, 17, 3, 10, 10])
  expect((await client.get(`/v1/subscriptions/${id}`)).body.comp_Status).toBe('Active')
  const mended = await use(client, id, { componentID, NumUnits: 7, isSetUnits: true, Date: '2027-01-31' })
  expect([mended.status, mended.headers['perennial-warning']]).toEqual([204, undefined])
  expect(await totalsOf(client, id)).toEqual([10, 17, 3, 10, 10])
  expect(await failingOf(client)).toEqual([])
  expect((await moveTo(client, '2027-08-02')).body.Failed).toEqual([])
  expect(await totalsOf(client, id)).toEqual(await totalsOf(client, twin))
  await checkBooks(service, client)
  expect(await differencesOf(service, client)).toEqual([])
})

test('a skip inside a pause that a return could not get past leaves what the return brings', async () => {
  const { client, id, path } = await spoiledShop()
  const { customerID } = (await client.get(path)).body
  await moveTo(client, '2027-02-10')
  await client.put(`/v1/customers/${customerID}/suspend`)
  await moveTo(client, '2027-04-15')
  expect((await client.put(`/v1/customers/${customerID}/unsuspend`)).status).toBe(204)
  const skipped = await client.post(`${path}/skip`, { Until: '2027-03-10', Reason: 'The meter ran away' })
  expect([skipped.status, skipped.headers['perennial-warning']]).toEqual([201, undefined])
  expect(skipped.body.Skipped.map(({ Kind, From }: any) => [Kind, From])).toEqual([
    ['package', '2027-02-01T00:00:00Z'],
    ['metered', '2027-01-01T00:00:00Z'],
  ])
  expect((await moveTo(client, '2027-05-02')).body.Failed).toEqual([])
  expect(await totalsOf(client, id)).toEqual([10, 10])
  expect(await failingOf(client)).toEqual([])
  expect(await differencesOf(service, client)).toEqual([])
})

test('what the database refuses is a failure of the record as well: reports stay, a skip and a return go through', async () => {
  const { client, add } = await shop(service, { price: 10 })
  const { componentID } = await addComponent(client, { type: 'metered', brackets: [[1, null]], name: 'Units' })
  const id = (await add({ componentUsage: [{ componentID }] })).body.subscriptionID
  const path = `/v1/subscriptions/${id}`
  const { customerID } = (await client.get(path)).body
  await use(client, id, { componentID, NumUnits: 1 })
  // A period that has been charged, of which the state knows nothing. What is charged with usage are rows, which the database compares.
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`
    insert into charge_rows (account_id, kind, name, quantity, unit_price, net_minor, gross_minor, subscription_id, stretch, item_id, part, bracket_index,
                         period_from, period_until, whole_from, whole_until, price, display_order)
    select account_id, kind, name, quantity, unit_price, 0, 0, subscription_id, stretch, item_id, part, bracket_index, '2027-02-01', '2027-03-01',
           '2027-02-01', '2027-03-01', price, 0
      from charges where account_id = ${client.id} and subscription_id = ${id} and kind = 'package'`),
  )
  expect((await moveTo(client, '2027-02-01')).body.Failed).toHaveLength(1)
  const stays = await use(client, id, { componentID, NumUnits: 1 })
  expect([stays.status, stays.headers['perennial-warning']]).toEqual([204, 'billing_failed'])
  const refused = await client.put(`${path}/cancel/norefund`)
  expect([refused.status, codesOf(refused)]).toEqual([409, ['billing_failed']])
  expect(refused.text).toContain('has been billed before')
  await client.put(`/v1/customers/${customerID}/suspend`)
  expect((await client.put(`/v1/customers/${customerID}/unsuspend`)).status).toBe(204)
  const skipped = await client.post(`${path}/skip`, { Until: '2027-02-01', Reason: 'Charged already' })
  expect([skipped.status, skipped.headers['perennial-warning']]).toEqual([201, undefined])
  expect(await failingOf(client)).toEqual([])
  expect((await moveTo(client, '2027-03-01')).body.Failed).toEqual([])
  expect(await totalsOf(client, id)).toEqual([10, 11])
})
