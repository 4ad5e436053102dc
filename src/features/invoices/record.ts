import { readableKind } from '../../platform/http/record.ts'
import { lookUpInvoiceParts } from './load-parts.ts'
import { invoiceEtag, type InvoiceParts, invoiceShape } from './wire.ts'

export const invoiceKind = readableKind<InvoiceParts, 'invoice'>({
  code: 'invoice',
  name: 'invoice',
  param: 'invoiceID',
  path: '/v1/invoices',
  out: invoiceShape,
  idOf: ({ invoice }) => invoice.id,
  find: (db, { account, moment }, id) => lookUpInvoiceParts(db, account.id, id, moment.today),
  etag: invoiceEtag,
})
