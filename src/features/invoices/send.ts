import { invoiceBalances } from '../../engine/status.ts'
import { conflict } from '../../kernel/fault.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { outId, outObject } from '../../platform/wire/write.ts'
import { insertLikeEvents } from '../events/queries.ts'
import { invoiceMail } from '../outbox/invoice-template.ts'
import { type DocumentMail, queueDocumentMails } from '../outbox/mail.ts'
import { customerNameOf } from '../customers/rules.ts'
import { recordInvoice, rereadInvoice } from './manual.ts'
import type { AfterIssue, IssueContext } from './issue.ts'
import { type InvoiceToSend, listInvoicesToSend, updateDatesSent } from './send-queries.ts'
import type { InvoiceParts } from './wire.ts'

/** Sending invoices by mail: the mail goes into the outbox with what causes it, and the PDF is made when it leaves. */

/** Puts the mail with an invoice into the outbox. Its customer is locked. Throws a Fault (409) for what cannot be sent. */
export async function sendInvoice(
  tx: Transaction,
  context: RequestContext,
  parts: InvoiceParts,
): Promise<InvoiceParts> {
  const { invoice, customer } = parts
  if (invoice.isDraft) throw conflict('invoice_draft', `Invoice ${invoice.id} is a draft; issue it before it is sent.`)
  if (invoice.isCancelled)
    throw conflict('invoice_cancelled', `Invoice ${invoice.id} is cancelled and is not sent any more.`)
  if (customer.email === null)
    throw conflict('email_missing', `Customer ${customer.id} has no Email to send invoice ${invoice.id} to.`)
  await queueInvoice(tx, context, parts, customer.email)
  const sent = await rereadInvoice(tx, context, invoice.id)
  await recordInvoice(tx, context, 'invoice.mail_queued', sent)
  return sent
}

async function queueInvoice(
  tx: Transaction,
  context: RequestContext,
  { invoice, customer }: InvoiceParts,
  to: string,
): Promise<void> {
  const { balanceMinor } = invoiceBalances(invoice)
  const number = invoice.number as bigint
  await queueDocumentMails(tx, context, [
    mailOfInvoice({ ...customer, ...invoice, number, balanceMinor, to, cc: customer.emailCc }),
  ])
  await markSent(tx, context, [invoice.id])
}

/** Returns an invoice with the facts of its mail and the recipients. */
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
    links: [sent.id],
    write: ({ linkTo, linkBy: _none, ...sender }) => invoiceMail({ ...sender, ...facts, link: linkTo(sent.id) }),
  }
}

/** Marks invoices as sent. Without a mail server a mail counts as sent when it lies in the outbox; else once a receiver took it. */
async function markSent(tx: Transaction, context: IssueContext, ids: readonly InvoiceId[]): Promise<void> {
  if (context.hasMailServer !== true) await updateDatesSent(tx, ids, context.moment.now)
}

const MailQueuedOut = outObject({ invoiceID: outId() })

/**
 * Puts mails with invoices that were issued just now into the outbox: of customers who want that and can be reached. Comes after all that
 * pays or credits them in the same operation, so that a mail shows what is left to pay.
 */
export const mailIssued: AfterIssue = async (tx, context, { invoices }) => {
  const maybe = invoices.filter(({ isMailWanted = true }) => isMailWanted)
  if (maybe.length === 0) return
  const wanted = await listInvoicesToSend(
    tx,
    maybe.map(({ id }) => id),
  )
  if (wanted.length === 0) return
  await queueDocumentMails(tx, context, wanted.map(mailOfInvoice))
  await markSent(
    tx,
    context,
    wanted.map(({ id }) => id),
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
      record: MailQueuedOut.write({ invoiceID: id }),
    })),
  )
}
