import { conflict } from '../../kernel/fault.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { insertLikeEvents } from '../events/queries.ts'
import { invoiceMail } from '../outbox/invoice-template.ts'
import { customerNameOf, type DocumentMail, queueDocumentMails } from '../outbox/mail.ts'
import { recordInvoice, rereadInvoice } from './by-hand.ts'
import type { IssueContext } from './issue.ts'
import { type InvoiceToSend, listInvoicesToSend, updateDatesSent } from './send-queries.ts'
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
  const balanceMinor = invoice.totalMinor - invoice.negativeMinor - invoice.paidMinor - invoice.pendingMinor
  const number = invoice.number as bigint
  await queueDocumentMails(tx, context, [
    mailOfInvoice({ ...customer, ...invoice, number, balanceMinor, to, cc: customer.emailCc }),
  ])
  if (!hasMailServer) await updateDatesSent(tx, [invoice.id], context.moment.now)
}

/** An invoice with what its mail says, and to whom. */
function mailOfInvoice(sent: InvoiceToSend): DocumentMail {
  const { customerId, locale, to, cc, number, invoiceDate, dueDate, currency, totalMinor, balanceMinor } = sent
  const facts = { customerName: customerNameOf(sent), number, invoiceDate, dueDate, currency, totalMinor, balanceMinor }
  return {
    customerId,
    locale,
    to,
    cc,
    template: 'invoice',
    document: { kind: 'invoice', id: sent.id },
    write: (sender) => invoiceMail({ ...sender, ...facts }),
  }
}

/**
 * Puts mails with invoices that the rules issued just now into the outbox: of customers who want that and can be reached. Comes after all
 * that pays or credits them in the same operation, so that a mail says what is left to pay.
 */
export async function mailIssued(tx: Transaction, context: IssueContext, ids: readonly InvoiceId[]): Promise<void> {
  if (ids.length === 0) return
  const wanted = await listInvoicesToSend(tx, ids)
  if (wanted.length === 0) return
  await queueDocumentMails(tx, context, wanted.map(mailOfInvoice))
  if (context.hasMailServer !== true)
    await updateDatesSent(
      tx,
      wanted.map(({ id }) => id),
      context.moment.now,
    )
  const common = {
    type: 'invoice.mail_queued',
    happenedAt: context.moment.now,
    actor: context.actor,
    reason: null,
  } as const
  await insertLikeEvents(
    tx,
    common,
    wanted.map(({ id, customerId }) => ({
      recordId: id,
      customerId,
      record: JSON.stringify({ invoiceID: Number(id) }),
    })),
  )
}
