import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { checkBooks, codesOf, differencesOf, invoicesOf, shop } from '../../../test/support/shop.ts'
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
