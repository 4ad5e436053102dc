import { pathId } from '../../platform/http/handle.ts'
import { type Answer, noContent, type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { languageOf } from '../../platform/locale/format.ts'
import { foundNote } from '../credit-notes/found.ts'
import { unknownInvoice } from '../invoices/by-hand.ts'
import type { DocumentHead } from './document.ts'
import { loadCreditNoteDocument } from './load-credit-note.ts'
import { loadInvoiceDocument } from './load.ts'
import { sendCreditNote } from './send-credit-note.ts'
import { wordsOf } from './words.ts'

/** Typefaces and what draws with them are loaded by the first who needs them: starting does not wait for them. */
const drawing = {
  invoice: () => import('./invoice-pdf.ts'),
  creditNote: () => import('./credit-note-pdf.ts'),
}

/** A document to look at in the browser. The name it is kept under holds letters, digits and dashes alone, whatever its number is. */
export function pdfAnswer(body: Buffer, { locale }: DocumentHead, name: string): Answer {
  const language = languageOf(locale)
  const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
  const headers = { 'content-language': language, 'content-disposition': `inline; filename="${plain}.pdf"` }
  return { status: 200, body, contentType: 'application/pdf', headers }
}

const creditNoteOperations = (): Operation[] => [
  readOperation({
    id: 'getCreditPdf',
    method: 'GET',
    path: '/v1/credits/{creditNoteID}/pdf',
    tag: 'Credit notes',
    summary: 'A credit note as a PDF: its parties as when it was made, with what it was used for so far',
    success: { status: 200, schema: {}, contentType: 'application/pdf' },
    read: async (db, context, { params }) => {
      const found = await foundNote(db, context.account.id, params)
      const note = await loadCreditNoteDocument(db, context, found)
      const { renderCreditNote } = await drawing.creditNote()
      return pdfAnswer(renderCreditNote(note), note, `${wordsOf(languageOf(note.locale)).creditNote}-${note.number}`)
    },
  }),
  writeOperation({
    id: 'sendCredit',
    method: 'PUT',
    path: '/v1/credits/{creditNoteID}/send',
    tag: 'Credit notes',
    summary: 'Send a credit note by mail: the mail goes into the outbox, the PDF is attached when it leaves',
    success: { status: 204 },
    refusals: { 409: 'Its customer has no Email' },
    record: (tx, context, { params }) => foundNote(tx, context.account.id, params),
    write: async (tx, context, _input, note) => {
      await sendCreditNote(tx, context, note)
      return noContent()
    },
  }),
]

export const documentOperations = (): Operation[] => [
  readOperation({
    id: 'getInvoicePdf',
    method: 'GET',
    path: '/v1/invoices/{invoiceID}/pdf',
    tag: 'Invoices',
    summary: 'An invoice as a PDF: frozen at issue, with what was paid and credited so far',
    success: { status: 200, schema: {}, contentType: 'application/pdf' },
    read: async (db, context, { params }) => {
      const id = pathId(params, 'invoiceID', unknownInvoice)
      const invoice = await loadInvoiceDocument(db, context, id)
      const { renderInvoice } = await drawing.invoice()
      const { invoice: word, draft } = wordsOf(languageOf(invoice.locale))
      return pdfAnswer(renderInvoice(invoice), invoice, `${word}-${invoice.number ?? `${draft}-${id}`}`)
    },
  }),
  ...creditNoteOperations(),
]
