import { expect } from 'vitest'
import type { TestClient, TestService } from './app.ts'
import { recomputeCharge } from '../../src/engine/explain.ts'
import { digitsOf } from '../../src/kernel/currencies.ts'
import { multiply } from '../../src/kernel/decimal.ts'
import { roundToMinor } from '../../src/kernel/money.ts'
import { sql } from '../../src/platform/database/sql.ts'
import { listCharges } from '../../src/features/invoices/queries.ts'
import { factsOf } from '../../src/features/invoices/wire.ts'
import type { Difference } from '../../src/platform/checks/difference.ts'
import { verifyAccount } from '../../src/checks.ts'

/** Shops as tests set them up over HTTP, and invoices as short rows to compare with figures worked out by hand. */

export interface RateWish {
  /** The heading of its lines; Plan unless wished otherwise. */
  name?: string
  currency?: string
  price?: number
  term?: number
  termType?: 'months' | 'days'
  setupFee?: number
  trialFee?: number
  trialPeriod?: number
  trialPeriodType?: 'months' | 'days'
}

let packages = 0

const rateOf = (wish: RateWish) => ({
  CurrencyCode: wish.currency ?? 'USD',
  SetupFee: wish.setupFee ?? 0,
  TrialFee: wish.trialFee ?? 0,
  TrialPeriod: wish.trialPeriod ?? 0,
  TrialPeriodType: wish.trialPeriodType ?? 'days',
  PackageRateTerms: [
    { ChargePrice: wish.price ?? 31, ChargeTerm: wish.term ?? 1, ChargeTermType: wish.termType ?? 'months' },
  ],
})

/** A package of 31.00 a month, unless wished otherwise; several wishes make several rates. Answers the package. */
export async function addPackage(client: TestClient, ...wishes: RateWish[]) {
  packages += 1
  const group = await client.post('/v1/packagegroups', { GroupName: `Group ${packages}` })
  const rates = (wishes.length === 0 ? [{}] : wishes).map(rateOf)
  for (const { CurrencyCode } of rates) await client.post('/v1/currencies', { CurrencyCode })
  const added = await client.post('/v1/packages', {
    packageGroupID: group.body.packageGroupID,
    packageCode: `P${packages}`,
    Name: wishes[0]?.name ?? 'Plan',
    Descrip: 'A plan',
    isActive: true,
    PackageVersion: { VersionName: 'first', isActive: true, isDefault: true, packageVersionRates: rates },
  })
  expect([added.status, added.body]).toMatchObject([201, { packageID: expect.any(Number) }])
  return added.body
}

export async function addCustomer(client: TestClient, changes: object = {}): Promise<number> {
  const added = await client.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace', ...changes })
  expect(added.text).toContain('customerID')
  return added.body.customerID
}

export async function addTax(client: TestClient, Name: string, ...rules: object[]): Promise<number> {
  const added = await client.post('/v1/tax', { Name, rules })
  expect(added.status).toBe(201)
  return added.body.taxSettingID
}

/** A customer with one subscription. Answers the subscription as it was answered. */
export async function subscribe(client: TestClient, wish: RateWish, body: object = {}, customer: object = {}) {
  const { packageID } = await addPackage(client, wish)
  const customerID = await addCustomer(client, { CurrencyCode: wish.currency ?? 'USD', ...customer })
  const added = await client.post('/v1/subscriptions', { customerID, packageID, ...body })
  expect(added.text).toContain('subscriptionID')
  return added.body
}

/** An account with a package and a customer, and adding a subscription to them. */
export async function shop(service: TestService, wish: RateWish = {}, clockAt = '2027-01-01T08:00:00.000Z') {
  const client = await service.newAccount({ clockAt })
  const plan = await addPackage(client, wish)
  const customerID = await addCustomer(client)
  const add = (body: object = {}) =>
    client.post('/v1/subscriptions', { customerID, packageID: plan.packageID, ...body })
  return { client, plan, customerID, add }
}

/** Moves the clock to noon of a day, unless a time is given, and answers what it said. */
export async function moveTo(client: TestClient, day: string) {
  const moved = await client.put('/v1/clock', { Now: day.includes('T') ? day : `${day}T12:00:00Z` })
  expect(moved.text).toContain('Now')
  return moved.body
}

