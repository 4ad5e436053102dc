import { addPackage, FIRST_DAY } from './measure/accounts.ts'
import { type PatientClient, WrongAnswer } from './measure/patient-client.ts'

/**
 * Good callers: firms that add customers, sell, record usage, invoice, take payments, credit, correct, read, list and print, and check every
 * answer against what they did. Customers of an account on real time owe exactly what was charged; where a clock moves, renewals come too,
 * so that only what adds up is checked there.
 */

/** An account with something to sell. */
export interface Firm {
  client: PatientClient
  hasClock: boolean
  packageID: number
  componentID: number
  /** A customer of another account, who must not be found. */
  stranger: number
  /** State of each record that was acknowledged, by kind and by the name that the caller gave it. */
  records: Map<string, string>
  /** The latest subscriptions, with the reports of usage of each. */
  usage: Map<number, Map<string, number>>
}

const PLAN_PRICE = 31
const TAX = 0.15
const CENTS = 100

const cents = (amount: number): number => Math.round(amount * CENTS)
const withTax = (amountEx: number): number => cents(amountEx * (1 + TAX))

/** Opens an account: what it sells, and in one with a clock customers who are billed every day. */
export async function openFirm(client: PatientClient, hasClock: boolean): Promise<Firm> {
  const add = client.add.bind(client)
  await add('/v1/tax', { Name: 'VAT', rules: [{ Perc: TAX }] })
  const { packageGroupID, packageID } = await addPackage(add, PLAN_PRICE, 'months')
  const { componentID } = await add<{ componentID: number }>('/v1/components', {
    ...{ ComponentCode: 'C', Name: 'Calls', Descrip: 'Calls', UnitName: 'call', packageGroupID, isActive: true },
    ...{ Type: 'metered', Scheme: 'unit', Term: 1, TermType: 'months' },
    ComponentVersion: {
      VersionName: 'first',
      ComponentVersionCurrencies: [
        { CurrencyCode: 'USD', ComponentBracketPrices: [{ Price: 0.5, QtyFrom: 1, QtyTill: null }] },
      ],
    },
  })
  if (hasClock) {
    const daily = await addPackage(add, 1, 'days')
    const { customerID } = await add<{ customerID: number }>('/v1/customers', { Name: 'Daily', isCompany: true })
    for (let count = 0; count < 5; count += 1)
      await add('/v1/subscriptions', { customerID, packageID: daily.packageID, StartDate: FIRST_DAY })
  }
  return { client, hasClock, packageID, componentID, stranger: 0, records: new Map(), usage: new Map() }
}

/** A customer whom one caller serves, and what it must owe. */
interface Served {
  firm: Firm
  ref: string
  customerID: number
  subscriptionID: number
  invoiceID: number
  /** In cents; of accounts on real time. */
  owed: number
  /** Dates of payments and credits: a day that every account has reached. */
  day: string
}

async function sell({ firm, ref, day }: Pick<Served, 'firm' | 'ref' | 'day'>): Promise<Served> {
  const { client, records, packageID, componentID, usage } = firm
  const wish = { Name: 'Acme', Reference: ref, isCompany: true, CurrencyCode: 'USD' }
  const { customerID } = await client.add<{ customerID: number }>('/v1/customers', wish)
  records.set(`customer ${ref}`, 'Acme')
  const about = { customerID, packageID, Term: 1, TermType: 'months', poNumber: ref }
  const { subscriptionID } = await client.add<{ subscriptionID: number }>('/v1/subscriptions', about)
  records.set(`subscription ${ref}`, `${customerID} going`)
  const path = `/v1/subscriptions/${subscriptionID}/components`
  await client.change('PUT', `${path}/modify`, { componentUsage: [{ componentID }] })
  const reports = new Map<string, number>()
  usage.set(subscriptionID, reports)
  for (const NumUnits of [3, 4]) {
    const UsageKey = `${ref} ${NumUnits}`
    if (NumUnits === 3) await client.change('PUT', `${path}/recordusage`, { componentID, NumUnits, UsageKey })
    else await client.add('/v1/usage', { Usage: [{ subscriptionID, componentID, NumUnits, UsageKey }] })
    reports.set(UsageKey, NumUnits)
  }
  return { firm, ref, customerID, subscriptionID, invoiceID: 0, owed: withTax(PLAN_PRICE), day }
}

