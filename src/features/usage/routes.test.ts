import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import {
  addPackage,
  checkBooks,
  codesOf,
  day,
  differencesOf,
  invoicesOf,
  moveTo,
  readSubscription,
  shop,
} from '../../../test/support/shop.ts'
import { addComponent, type ComponentWish, linesOf, modify, TIERS, use } from '../subscriptions/components.testing.ts'

const service = await startTestService()

const rows = async (client: TestClient) => (await invoicesOf(client)).map(linesOf)

/** A shop with one subscription that has a metered component in tiers; its package is free unless wished otherwise. */
async function meteredShop(
  wish: ComponentWish = {},
  plan: Parameters<typeof shop>[1] = { price: 0 },
  body: object = {},
) {
  const made = await shop(service, plan)
  const component = await addComponent(made.client, {
    type: 'metered',
    scheme: 'tiered',
    brackets: TIERS,
    name: 'Messages',
    ...wish,
  })
  const { componentID } = component
  const added = await made.add({ componentUsage: [{ componentID }], ...body })
  expect(added.status).toBe(201)
  const id: number = added.body.subscriptionID
  return { ...made, componentID, id, report: (entry: object) => use(made.client, id, { componentID, ...entry }) }
}

const unitsOf = async (client: TestClient, id: number) =>
  (await readSubscription(client, id)).componentUsage[0].NumUnits

