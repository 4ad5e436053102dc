import { expect } from 'vitest'
import { addDays } from '../../src/kernel/calendar.ts'
import { addCustomer, addPackage, addTax } from '../support/shop.ts'
import type { Reply, TestClient, TestService } from '../support/app.ts'
import { type MoneyBooks } from '../support/money-books.ts'
import {
  type Allocation,
  allocationsOf,
  allocationsTo,
  balanceOf,
  type Books,
  freeOf,
  type Given,
  ledgerOf,
  openOf,
  type Owed,
} from './money-model.testing.ts'

/** An account of its own for one history, the model of its money, and the comparison of the two. */

export const CURRENCIES = ['USD', 'JPY'] as const
const DIGITS: Record<string, number> = { USD: 100, JPY: 1 }
const TAX = { Name: 'VAT', Perc: 0.15 }

export interface World {
  client: TestClient
  sql: MoneyBooks
  books: Books
  /** Identifiers, and the currency of each. */
  customers: { id: number; currency: string }[]
  /** Of different prices, in both currencies. */
  packages: number[]
  subscriptions: number[]
  /** Identifiers of allocations are never used again: those that have been. */
  newestAllocation: number
  wasLocked: boolean
  /** Log of the steps done, for whoever reads a counterexample. */
  log: string[]
}

export const wire = (currency: string, minor: number): number => minor / (DIGITS[currency] ?? 1)
export const minorOf = (currency: string, amount: number): number => Math.round(amount * (DIGITS[currency] ?? 1))
export const dayOf = (value: string): string => value.slice(0, 10)

export async function newWorld(service: TestService, sql: MoneyBooks, today: string): Promise<World> {
  const client = await service.newAccount({ clockAt: `${today}T08:00:00.000Z` })
  for (const CurrencyCode of CURRENCIES) await client.post('/v1/currencies', { CurrencyCode })
  await addTax(client, TAX.Name, { Perc: TAX.Perc })
  const customers = []
  for (const currency of ['USD', 'USD', 'JPY'])
    customers.push({ id: await addCustomer(client, { CurrencyCode: currency }), currency })
  const packages: number[] = []
  for (const [dollars, yen] of [
    [31.07, 1001],
    [12.5, 399],
    [77.77, 2500],
  ])
    packages.push((await addPackage(client, { price: dollars! }, { currency: 'JPY', price: yen! })).packageID)
  const books: Books = { today, lock: null, takesUnallocated: true, owed: [], given: [], allocations: [], settled: [] }
  return { client, sql, books, customers, packages, subscriptions: [], newestAllocation: 0, wasLocked: false, log: [] }
}

/** An answer is what the model says: a success, or a refusal for one of its reasons. */
export function expectOutcome(world: World, reply: Reply, refusals: readonly string[], success: number): boolean {
  const codes: string[] = reply.body?.Errors?.map(({ Code }: { Code: string }) => Code) ?? []
  const told = `${world.log.at(-1)} → ${reply.status} ${reply.text}`
  if (refusals.length === 0) {
    expect(reply.status, told).toBe(success)
    return true
  }
  expect(reply.status, `${told}, should be refused: ${refusals}`).toBe(409)
  expect(refusals, told).toContain(codes[0])
  return false
}

async function all(client: TestClient, path: string): Promise<any[]> {
  const { status, body, text } = await client.get(path)
  expect(status, text).toBe(200)
  return body
}

/** Takes the identifiers of new allocations from the record that has them; the others are as they were. */
function adoptInto(mine: readonly Allocation[], told: readonly { allocationID: number }[]): void {
  const known = new Set(mine.map(({ id }) => id))
  const fresh = told.map(({ allocationID }) => allocationID).filter((id) => !known.has(id))
  for (const allocation of mine.filter(({ id }) => id === null)) allocation.id = fresh.shift() ?? null
}

const byId = (a: Allocation, b: Allocation): number => (a.id ?? 0) - (b.id ?? 0)

const targetOf = ({ owed }: Allocation) => ({
  invoiceID: owed.kind === 'invoice' ? owed.id : 0,
  positiveAdjustmentID: owed.kind === 'invoice' ? 0 : owed.id,
})

const bySeries = (a: { allocationID: number | null }, b: { allocationID: number | null }): number =>
  (a.allocationID ?? 0) - (b.allocationID ?? 0)

const givenStatus = (books: Books, given: Given): string => {
  const free = freeOf(books, given)
  return given.isFailed ? 'Failed' : free === given.amount ? 'Unallocated' : free > 0 ? 'Partial' : 'Allocated'
}

