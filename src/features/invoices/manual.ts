import { postingsOfChange, postingsOfInvoice } from '../../engine/money/postings.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { assert } from '../../kernel/assert.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { conflict, Problems } from '../../kernel/fault.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { paperTextsOf } from '../accounts/texts.ts'
import { type Customer, findCustomer, listCustomersByIds, lockCustomerOfInvoice } from '../customers/queries.ts'
import type { EventType } from '../events/types.ts'
import { recordEvent } from '../events/record.ts'
import { sendChangedWords } from '../finding/words.ts'
import { post } from '../ledger/post.ts'
import { fillCollection } from '../collection-terms/fill.ts'
import type { Wanted } from './resolve-manual.ts'
import { hasSameLines } from './compare-lines.ts'
import type { InvoiceBody } from './manual-wire.ts'
import { insertCharges, updateCancelled } from './issue-queries.ts'
import { listTaxRules } from '../tax-settings/queries.ts'
import { type AfterIssue, chargeRow, insertDraft, issue, type NewInvoice, replaceTaxes } from './issue.ts'
import { amountsOf, checkAmounts, foundRates } from './lines.ts'
import { findInvoice, type Invoice, listCharges, listInvoiceTaxes } from './queries.ts'
import { invoiceKind, type ManualRecord } from './record.ts'
import type { InvoiceParts } from './wire.ts'
import {
  deleteCharges,
  deleteDraftWithLines,
  type Draft,
  getDraft,
  listDraftIds,
  replaceDraft,
  updateDraft,
  updateGross,
} from './draft-queries.ts'

/** Invoices that a caller writes: added, kept as drafts, issued, cancelled. Their customer is locked before anything of them is read. */

/** Loads lines, taxes and customer of an invoice, one after the other: a transaction has one connection. */
async function partsOf(tx: Transaction, { moment }: RequestContext, invoice: Invoice): Promise<InvoiceParts> {
  const charges = await listCharges(tx, tx.account, [invoice.id])
  const taxes = await listInvoiceTaxes(tx, tx.account, [invoice.id])
  const [customer] = await listCustomersByIds(tx, tx.account, [invoice.customerId], moment.today)
  assert(customer, `the customer of invoice ${invoice.id} exists`)
  return { invoice, charges, taxes, customer }
}

export async function rereadInvoice(tx: Transaction, context: RequestContext, id: InvoiceId): Promise<InvoiceParts> {
  const invoice = await findInvoice(tx, tx.account, id)
  assert(invoice, `invoice ${id} exists`)
  return partsOf(tx, context, invoice)
}

/**
 * Locks the customer of an invoice, then reads its row: both are sent at once, and the second begins when the lock is there. A draft may have
 * moved to another customer meanwhile. Throws its 404.
 */
export async function lockedInvoiceRow(tx: Transaction, id: InvoiceId): Promise<Invoice> {
  for (;;) {
    const [lockedId, invoice] = await Promise.all([lockCustomerOfInvoice(tx, id), findInvoice(tx, tx.account, id)])
    if (!invoice) throw invoiceKind.unknown(id)
    if (lockedId === invoice.customerId) return invoice
  }
}

/** Locks the customer of an invoice, then reads it with its parts: the order of every change. Throws its 404. */
export async function lockedInvoice(tx: Transaction, context: RequestContext, id: InvoiceId): Promise<ManualRecord> {
  const invoice = await lockedInvoiceRow(tx, id)
  const draft = invoice.isDraft ? await getDraft(tx, tx.account, id) : null
  return { ...(await partsOf(tx, context, invoice)), draft }
}

export async function recordInvoice(
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  parts: InvoiceParts,
  reason: string | null = null,
): Promise<void> {
  const { id: recordId, customerId } = parts.invoice
  await recordEvent(tx, context, { type, recordId, customerId, record: invoiceKind.write(parts, context), reason })
}

const OWN_REFERENCE = /^I[1-9]\d*$/

const referenceTaken = (reference: string | null) => () =>
  conflict('reference_taken', `Another invoice has the Reference ${JSON.stringify(reference)}.`, 'Reference')

/** References of the form of the service's own are other invoices', or will be. */
function checkReference(reference: string | null, present?: Invoice): void {
  if (reference !== null && OWN_REFERENCE.test(reference) && reference !== present?.reference)
    throw conflict(
      'reference_taken',
      `Reference ${reference} is of the form that the service gives to its own invoices; choose another.`,
      'Reference',
    )
}

