import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Snapshot } from '../../platform/database/database.ts'
import { PORTION_ROWS } from '../../platform/database/reads.ts'
import { someAtATime } from '../../platform/http/pieces.ts'
import { findCustomerOfInvoice, listCustomersByIds } from '../customers/queries.ts'
import {
  type AppliedMoney,
  findInvoice,
  type Invoice,
  type LinesRead,
  listAppliedMoney,
  listCharges,
  listInvoiceTaxes,
  lookUpApplied,
  lookUpCharges,
  lookUpTaxes,
  portionsOfApplied,
} from './queries.ts'
import type { InvoiceParts, LongInvoiceParts } from './wire.ts'

function byInvoice<Row extends { invoiceId: Id }>(rows: readonly Row[]): Map<Id, Row[]> {
  const found = new Map<Id, Row[]>()
  for (const row of rows) {
    const group = found.get(row.invoiceId)
    if (group) group.push(row)
    else found.set(row.invoiceId, [row])
  }
  return found
}

/**
 * Loads lines and taxes of invoices, in one statement a table whatever their number. With `linesMax`, of the first of them alone, which
 * have no more lines together, or of the very first; the invoices are then in the order of their identifiers.
 */
export async function loadLines(
  db: Queryable,
  account: AccountId,
  invoices: readonly Invoice[],
  read: LinesRead = {},
): Promise<Omit<InvoiceParts, 'customer'>[]> {
  if (invoices.length === 0) return []
  const { linesMax } = read
  const ids = invoices.map(({ id }) => id)
  const [charges, taxes] = await Promise.all([
    listCharges(db, account, ids, { ...read, linesMax: linesMax === undefined ? undefined : linesMax + 1 }),
    listInvoiceTaxes(db, account, ids, read),
  ])
  const cutId = linesMax !== undefined && charges.length > linesMax ? charges.at(-1)?.invoiceId : undefined
  const whole = cutId === undefined ? invoices : invoices.filter(({ id }) => id < cutId)
  if (whole.length === 0) return loadLines(db, account, invoices.slice(0, 1), { ...read, linesMax: undefined })
  const chargesOf = byInvoice(charges)
  const taxesOf = byInvoice(taxes)
  return whole.map((invoice) => ({
    invoice,
    charges: chargesOf.get(invoice.id) ?? [],
    taxes: taxesOf.get(invoice.id) ?? [],
  }))
}

/** Loads everything an answer shows of one invoice, asked for at once; undefined where there is none. */
export async function lookUpInvoiceParts(
  db: Queryable,
  account: AccountId,
  id: InvoiceId,
  today: IsoDate,
): Promise<InvoiceParts | undefined> {
  const [lines, customer, applied] = await Promise.all([
    lookUpLines(db, account, id),
    findCustomerOfInvoice(db, account, id, today),
    lookUpApplied(db, account, id),
  ])
  return lines && customer && { ...lines, customer, applied }
}

/** Loads an invoice with its lines and taxes, asked for at once; undefined where there is none. */
export async function lookUpLines(
  db: Queryable,
  account: AccountId,
  id: InvoiceId,
): Promise<Omit<InvoiceParts, 'customer'> | undefined> {
  const [invoice, charges, taxes] = await Promise.all([
    findInvoice(db, account, id),
    lookUpCharges(db, account, id),
    lookUpTaxes(db, account, id),
  ])
  return invoice && { invoice, charges, taxes }
}

/** Loads lines, taxes and the present customer of invoices. With `linesMax`, of as many of them as `loadLines` reads. */
export async function loadWithCustomers(
  db: Queryable,
  account: AccountId,
  invoices: readonly Invoice[],
  today: IsoDate,
  read: LinesRead = {},
): Promise<Omit<InvoiceParts, 'applied'>[]> {
  const customerIds = [...new Set(invoices.map(({ customerId }) => customerId))]
  const [lines, customers] = await Promise.all([
    loadLines(db, account, invoices, read),
    listCustomersByIds(db, account, customerIds, today, read.areTexts),
  ])
  const customerOf = new Map(customers.map((customer) => [customer.id, customer]))
  return lines.map((parts) => {
    const customer = customerOf.get(parts.invoice.customerId)
    assert(customer, `the customer of invoice ${parts.invoice.id} exists`)
    return { ...parts, customer }
  })
}

