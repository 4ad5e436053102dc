import { described } from '../../platform/wire/described.ts'
import type { Account, RequestContext } from '../../kernel/context.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type Operation, type PathParams, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { minorText } from '../../kernel/money.ts'
import { flag } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties } from '../../platform/wire/read.ts'
import { languageOf } from '../../platform/locale/format.ts'
import { creditNote } from '../credit-notes/record.ts'
import { invoiceKind } from '../invoices/record.ts'
import { unsettledMinor } from '../money/note-paper.ts'
import type { Drawable } from './document.ts'
import type { Drawing } from './draw.ts'
import { glyphWarningsOfDrawable } from './glyphs.ts'
import { loadCreditNoteDocument } from './load-credit-note.ts'
import { loadInvoiceDocument } from './load.ts'
import { sendCreditNote } from './send-credit-note.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'
import { withWarnings } from '../../platform/http/warnings.ts'
import { fileNameOf } from './words.ts'

/** The refusal that every drawn document declares. */
export const PDF_REFUSALS = { 409: 'The document is too large for a PDF' }

/** Answers a document to look at in the browser. A draft of an invoice has no number: `id` names it. */
export function pdfAnswer(drawing: Drawing, account: Pick<Account, 'id'>, drawable: Drawable, id?: Id): Answer {
  const headers = {
    'content-language': languageOf(drawable.document.locale),
    'content-disposition': `inline; filename="${fileNameOf(drawable, id)}"`,
  }
  const makeBody = (gone: AbortSignal) => drawing.draw(account.id, drawable, gone)
  const answer = { status: 200, makeBody, contentType: 'application/pdf', headers }
  return withWarnings(answer, glyphWarningsOfDrawable(drawable))
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

/** Body of sending; nothing else in it is looked at. */
const SendIn = objectOf(
  {
    isMailed: optional(
      described(
        flag(),
        'False marks the note as sent without a mail, for one that was handed over otherwise; true by default',
      ),
    ),
  },
  { name: 'CreditNoteSending' },
)

const previewInputs = {
  preview: optional(flag(), 'With true nothing is changed, and the answer shows what would be.'),
} satisfies Properties
const PreviewQuery = objectOf(previewInputs)

interface DocumentInput<Query> {
  params: PathParams
  query: Query
}

type ReadDocument<Query> = (db: Queryable, context: RequestContext, input: DocumentInput<Query>) => Promise<Answer>

/** Reads a document of a record: one that has more than a look-up may have is an expensive answer. */
const anyLength = <Query>(read: ReadDocument<Query>) => ({ read, readLong: read })

const creditNoteOperations = (drawing: Drawing): Operation[] => [
  readOperation({
    id: 'getCreditPdf',
    path: '/v1/credits/{creditNoteID}/pdf',
    tag: 'Credit notes',
    summary:
      'Download a credit note as a PDF: its parties and what it corrects; provisional until it is sent, then the same for ever. With preview=true as it would be sent now',
    query: PreviewQuery,
    success: { status: 200, media: ['application/pdf'], headers: ['Perennial-Warning'] },
    refusals: PDF_REFUSALS,
    ...anyLength(async (db, context, { params, query }: DocumentInput<BodyOf<typeof previewInputs>>) => {
      const found = await creditNote.found(db, context, params)
      const loaded = await loadCreditNoteDocument(db, context, found)
      const document = { ...loaded, isSent: loaded.isSent || query.preview === true }
      return pdfAnswer(drawing, context.account, { kind: 'credit_note', document })
    }),
  }),
  writeOperation({
    id: 'sendCredit',
    method: 'PUT',
    path: '/v1/credits/{creditNoteID}/send',
    tag: 'Credit notes',
    summary:
      'Send a credit note: the mail goes into the outbox, the PDF is attached when it leaves. From then on what it corrects is fixed, and only its allocations change',
    body: SendIn,
    takesAnyBody: true,
    success: { status: 204, headers: ['Perennial-Warning'] },
    representation: creditNote.representation,
    refusals: { 409: 'Its customer has no Email' },
    record: (tx, context, { params }) => creditNote.locked(tx, context, params),
    write: async (tx, context, { body }, note) => {
      const document = await loadCreditNoteDocument(tx, context, note)
      await sendCreditNote(tx, context, note, body.isMailed !== false)
      const unsettled = unsettledMinor(note)
      const warnings = unsettled === 0n ? [] : [`unsettled;amount=${minorText(unsettled, digitsOf(note.currency))}`]
      return withWarnings(noContent(), [...warnings, ...glyphWarningsOfDrawable({ kind: 'credit_note', document })])
    },
  }),
]

export const documentOperations = ({ drawing }: { drawing: Drawing }): Operation[] => [
  readOperation({
    id: 'getInvoicePdf',
    path: '/v1/invoices/{invoiceID}/pdf',
    tag: 'Invoices',
    summary: 'Download an invoice as a PDF: frozen at issue, with what was paid and credited so far',
    success: { status: 200, media: ['application/pdf'], headers: ['Perennial-Warning'] },
    refusals: PDF_REFUSALS,
    ...anyLength((db, context, { params }) => invoicePdf(drawing, db, context, invoiceKind.pathId(params))),
  }),
  ...creditNoteOperations(drawing),
]