function checkNotArchived(customer: Pick<Customer, 'id' | 'archivedAt'>): void {
  if (customer.archivedAt !== null)
    throw conflict('customer_archived', `Customer ${customer.id} is archived and takes no invoices.`, 'customerID')
}

/**
 * Returns note and terms as they are kept: given ones, else the account's for the language of the customer; empty text where there are none, so that later ones do not
 * appear.
 */
async function textsOf(
  tx: Transaction,
  body: Pick<InvoiceBody, 'Notes' | 'Terms'>,
  { locale }: Pick<Customer, 'locale'>,
) {
  const settings = await getAccountSettings(tx, tx.account)
  const texts = paperTextsOf(settings, locale ?? settings.locale)
  return { notes: body.Notes ?? texts.notes ?? '', terms: body.Terms ?? texts.terms ?? '' }
}

/** Adds an invoice, as a draft or issued at once. */
export async function addInvoice(
  tx: Transaction,
  context: RequestContext,
  wanted: Wanted,
  body: InvoiceBody,
  afterIssue: readonly AfterIssue[],
): Promise<InvoiceParts> {
  checkNotArchived(wanted.customer)
  checkReference(wanted.invoice.reference)
  const isDraft = body.isDraft ?? false
  const invoice = { ...wanted.invoice, ...(await textsOf(tx, body, wanted.customer)) }
  checkNotLocked(context.account.lockDate, [invoice.invoiceDate], 'the invoice', 'InvoiceDate')
  const refusals = { invoices_reference_key: referenceTaken(invoice.reference) }
  if (!isDraft) {
    const [id] = await refuseOn(issue(tx, context, [invoice], { afterIssue, isManual: true }), refusals)
    return rereadInvoice(tx, context, id as InvoiceId)
  }
  const id = await refuseOn(insertDraft(tx, context, invoice), refusals)
  await replaceDraft(tx, id, wanted)
  const parts = await rereadInvoice(tx, context, id)
  await recordInvoice(tx, context, 'invoice.created', parts)
  return parts
}

/** Replaces the fields and lines of a draft. Lines that are as they were keep their identifiers. */
export async function editDraft(
  tx: Transaction,
  context: RequestContext,
  present: ManualRecord,
  wanted: Wanted,
  body: InvoiceBody,
): Promise<InvoiceParts> {
  checkNotArchived(wanted.customer)
  checkReference(wanted.invoice.reference, present.invoice)
  const { id } = present.invoice
  const invoice = { ...wanted.invoice, ...(await textsOf(tx, body, wanted.customer)) }
  await fillCollection(tx, [invoice], context.moment.today)
  const row = { ...invoice, id }
  await refuseOn(updateDraft(tx, row, context.moment.now, context.account.version), {
    invoices_reference_key: referenceTaken(invoice.reference),
  })
  const { reference, poNumber } = present.invoice
  sendChangedWords(tx, 'invoices', id, [reference, poNumber], [row.reference, row.poNumber])
  if (hasSameLines(body.Charges, present)) await updateGrossAndNet(tx, present, invoice)
  else await replaceLines(tx, id, invoice)
  await replaceTaxes(tx, id, invoice.amounts)
  await replaceDraft(tx, id, wanted)
  const parts = await rereadInvoice(tx, context, id)
  await recordInvoice(tx, context, 'invoice.updated', parts)
  return parts
}

/** Writes the amounts of unchanged lines anew, which differ only in another currency. */
async function updateGrossAndNet(tx: Transaction, present: ManualRecord, invoice: NewInvoice): Promise<void> {
  const { id } = present.invoice
  const isSameNet = present.charges.every(({ netMinor }, index) => netMinor === invoice.amounts.netMinor[index])
  if (isSameNet) await updateGross(tx, id, invoice.amounts.grossMinor)
  else await replaceLines(tx, id, invoice)
}

async function replaceLines(tx: Transaction, id: InvoiceId, invoice: NewInvoice): Promise<void> {
  await deleteCharges(tx, id)
  await insertCharges(
    tx,
    invoice.lines.map((_, index) => chargeRow({ ...invoice, id }, index)),
  )
}