describe('usage', () => {
  test('is charged on the day its cycle ends, then counts from 0; what is late comes as the difference', async () => {
    const { client, id, report } = await meteredShop()
    await moveTo(client, '2027-01-20')
    expect((await report({ NumUnits: 8 })).status).toBe(204)
    expect(await unitsOf(client, id)).toBe(8)
    expect(day((await readSubscription(client, id)).comp_nextInvDate)).toBe('2027-02-01')
    await moveTo(client, '2027-02-03')
    expect(await unitsOf(client, id)).toBe(0)
    await report({ NumUnits: 5, Date: '2027-01-30' })
    await moveTo(client, '2027-03-01')
    expect(await rows(client)).toEqual([
      '2027-02-01: Messages 2027-01-01 to 2027-01-31 40',
      '2027-03-01: Messages 2027-01-01 to 2027-01-31, late: 8 → 13 units 22',
    ])
    const read = (await client.get(`/v1/subscriptions/${id}/usage`)).body
    const [first, second] = await invoicesOf(client)
    expect(read.map(({ NumUnits, invoiceID }: any) => [NumUnits, invoiceID])).toEqual([
      [8, first.invoiceID],
      [5, second.invoiceID],
    ])
    expect((await client.get(`/v1/subscriptions/${id}/usage?from=2027-01-25&to=2027-01-31`)).body).toHaveLength(1)
    await checkBooks(service, client)
  })

  test('is explained by what its cycle was spread by and how much it was in all, also where a bracket costs nothing', async () => {
    const { client, report } = await meteredShop({
      brackets: [
        [0, 10],
        [5, 20],
        [4, null],
      ],
    })
    await report({ NumUnits: 25 })
    await moveTo(client, '2027-02-03')
    await report({ NumUnits: 3, Date: '2027-01-30' })
    await moveTo(client, '2027-03-01')
    const [first, second] = await invoicesOf(client)
    const explained = async ({ invoiceID }: any) =>
      (await client.get(`/v1/invoices/${invoiceID}/explanation`)).body.Lines
    const Brackets = [
      { QtyFrom: 1, QtyTill: 10, Price: 0 },
      { QtyFrom: 11, QtyTill: 20, Price: 5 },
      { QtyFrom: 21, QtyTill: null, Price: 4 },
    ]
    const common = { Scheme: 'tiered', Brackets }
    expect(await explained(first)).toMatchObject([
      { Facts: { ...common, Price: 5, Quantity: 10, TotalQuantity: 25, QuantityBefore: null } },
      {
        Facts: { ...common, Price: 4, Quantity: 5, TotalQuantity: 25, QuantityBefore: null },
        Sentence:
          'Messages, usage from 2027-01-01 to 2027-01-31: 4.00 × 5 = 20.00 USD, for 5 of 25 units (tiered); units above 20 up to 25; the first 10 are free.',
      },
    ])
    expect(await explained(second)).toMatchObject([
      { Facts: { ...common, Quantity: 28, TotalQuantity: 28, QuantityBefore: 25 } },
    ])
    await checkBooks(service, client)
  })

  test.each([
    ['stairstep', 'price of 11 units (40.00) = 40.00 USD; step from 11.'],
    ['volume', '4.00 × 11 = 44.00 USD, for 11 units (volume); bracket from 11.'],
  ] as const)('of a %s is explained by all its units', async (scheme, text) => {
    const { client, report } = await meteredShop({
      scheme,
      brackets: [
        [25, 10],
        [scheme === 'stairstep' ? 40 : 4, null],
      ],
    })
    await report({ NumUnits: 11 })
    await moveTo(client, '2027-02-01')
    const [{ invoiceID }] = await invoicesOf(client)
    expect((await client.get(`/v1/invoices/${invoiceID}/explanation`)).body.Lines).toMatchObject([
      {
        Facts: { Scheme: scheme, Quantity: 11, TotalQuantity: 11 },
        Sentence: `Messages, usage from 2027-01-01 to 2027-01-31: ${text}`,
      },
    ])
  })

  test('comes at once with the end: a cancellation charges what was used so far', async () => {
    const { client, id, report } = await meteredShop({}, { price: 31 })
    await moveTo(client, '2027-01-11')
    await report({ NumUnits: 12 })
    const preview = await client.put(`/v1/subscriptions/${id}/cancel/norefund?preview=true`, {})
    expect(preview.body.Invoices.map(linesOf)).toEqual([
      '2027-01-11: Messages 2027-01-01 to 2027-01-10 50 + Messages 2027-01-01 to 2027-01-10 8',
    ])
    await client.put(`/v1/subscriptions/${id}/cancel/norefund`, {})
    expect(codesOf(await report({ NumUnits: 1 }))).toEqual(['subscription_ended'])
    expect((await report({ NumUnits: 1, Date: '2027-01-05' })).status).toBe(204)
    await moveTo(client, '2027-01-12')
    expect((await rows(client)).slice(1)).toEqual([
      ...preview.body.Invoices.map(linesOf),
      '2027-01-11: Messages 2027-01-01 to 2027-01-10, late: 12 → 13 units 4',
    ])
    await checkBooks(service, client)
  })

  test('of the running cycle costs nothing with full credit, whenever it is reported', async () => {
    const { client, id, report } = await meteredShop()
    await moveTo(client, '2027-01-11')
    await report({ NumUnits: 12 })
    await client.put(`/v1/subscriptions/${id}/cancel/fullcredit`, {})
    await report({ NumUnits: 3, Date: '2027-01-10' })
    await moveTo(client, '2027-02-10')
    expect(await rows(client)).toEqual([])
  })

  test('that lowers what was invoiced makes a negative line, and a credit where the invoice would be negative', async () => {
    const { client, report } = await meteredShop()
    await report({ NumUnits: 12 })
    await moveTo(client, '2027-02-03')
    await report({ NumUnits: -4, Date: '2027-01-01' })
    expect(codesOf(await report({ NumUnits: -9, Date: '2027-01-01' }))).toEqual(['usage_below_zero'])
    await moveTo(client, '2027-03-01')
    // 58 before, 40 after: 18 come back on a credit note for the invoice of January.
    expect(await rows(client)).toEqual([
      '2027-02-01: Messages 2027-01-01 to 2027-01-31 50 + Messages 2027-01-01 to 2027-01-31 8',
    ])
    const [invoice] = await invoicesOf(client)
    expect([invoice.Total, invoice.TotalNegativeAdjs, invoice.ActualBalance]).toEqual([58, 18, 40])
  })

  test('can be set instead of added, and says so', async () => {
    const { client, id, report } = await meteredShop()
    await report({ NumUnits: 12 })
    expect((await readSubscription(client, id)).componentUsage[0].isSetUnits).toBe(false)
    await report({ NumUnits: 3, isSetUnits: 1 })
    expect((await readSubscription(client, id)).componentUsage[0]).toMatchObject({ NumUnits: 3, isSetUnits: true })
    await moveTo(client, '2027-02-01')
    expect(await rows(client)).toEqual(['2027-02-01: Messages 2027-01-01 to 2027-01-31 15'])
  })

  test('of a key is counted once; the key with other values is 409', async () => {
    const { client, id, componentID, report } = await meteredShop()
    const entry = { NumUnits: 2, UsageKey: 'a-1' }
    expect((await report(entry)).status).toBe(204)
    expect((await report(entry)).status).toBe(204)
    expect(codesOf(await report({ ...entry, NumUnits: 3 }))).toEqual(['usage_key_reused'])
    const list = [
      { componentID, NumUnits: 1 },
      { componentID, NumUnits: -9 },
    ]
    expect((await use(client, id, { componentUsage: list })).body.Errors[0]).toMatchObject({
      Code: 'usage_below_zero',
      Field: 'componentUsage[1].NumUnits',
    })
    expect(await unitsOf(client, id)).toBe(2)
    await client.put(`/v1/subscriptions/${id}/cancel/norefund`, {})
    expect((await report(entry)).status).toBe(204)
  })

  test('is neither in the future nor before the start, and names what is missing', async () => {
    const { client, id, report } = await meteredShop()
    await moveTo(client, '2027-01-05')
    expect(codesOf(await report({ NumUnits: 1, Date: '2027-01-06' }))).toEqual(['date_future'])
    expect(codesOf(await report({ NumUnits: 1, Date: '2026-12-31' }))).toEqual(['date_order'])
    expect(codesOf(await use(client, id, {}))).toEqual(['required', 'required'])
    expect(codesOf(await use(client, id, { componentID: 999_999, NumUnits: 1 }))).toEqual(['component_unknown'])
    const other = await addComponent(client)
    expect(codesOf(await use(client, id, { componentID: other.componentID, NumUnits: 1 }))).toEqual([
      'component_not_attached',
    ])
  })

  test('of a trial is kept, shown and costs nothing', async () => {
    const { client, id, report } = await meteredShop({}, { price: 0, trialPeriod: 14 })
    await moveTo(client, '2027-01-05')
    await report({ NumUnits: 7 })
    expect(await unitsOf(client, id)).toBe(7)
    await moveTo(client, '2027-01-15')
    expect(await unitsOf(client, id)).toBe(0)
    await report({ NumUnits: 2 })
    await report({ NumUnits: 4, Date: '2027-01-14' })
    await moveTo(client, '2027-02-15')
    expect(await rows(client)).toEqual(['2027-02-15: Messages 2027-01-15 to 2027-02-14 10'])
  })

  test('that opens with a component counts, and a component left out is billed at the end of its cycle', async () => {
    const { client, componentID, id } = await meteredShop({}, { price: 0 }, {})
    await modify(client, id, [])
    await moveTo(client, '2027-01-10')
    await modify(client, id, [{ componentID, NumUnits: 3 }])
    expect(await unitsOf(client, id)).toBe(3)
    await moveTo(client, '2027-01-12')
    await modify(client, id, [])
    expect(codesOf(await use(client, id, { componentID, NumUnits: 1 }))).toEqual(['component_not_attached'])
    await moveTo(client, '2027-03-01')
    const [only, ...more] = await invoicesOf(client)
    expect([only.Total, more]).toEqual([15, []])
  })

  test('of a suspended customer is taken, and comes on the day of the return', async () => {
    const { client, customerID, report } = await meteredShop({}, { price: 31 })
    await moveTo(client, '2027-01-20')
    await client.put(`/v1/customers/${customerID}/suspend`)
    await report({ NumUnits: 8 })
    await moveTo(client, '2027-02-10')
    await report({ NumUnits: 2 })
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    await moveTo(client, '2027-03-01')
    expect((await rows(client)).slice(1)).toEqual([
      '2027-02-10: Messages 2027-01-01 to 2027-01-31 40',
      '2027-03-01: Plan 2027-03-01 to 2027-03-31 31 + Messages 2027-02-01 to 2027-02-28 10',
    ])
  })

  test('of a subscription cancelled while its customer was suspended comes when the customer is back', async () => {
    const { client, customerID, id, report } = await meteredShop()
    await moveTo(client, '2027-01-20')
    await client.put(`/v1/customers/${customerID}/suspend`)
    await report({ NumUnits: 8 })
    expect((await client.put(`/v1/subscriptions/${id}/cancel/norefund`, {})).status).toBe(204)
    expect(await rows(client)).toEqual([])
    await moveTo(client, '2027-02-10')
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    await moveTo(client, '2027-02-11')
    expect((await invoicesOf(client)).map(({ Total }) => Total)).toEqual([40])
  })

  test('has cycles of its own term, whatever the package has', async () => {
    const { client, report } = await meteredShop({ term: 10, termType: 'days' }, { price: 31 })
    await report({ NumUnits: 1 })
    await moveTo(client, '2027-01-10')
    await report({ NumUnits: 1 })
    await moveTo(client, '2027-01-11')
    await report({ NumUnits: 3 })
    await moveTo(client, '2027-01-21')
    expect((await rows(client)).slice(1)).toEqual([
      '2027-01-11: Messages 2027-01-01 to 2027-01-10 10',
      '2027-01-21: Messages 2027-01-11 to 2027-01-20 15',
    ])
  })
})