export const codesOf = (reply: any) => reply.body.Errors.map(({ Code }: any) => Code)

export async function readSubscription(client: TestClient, subscriptionID: number) {
  return (await client.get(`/v1/subscriptions/${subscriptionID}`)).body
}

export async function invoicesOf(client: TestClient, filter = '', pageSize = 200): Promise<any[]> {
  const invoices: any[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await client.get(`/v1/invoices?${filter}&page_size=${pageSize}&page=${page}`)
    invoices.push(...body)
    if (body.length < pageSize) return invoices
  }
}

/** "2027-02-01: 2027-02-01 to 2027-02-28 31 = 35.65": the day, each line and the total. Fees are told by their heading. */
export const rowOf = (invoice: any): string => {
  const lines = invoice.Charges.map((charge: any) => `${charge.Descrip ?? charge.Line} ${charge.AmountEx}`)
  return `${invoice.InvoiceDate?.slice(0, 10)}: ${lines.join(' + ')} = ${invoice.Total}`
}

export const rowsOf = async (client: TestClient, filter = ''): Promise<string[]> =>
  (await invoicesOf(client, filter)).map(rowOf)

/** A made invoice as its preview would have shown it. */
export const asPreview = (invoice: any, preview: any) => ({
  ...invoice,
  invoiceID: null,
  invoiceNum: null,
  Reference: null,
  isDraft: true,
  Status: 'Draft',
  Customer: preview.Customer,
  LastUpdated: preview.LastUpdated,
  subscriptionID: preview.subscriptionID,
  Taxes: invoice.Taxes.map((tax: any) => ({ ...tax, invoiceTaxID: null, invoiceID: null })),
  Charges: invoice.Charges.map((charge: any) => ({ ...charge, chargeID: null, invoiceID: null })),
})

/** Dates of an answer without their time, so that rows stay short. */
export const day = (value: string | null): string | null => value && value.slice(0, 10)

/** Every stored charge follows from its own facts, lines add up to the totals, and numbers have no gap. */
export async function checkBooks(service: TestService, client: TestClient): Promise<void> {
  const reader = service.db.reader(client.id)
  const invoices = await reader.rows<{ id: bigint; number: bigint; currency: string; totalMinor: bigint }>(sql`
    select invoice_id as "id", number, currency, total_minor as "totalMinor" from invoices
     where account_id = ${client.id} order by number`)
  expect(invoices.map(({ number }) => Number(number))).toEqual(invoices.map((_, index) => index + 1))
  const ids = invoices.map(({ id }) => id)
  const charges = ids.length === 0 ? [] : await listCharges(reader, client.id, ids)
  for (const { id, currency, totalMinor } of invoices) {
    const lines = charges.filter(({ invoiceId }) => invoiceId === id)
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) {
      expect(recomputeCharge(factsOf(line, currency))).toBe(line.netMinor)
      expect(roundToMinor(multiply(line.unitPrice, line.quantity), digitsOf(currency))).toBe(line.netMinor)
    }
    expect(lines.reduce((sum, { grossMinor }) => sum + grossMinor, 0n)).toBe(totalMinor)
  }
  const owed = await reader.one<{ invoiced: bigint; receivable: bigint; taxes: bigint; shares: bigint }>(sql`
    select (select coalesce(sum(total_minor), 0) from invoices where account_id = ${client.id})::bigint as "invoiced",
           (select coalesce(sum(receivable_minor), 0) from customer_totals where account_id = ${client.id})::bigint as "receivable",
           (select coalesce(sum(amount_minor), 0) from invoice_taxes where account_id = ${client.id})::bigint as "taxes",
           (select coalesce(sum(gross_minor - net_minor), 0) from charges where account_id = ${client.id})::bigint as "shares"`)
  expect(owed.receivable).toBe(owed.invoiced)
  expect(owed.shares).toBe(owed.taxes)
  expect(await differencesOf(service, client)).toEqual([])
}

/** Verifies the account and returns the differences found; nothing in a healthy one. */
export async function differencesOf(service: Pick<TestService, 'db'>, client: TestClient): Promise<Difference[]> {
  const differences: Difference[] = []
  await verifyAccount(service.db, client.id, (difference) => differences.push(difference))
  return differences
}
