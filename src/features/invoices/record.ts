import { readableKind } from '../../platform/http/record.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Snapshot } from '../../platform/database/reads.ts'
import type { Answer } from '../../platform/http/operation.ts'
import { loadOneOfAnyLength, lookUpInvoiceParts } from './load-parts.ts'
import { findInvoice, type Invoice } from './queries.ts'
import { invoiceEtag, type InvoiceParts, invoiceShape, writeOfAnyLength } from './wire.ts'

/** Answers an invoice to which anything may be applied, in pieces where that is much. */
export async function answerOfAnyLength(db: Snapshot, context: RequestContext, invoice: Invoice): Promise<Answer> {
  const parts = await loadOneOfAnyLength(db, context.account.id, invoice, context.moment.today)
  const written = writeOfAnyLength(parts, writingOf(context))
  return {
    status: 200,
    ...(typeof written === 'string' ? { body: written } : { pieces: written }),
    etag: invoiceEtag(parts),
  }
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
    return invoice && answerOfAnyLength(db, context, invoice)
  },
  etag: invoiceEtag,
})
