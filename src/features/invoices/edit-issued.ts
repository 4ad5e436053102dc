import { conflict, type Problems } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { recordInvoice, rereadInvoice } from './manual.ts'
import type { ManualRecord } from './resolve-manual.ts'
import { hasSameLines, hasSameTaxes } from './same-lines.ts'
import { checkCollection, collectionMethodOf } from './check-collection.ts'
import { EDITABLE, PLAIN_FIELD_NAMES } from './fields.ts'
import { plainFromWire, spellingOf } from './fields-wire.ts'
import type { InvoiceBody } from './manual-wire.ts'
import { type InvoiceParts, shownDescription } from './wire.ts'
import { updateEditable } from './issue-queries.ts'

/** Of an issued invoice only the fields in EDITABLE can still change. */

const FROZEN = PLAIN_FIELD_NAMES.filter((name) => !EDITABLE.includes(name))

/** Fields of a body that would change what is fixed. Absent ones change nothing. */
function fixedDifferences(body: InvoiceBody, present: ManualRecord): string[] {
  const { invoice, charges } = present
  const isOther = (sent: unknown, now: unknown) => sent != null && sent !== now
  // A line of the rules shows a description that is made from its facts: one that is sent back unchanged is no change.
  const shownLines = { charges: charges.map((charge) => ({ ...charge, description: shownDescription(charge) })) }
  return [
    ...(body.customerID === invoice.customerId ? [] : ['customerID']),
    ...(hasSameLines(body.Charges, shownLines) ? [] : ['Charges']),
    ...(isOther(body.InvoiceDate, invoice.invoiceDate) ? ['InvoiceDate'] : []),
    ...(isOther(body.DueDate, invoice.dueDate) ? ['DueDate'] : []),
    ...(isOther(body.CurrencyCode, invoice.currency) ? ['CurrencyCode'] : []),
    ...(isOther(body.Reference, invoice.reference) ? ['Reference'] : []),
    ...FROZEN.filter((name) => isOther(body[spellingOf(name)], invoice[name])).map(spellingOf),
    ...(body.Taxes && !hasSameTaxes(body.Taxes, present) ? ['Taxes'] : []),
  ]
}

export const checkIssuedBody = (body: Partial<InvoiceBody>, present: ManualRecord, problems: Problems): void =>
  checkCollection(body, problems, present.invoice.collectionMethod)

/** Changes what can still change; anything else that differs is a conflict. */
export async function editIssued(
  tx: Transaction,
  context: RequestContext,
  present: ManualRecord,
  body: InvoiceBody,
): Promise<InvoiceParts> {
  const { invoice, customer } = present
  if (invoice.isCancelled) throw conflict('invoice_cancelled', `Invoice ${invoice.id} is cancelled and cannot change.`)
  const [first, ...others] = fixedDifferences(body, present)
  if (first !== undefined)
    throw conflict(
      'invoice_issued',
      `Invoice ${invoice.id} is issued, so its ${sentenceList([first, ...others], 'and')} cannot change; cancel it and add another.`,
      first,
    )
  const notes = body.Notes ?? (await getAccountSettings(tx, tx.account)).notes ?? ''
  const collectionMethod = body.CollectionMethod ?? collectionMethodOf(customer.paymentMethod)
  const to = { ...plainFromWire(body), notes, collectionMethod }
  await updateEditable(tx, invoice.id, to, context.moment.now)
  const parts = await rereadInvoice(tx, context, invoice.id)
  await recordInvoice(tx, context, 'invoice.updated', parts)
  return parts
}