async function settle(served: Served, n: number): Promise<void> {
  const { firm, ref, customerID, day } = served
  const { client, records } = firm
  const Charges = [{ UnitCostEx: 40 + (n % 50), Qty: 2 }]
  const invoice = await client.add<{ invoiceID: number; Total: number }>('/v1/invoices', {
    ...{ customerID, Reference: `by hand ${ref}`, Charges },
  })
  const total = withTax((40 + (n % 50)) * 2)
  client.tally.check(cents(invoice.Total) === total, `invoice ${invoice.invoiceID} of ${ref}: total ${invoice.Total}`)
  records.set(`invoice by hand ${ref}`, String(40 + (n % 50)))
  served.invoiceID = invoice.invoiceID
  const given = { customerID, CurrencyCode: 'USD', Date: day, AutoApply: true }
  const { paymentID } = await client.add<{ paymentID: number }>('/v1/payments', {
    ...{ ...given, Amount: 50, Method: 'eft', Ref: ref },
  })
  records.set(`payment ${ref}`, '50')
  const Amount = 5 + (n % 37)
  await client.add('/v1/credits', { ...given, Amount: 10.5, CreditNumber: ref })
  records.set(`credit ${ref}`, '10.5')
  await client.change('PUT', `/v1/payments/${paymentID}`, { ...given, Amount, Method: 'eft', Ref: ref })
  records.set(`payment ${ref}`, String(Amount))
  await client.change('PUT', `/v1/customers/${customerID}`, { Name: `Acme ${n}`, Reference: ref, isCompany: true })
  records.set(`customer ${ref}`, `Acme ${n}`)
  served.owed += total - cents(Amount) - cents(10.5)
}

interface Statement {
  OpeningBalance: number
  ClosingBalance: number
  Movements: { Debit: number | null; Credit: number | null; Balance: number }[]
}

async function readBack({ firm, ref, customerID, subscriptionID, invoiceID, owed }: Served, n: number) {
  const { client, hasClock, records, usage } = firm
  const { tally } = client
  const customer = await client.read<{ Name: string; Balance: number }>(`/v1/customers/${customerID}`)
  tally.check(customer.Name === records.get(`customer ${ref}`), `customer ${ref} is called ${customer.Name}`)
  tally.check(
    hasClock || cents(customer.Balance) === owed,
    `customer ${ref} owes ${customer.Balance}, not ${owed} cents`,
  )
  const statement = await client.read<Statement>(`/v1/customers/${customerID}/statement?from=2020-01-01&to=2040-01-01`)
  let balance = cents(statement.OpeningBalance)
  for (const { Debit, Credit, Balance } of statement.Movements) {
    balance += cents(Debit ?? 0) - cents(Credit ?? 0)
    tally.check(cents(Balance) === balance, `statement of ${ref}: ${Balance} where its movements make ${balance} cents`)
  }
  tally.check(cents(statement.ClosingBalance) === balance, `statement of ${ref} closes at ${statement.ClosingBalance}`)
  tally.check(hasClock || balance === owed, `statement of ${ref} closes at ${balance} cents, not ${owed}`)
  const invoices = await client.read<{ invoiceID: number }[]>(`/v1/customers/${customerID}/invoices`)
  const isThere = invoices.some((invoice) => invoice.invoiceID === invoiceID) && invoices.length >= 2
  tally.check(isThere, `invoices of ${ref}: ${invoices.map((invoice) => invoice.invoiceID).join()}`)
  const page = await client.read<object[]>(`/v1/${['invoices', 'payments', 'customers', 'events'][n % 4]}?page_size=50`)
  tally.check(page.length > 0 && page.length <= 50, `a page has ${page.length}`)
  await client.ask({ method: 'GET', path: `/v1/customers/${firm.stranger}`, status: 404 })
  if (n % 3 === 0) {
    const pdf = await client.ask({ method: 'GET', path: `/v1/invoices/${invoiceID}/pdf`, status: 200 })
    tally.check(pdf.startsWith('%PDF-') && pdf.trimEnd().endsWith('%%EOF'), `PDF of invoice ${invoiceID}`)
  }
  const reports = usage.get(subscriptionID) ?? new Map<string, number>()
  await checkUsage(firm, subscriptionID, reports)
}

/** Each report of usage is there once, with its units, and nothing else. */
async function checkUsage({ client }: Firm, subscriptionID: number, reports: ReadonlyMap<string, number>) {
  const found = await client.read<{ UsageKey: string; NumUnits: number }[]>(`/v1/subscriptions/${subscriptionID}/usage`)
  const stated = (list: Iterable<readonly [string, number]>) => JSON.stringify([...list].toSorted())
  const isSame = stated(found.map(({ UsageKey, NumUnits }) => [UsageKey, NumUnits] as const)) === stated(reports)
  client.tally.check(isSame, `usage of subscription ${subscriptionID}: ${JSON.stringify(found)}`)
}

