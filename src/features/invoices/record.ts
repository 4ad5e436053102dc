import { readableKind } from '../../platform/http/record.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Snapshot } from '../../platform/database/database.ts'
import type { Answer } from '../../platform/http/answer.ts'
import type { Draft } from './draft-queries.ts'
import { loadLongParts, lookUpInvoiceParts } from './load-parts.ts'
import { findInvoice, type Invoice } from './queries.ts'
import { invoiceEtag, type InvoiceParts, invoiceShape, longInvoicePieces } from './wire.ts'

/** Answers an invoice to which any number of payments and credits may be applied, in pieces. */
export async function answerLongInvoice(db: Snapshot, context: RequestContext, invoice: Invoice): Promise<Answer> {
  const parts = await loadLongParts(db, context.account.id, invoice, context.moment.today)
  return { status: 200, pieces: longInvoicePieces(parts, writingOf(context)), etag: invoiceEtag(parts) }
}

export const invoiceKind = readableKind<InvoiceParts, 'invoice'>({
  code: 'invoice',
  name: 'invoice',
  param: 'invoiceID',
  path: '/v1/invoices',
  out: invoiceShape,
  idOf: ({ invoice }) => invoice.id,
  find: (db, { account, moment }, id) => lookUpInvoiceParts(db, account.id, id, moment.today),
  answerLong: async (db, context, id) => {
    const invoice = await findInvoice(db, context.account.id, id)
    return invoice && answerLongInvoice(db, context, invoice)
  },
  etag: invoiceEtag,
})

/** Present invoice with its lines; `draft` is null once it is issued. */
export interface ManualRecord extends InvoiceParts {
  draft: Draft | null
}
