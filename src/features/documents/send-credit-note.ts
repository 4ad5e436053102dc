import { assert } from '../../kernel/assert.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { findCustomer } from '../customers/queries.ts'
import { markSent } from '../money/adjustment-queries.ts'
import { loadNegative } from '../money/negative-adjustments.ts'
import { recordMoneyEvent } from '../money/records.ts'
import { creditNoteShape } from '../money/shapes.ts'
import { queueDocumentMails } from '../outbox/mail.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import { creditNoteMail } from '../outbox/money-templates.ts'
import type { NegativeRecord } from '../money/types.ts'

/**
 * Sends a credit note, whose customer is locked: puts the mail with it into the outbox, or only marks it where it was handed over otherwise. From
 * then on what it corrects is fixed. Throws a Fault (409) where a mail is wanted and its customer cannot be reached.
 */
export async function sendCreditNote(
  tx: Transaction,
  context: RequestContext,
  note: NegativeRecord,
  isMailed: boolean,
): Promise<void> {
  if (isMailed) await queueMail(tx, context, note)
  await markSent(tx, note.id, context.moment.now)
  const sent = await loadNegative(tx, tx.account, note.id)
  assert(sent, `credit note ${note.id} exists`)
  await recordMoneyEvent(tx, context, creditNoteShape, isMailed ? 'credit_note.mail_queued' : 'credit_note.sent', sent)
}

async function queueMail(tx: Transaction, context: RequestContext, note: NegativeRecord): Promise<void> {
  const customer = await findCustomer(tx, tx.account, note.customerId)
  assert(customer, `the customer of credit note ${note.id} exists`)
  if (customer.email === null)
    throw conflict('email_missing', `Customer ${customer.id} has no Email to send credit note ${note.id} to.`)
  const customerName = customerNameOf(customer)
  const { dated: date, currency, amountMinor: totalMinor } = note
  await queueDocumentMails(tx, context, [
    {
      customerId: customer.id,
      locale: customer.locale,
      to: customer.email,
      cc: customer.emailCc,
      template: 'credit_note',
      document: { kind: 'credit_note', id: note.id },
      write: (sender) =>
        creditNoteMail({ ...sender, customerName, number: note.ref ?? '', date, currency, totalMinor }),
    },
  ])
}