/** Issues a draft: its dates where they were defaults, its taxes where they were found, and its number are of now. */
export async function issueDraft(
  tx: Transaction,
  context: RequestContext,
  present: ManualRecord,
  afterIssue: readonly AfterIssue[],
): Promise<InvoiceParts> {
  const { invoice, draft } = present
  if (draft === null) {
    const state = invoice.isCancelled ? 'cancelled' : 'issued'
    throw conflict('invoice_not_draft', `Invoice ${invoice.id} is ${state}; only a draft can be issued.`)
  }
  const customer = await findCustomer(tx, tx.account, invoice.customerId)
  assert(customer, `the customer of invoice ${invoice.id} exists`)
  checkNotArchived(customer)
  const { id } = invoice
  const dates = datesAtIssue(invoice, draft, customer, context)
  const rates = draft.hasOwnTaxes ? present.taxes : foundRates(await listTaxRules(tx, tx.account), customer)
  const amounts = amountsOf(present.charges, rates, digitsOf(invoice.currency))
  const problems = new Problems()
  checkAmounts(amounts, invoice.currency, 'Charges', problems)
  problems.throwIfAny()
  checkNotLocked(context.account.lockDate, [dates.invoiceDate], 'the invoice', 'InvoiceDate')
  const { totalMinor } = amounts
  const frozen = {
    ...dates,
    amounts,
    totalMinor,
    customerVersion: customer.version,
    customerCountryId: customer.countryId,
    customerStateId: customer.countryStateId,
    customerVatNumber: customer.vatNumber,
    notes: invoice.notes ?? '',
  }
  const { hasOwnTaxes } = draft
  await issue(tx, context, [{ ...invoice, ...frozen, lines: [], period: null }], {
    afterIssue,
    isManual: true,
    draft: { hasOwnTaxes },
  })
  return rereadInvoice(tx, context, id)
}

function datesAtIssue(
  invoice: Invoice,
  draft: Draft,
  customer: Customer,
  { account, moment }: RequestContext,
): { invoiceDate: IsoDate; dueDate: IsoDate } {
  const invoiceDate = draft.isInvoiceDateGiven ? invoice.invoiceDate : moment.today
  const dueDate = draft.isDueDateGiven
    ? invoice.dueDate
    : addDays(invoiceDate, customer.paymentTermDays ?? account.paymentTermDays)
  if (dueDate < invoiceDate)
    throw conflict(
      'date_order',
      `DueDate ${dueDate} of invoice ${invoice.id} lies before its InvoiceDate ${invoiceDate}; give it another first.`,
      'DueDate',
    )
  return { invoiceDate, dueDate }
}

/** Frees what is allocated to an invoice before it is cancelled, or refuses; given by the feature that owns allocations. */
export type OnCancel = (tx: Transaction, context: RequestContext, invoice: Invoice) => Promise<void>

/** Deletes a draft; cancels any other, which keeps its number and is owed no longer. */
export async function removeInvoice(
  tx: Transaction,
  context: RequestContext,
  present: ManualRecord,
  onCancel: OnCancel,
): Promise<void> {
  const { invoice } = present
  if (invoice.isCancelled) throw conflict('invoice_cancelled', `Invoice ${invoice.id} is cancelled already.`)
  if (invoice.isDraft) {
    await recordInvoice(tx, context, 'invoice.deleted', present)
    return deleteDraftWithLines(tx, invoice.id)
  }
  await onCancel(tx, context, invoice)
  const facts = { id: invoice.id, issuedOn: invoice.invoiceDate, totalMinor: invoice.totalMinor, taxes: present.taxes }
  const cancelledOn = context.moment.today
  const postings = postingsOfChange(
    postingsOfInvoice({ ...facts, cancelledOn: null }),
    postingsOfInvoice({ ...facts, cancelledOn }),
    context.account.lockDate,
  )
  await post(tx, [{ customerId: invoice.customerId, currency: invoice.currency, postings }], context.moment.now)
  await updateCancelled(tx, invoice.id, cancelledOn, context.moment.now)
  await recordInvoice(tx, context, 'invoice.cancelled', await rereadInvoice(tx, context, invoice.id))
}

/** Drafts go with a customer that never owed anything. */
export async function deleteDraftsOf(tx: Transaction, customerId: bigint): Promise<void> {
  for (const id of await listDraftIds(tx, tx.account, customerId)) await deleteDraftWithLines(tx, id)
}