function expectGiven(world: World, told: readonly any[], kind: Given['kind'], idName: string): void {
  const { books } = world
  const mine = books.given.filter((given) => given.kind === kind).toSorted((a, b) => a.id - b.id)
  for (const given of mine)
    adoptInto(allocationsOf(books, given), told.find((one) => one[idName] === given.id)?.Allocations ?? [])
  expect(
    told.map((one) => ({
      id: one[idName],
      customer: one.customerID,
      amount: one.Amount,
      day: dayOf(one.Date),
      status: one.Status,
      allocations: one.Allocations.map(({ allocationID, amountApplied, invoiceID, positiveAdjustmentID }: any) => ({
        allocationID,
        amountApplied,
        invoiceID,
        positiveAdjustmentID,
      })).toSorted(bySeries),
    })),
  ).toEqual(
    mine.map((given) => ({
      id: given.id,
      customer: given.customer,
      amount: wire(given.currency, given.amount),
      day: given.dated,
      status: givenStatus(books, given),
      allocations: allocationsOf(books, given)
        .map((a) => ({ allocationID: a.id, amountApplied: wire(given.currency, a.amount), ...targetOf(a) }))
        .toSorted(bySeries),
    })),
  )
}

function invoiceStatus(books: Books, invoice: Owed): string {
  if (invoice.state === 'cancelled') return 'Cancelled'
  if (invoice.state === 'draft') return 'Draft'
  if (openOf(books, invoice) <= 0) return 'Paid'
  return invoice.due < books.today ? 'Past Due' : 'Due'
}

function expectInvoices({ books }: World, told: readonly any[]): void {
  const mine = books.owed.filter(({ kind }) => kind === 'invoice').toSorted((a, b) => a.id - b.id)
  expect(
    told.map((one) => ({
      id: one.invoiceID,
      number: one.invoiceNum,
      status: one.Status,
      amounts: [
        one.Total,
        one.TotalActualPaid,
        one.TotalPendingPaid,
        one.TotalNegativeAdjs,
        one.Balance,
        one.ActualBalance,
      ],
      payments: one.PaymentsApplied.map((a: any) => `${a.allocationID} ${a.paymentID} ${a.amountApplied}`).toSorted(),
      negatives: one.NegativeAdjustmentsApplied.map(
        (a: any) => `${a.allocationID} ${a.NegativeAdjustmentID} ${a.amountApplied}`,
      ).toSorted(),
    })),
  ).toEqual(
    mine.map((invoice) => {
      const applied = allocationsTo(books, invoice)
      const payments = applied.filter(({ given }) => given.kind === 'payment')
      const negatives = applied.filter(({ given }) => given.kind !== 'payment')
      const amount = (minor: number) => wire(invoice.currency, minor)
      const text = (a: Allocation) => `${a.id} ${a.given.id} ${amount(a.amount)}`
      const sum = (some: readonly Allocation[]) => amount(some.reduce((minor, a) => minor + a.amount, 0))
      const open = amount(openOf(books, invoice))
      return {
        id: invoice.id,
        number: invoice.number,
        status: invoiceStatus(books, invoice),
        amounts: [amount(invoice.amount), sum(payments), 0, sum(negatives), open, open],
        payments: payments.map(text).toSorted(),
        negatives: negatives.map(text).toSorted(),
      }
    }),
  )
}

const LONG: Record<string, string> = { Partial: 'Partially Allocated' }

const positiveStatus = (books: Books, owed: Owed): string => {
  const open = openOf(books, owed)
  if (open <= 0) return 'Paid'
  if (owed.due < books.today) return 'Past Due'
  return open < owed.amount ? 'Partially Paid' : 'Unpaid'
}

/** Adjustments one by one, as their own door tells them: both kinds of negative ones, and all positive ones. */
async function expectAdjustments({ client, books }: World): Promise<void> {
  const list = (await client.get('/v1/adjustment/list?type=all&page_size=200')).body.adjustments
  const positives = books.owed.filter(({ kind }) => kind !== 'invoice')
  const negatives = books.given.filter(({ kind }) => kind !== 'payment')
  expect(list.map((one: any) => `${one.AdjustmentType} ${one.adjustmentID} ${one.Amount}`).toSorted()).toEqual(
    [...positives, ...negatives].map((one) => `${one.kind} ${one.id} ${wire(one.currency, one.amount)}`).toSorted(),
  )
  const told = async (type: string, { id, customer }: Owed | Given) =>
    (await client.get(`/v1/adjustment/get?type=${type}&adjustmentID=${id}&customerID=${customer}`)).body.adjustment
  for (const negative of negatives) {
    const one = await told('negative', negative)
    const mine = allocationsOf(books, negative)
    adoptInto(mine, one.allocations)
    const status = givenStatus(books, negative)
    expect([one.Status, dayOf(one.Date)], `negative ${negative.id}`).toEqual([LONG[status] ?? status, negative.dated])
    expect(one.allocations.map((a: any) => [a.allocationID, a.objectID, a.isAdjustment, a.amountApplied])).toEqual(
      mine.toSorted(byId).map((a) => [a.id, a.owed.id, a.owed.kind !== 'invoice', wire(a.owed.currency, a.amount)]),
    )
  }
  for (const positive of positives) {
    const one = await told('positive', positive)
    const mine = allocationsTo(books, positive)
    expect([one.Status, dayOf(one.Date)], `positive ${positive.id}`).toEqual([
      positiveStatus(books, positive),
      positive.dated,
    ])
    expect(one.allocations.map((a: any) => [a.allocationID, a.objectID, a.isAdjustment, a.amountApplied])).toEqual(
      mine.toSorted(byId).map((a) => [a.id, a.given.id, a.given.kind !== 'payment', wire(a.owed.currency, a.amount)]),
    )
  }
}

