import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { findCustomerOfInvoice, listCustomersByIds } from '../customers/queries.ts'
import { findInvoice, type Invoice, listApplied, listCharges, listInvoiceTaxes } from './queries.ts'
import type { InvoiceParts } from './wire.ts'

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
 * Lines and taxes of invoices, in one statement a table whatever their number. With `linesMax`, of the first of them alone, which have no
 * more lines together, or of the very first; the invoices are then in the order of their identifiers.
 */
export async function loadLines(
  db: Queryable,
  account: AccountId,
  invoices: readonly Invoice[],
  linesMax?: number,
): Promise<Omit<InvoiceParts, 'customer'>[]> {
  if (invoices.length === 0) return []
  const ids = invoices.map(({ id }) => id)
  const [charges, taxes] = await Promise.all([
    listCharges(db, account, ids, linesMax === undefined ? undefined : linesMax + 1),
    listInvoiceTaxes(db, account, ids),
  ])
  const cutId = linesMax !== undefined && charges.length > linesMax ? charges.at(-1)?.invoiceId : undefined
  const whole = cutId === undefined ? invoices : invoices.filter(({ id }) => id < cutId)
  if (whole.length === 0) return loadLines(db, account, invoices.slice(0, 1))
  const chargesOf = byInvoice(charges)
  const taxesOf = byInvoice(taxes)
  return whole.map((invoice) => ({
    invoice,
    charges: chargesOf.get(invoice.id) ?? [],
    taxes: taxesOf.get(invoice.id) ?? [],
  }))
}

/** The same of one invoice, asked for at once; undefined where there is none. */
export async function lookUpInvoiceParts(
  db: Queryable,
  account: AccountId,
  id: InvoiceId,
  today: IsoDate,
): Promise<InvoiceParts | undefined> {
  const [lines, customer, applied] = await Promise.all([
    lookUpLines(db, account, id),
    findCustomerOfInvoice(db, account, id, today),
    listApplied(db, account, [id]),
  ])
  return lines && customer && { ...lines, customer, applied }
}

/** An invoice with its lines and taxes, asked for at once; undefined where there is none. */
export async function lookUpLines(
  db: Queryable,
  account: AccountId,
  id: InvoiceId,
): Promise<Omit<InvoiceParts, 'customer'> | undefined> {
  const [invoice, charges, taxes] = await Promise.all([
    findInvoice(db, account, id),
    listCharges(db, account, [id]),
    listInvoiceTaxes(db, account, [id]),
  ])
  return invoice && { invoice, charges, taxes }
}

/** Everything an answer shows of invoices; the customer in it is the present one. With `linesMax`, of as many of them as `loadLines` reads. */
export async function loadInvoiceParts(
  db: Queryable,
  account: AccountId,
  invoices: readonly Invoice[],
  today: IsoDate,
  linesMax?: number,
): Promise<InvoiceParts[]> {
  const customerIds = [...new Set(invoices.map(({ customerId }) => customerId))]
  const paid = invoices
    .filter(({ paidMinor, pendingMinor, negativeMinor }) => paidMinor + pendingMinor + negativeMinor !== 0n)
    .map(({ id }) => id)
  const [lines, customers, applied] = await Promise.all([
    loadLines(db, account, invoices, linesMax),
    listCustomersByIds(db, account, customerIds, today),
    paid.length === 0 ? [] : listApplied(db, account, paid),
  ])
  const appliedTo = byInvoice(applied)
  const customerOf = new Map(customers.map((customer) => [customer.id, customer]))
  return lines.map((parts) => {
    const customer = customerOf.get(parts.invoice.customerId)
    assert(customer, `the customer of invoice ${parts.invoice.id} exists`)
    return { ...parts, customer, applied: appliedTo.get(parts.invoice.id) ?? [] }
  })
}

/** More than the lines of a usual page: the lines of a page of long invoices are never in memory together. */
export const LINES_AT_A_TIME = 2000

/** The same of a page of invoices in the order of their identifiers, some of them at a time. */
export async function* invoicePortions(
  db: Queryable,
  account: AccountId,
  invoices: readonly Invoice[],
  today: IsoDate,
): AsyncGenerator<InvoiceParts[]> {
  for (let rest = invoices, count = rest.length; rest.length > 0; rest = rest.slice(count)) {
    const parts = await loadInvoiceParts(db, account, rest.slice(0, 2 * count), today, LINES_AT_A_TIME)
    yield parts
    count = parts.length
  }
}