test('a report that was read can be sent back, strictly too: what the service computes is ignored and told of nowhere', async () => {
  const { client, id, report } = await meteredShop()
  await report({ NumUnits: 8, UsageKey: 'a' })
  const [read] = (await client.get(`/v1/subscriptions/${id}/usage`)).body
  expect(read).toMatchObject({ usageID: expect.any(Number), RecordedDate: expect.any(String), invoiceID: null })
  const strictly = { prefer: 'handling=strict' }
  for (const headers of [{}, strictly]) {
    const one = await client.put(`/v1/subscriptions/${id}/components/recordusage`, read, headers)
    const bulk = await client.post('/v1/usage', { Usage: [{ ...read, subscriptionID: id }] }, headers)
    expect([one.status, one.headers['perennial-ignored']]).toEqual([204, undefined])
    expect([bulk.status, bulk.headers['perennial-ignored'], bulk.body]).toEqual([
      201,
      undefined,
      { Recorded: 0, Duplicates: 1 },
    ])
  }
  expect(await unitsOf(client, id)).toBe(8)
})

test('a subscription to come keeps the usage it opens with when its start moves, and is deleted with it', async () => {
  const { client, add } = await shop(service, { price: 0 })
  const { componentID } = await addComponent(client, { type: 'metered', brackets: [[5, null]], name: 'Messages' })
  const body = { componentUsage: [{ componentID, NumUnits: 3 }], StartDate: '2027-02-01' }
  const id = (await add(body)).body.subscriptionID
  const other = (await add(body)).body.subscriptionID
  expect((await client.delete(`/v1/subscriptions/${other}`)).status).toBe(204)
  const left = await service.db
    .reader(client.id)
    .rows(sql`select subscription_id as "id" from usage_rows where account_id = ${client.id} order by usage_id`)
  expect(left).toEqual([{ id: BigInt(id) }])
  expect((await modify(client, id, [{ componentID, Memo: 'kept' }])).status).toBe(204)
  expect((await client.put(`/v1/subscriptions/${id}/changestartdate`, { StartDate: '2027-01-10' })).status).toBe(204)
  await moveTo(client, '2027-04-10')
  expect(await rows(client)).toEqual(['2027-02-10: Messages 2027-01-10 to 2027-02-09 15'])
})