async function expectBalances({ client, books, customers }: World): Promise<void> {
  for (const { id, currency } of customers) {
    const balances = await all(client, `/v1/customers/${id}/balances`)
    for (const { CurrencyCode, Balance, Overdue, Pending, Unallocated, Ageing } of balances) {
      const mine = (one: Owed | Given) => one.customer === id && one.currency === CurrencyCode
      const unallocated = books.given
        .filter((g) => mine(g) && !g.isFailed)
        .reduce((sum, g) => sum + freeOf(books, g), 0)
      const overdue = books.owed
        .filter((o) => mine(o) && o.state === 'open' && o.due < books.today)
        .reduce((sum, o) => sum + openOf(books, o), 0)
      const balance = balanceOf(books, id, CurrencyCode)
      const told = [Balance, Overdue, Pending, Unallocated].map((amount) => minorOf(CurrencyCode, amount))
      expect(told, `balances of ${id} in ${CurrencyCode}`).toEqual([balance, overdue, 0, unallocated])
      const aged = Object.values<number>(Ageing).reduce((sum, amount) => sum + minorOf(CurrencyCode, amount), 0)
      expect(aged - unallocated).toBe(balance)
    }
    const own = await client.get(`/v1/customers/${id}`)
    expect(minorOf(currency, own.body.Balance), `Balance of ${id}`).toBe(balanceOf(books, id, currency))
  }
}

/** Statements add up on their own and to what the model says is owed. */
export async function expectStatements({ client, books, customers }: World): Promise<void> {
  for (const { id } of customers)
    for (const currency of CURRENCIES) {
      const period = `from=${addDays(books.today, -30)}&to=${addDays(books.today, -2)}&currency=${currency}`
      const { status, body, text } = await client.get(`/v1/customers/${id}/statement?${period}`)
      expect(status, text).toBe(200)
      const minor = (amount: number) => minorOf(currency, amount)
      const moved = body.Movements.reduce(
        (sum: number, { Debit, Credit }: any) => sum + minor(Debit ?? 0) - minor(Credit ?? 0),
        0,
      )
      const aged = Object.values<number>(body.Ageing).reduce((sum, amount) => sum + minor(amount), 0)
      const closing = minor(body.ClosingBalance)
      expect(minor(body.OpeningBalance) + moved, `${id} ${currency}`).toBe(closing)
      expect(minor(body.Debits) - minor(body.Credits)).toBe(moved)
      expect(aged - minor(body.Unallocated)).toBe(closing)
      expect(closing + minor(body.RecordedLater)).toBe(balanceOf(books, id, currency))
    }
}

async function expectLedger({ client, books }: World): Promise<void> {
  const told: any[] = await all(client, '/v1/ledger/balances')
  for (const currency of CURRENCIES) {
    const mine = told.filter(({ CurrencyCode }) => CurrencyCode === currency)
    const balances = Object.entries(ledgerOf(books, currency)).map(([account, minor]) => {
      const found = mine.filter(({ Account }) => Account === account)
      return [account, found.reduce((sum, { Balance }) => sum + minorOf(currency, Balance), 0), minor]
    })
    expect(balances.map(([account, is]) => [account, is])).toEqual(
      balances.map(([account, , should]) => [account, should]),
    )
    expect(mine.reduce((sum, { Debit, Credit }) => sum + minorOf(currency, Debit) - minorOf(currency, Credit), 0)).toBe(
      0,
    )
  }
}

/** Everything that the service tells of the account's money is what the model says, and what must always hold holds. */
export async function expectAgreement(world: World): Promise<void> {
  const { client, sql, books } = world
  const before = new Set(books.allocations.map(({ id }) => id))
  expectGiven(world, await all(client, '/v1/payments?page_size=200'), 'payment', 'paymentID')
  expectGiven(world, await all(client, '/v1/credits?page_size=200'), 'credit_note', 'creditNoteID')
  await expectAdjustments(world)
  expectInvoices(world, await all(client, '/v1/invoices?page_size=200'))
  await expectBalances(world)
  await expectLedger(world)
  expect(await sql.differences(client.id, world.wasLocked)).toEqual([])
  for (const { id } of books.allocations) if (!before.has(id)) expect(id).toBeGreaterThan(world.newestAllocation)
  world.newestAllocation = Math.max(world.newestAllocation, ...books.allocations.map(({ id }) => id ?? 0))
}

export const inDays = (world: World, days: number): string => addDays(world.books.today, days)
