import { pathId } from '../../platform/http/handle.ts'
import { type Answer, type Operation, readOperation } from '../../platform/http/operation.ts'
import { languageOf } from '../../platform/locale/format.ts'
import { unknownInvoice } from '../invoices/by-hand.ts'
import type { DocumentHead } from './document.ts'
import { loadInvoiceDocument } from './load.ts'
import { wordsOf } from './words.ts'

/** A document to look at in the browser. The name it is kept under holds letters, digits and dashes alone, whatever its number is. */
function pdfAnswer(body: Buffer, { locale }: DocumentHead, name: string): Answer {
  const language = languageOf(locale)
  const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
  const headers = { 'content-language': language, 'content-disposition': `inline; filename="${plain}.pdf"` }
  return { status: 200, body, contentType: 'application/pdf', headers }
}

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
      // Typefaces and what draws with them are loaded by the first who needs them: starting does not wait for them.
      const { renderInvoice } = await import('./invoice-pdf.ts')
      const { invoice: word, draft } = wordsOf(languageOf(invoice.locale))
      return pdfAnswer(renderInvoice(invoice), invoice, `${word}-${invoice.number ?? `${draft}-${id}`}`)
    },
  }),
]