test('a change of package in the middle leaves usage and seats in their cycles', async () => {
  const { client, id, report } = await meteredShop({ term: 3 }, { price: 31 })
  const dear = await addPackage(client, { price: 62, term: 2 })
  await report({ NumUnits: 4 })
  const change = { packageID: dear.packageID, Term: 2, TermType: 'months' }
  expect((await client.put(`/v1/subscriptions/${id}/changepackage`, change)).status).toBe(204)
  await moveTo(client, '2027-03-31')
  await report({ NumUnits: 1 })
  await moveTo(client, '2027-04-01')
  expect(await rows(client)).toEqual([
    '2027-01-01: Plan 2027-01-01 to 2027-01-31 31',
    '2027-02-01: Plan 2027-02-01 to 2027-03-31 62',
    '2027-04-01: Plan 2027-04-01 to 2027-05-31 62 + Messages 2027-01-01 to 2027-03-31 25',
  ])
})

describe('usage in bulk', () => {
  test('records all or nothing, counts keys once, and names the entry that is wrong', async () => {
    const { client, componentID, id } = await meteredShop()
    const entry = (n: number) => ({ subscriptionID: id, componentID, NumUnits: 1, UsageKey: `k${n}` })
    const Usage = Array.from({ length: 200 }, (_, n) => entry(n % 150))
    const recorded = await client.post('/v1/usage', { Usage })
    expect([recorded.status, recorded.body]).toEqual([201, { Recorded: 150, Duplicates: 50 }])
    expect((await client.post('/v1/usage', { Usage })).body).toEqual({ Recorded: 0, Duplicates: 200 })
    expect(await unitsOf(client, id)).toBe(150)
    const wrong = Usage.map((one, n) => (n === 17 ? { ...one, NumUnits: 'x' } : one))
    const refused = await client.post('/v1/usage', { Usage: wrong })
    expect([refused.status, refused.body.Errors[0].Field]).toEqual([400, 'Usage[17].NumUnits'])
    const missing = await client.post('/v1/usage', {
      Usage: [entry(999), { ...entry(1), subscriptionID: 999_999 }, { ...entry(1), componentID: 999_999 }],
    })
    expect(missing.body.Errors.map(({ Field }: any) => Field)).toEqual([
      'Usage[1].subscriptionID',
      'Usage[2].componentID',
    ])
    expect(await unitsOf(client, id)).toBe(150)
  })

  test('of a cycle already invoiced comes late, like any other', async () => {
    const { client, componentID, id } = await meteredShop()
    await use(client, id, { componentID, NumUnits: 8 })
    await moveTo(client, '2027-02-03')
    const late = { subscriptionID: id, componentID, NumUnits: 5, Date: '2027-01-31', UsageKey: 'late' }
    expect((await client.post('/v1/usage', { Usage: [late] })).body).toEqual({ Recorded: 1, Duplicates: 0 })
    await moveTo(client, '2027-03-01')
    expect((await rows(client)).at(-1)).toBe('2027-03-01: Messages 2027-01-01 to 2027-01-31, late: 8 → 13 units 22')
  })

  test('only adds: a report that lowers or sets is refused, naming the field', async () => {
    const { client, id, componentID } = await meteredShop()
    const entry = { subscriptionID: id, componentID, NumUnits: 3, UsageKey: 'a' }
    const lowered = { ...entry, NumUnits: -1, UsageKey: 'b' }
    const refused = await client.post('/v1/usage', { Usage: [entry, lowered, { ...entry, isSetUnits: true }] })
    expect(refused.status).toBe(400)
    expect(refused.body.Errors.map(({ Field }: any) => Field)).toEqual(['Usage[1].NumUnits', 'Usage[2].isSetUnits'])
    expect(await unitsOf(client, id)).toBe(0)
    expect((await client.post('/v1/usage', { Usage: [{ ...entry, isSetUnits: false }] })).status).toBe(201)
    expect(await unitsOf(client, id)).toBe(3)
  })

  test('takes 10,000 entries and no more, and needs a key for each', async () => {
    const { client, componentID, id } = await meteredShop()
    const entry = (n: number) => ({ subscriptionID: id, componentID, NumUnits: 0.5, UsageKey: `k${n}` })
    const Usage = Array.from({ length: 10_000 }, (_, n) => entry(n))
    expect((await client.post('/v1/usage', { Usage })).body).toEqual({ Recorded: 10_000, Duplicates: 0 })
    expect(await unitsOf(client, id)).toBe(5000)
    expect(codesOf(await client.post('/v1/usage', { Usage: [...Usage, entry(10_001)] }))).toEqual(['wrong_count'])
    expect(codesOf(await client.post('/v1/usage', { Usage: [{ ...entry(1), UsageKey: '' }] }))).toEqual(['required'])
  })
})

