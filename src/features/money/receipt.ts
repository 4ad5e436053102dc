import type { RequestContext } from '../../kernel/context.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Customer } from '../customers/queries.ts'
import { sendDocumentMails } from '../outbox/mail.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import { receiptMail } from '../outbox/money-templates.ts'
import { getSender } from '../outbox/queries.ts'
import { listInvoiceNumbers } from './open-queries.ts'
import { type PaymentRecord, recordMoneyEvent, refOfInvoice } from './records.ts'
import { paymentShape } from './shapes.ts'

/**
 * Puts the receipt of a payment into the outbox for its customer, with what it paid. A customer without an Email gets none: the money is recorded
 * all the same.
 */
export async function sendReceipt(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  customer: Customer,
): Promise<void> {
  if (customer.email === null) return
  const { allocations } = payment
  const invoices = allocations.filter(({ owedKind }) => owedKind === 'invoice').map(({ owedId }) => owedId)
  const [numbered, sender] = await Promise.all([
    listInvoiceNumbers(tx, tx.account, invoices),
    getSender(tx, tx.account, null),
  ])
  const numbers = new Map(numbered.map(({ id, number }) => [id, number]))
  const paid = allocations.map(({ owedKind, owedId, amountMinor }) => ({
    number: owedKind === 'invoice' ? (numbers.get(owedId) ?? null) : null,
    amountMinor,
  }))
  const customerName = customerNameOf(customer)
  const { dated: date, currency, amountMinor, ref } = payment
  // The service's own Ref names the invoice, which the receipt does in the customer's language.
  const reference = paid.some(({ number }) => number !== null && ref === refOfInvoice(number)) ? null : ref
  sendDocumentMails(tx, context, sender, [
    {
      customerId: customer.id,
      locale: customer.locale,
      to: customer.email,
      cc: customer.emailCc,
      template: 'payment_receipt',
      document: null,
      write: (from) => receiptMail({ ...from, customerName, date, currency, amountMinor, reference, paid }),
    },
  ])
  await recordMoneyEvent(tx, context, paymentShape, 'payment.receipt_queued', payment)
}
