import { addDays, type IsoDate } from '../kernel/calendar.ts'
import { add, decimal, decimalText, ZERO } from '../kernel/decimal.ts'
import type { Draw } from './draw.ts'
import type { World } from './life.ts'

/** Payments of the customers: most of it a few weeks after the invoice, some of it late, little of it never. */

/** A mistaken invoice is cancelled within a week; what is younger is not paid yet. */
const YOUNGEST_DAYS = 8
const OLDEST_DAYS = 100
const PAYING_PERCENT = 82
const INSTEAD_OF_CARD_PERCENT = 15
const IN_PART_PERCENT = 4

/** Returns whether the bank is looked at: on the first Friday of every second month. */
export const isPayday = (day: IsoDate): boolean => Number(day.slice(8)) <= 7 && Number(day.slice(5, 7)) % 2 === 1

/** Records what the bank shows: one payment for all that a customer pays at once, of a few a round part. */
export async function receivePayments({ client, today, beside }: World, draw: Draw): Promise<void> {
  const period = `startDate=${addDays(today, -OLDEST_DAYS)}&endDate=${addDays(today, -YOUNGEST_DAYS)}`
  // All is read before anything is paid: what is paid would leave the lists.
  const open = [
    ...(await client.all(`/v1/invoices?${period}&status=Due`)),
    ...(await client.all(`/v1/invoices?${period}&status=Past%20Due`)),
  ]
  const paid = new Map<unknown, typeof open>()
  // Cards are charged; a bank transfer comes only from few whose card fails.
  const percentOf = ({ CollectionMethod }: (typeof open)[number]) =>
    CollectionMethod === 'credit_card' ? INSTEAD_OF_CARD_PERCENT : PAYING_PERCENT
  for (const invoice of open)
    if (draw.chance(percentOf(invoice)))
      paid.set(invoice.customerID, [...(paid.get(invoice.customerID) ?? []), invoice])
  for (const [customerID, invoices] of paid) {
    const [{ invoiceNum, CurrencyCode }] = invoices
    const isInPart = draw.chance(IN_PART_PERCENT)
    const allocations = invoices.map(({ invoiceID, Balance }) => ({
      invoiceID,
      amountApplied: isInPart && Balance >= 2 ? Math.floor(Balance / 2) : Balance,
    }))
    const total = allocations.reduce((sum, { amountApplied }) => add(sum, decimal(amountApplied)), ZERO)
    const Amount = Number(decimalText(total))
    const Method = draw.chance(20) ? 'cheque' : 'eft'
    const Ref = `Invoice ${invoiceNum}`
    beside(client.post('/v1/payments', { customerID, Amount, CurrencyCode, Date: today, Method, Ref, allocations }))
  }
}
