import { addDays, type IsoDate } from '../kernel/calendar.ts'
import type { Draw } from './draw.ts'
import type { World } from './life.ts'

/** What customers pay: most of it a few weeks after the invoice, some of it late, little of it never. */

/** A mistaken invoice is cancelled within a week; what is younger is not paid yet. */
const YOUNGEST_DAYS = 8
const OLDEST_DAYS = 75
const PAYING_PERCENT = 82
const IN_PART_PERCENT = 4

/** Payments come in on the first Friday of a month. */
export const isPayday = (day: IsoDate): boolean => Number(day.slice(8)) <= 7

/** Records what the bank shows: for most open invoices all of it, for a few a round part. */
export async function receivePayments({ client, today, beside }: World, draw: Draw): Promise<void> {
  const period = `startDate=${addDays(today, -OLDEST_DAYS)}&endDate=${addDays(today, -YOUNGEST_DAYS)}`
  // All is read before anything is paid: what is paid would leave the lists.
  const open = [
    ...(await client.all(`/v1/invoices?${period}&status=Due`)),
    ...(await client.all(`/v1/invoices?${period}&status=Past%20Due`)),
  ]
  for (const { invoiceID, invoiceNum, customerID, CurrencyCode, Balance } of open) {
    if (!draw.chance(PAYING_PERCENT)) continue
    const part = Math.floor(Balance / 2)
    const Amount = draw.chance(IN_PART_PERCENT) && part > 0 ? part : Balance
    const Method = draw.chance(30) ? 'credit_card' : 'eft'
    const allocations = [{ invoiceID, amountApplied: Amount }]
    const Ref = `Invoice ${invoiceNum}`
    beside(client.post('/v1/payments', { customerID, Amount, CurrencyCode, Date: today, Method, Ref, allocations }))
  }
}
