import { assert } from '../../kernel/assert.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { findCustomer } from '../customers/queries.ts'
import { type NegativeRecord, recordMoneyEvent } from '../money/records.ts'
import { creditNoteShape } from '../money/shapes.ts'
import { queueDocumentMails } from '../outbox/mail.ts'
import { customerNameOf } from '../customers/rules.ts'
import { creditNoteMail } from '../outbox/money-templates.ts'

/** Puts the mail with a credit note into the outbox. Throws a Fault (409) where its customer cannot be reached. */
export async function sendCreditNote(tx: Transaction, context: RequestContext, note: NegativeRecord): Promise<void> {
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
  await recordMoneyEvent(tx, context, creditNoteShape, 'credit_note.mail_queued', note)
}