/** Lists what is applied to those invoices to which anything is. */
const appliedTo = (db: Queryable, account: AccountId, invoices: readonly Invoice[], appliedMax?: number) => {
  const paid = invoices
    .filter(({ paidMinor, pendingMinor, negativeMinor }) => paidMinor + pendingMinor + negativeMinor !== 0n)
    .map(({ id }) => id)
  return paid.length === 0 ? Promise.resolve([]) : listAppliedMoney(db, account, paid, appliedMax)
}

function withApplied(
  parts: readonly Omit<InvoiceParts, 'applied'>[],
  applied: readonly AppliedMoney[],
): InvoiceParts[] {
  const appliedOf = byInvoice(applied)
  return parts.map((one) => ({ ...one, applied: appliedOf.get(one.invoice.id) ?? [] }))
}

/** Loads everything an answer shows of invoices; the customer in it is the present one. */
export async function loadInvoiceParts(
  db: Queryable,
  account: AccountId,
  invoices: readonly Invoice[],
  today: IsoDate,
): Promise<InvoiceParts[]> {
  const [parts, applied] = await Promise.all([
    loadWithCustomers(db, account, invoices, today),
    appliedTo(db, account, invoices),
  ])
  return withApplied(parts, applied)
}

/** More than the lines of a usual page: the lines of a page of long invoices, or what is applied to them, are never in memory together. */
export const PARTS_AT_A_TIME = 2000

/**
 * Returns the same of the first of some invoices in the order of their identifiers: as many as have no more than PARTS_AT_A_TIME lines
 * together, and no more than these applied to them; at least the very first. To one alone may be applied any number, which is read in
 * portions.
 */
async function loadFirstParts(
  db: Snapshot,
  account: AccountId,
  invoices: readonly Invoice[],
  today: IsoDate,
): Promise<(InvoiceParts | LongInvoiceParts)[]> {
  const [parts, applied] = await Promise.all([
    loadWithCustomers(db, account, invoices, today, { linesMax: PARTS_AT_A_TIME, areTexts: true }),
    appliedTo(db, account, invoices, PARTS_AT_A_TIME + 1),
  ])
  const cutId = applied.length > PARTS_AT_A_TIME ? applied.at(-1)?.invoiceId : undefined
  if (cutId === undefined) return withApplied(parts, applied)
  const whole = parts.filter(({ invoice }) => invoice.id < cutId)
  const [first] = parts
  if (whole.length > 0 || !first) return withApplied(whole, applied)
  return [inPortions(db, account, first)]
}

/** Loads the same of one invoice to which any number may be applied. */
export async function loadLongParts(
  db: Snapshot,
  account: AccountId,
  invoice: Invoice,
  today: IsoDate,
): Promise<LongInvoiceParts> {
  const [parts] = await loadWithCustomers(db, account, [invoice], today)
  assert(parts, `invoice ${invoice.id} is loaded`)
  return inPortions(db, account, parts)
}

const inPortions = (db: Snapshot, account: AccountId, parts: Omit<InvoiceParts, 'applied'>): LongInvoiceParts => ({
  ...parts,
  appliedOf: (kind) => portionsOfApplied(db, account, parts.invoice.id, kind, PORTION_ROWS),
})

/** Loads the same of a page of invoices in the order of their identifiers, some of them at a time. */
export const invoicePortions = (db: Snapshot, account: AccountId, invoices: readonly Invoice[], today: IsoDate) =>
  someAtATime(invoices, (next) => loadFirstParts(db, account, next, today))
