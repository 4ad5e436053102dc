import { pathId } from '../../platform/http/handle.ts'
import { noContent, type Operation, writeOperation } from '../../platform/http/operation.ts'
import {
  addInvoice,
  editDraft,
  issueDraft,
  lockedInvoice,
  type OnCancel,
  removeInvoice,
  unknownInvoice,
  writtenInvoice,
} from './manual.ts'
import type { AfterIssue } from './issue.ts'
import { sendInvoice } from './send.ts'
import { resolveInvoice, type ManualRecord, type Wanted } from './resolve-manual.ts'
import { checkIssuedBody, editIssued } from './edit-issued.ts'
import { InvoiceIn } from './manual-wire.ts'
import { InvoiceOut, invoiceEtag } from './wire.ts'

const tag = 'Invoices'
const path = '/v1/invoices/{invoiceID}'
const id = 'invoiceID'

export interface ManualDeps {
  onCancel: OnCancel
  /** The steps after issuing, see issue.ts. */
  afterIssue: readonly AfterIssue[]
}

/** Operations on manual invoices, and on recurring ones where those can still change. */
export const manualInvoiceOperations = ({ onCancel, afterIssue }: ManualDeps): Operation[] => [
  writeOperation({
    id: 'addInvoice',
    method: 'POST',
    path: '/v1/invoices',
    tag,
    summary: 'Add an invoice by hand: issued at once, or as a draft',
    body: InvoiceIn,
    success: { status: 201, schema: InvoiceOut.schema },
    refusals: { 409: 'The customer is archived, or another invoice has the Reference' },
    references: (tx, context, { body }, problems) => resolveInvoice(tx, context, body, problems),
    write: async (tx, context, { body }, _record, wanted) => {
      const parts = await addInvoice(tx, context, wanted as Wanted, body, afterIssue)
      const headers = { location: `/v1/invoices/${parts.invoice.id}` }
      return { status: 201, body: writtenInvoice(parts, context), etag: invoiceEtag(parts), headers }
    },
  }),
  writeOperation({
    id: 'editInvoice',
    method: 'PUT',
    path,
    tag,
    summary: 'Replace the fields of a draft; of an issued invoice only collection details, poNumber and Notes',
    body: InvoiceIn,
    success: { status: 204 },
    refusals: { 409: 'The invoice is issued or cancelled and something fixed differs, or the Reference is taken' },
    record: (tx, context, { params }) => lockedInvoice(tx, context, pathId(params, id, unknownInvoice)),
    etag: (record: ManualRecord) => invoiceEtag(record),
    references: async (tx, context, { body }, problems, record) => {
      if (record.draft) return resolveInvoice(tx, context, body, problems, record)
      checkIssuedBody(body, record, problems)
      return undefined
    },
    write: async (tx, context, { body }, record, wanted) => {
      const parts = wanted
        ? await editDraft(tx, context, record, wanted, body)
        : await editIssued(tx, context, record, body)
      return noContent(invoiceEtag(parts))
    },
  }),
  writeOperation({
    id: 'removeInvoice',
    method: 'DELETE',
    path,
    tag,
    summary: 'Delete a draft; cancel any other invoice, which keeps its number',
    success: { status: 204 },
    refusals: { 409: 'The invoice is cancelled already, credited, or a caller allocated something to it' },
    record: (tx, context, { params }) => lockedInvoice(tx, context, pathId(params, id, unknownInvoice)),
    etag: (record: ManualRecord) => invoiceEtag(record),
    write: async (tx, context, _input, record) => {
      await removeInvoice(tx, context, record, onCancel)
      return noContent()
    },
  }),
  writeOperation({
    id: 'issueInvoice',
    method: 'PUT',
    path: `${path}/issue`,
    tag,
    summary: 'Issue a draft: it gets its number, and what was provisional is fixed',
    success: { status: 204 },
    refusals: { 409: 'The invoice is no draft, its customer is archived, or its DueDate has passed its InvoiceDate' },
    record: (tx, context, { params }) => lockedInvoice(tx, context, pathId(params, id, unknownInvoice)),
    etag: (record: ManualRecord) => invoiceEtag(record),
    write: async (tx, context, _input, record) =>
      noContent(invoiceEtag(await issueDraft(tx, context, record, afterIssue))),
  }),
  writeOperation({
    id: 'sendInvoice',
    method: 'PUT',
    path: `${path}/send`,
    tag,
    summary: 'Send an invoice by mail: the mail goes into the outbox, the PDF is attached when it leaves',
    success: { status: 204 },
    refusals: { 409: 'The invoice is a draft or cancelled, or its customer has no Email' },
    record: (tx, context, { params }) => lockedInvoice(tx, context, pathId(params, id, unknownInvoice)),
    etag: (record: ManualRecord) => invoiceEtag(record),
    write: async (tx, context, _input, record) => noContent(invoiceEtag(await sendInvoice(tx, context, record))),
  }),
]
