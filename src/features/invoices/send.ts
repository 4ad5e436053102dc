import { conflict } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { invoiceMail } from '../outbox/invoice-template.ts'
import { queueDocumentMail } from '../outbox/mail.ts'
import { recordInvoice, rereadInvoice } from './by-hand.ts'
import { updateDateSent } from './send-queries.ts'
import type { InvoiceParts } from './wire.ts'

/** Sending invoices by mail: the mail goes into the outbox with what causes it, and the PDF is made when it leaves. */

export interface SendDeps {
  /** Mail leaves the house, and is sent once a receiver took it; without a server it counts as sent when it lies in the outbox. */
  hasMailServer: boolean
}

/** Puts the mail with an invoice into the outbox. Its customer is locked. Throws a Fault (409) for what cannot be sent. */
export async function sendInvoice(
  tx: Transaction,
  context: RequestContext,
  deps: SendDeps,
  parts: InvoiceParts,
): Promise<InvoiceParts> {
  const { invoice, customer } = parts
  if (invoice.isDraft) throw conflict('invoice_draft', `Invoice ${invoice.id} is a draft; issue it before it is sent.`)
  if (invoice.isCancelled)
    throw conflict('invoice_cancelled', `Invoice ${invoice.id} is cancelled and is not sent any more.`)
  if (customer.email === null)
    throw conflict('email_missing', `Customer ${customer.id} has no Email to send invoice ${invoice.id} to.`)
  await queueInvoice(tx, context, deps, parts, customer.email)
  const sent = await rereadInvoice(tx, context, invoice.id)
  await recordInvoice(tx, context, 'invoice.mail_queued', sent)
  return sent
}

/** Sends what was issued just now where the customer wants that and can be reached; else nothing happens. */
export async function sendAtIssue(
  tx: Transaction,
  context: RequestContext,
  deps: SendDeps,
  parts: InvoiceParts,
): Promise<InvoiceParts> {
  const { invoice, customer } = parts
  const isWanted = !invoice.isDraft && customer.autoSendInvoice && customer.email !== null
  return isWanted ? sendInvoice(tx, context, deps, parts) : parts
}

async function queueInvoice(
  tx: Transaction,
  context: RequestContext,
  { hasMailServer }: SendDeps,
  { invoice, customer }: InvoiceParts,
  to: string,
): Promise<void> {
  const number = invoice.number as bigint
  const balanceMinor = invoice.totalMinor - invoice.negativeMinor - invoice.paidMinor - invoice.pendingMinor
  const customerName = [customer.name, customer.isCompany ? null : customer.lastName].filter(Boolean).join(' ')
  const { id: documentId, customerId, invoiceDate, dueDate, currency, totalMinor } = invoice
  await queueDocumentMail(tx, context, {
    customerId,
    to,
    cc: customer.emailCc,
    template: 'invoice',
    document: { kind: 'invoice', id: documentId },
    write: (sender) =>
      invoiceMail({ ...sender, customerName, number, invoiceDate, dueDate, currency, totalMinor, balanceMinor }),
  })
  if (!hasMailServer) await updateDateSent(tx, documentId, context.moment.now)
}
