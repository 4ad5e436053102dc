import { conflict } from '../../kernel/fault.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import {
  drawMailIds,
  insertInvoiceMail,
  insertInvoiceMails,
  type QueuedInvoices,
} from '../outbox/invoice-mail-queries.ts'
import { domainOf } from '../outbox/mail.ts'
import { getSender } from '../outbox/queries.ts'
import { recordInvoice, rereadInvoice } from './manual.ts'
import type { AfterIssue, IssueContext } from './issue.ts'
import { listInvoicesToSend } from './send-queries.ts'
import { updateDatesSent } from './state-queries.ts'
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
  await queueInvoice(tx, context, invoice.id)
  const sent = await rereadInvoice(tx, context, invoice.id)
  await recordInvoice(tx, context, 'invoice.mail_queued', sent)
  return sent
}

async function queueInvoice(tx: Transaction, context: RequestContext, id: InvoiceId): Promise<void> {
  const { queued } = await queuedOf(tx, context, [id], 0)
  await insertInvoiceMail(tx, queued)
  if (countsAsSent(context)) await updateDatesSent(tx, [id], context.moment.now)
}

const queuedOf = async (
  tx: Transaction,
  { moment }: IssueContext,
  ids: readonly InvoiceId[],
  events: number,
): Promise<{ queued: QueuedInvoices; eventIds: Id[] }> => {
  const [sender, { mailIds, eventIds }] = await Promise.all([
    getSender(tx, tx.account, null),
    drawMailIds(tx, { mails: ids.length, events }),
  ])
  const domain = domainOf(sender)
  return { queued: { ids, mailIds, sender, domain, at: moment.now, isHeld: moment.isPassing === true }, eventIds }
}

/** Returns whether a mail counts as sent when it lies in the outbox: without a mail server; else it does once a receiver took it. */
export const countsAsSent = ({ hasMailServer }: Pick<IssueContext, 'hasMailServer'>): boolean => hasMailServer !== true

/**
 * Puts mails with invoices that were issued just now into the outbox: of customers who want that and can be reached. Comes after all that
 * pays or credits them in the same operation, so that a mail shows what is left to pay.
 */
export const mailIssued: AfterIssue = async (tx, context, { invoices }) => {
  const wanted = invoices.flatMap(({ id, isMailWanted }) => (isMailWanted === true ? [id] : []))
  const unread = invoices.flatMap(({ id, isMailWanted }) => (isMailWanted === undefined ? [id] : []))
  const found = unread.length === 0 ? [] : await listInvoicesToSend(tx, unread)
  const ids = [...wanted, ...found]
  if (ids.length === 0) return
  const { queued, eventIds } = await queuedOf(tx, context, ids, ids.length)
  await insertInvoiceMails(tx, queued, eventIds, context.actor)
  if (countsAsSent(context) && found.length > 0) await updateDatesSent(tx, found, context.moment.now)
}