describe('usage on a cancelled invoice', () => {
  const cancelNewest = async (client: TestClient) => {
    const { invoiceID } = (await invoicesOf(client)).at(-1)
    expect((await client.delete(`/v1/invoices/${invoiceID}`)).status).toBe(204)
  }

  test('counts as nothing invoiced for a correction downward, and is not charged again by a later rise', async () => {
    const { client, report } = await meteredShop({}, { price: 31 })
    await report({ NumUnits: 8, Date: '2027-01-01' })
    await moveTo(client, '2027-02-01')
    await cancelNewest(client)
    await report({ NumUnits: -3, Date: '2027-01-20' })
    await moveTo(client, '2027-03-01')
    // Ten in all: two more than were ever charged.
    await report({ NumUnits: 5, Date: '2027-01-20' })
    await moveTo(client, '2027-04-01')
    expect((await rows(client)).slice(2)).toEqual([
      '2027-03-01: Plan 2027-03-01 to 2027-03-31 31',
      '2027-04-01: Plan 2027-04-01 to 2027-04-30 31 + Messages 2027-01-01 to 2027-01-31, late: 5 → 10 units 10',
    ])
    const { invoiceID } = (await invoicesOf(client)).at(-1)
    const { Lines } = (await client.get(`/v1/invoices/${invoiceID}/explanation`)).body
    expect(Lines[1].Formula).toBe(
      'price of 10 units (50.00) − price of 5 units (25.00) − 15.00 that was cancelled or credited = 10.00',
    )
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('late lines of it likewise: the correction is measured against what still stands', async () => {
    const { client, id, report } = await meteredShop({}, { price: 31 })
    await report({ NumUnits: 8, Date: '2027-01-01' })
    await moveTo(client, '2027-02-03')
    await report({ NumUnits: 5, Date: '2027-01-20' })
    await moveTo(client, '2027-03-01')
    await cancelNewest(client)
    await report({ NumUnits: -6, Date: '2027-01-20' })
    const preview = (await client.get(`/v1/subscriptions/${id}/preview`)).body
    await moveTo(client, '2027-04-01')
    expect(linesOf(preview)).toBe(
      '2027-04-01: Plan 2027-04-01 to 2027-04-30 31 + Messages 2027-01-01 to 2027-01-31, late: 13 → 7 units -5',
    )
    expect((await rows(client)).at(-1)).toBe(linesOf(preview))
    expect(await differencesOf(service, client)).toEqual([])
  })
})
