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

/** Lines and taxes of invoices, in one statement a table whatever their number. */
export async function loadLines(
  db: Queryable,
  account: AccountId,
  invoices: readonly Invoice[],
): Promise<Omit<InvoiceParts, 'customer'>[]> {
  if (invoices.length === 0) return []
  const ids = invoices.map(({ id }) => id)
  const [charges, taxes] = await Promise.all([listCharges(db, account, ids), listInvoiceTaxes(db, account, ids)])
  const chargesOf = byInvoice(charges)
  const taxesOf = byInvoice(taxes)
  return invoices.map((invoice) => ({
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

/** Everything an answer shows of invoices; the customer in it is the present one. */
export async function loadInvoiceParts(
  db: Queryable,
  account: AccountId,
  invoices: readonly Invoice[],
  today: IsoDate,
): Promise<InvoiceParts[]> {
  const customerIds = [...new Set(invoices.map(({ customerId }) => customerId))]
  const paid = invoices
    .filter(({ paidMinor, pendingMinor, negativeMinor }) => paidMinor + pendingMinor + negativeMinor !== 0n)
    .map(({ id }) => id)
  const [lines, customers, applied] = await Promise.all([
    loadLines(db, account, invoices),
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