/** So many customers of a firm with a clock keep a subscription; those before them have cancelled, so that a day's work does not grow. */
const KEPT = 3

/** Goes on after a wrong answer, which is counted, with what comes next. */
async function goingOn(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof WrongAnswer)) throw error
  }
}

/** Serves customer after customer, as one of several callers of an account. */
export async function trade(firm: Firm, name: string, isOver: () => boolean): Promise<void> {
  const { client, records } = firm
  const kept: Served[] = []
  const day = firm.hasClock ? FIRST_DAY : new Date().toISOString().slice(0, 10)
  const serve = async (n: number) => {
    const served = await sell({ firm, ref: `${name} ${n}`, day })
    await settle(served, n)
    await readBack(served, n)
    kept.push(served)
    if (!firm.hasClock || kept.length <= KEPT) return
    const first = kept.shift() as Served
    await client.change('PUT', `/v1/subscriptions/${first.subscriptionID}/cancel/norefund`)
    records.set(`subscription ${first.ref}`, `${first.customerID} cancelled`)
  }
  for (let n = 0; !isOver(); n += 1) await goingOn(() => serve(n))
}

/** Moves an account's clock from day to day; on real time asks for billing runs that find nothing to bill. */
export async function keepTime({ client, hasClock }: Firm, isOver: () => boolean, pause: () => Promise<void>) {
  const keep = async () => {
    if (hasClock) {
      const { Now } = await client.read<{ Now: string }>('/v1/clock')
      const next = new Date(Date.parse(Now) + 86_400_000).toISOString()
      const told = await client.ask({ method: 'PUT', path: '/v1/clock', body: { Now: next }, status: 200 })
      client.tally.check((JSON.parse(told) as { Now: string }).Now === next, `the clock says ${told}, not ${next}`)
    }
    const { billingRunID } = await client.add<{ billingRunID: number }>('/v1/billingruns', {})
    await client.read(`/v1/billingruns/${billingRunID}`)
  }
  while (!isOver()) {
    await goingOn(keep)
    await pause()
  }
}

async function all<T>(client: PatientClient, path: string): Promise<T[]> {
  const found: T[] = []
  for (let page = 1; ; page += 1) {
    const rows = await client.read<T[]>(`${path}?page=${page}&page_size=200`)
    found.push(...rows)
    if (rows.length < 200) return found
  }
}

interface Row {
  Reference: string
  Name: string
  customerID: number
  poNumber: string | null
  isCancelled: boolean
  Ref: string
  CreditNumber: string
  Amount: number
  Source: string
  Charges: { UnitCostEx: number }[]
}

/** References of callers have a space in them, those that the service gives to what it was given none for have not. */
const isGiven = (reference: string): boolean => reference.includes(' ')

/** Checks that what was acknowledged is there exactly once as it was acknowledged last, and that nothing else is. */
export async function checkRecords(firm: Firm): Promise<void> {
  const { client, records, usage } = firm
  const found: (readonly [string, string])[] = []
  for (const row of await all<Row>(client, '/v1/customers'))
    if (isGiven(row.Reference)) found.push([`customer ${row.Reference}`, row.Name])
  for (const row of await all<Row>(client, '/v1/subscriptions'))
    if (row.poNumber !== null)
      found.push([`subscription ${row.poNumber}`, `${row.customerID} ${row.isCancelled ? 'cancelled' : 'going'}`])
  for (const row of await all<Row>(client, '/v1/payments')) found.push([`payment ${row.Ref}`, String(row.Amount)])
  for (const row of await all<Row>(client, '/v1/credits'))
    found.push([`credit ${row.CreditNumber}`, String(row.Amount)])
  for (const row of await all<Row>(client, '/v1/invoices'))
    if (row.Reference.startsWith('by hand'))
      found.push([`invoice ${row.Reference}`, String(row.Charges[0]?.UnitCostEx)])
  for (const [name, state] of found)
    client.tally.check(records.get(name) === state, `${name} is ${state}, acknowledged was ${records.get(name)}`)
  const names = new Set(found.map(([name]) => name))
  client.tally.check(names.size === found.length, `of ${found.length} records only ${names.size} are different`)
  for (const name of records.keys()) client.tally.check(names.has(name), `${name} was acknowledged and is lost`)
  for (const [subscriptionID, reports] of usage) await checkUsage(firm, subscriptionID, reports)
  usage.clear()
}
