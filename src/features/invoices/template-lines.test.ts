import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, addTax, differencesOf, invoicesOf, moveTo } from '../../../test/support/shop.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { shown, writeOut } from './template-lines.testing.ts'

/** Invoices of which the lines are kept with a template are invoices as any other: whatever happens to them, and whoever draws identifiers meanwhile. */

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

async function build(subscribers: number, clockAt = '2027-01-01T08:00:00.000Z') {
  const client = await service.newAccount({ clockAt })
  await addTax(client, 'VAT', { Perc: 0.15 })
  await addTax(client, 'Levy', { Perc: 0.0125 })
  const [plan, larger] = [await addPackage(client, { price: 31 }), await addPackage(client, { price: 62.5 })]
  const subscriptions: { subscriptionID: number; customerID: number }[] = []
  for (let index = 0; index < subscribers; index += 1) {
    const { customerID } = (await client.post('/v1/customers', { Name: `N${index}`, LastName: 'L' })).body
    const body = { customerID, packageID: plan.packageID, StartDate: `2027-01-0${1 + (index % 2)}`, isProRata: true }
    const { subscriptionID } = (await client.post('/v1/subscriptions', body)).body
    subscriptions.push({ subscriptionID, customerID })
  }
  return { client, subscriptions, larger: larger.packageID as number }
}

type Built = Awaited<ReturnType<typeof build>>

const kept = async (client: TestClient): Promise<number> =>
  Number(
    (
      await owner.query(
        'select count(*) as n from perennial.invoices where account_id = $1 and template_id is not null',
        [client.id],
      )
    ).rows[0].n,
  )

const ACTS = fc.record({
  kind: fc.constantFrom('edit', 'cancel', 'line', 'amount', 'whole', 'pay', 'prorata', 'change', 'uncredit', 'usual'),
  who: fc.nat(3),
  which: fc.nat(3),
  amount: fc.constantFrom(1, 5.55, 31, 36.05),
})
type Act = typeof ACTS extends fc.Arbitrary<infer A> ? A : never

async function act({ client, subscriptions, larger }: Built, { kind, who, which, amount }: Act) {
  const { subscriptionID, customerID } = subscriptions[who]!
  const invoices = await invoicesOf(client, `customerID=${customerID}`)
  const { invoiceID, ...invoice } = invoices[which % invoices.length]
  const credit = (body: object) => client.post(`/v1/invoices/${invoiceID}/credit`, { Reason: 'Late', ...body })
  switch (kind) {
    case 'edit':
      return client.put(`/v1/invoices/${invoiceID}`, { ...invoice, poNumber: `PO ${amount}` })
    case 'cancel':
      return client.delete(`/v1/invoices/${invoiceID}`)
    case 'line':
      return credit({ Lines: [{ chargeID: invoice.Charges[0].chargeID, AmountEx: amount }] })
    case 'amount':
      return credit({ Amount: amount })
    case 'whole':
      return credit({ isWhole: true })
    case 'pay':
      return client.post('/v1/payments', {
        customerID,
        Amount: amount,
        Date: '2027-04-10',
        CurrencyCode: 'USD',
        Method: 'eft',
        AutoApply: true,
      })
    case 'prorata':
      return client.put(`/v1/subscriptions/${subscriptionID}/cancel/prorata`)
    case 'change':
      return client.put(`/v1/subscriptions/${subscriptionID}/changepackage`, { packageID: larger, isProRata: true })
    case 'uncredit': {
      const notes = (await client.get(`/v1/customers/${customerID}/credits`)).body
      return client.delete(`/v1/credits/${notes[0]?.creditNoteID ?? 0}`)
    }
    case 'usual':
      return client.get(`/v1/invoices/${invoiceID}/explanation`)
  }
}

/** Everything that callers see of an account's invoices. */
async function seen({ client, subscriptions }: Built): Promise<string[]> {
  const invoices = await invoicesOf(client)
  const paths = [
    ...invoices.map(({ invoiceID }) => `/v1/invoices/${invoiceID}/explanation`),
    ...subscriptions.map(({ subscriptionID }) => `/v1/subscriptions/${subscriptionID}`),
    '/v1/invoices?page_size=200',
    '/v1/credits',
    '/v1/events?page_size=200&type=invoice.issued',
    '/v1/events?page_size=200&type=credit_note.created',
    '/v1/reports/tax?from=2027-01-01&to=2027-12-31',
    '/v1/reports/revenue?from=2027-01-01&to=2027-12-31&by=package',
    '/v1/reports/deferred?date=2027-04-01',
  ]
  const answers: string[] = []
  for (const path of paths) answers.push(shown((await client.get(path)).text))
  return answers
}

const succeeded = new Map<string, number>()

