import { supplyOf } from '../../engine/supply.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { paperTextsOf } from '../accounts/texts.ts'
import { chooseCollection } from '../collection-terms/choose.ts'
import type { CollectionDetails } from '../collection-terms/types.ts'
import { sendChangedWords } from '../finding/words.ts'
import { recordInvoice, rereadInvoice } from './manual.ts'
import type { ManualRecord } from './record.ts'
import { holdOf } from './resolve-manual.ts'
import { hasSameLines, hasSameTaxes } from './compare-lines.ts'
import { fillCollection } from '../collection-terms/fill.ts'
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
    ...(isOther(body.SupplyDate, supplyOf(invoice, charges).on) ? ['SupplyDate'] : []),
    ...(isOther(body.CurrencyCode, invoice.currency) ? ['CurrencyCode'] : []),
    ...(isOther(body.Reference, invoice.reference) ? ['Reference'] : []),
    ...FROZEN.filter((name) => isOther(body[spellingOf(name)], invoice[name])).map(spellingOf),
    ...(body.Taxes && !hasSameTaxes(body.Taxes, present) ? ['Taxes'] : []),
  ]
}

/** Resolves the collection details that a body asks for, and adds to `problems`. */
export const chooseIssuedCollection = (
  tx: Transaction,
  body: Partial<InvoiceBody>,
  { invoice, customer }: ManualRecord,
  problems: Problems,
): Promise<CollectionDetails | undefined> =>
  chooseCollection(tx, body, { customer, currency: invoice.currency, present: invoice }, problems)

/** Changes what can still change; anything else that differs is a conflict. */
export async function editIssued(
  tx: Transaction,
  context: RequestContext,
  present: ManualRecord,
  body: InvoiceBody,
  collection: CollectionDetails,
): Promise<InvoiceParts> {
  const { invoice } = present
  if (invoice.isCancelled) throw conflict('invoice_cancelled', `Invoice ${invoice.id} is cancelled and cannot change.`)
  const [first, ...others] = fixedDifferences(body, present)
  if (first !== undefined)
    throw conflict(
      'invoice_issued',
      `Invoice ${invoice.id} is issued, so its ${sentenceList([first, ...others], 'and')} cannot change; cancel it and add another.`,
      first,
    )
  const settings = await getAccountSettings(tx, tx.account)
  const notes = body.Notes ?? paperTextsOf(settings, present.customer.locale ?? settings.locale).notes ?? ''
  const isCollectionHold = holdOf(body, invoice)
  const to = { ...invoice, ...plainFromWire(body), notes, ...collection, isCollectionHold }
  if (!isSame(collection, invoice)) await fillCollection(tx, [to], context.moment.today)
  await updateEditable(tx, invoice.id, to, context.moment.now)
  const { reference } = invoice
  sendChangedWords(tx, 'invoices', invoice.id, [reference, invoice.poNumber], [reference, to.poNumber])
  const parts = await rereadInvoice(tx, context, invoice.id)
  await recordInvoice(tx, context, 'invoice.updated', parts)
  return parts
}

const isSame = (a: CollectionDetails, b: CollectionDetails): boolean =>
  a.collectionMethod === b.collectionMethod && a.gatewayId === b.gatewayId && a.paymentMethodId === b.paymentMethodId
