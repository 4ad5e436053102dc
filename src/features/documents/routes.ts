import type { Account, RequestContext } from '../../kernel/context.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import {
  type Answer,
  noContent,
  type Operation,
  type PathParams,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { languageOf } from '../../platform/locale/format.ts'
import { creditNote } from '../credit-notes/record.ts'
import { invoiceKind } from '../invoices/record.ts'
import type { Drawable } from './document.ts'
import type { Drawing } from './draw.ts'
import { fileNameOf } from './file-name.ts'
import { loadCreditNoteDocument } from './load-credit-note.ts'
import { loadInvoiceDocument } from './load.ts'
import { sendCreditNote } from './send-credit-note.ts'

/** The refusal that every drawn document declares. */
export const PDF_REFUSALS = { 409: 'The document is too large for a PDF' }

/** Answers a document to look at in the browser. A draft of an invoice has no number: `id` names it. */
export function pdfAnswer(drawing: Drawing, account: Pick<Account, 'id'>, drawable: Drawable, id?: Id): Answer {
  const headers = {
    'content-language': languageOf(drawable.document.locale),
    'content-disposition': `inline; filename="${fileNameOf(drawable, id)}"`,
  }
  const makeBody = (gone: AbortSignal) => drawing.draw(account.id, drawable, gone)
  return { status: 200, makeBody, contentType: 'application/pdf', headers }
}

/** Answers an invoice as a PDF, named by its number. */
export async function invoicePdf(
  drawing: Drawing,
  db: Queryable,
  context: RequestContext,
  id: InvoiceId,
): Promise<Answer> {
  const document = await loadInvoiceDocument(db, context, id)
  return pdfAnswer(drawing, context.account, { kind: 'invoice', document }, id)
}

type ReadDocument = (db: Queryable, context: RequestContext, input: { params: PathParams }) => Promise<Answer>

/** Reads a document of a record: one that has more than a look-up may have is an expensive answer. */
const anyLength = (read: ReadDocument) => ({ read, readLong: read })

const creditNoteOperations = (drawing: Drawing): Operation[] => [
  readOperation({
    id: 'getCreditPdf',
    method: 'GET',
    path: '/v1/credits/{creditNoteID}/pdf',
    tag: 'Credit notes',
    summary: 'A credit note as a PDF: its parties as when it was made, with what it was used for so far',
    success: { status: 200, media: ['application/pdf'] },
    refusals: PDF_REFUSALS,
    ...anyLength(async (db, context, { params }) => {
      const found = await creditNote.found(db, context, params)
      const document = await loadCreditNoteDocument(db, context, found)
      return pdfAnswer(drawing, context.account, { kind: 'credit_note', document })
    }),
  }),
  writeOperation({
    id: 'sendCredit',
    method: 'PUT',
    path: '/v1/credits/{creditNoteID}/send',
    tag: 'Credit notes',
    summary: 'Send a credit note by mail: the mail goes into the outbox, the PDF is attached when it leaves',
    success: { status: 204 },
    refusals: { 409: 'Its customer has no Email' },
    record: (tx, context, { params }) => creditNote.found(tx, context, params),
    write: async (tx, context, _input, note) => {
      await sendCreditNote(tx, context, note)
      return noContent()
    },
  }),
]

export const documentOperations = ({ drawing }: { drawing: Drawing }): Operation[] => [
  readOperation({
    id: 'getInvoicePdf',
    method: 'GET',
    path: '/v1/invoices/{invoiceID}/pdf',
    tag: 'Invoices',
    summary: 'An invoice as a PDF: frozen at issue, with what was paid and credited so far',
    success: { status: 200, media: ['application/pdf'] },
    refusals: PDF_REFUSALS,
    ...anyLength((db, context, { params }) => invoicePdf(drawing, db, context, invoiceKind.pathId(params))),
  }),
  ...creditNoteOperations(drawing),
]