describe('invoices with shapes', () => {
  test('become what invoices with rows become, by any mix of edits, credits, cancellations and changes', async () => {
    const property = fc.asyncProperty(fc.array(ACTS, { minLength: 8, maxLength: 12, size: 'max' }), async (acts) => {
      const [shaped, rows] = [await build(4), await build(4)]
      for (const { client } of [shaped, rows]) await moveTo(client, '2027-04-10')
      expect(await kept(rows.client)).toBe(12)
      await writeOut(service, rows.client, rows.subscriptions)
      expect([await kept(shaped.client), await kept(rows.client)]).toEqual([12, 0])
      expect(await seen(shaped)).toEqual(await seen(rows))
      for (const one of acts) {
        const [answer, same] = [await act(shaped, one), await act(rows, one)]
        expect([one.kind, answer.status, shown(answer.text)]).toEqual([one.kind, same.status, shown(same.text)])
        if (answer.status < 300) succeeded.set(one.kind, (succeeded.get(one.kind) ?? 0) + 1)
      }
      for (const { client } of [shaped, rows]) await moveTo(client, '2027-06-02')
      expect(await seen(shaped)).toEqual(await seen(rows))
      for (const { client } of [shaped, rows]) expect(await differencesOf(service, client)).toEqual([])
    })
    await fc.assert(property, { numRuns: Number(process.env['KEPT_RUNS'] ?? 3), endOnFailure: true })
    expect(succeeded.get('line') ?? 0).toBeGreaterThan(0)
    expect(succeeded.size).toBeGreaterThan(4)
  }, 300_000)

  test('share one shape whatever day and run made it, and are found under their identifiers in every page', async () => {
    const { client } = await build(4)
    await moveTo(client, '2027-02-02')
    const { rows } = await owner.query(
      `select count(*)::int as shapes from perennial.invoice_templates where account_id = $1`,
      [client.id],
    )
    expect([await kept(client), rows[0].shapes]).toEqual([4, 2])
    const all = await invoicesOf(client)
    const ids = all.flatMap(({ Charges }) => Charges.map(({ chargeID }: { chargeID: number }) => chargeID))
    expect(new Set(ids).size).toBe(8)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(await invoicesOf(client)).toEqual(all)
  })
})

const WRITERS = 8
const SUBSCRIBERS = 40

/** Draws identifiers of lines and taxes one by one, as other accounts' writers do, until it is told to end. */
async function drawMeanwhile(): Promise<() => Promise<void>> {
  let isOver = false
  const drawer = new pg.Client(clientConfig(service.connection, undefined))
  await drawer.connect()
  const drawing = (async () => {
    while (!isOver)
      await drawer.query(`
        do $$ begin for n in 1..20000 loop
          perform nextval('perennial.invoice_tax_rows_invoice_tax_id_seq'); perform nextval('perennial.charge_rows_charge_id_seq');
        end loop; end $$`)
  })()
  return async () => {
    isOver = true
    await drawing
    await drawer.end()
  }
}

test('eight writers beside a run: no identifier is given twice, every page is exact, and rows stand where others drew in between', async () => {
  const built = await build(SUBSCRIBERS)
  const { client, subscriptions } = built
  await moveTo(client, '2027-02-02')
  const before = await kept(client)
  expect(before).toBe(SUBSCRIBERS)
  const end = await drawMeanwhile()
  let isOver = false
  const lines = [{ UnitCostEx: 20 }, { UnitCostEx: 3.33 }]
  const write = async (writer: number): Promise<void> => {
    const { customerID } = subscriptions[writer]!
    for (let count = 0; !isOver || count < 3; count += 1)
      expect((await client.post('/v1/invoices', { customerID, Charges: lines })).status).toBe(201)
  }
  const writers = Array.from({ length: WRITERS }, (_, index) => write(index))
  await moveTo(client, '2027-03-02')
  // Who draws between others is a matter of luck; with steps of two somebody always does.
  await owner.query('alter sequence perennial.invoice_tax_rows_invoice_tax_id_seq increment by 2')
  await moveTo(client, '2027-04-02')
  await owner.query('alter sequence perennial.invoice_tax_rows_invoice_tax_id_seq increment by 1')
  isOver = true
  await Promise.all(writers)
  await end()
  const { rows } = await owner.query(
    `select count(*) filter (where template_id is null)::int as loose, count(*)::int as all,
            (select count(*) - count(distinct charge_id) from perennial.charges where account_id = $1)::int as charges,
            (select count(*) - count(distinct invoice_tax_id) from perennial.invoice_taxes where account_id = $1)::int as taxes
       from perennial.invoices where account_id = $1 and subscription_id is not null and invoice_date > '2027-02-02'`,
    [client.id],
  )
  expect(rows[0]).toMatchObject({ all: 2 * SUBSCRIBERS, charges: 0, taxes: 0 })
  expect(rows[0].loose).toBeGreaterThan(0)
  const all = await pagesOf(client, 200)
  const ids = all.map(({ invoiceID }) => invoiceID)
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b))
  expect(all.every(({ Charges, Taxes }) => Charges.length > 0 && (Taxes === undefined || Taxes.length === 2))).toBe(
    true,
  )
  for (const size of [7, 50]) expect(await pagesOf(client, size)).toEqual(all)
  expect(await differencesOf(service, client)).toEqual([])
}, 300_000)

async function pagesOf(client: TestClient, size: number): Promise<any[]> {
  const found: any[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await client.get(`/v1/invoices?page=${page}&page_size=${size}`)
    found.push(...body)
    if (body.length < size) return found
  }
}
