import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { lookupOperation, type Operation, type PathParams, writeOperation } from '../../platform/http/operation.ts'
import { baseOf } from '../../platform/page/base.ts'
import { linkUrl, type Links } from '../../platform/page/links.ts'
import { outObject, outText } from '../../platform/wire/write.ts'
import { raiseLinkCounter } from '../invoices/state-queries.ts'
import { lockedInvoice, recordInvoice, rereadInvoice } from '../invoices/manual.ts'
import { invoiceKind, type ManualRecord } from '../invoices/record.ts'
import { noContent } from '../../platform/http/answer.ts'
import { findLinkedInvoice } from './queries.ts'

/** The link of an invoice's page, for callers who send it themselves. */

const LinkOut = outObject(
  { Url: outText('The address of the page on which the customer sees the invoice.') },
  'InvoiceLink',
)

const tag = 'Invoices'

const isDraftRefusal = (id: bigint) =>
  conflict('invoice_draft', `Invoice ${id} is a draft and has no page; issue it first.`, 'invoiceID')

export const invoiceLinkOperations = ({ links }: { links: Links }): Operation[] => [
  lookupOperation({
    id: 'getInvoiceLink',
    path: '/v1/invoices/{invoiceID}/link',
    tag,
    summary:
      'Read the address of the page on which a customer sees an invoice and its PDF, for a key with full permission',
    // Whoever has the address can pay there with a stored card.
    permission: 'full',
    success: { status: 200, schema: LinkOut.schema },
    refusals: { 409: 'The invoice is a draft, or PUBLIC_URL is not set' },
    read: async (db, context, input) => {
      const id = invoiceKind.pathId(input.params)
      const invoice = await findLinkedInvoice(db, context.account.id, id)
      if (!invoice) throw invoiceKind.unknown(id)
      if (invoice.isDraft) throw isDraftRefusal(id)
      const token = links.token({ kind: 'i', account: context.account.id, record: id, counter: invoice.linkCounter })
      return { status: 200, body: LinkOut.write({ Url: linkUrl(baseOf(context, input.address), 'i', token) }) }
    },
  }),
  writeOperation({
    id: 'revokeInvoiceLink',
    method: 'DELETE',
    path: '/v1/invoices/{invoiceID}/link',
    tag,
    summary: 'Revoke every link to the page of an invoice that was made so far, those in mails too',
    refusals: { 409: 'The invoice is a draft' },
    record: (tx: Transaction, context: RequestContext, { params }: { params: PathParams }) =>
      lockedInvoice(tx, context, invoiceKind.pathId(params)),
    write: async (tx, context, _input, { invoice }: ManualRecord) => {
      if (invoice.isDraft) throw isDraftRefusal(invoice.id)
      await raiseLinkCounter(tx, invoice.id)
      await recordInvoice(tx, context, 'invoice.link_revoked', await rereadInvoice(tx, context, invoice.id))
      return noContent()
    },
  }),
]
