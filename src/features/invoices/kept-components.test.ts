import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, addTax, checkBooks, differencesOf, invoicesOf, moveTo } from '../../../test/support/shop.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { addComponent, linesOf, modify, TIERS, use } from '../subscriptions/components.testing.ts'
import { LEAST_OF_COMPONENTS } from './template-lines.ts'
import { shown, writeOut } from './template-lines.testing.ts'

/** Invoices of which the lines of seats and usage are kept with a template: what comes after them finds these lines as it finds rows. */

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

/** Customers of 31.00 a month with 3 seats of 3.10 in advance, and messages at 5.00, from the eleventh on at 4.00: 12 of them in January. */
async function build(subscribers = LEAST_OF_COMPONENTS, hasTaxes = false) {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  if (hasTaxes) await addTax(client, 'VAT', { Perc: 0.15 })
  const [plan, larger] = [await addPackage(client, { price: 31 }), await addPackage(client, { price: 62.5 })]
  const seats: number = (await addComponent(client)).componentID
  const metered = { type: 'metered', scheme: 'tiered', brackets: TIERS, name: 'Messages' } as const
  const messages: number = (await addComponent(client, metered)).componentID
  const componentUsage = [
    { componentID: seats, NumUnits: 3 },
    { componentID: messages, NumUnits: 12 },
  ]
  const subscriptions: { subscriptionID: number; customerID: number }[] = []
  for (let index = 0; index < subscribers; index += 1) {
    const { customerID } = (await client.post('/v1/customers', { Name: `N${index}`, LastName: 'L' })).body
    const body = { customerID, packageID: plan.packageID, StartDate: '2027-01-01', componentUsage }
    const { subscriptionID } = (await client.post('/v1/subscriptions', body)).body
    subscriptions.push({ subscriptionID, customerID })
  }
  return { client, subscriptions, seats, messages, larger: larger.packageID as number }
}

type Built = Awaited<ReturnType<typeof build>>

/** Counts the invoices of which lines of components are kept. */
const kept = async ({ id }: TestClient): Promise<number> =>
  (
    await owner.query(
      `select count(distinct i.invoice_id)::int as n from perennial.invoices i
         join perennial.invoice_template_charges s on s.account_id = i.account_id and s.template_id = i.template_id and s.kind in ('component', 'metered', 'rise')
        where i.account_id = $1`,
      [id],
    )
  ).rows[0].n

const THE_FIRST = `2027-02-01: Plan 2027-02-01 to 2027-02-28 31 + Seats 2027-02-01 to 2027-02-28 9.3 + Messages 2027-01-01 to 2027-01-31 50 + Messages 2027-01-01 to 2027-01-31 8`

/** A shop whose invoices of February are kept, one of its subscriptions, and what is billed of that from March on. */
async function february() {
  const built = await build()
  await moveTo(built.client, '2027-02-03')
  expect(await kept(built.client)).toBe(LEAST_OF_COMPONENTS)
  const { client, subscriptions } = built
  const { subscriptionID: id, customerID } = subscriptions[1]!
  const invoices = () => invoicesOf(client, `customerID=${customerID}`)
  const newest = (await invoices()).at(-1)
  expect(linesOf(newest)).toBe(THE_FIRST)
  return { ...built, id, invoices, newest, since: async () => (await invoices()).slice(2).map(linesOf) }
}

const WITHOUT_USAGE = '2027-03-01: Plan 2027-03-01 to 2027-03-31 31 + Seats 2027-03-01 to 2027-03-31 9.3'

