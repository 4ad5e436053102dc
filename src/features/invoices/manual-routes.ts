import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { type Operation, type PathParams, writeOperation } from '../../platform/http/operation.ts'
import type { CollectionDetails } from '../collection-terms/types.ts'
import { addInvoice, editDraft, issueDraft, lockedInvoice, type OnCancel, removeInvoice } from './manual.ts'
import type { AfterIssue } from './issue.ts'
import { sendInvoice } from './send.ts'
import { resolveInvoice, type Wanted } from './resolve-manual.ts'
import { chooseIssuedCollection, editIssued } from './edit-issued.ts'
import { InvoiceIn } from './manual-wire.ts'
import type { Invoice } from './queries.ts'
import { invoiceKind, type ManualRecord } from './record.ts'
import { invoiceEtag, type InvoiceParts, invoiceShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'
import { withWarnings } from '../../platform/http/warnings.ts'

const tag = 'Invoices'
const path = '/v1/invoices/{invoiceID}'

/** Parts that all changes of one invoice have: they lock its customer, then read it. */
const one = {
  tag,
  success: { status: 204 },
  record: (tx: Transaction, context: RequestContext, { params }: { params: PathParams }) =>
    lockedInvoice(tx, context, invoiceKind.pathId(params)),
  etag: (record: ManualRecord) => invoiceEtag(record),
}

const TOLD = { status: 204, headers: ['Perennial-Warning'] } as const

export interface ManualDeps {
  onCancel: OnCancel
  /** Returns the warnings of what its paper would show. */
  warningsOf(tx: Transaction, parts: InvoiceParts): Promise<string[]>
  /** The steps after issuing, see issue.ts. */
  afterIssue: readonly AfterIssue[]
  /** Plans the tries of an issued invoice whose collection details or hold may have changed. */
  onCollectionChanged(
    tx: Transaction,
    context: RequestContext,
    invoice: Invoice,
    before: CollectionDetails,
  ): Promise<void>
}

/** Operations on manual invoices, and on recurring ones where those can still change. */
export const manualInvoiceOperations = ({
  onCancel,
  afterIssue,
  warningsOf,
  onCollectionChanged,
}: ManualDeps): Operation[] => [
  writeOperation({
    id: 'addInvoice',
    method: 'POST',
    path: '/v1/invoices',
    tag,
    summary: 'Add an invoice by hand: issued at once, or as a draft',
    body: InvoiceIn,
    success: { status: 201, schema: invoiceShape.schema, headers: ['Perennial-Warning'] },
    refusals: { 409: 'The customer is archived, or another invoice has the Reference' },
    references: (tx, context, { body }, problems) => resolveInvoice(tx, context, body, problems),
    write: async (tx, context, { body }, _record, wanted) => {
      const parts = await addInvoice(tx, context, wanted as Wanted, body, afterIssue)
      const headers = { location: `/v1/invoices/${parts.invoice.id}` }
      return withWarnings({ ...invoiceKind.answer(parts, context), status: 201, headers }, await warningsOf(tx, parts))
    },
  }),
  writeOperation({
    ...one,
    id: 'editInvoice',
    method: 'PUT',
    representation: invoiceKind.representation,
    path,
    summary: 'Replace the fields of a draft; of an issued invoice only collection details, poNumber and Notes',
    body: InvoiceIn,
    success: TOLD,
    refusals: { 409: 'The invoice is issued or cancelled and something fixed differs, or the Reference is taken' },
    references: async (tx, context, { body }, problems, record) => {
      if (record.draft) return { wanted: await resolveInvoice(tx, context, body, problems, record) }
      return { collection: await chooseIssuedCollection(tx, body, record, problems) }
    },
    write: async (tx, context, { body }, record, found) => {
      if (found?.wanted) {
        const draft = await editDraft(tx, context, record, found.wanted, body)
        return withWarnings(noContent(invoiceEtag(draft)), await warningsOf(tx, draft))
      }
      const parts = await editIssued(tx, context, record, body, found?.collection as CollectionDetails)
      await onCollectionChanged(tx, context, parts.invoice, record.invoice)
      return withWarnings(noContent(invoiceEtag(parts)), await warningsOf(tx, parts))
    },
  }),
  writeOperation({
    ...one,
    id: 'removeInvoice',
    method: 'DELETE',
    path,
    summary: 'Delete a draft; cancel any other invoice, which keeps its number',
    refusals: { 409: 'The invoice is cancelled already, credited, or a caller allocated something to it' },
    write: async (tx, context, _input, record) => {
      await removeInvoice(tx, context, record, onCancel)
      return noContent()
    },
  }),
  writeOperation({
    ...one,
    id: 'issueInvoice',
    method: 'PUT',
    representation: invoiceKind.representation,
    path: `${path}/issue`,
    summary: 'Issue a draft: it gets its number, and what was provisional is fixed',
    refusals: { 409: 'The invoice is no draft, its customer is archived, or its DueDate has passed its InvoiceDate' },
    success: TOLD,
    write: async (tx, context, _input, record) => {
      const parts = await issueDraft(tx, context, record, afterIssue)
      return withWarnings(noContent(invoiceEtag(parts)), await warningsOf(tx, parts))
    },
  }),
  writeOperation({
    ...one,
    id: 'sendInvoice',
    method: 'PUT',
    representation: invoiceKind.representation,
    path: `${path}/send`,
    summary: 'Send an invoice by mail: the mail goes into the outbox, the PDF is attached when it leaves',
    refusals: { 409: 'The invoice is a draft or cancelled, or its customer has no Email' },
    success: TOLD,
    write: async (tx, context, _input, record) => {
      const parts = await sendInvoice(tx, context, record)
      return withWarnings(noContent(invoiceEtag(parts)), await warningsOf(tx, parts))
    },
  }),
]
