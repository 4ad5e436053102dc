import { decimalText } from '../../kernel/decimal.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Period } from '../../engine/period.ts'
import { postingsOfInvoice } from '../../engine/postings.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral } from '../../platform/database/sql.ts'
import { takeInvoiceNumbers } from '../accounts/queries.ts'
import { post } from '../ledger/post.ts'
import type { HasUnapplied } from '../ledger/queries.ts'
import { drawInvoiceIds, insertInvoiceTaxes } from './issue-queries.ts'
import type { IssueContext, Issued } from './issue.ts'
import type { LineAmounts, WrittenLine } from './lines.ts'
import { insertWrittenCharges, insertWrittenInvoices, type WrittenInvoiceRow } from './written-queries.ts'

/** Writing invoices whose lines a caller wrote, one by hand or many of a run; events are the caller's. */

export interface WrittenInvoice extends Omit<WrittenInvoiceRow, 'id'> {
  /** What a recurring invoice is for; null by hand. */
  period: Period | null
  lines: readonly WrittenLine[]
  amounts: LineAmounts
}

/**
 * Writes invoices and answers their identifiers in the given order: as drafts, which have no number and are owed by nobody, or issued.
 * Customers are locked by the caller; the account's number counter is locked last.
 */
export async function writeInvoices(
  tx: Transaction,
  context: Pick<IssueContext, 'account' | 'moment'>,
  invoices: readonly WrittenInvoice[],
  isDraft = false,
): Promise<Issued> {
  if (invoices.length === 0) return { ids: [], unapplied: [] }
  const ids = await drawInvoiceIds(tx, invoices.length)
  const rows = invoices.map((invoice, place): WrittenInvoiceRow => ({ ...invoice, id: ids[place] as InvoiceId }))
  await insertWrittenCharges(
    tx,
    invoices.flatMap((invoice, place) => chargeRows(invoice, ids[place] as InvoiceId)),
  )
  const taxes = invoices.flatMap((invoice, place) => writtenTaxRows(invoice.amounts, ids[place] as InvoiceId))
  if (taxes.length > 0) await insertInvoiceTaxes(tx, taxes)
  let firstNumber: bigint | null = null
  let unapplied: HasUnapplied[] = []
  if (!isDraft) {
    const posted = invoices.map((invoice, place) => postedOf(invoice, ids[place] as InvoiceId))
    unapplied = await post(tx, posted, context.moment.now)
    firstNumber = await takeInvoiceNumbers(tx, tx.account, invoices.length)
  }
  const { account, moment } = context
  await insertWrittenInvoices(tx, rows, { firstNumber, at: moment.now, accountVersion: account.version })
  return { ids, unapplied }
}

/** What an issued invoice posts. */
export const postedOf = (
  {
    customerId,
    currency,
    invoiceDate,
    amounts,
  }: Pick<WrittenInvoice, 'customerId' | 'currency' | 'invoiceDate' | 'amounts'>,
  id: InvoiceId,
) => ({
  customerId,
  currency,
  postings: postingsOfInvoice({
    id,
    issuedOn: invoiceDate,
    cancelledOn: null,
    totalMinor: amounts.totalMinor,
    taxes: amounts.taxes,
  }),
})

export const chargeRows = (
  {
    lines,
    amounts,
    recurringInvoiceId,
    period,
  }: Pick<WrittenInvoice, 'lines' | 'amounts' | 'recurringInvoiceId' | 'period'>,
  invoiceId: InvoiceId,
) =>
  lines.map((line, index) => ({
    invoiceId,
    recurringInvoiceId,
    displayOrder: index + 1,
    name: line.name,
    description: line.description,
    quantity: decimalText(line.quantity),
    unitPrice: decimalText(line.unitPrice),
    netMinor: amounts.netMinor[index] as bigint,
    grossMinor: amounts.grossMinor[index] as bigint,
    from: period?.from ?? null,
    until: period?.until ?? null,
  }))

export const writtenTaxRows = ({ taxes }: LineAmounts, invoiceId: InvoiceId) =>
  taxes.map(({ name, rate, taxNumber, baseMinor, amountMinor, shares }) => ({
    invoiceId,
    name,
    rate: decimalText(rate),
    taxNumber,
    baseMinor,
    amountMinor,
    shares: shares.length > 1 ? arrayLiteral(shares) : null,
  }))