describe('after an invoice whose lines of components are kept', () => {
  test('usage that comes late is charged by the difference, and both reports name their invoice', async () => {
    const { client, id, messages, newest, since, invoices } = await february()
    await use(client, id, { componentID: messages, NumUnits: 3, Date: '2027-01-20' })
    await moveTo(client, '2027-03-01')
    expect(await since()).toEqual([`${WITHOUT_USAGE} + Messages 2027-01-01 to 2027-01-31, late: 12 → 15 units 12`])
    const read = (await client.get(`/v1/subscriptions/${id}/usage`)).body
    expect(read.map(({ NumUnits, invoiceID }: any) => [NumUnits, invoiceID])).toEqual([
      [12, newest.invoiceID],
      [3, (await invoices()).at(-1).invoiceID],
    ])
    await checkBooks(service, client)
  })

  test('usage that is corrected downward by more than the next invoice comes to is given back whole, of the lines that charged it', async () => {
    const { client, id, messages, newest } = await february()
    await modify(client, id, [{ componentID: messages }])
    await use(client, id, { componentID: messages, NumUnits: -12, Date: '2027-01-20' })
    await moveTo(client, '2027-03-01')
    const notes = (await client.get('/v1/credits')).body
    expect(notes.map(({ invoiceID, Amount }: any) => [invoiceID, Amount])).toEqual([[newest.invoiceID, 58]])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('a rise is charged for the days that are left of the cycle, and the next cycle for the number risen to', async () => {
    const { client, id, seats, messages, since } = await february()
    await moveTo(client, '2027-02-15')
    await modify(client, id, [{ componentID: seats, NumUnits: 5 }, { componentID: messages }])
    await moveTo(client, '2027-03-01')
    // 2 × 3.10 × 14/28
    expect(await since()).toEqual([
      '2027-03-01: Plan 2027-03-01 to 2027-03-31 31 + Seats 2027-03-01 to 2027-03-31 15.5 + Seats 2027-02-15 to 2027-02-28, 14 of 28 days, 3 → 5 units 3.1',
    ])
    await checkBooks(service, client)
  })

  test('a credit of one line gives that one back, and the others stay what they were', async () => {
    const { client, newest, invoices } = await february()
    const line = newest.Charges.find(({ AmountEx }: any) => AmountEx === 9.3)
    const Lines = [{ chargeID: line.chargeID, AmountEx: 9.3 }]
    const credit = await client.post(`/v1/invoices/${newest.invoiceID}/credit`, { Reason: 'Late', Lines })
    expect([credit.status, credit.body.Amount]).toEqual([201, 9.3])
    expect((await invoices()).at(-1).Charges).toEqual(newest.Charges)
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('usage that was credited by line is not given back once more, and is charged again where it rises', async () => {
    const { client, id, messages, newest, since, invoices } = await february()
    const line = newest.Charges.find(({ AmountEx }: any) => AmountEx === 50)
    const Lines = [{ chargeID: line.chargeID, AmountEx: 50 }]
    expect((await client.post(`/v1/invoices/${newest.invoiceID}/credit`, { Reason: 'Goodwill', Lines })).status).toBe(
      201,
    )
    await use(client, id, { componentID: messages, NumUnits: -12, Date: '2027-01-20' })
    await moveTo(client, '2027-03-01')
    const explained = (await client.get(`/v1/invoices/${(await invoices()).at(-1).invoiceID}/explanation`)).text
    expect(explained).toContain(
      'price of 0 units (0.00) − price of 12 units (58.00) + 50.00 that was cancelled or credited = -8.00',
    )
    await use(client, id, { componentID: messages, NumUnits: 3, Date: '2027-01-20' })
    await moveTo(client, '2027-04-01')
    // Of 58.00 were 8.00 left; 3 units are 15.00.
    expect(await since()).toEqual([
      `${WITHOUT_USAGE} + Messages 2027-01-01 to 2027-01-31, late: 12 → 0 units -8`,
      '2027-04-01: Plan 2027-04-01 to 2027-04-30 31 + Seats 2027-04-01 to 2027-04-30 9.3 + Messages 2027-01-01 to 2027-01-31, late: 0 → 3 units 15',
    ])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('usage of which less was credited than a correction comes to gives back the rest', async () => {
    const { client, id, messages, newest, since } = await february()
    const line = newest.Charges.find(({ AmountEx }: any) => AmountEx === 8)
    const Lines = [{ chargeID: line.chargeID, AmountEx: 5 }]
    expect((await client.post(`/v1/invoices/${newest.invoiceID}/credit`, { Reason: 'Goodwill', Lines })).status).toBe(
      201,
    )
    await use(client, id, { componentID: messages, NumUnits: -4, Date: '2027-01-20' })
    await moveTo(client, '2027-03-01')
    // 8 units are 40.00, and 53.00 stand of 58.00.
    expect(await since()).toEqual([`${WITHOUT_USAGE} + Messages 2027-01-01 to 2027-01-31, late: 12 → 8 units -13`])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('a cancellation of the invoice leaves its usage charged, and late usage is measured against what was', async () => {
    const { client, id, messages, newest, since } = await february()
    expect((await client.delete(`/v1/invoices/${newest.invoiceID}`)).status).toBe(204)
    await use(client, id, { componentID: messages, NumUnits: -4, Date: '2027-01-20' })
    await moveTo(client, '2027-03-01')
    await use(client, id, { componentID: messages, NumUnits: 6, Date: '2027-01-20' })
    await moveTo(client, '2027-04-01')
    // 14 units are 66.00, of which 58.00 were charged and cancelled.
    expect(await since()).toEqual([
      WITHOUT_USAGE,
      '2027-04-01: Plan 2027-04-01 to 2027-04-30 31 + Seats 2027-04-01 to 2027-04-30 9.3 + Messages 2027-01-01 to 2027-01-31, late: 8 → 14 units 8',
    ])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('a cancellation of the subscription gives back the days that are left, of the package and of the seats', async () => {
    const { client, id } = await february()
    await moveTo(client, '2027-02-15')
    expect((await client.put(`/v1/subscriptions/${id}/cancel/prorata`)).status).toBeLessThan(300)
    // 14 of 28 days of 31.00 and of 9.30.
    const notes = (await client.get('/v1/credits')).body
    expect(notes.map(({ Amount }: any) => Amount)).toEqual([20.15])
    expect(await differencesOf(service, client)).toEqual([])
  })
})

test('lines of components that too few invoices of a chunk share stay rows', async () => {
  const built = await build(LEAST_OF_COMPONENTS)
  const { client, subscriptions, messages } = built
  await use(client, subscriptions[0]!.subscriptionID, { componentID: messages, NumUnits: 1 })
  await moveTo(client, '2027-02-01')
  expect([await kept(client), (await invoicesOf(client)).length]).toEqual([0, 2 * LEAST_OF_COMPONENTS])
  await moveTo(client, '2027-03-01')
  expect(await kept(client)).toBe(LEAST_OF_COMPONENTS)
  expect(await differencesOf(service, client)).toEqual([])
})

const ACTS = fc.record({
  kind: fc.constantFrom(
    ...([
      'edit',
      'cancel',
      'line',
      'amount',
      'whole',
      'pay',
      'prorata',
      'change',
      'uncredit',
      'renewal',
      'restart',
    ] as const),
    ...(['late', 'late', 'lower', 'lower', 'use', 'seats', 'seats', 'leaveOut', 'extend'] as const),
  ),
  who: fc.nat(LEAST_OF_COMPONENTS),
  which: fc.nat(3),
  amount: fc.constantFrom(1, 5.55, 9.3, 31),
  units: fc.constantFrom(1, 3, 8, 20),
})
type Act = typeof ACTS extends fc.Arbitrary<infer A> ? A : never

async function act(built: Built, today: string, { kind, who, which, amount, units }: Act) {
  const { client, subscriptions, seats, messages, larger } = built
  const { subscriptionID, customerID } = subscriptions[who]!
  const path = `/v1/subscriptions/${subscriptionID}`
  const invoices = await invoicesOf(client, `customerID=${customerID}`)
  const { invoiceID, ...invoice } = invoices[which % invoices.length]
  const credit = (body: object) => client.post(`/v1/invoices/${invoiceID}/credit`, { Reason: 'Late', ...body })
  const used = (NumUnits: number, Date: string) =>
    use(client, subscriptionID, { componentID: messages, NumUnits, Date })
  const chargeID = invoice.Charges[which % invoice.Charges.length].chargeID
  const paid = { customerID, Amount: amount, Date: today, CurrencyCode: 'USD', Method: 'eft', AutoApply: true }
  const acts: Record<Act['kind'], () => Promise<{ status: number; text: string }>> = {
    edit: () => client.put(`/v1/invoices/${invoiceID}`, { ...invoice, poNumber: `PO ${amount}` }),
    cancel: () => client.delete(`/v1/invoices/${invoiceID}`),
    line: () => credit({ Lines: [{ chargeID, AmountEx: amount }] }),
    amount: () => credit({ Amount: amount }),
    whole: () => credit({ isWhole: true }),
    pay: () => client.post('/v1/payments', paid),
    prorata: () => client.put(`${path}/cancel/prorata`),
    renewal: () => client.put(`${path}/cancel`, { CancelType: 'renewal' }),
    restart: () => client.put(`${path}/reactivate`),
    change: () => client.put(`${path}/changepackage`, { packageID: larger, isProRata: true }),
    uncredit: async () => {
      const notes = (await client.get(`/v1/customers/${customerID}/credits`)).body
      return client.delete(`/v1/credits/${notes[0]?.creditNoteID ?? 0}`)
    },
    late: () => used(units, `2027-0${1 + (which % 3)}-20`),
    lower: () => used(-units, `2027-0${1 + (which % 3)}-20`),
    use: () => used(units, today),
    seats: () => modify(client, subscriptionID, [{ componentID: seats, NumUnits: units }, { componentID: messages }]),
    leaveOut: () => modify(client, subscriptionID, [{ componentID: which > 1 ? seats : messages }]),
    extend: () => client.put(path, { EndDate: `2027-0${6 + which}-10` }),
  }
  return acts[kind]()
}

/** Everything that callers see of an account's invoices, subscriptions and usage. */
async function seen({ client, subscriptions }: Built): Promise<string[]> {
  const paths = [
    ...(await invoicesOf(client)).map(({ invoiceID }) => `/v1/invoices/${invoiceID}/explanation`),
    ...subscriptions.flatMap(({ subscriptionID: id }) =>
      ['', '/usage', '/preview'].map((more) => `/v1/subscriptions/${id}${more}`),
    ),
    '/v1/invoices?page_size=200',
    '/v1/credits',
    '/v1/events?page_size=200&type=invoice.issued',
    '/v1/events?page_size=200&type=credit_note.created',
    ...['tax', 'revenue'].map((name) => `/v1/reports/${name}?from=2027-01-01&to=2027-12-31`),
    '/v1/reports/revenue?from=2027-01-01&to=2027-12-31&by=component',
    '/v1/reports/deferred?date=2027-04-01',
  ]
  const answers: string[] = []
  for (const path of paths) answers.push(shown((await client.get(path)).text))
  return answers
}

const succeeded = new Map<string, number>()

test('becomes what invoices with rows become, by any mix of edits, credits, changes, cancellations and corrections of usage', async () => {
  const property = fc.asyncProperty(fc.array(ACTS, { minLength: 10, maxLength: 14, size: 'max' }), async (acts) => {
    const both = [await build(LEAST_OF_COMPONENTS + 1, true), await build(LEAST_OF_COMPONENTS + 1, true)] as const
    const [shaped, rows] = both
    for (const day of ['2027-04-10', '2027-05-10']) {
      for (const { client } of both) await moveTo(client, day)
      expect(await kept(shaped.client)).toBeGreaterThan(0)
      await writeOut(service, rows.client, rows.subscriptions)
      expect(await kept(rows.client)).toBe(0)
      expect(await seen(shaped)).toEqual(await seen(rows))
      for (const one of acts) {
        const [answer, same] = [await act(shaped, day, one), await act(rows, day, one)]
        expect([one.kind, answer.status, shown(answer.text)]).toEqual([one.kind, same.status, shown(same.text)])
        if (answer.status < 300) succeeded.set(one.kind, (succeeded.get(one.kind) ?? 0) + 1)
      }
    }
    for (const { client } of both) await moveTo(client, '2027-06-12')
    expect(await seen(shaped)).toEqual(await seen(rows))
    for (const { client } of both) expect(await differencesOf(service, client)).toEqual([])
  })
  await fc.assert(property, { numRuns: Number(process.env['KEPT_RUNS'] ?? 3), endOnFailure: true })
  for (const kind of ['late', 'lower', 'seats', 'cancel', 'line'])
    expect(succeeded.get(kind) ?? 0, JSON.stringify([...succeeded])).toBeGreaterThan(0)
}, 300_000)
