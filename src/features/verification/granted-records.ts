import { amountText } from '../../kernel/currencies.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import { NOTHING_APPLIED } from './invoices.ts'
import {
  type CheckedPayment,
  type CheckedPositive,
  listPaymentPage,
  listPositivePage,
} from './granted-records-queries.ts'
import { eachPage } from '../../platform/checks/pages.ts'
import { type AppliedTo, listAppliedTo } from './invoices-queries.ts'

/**
 * Checks that the sums stored with payments and positive adjustments are those of their allocations and open refunds, and within their
 * amounts, and that of a payment which waits for its gateway somebody asks.
 */

export const payments: Check = {
  name: 'payments',
  run: eachRecord(listPaymentPage, checkPayment),
}

function checkPayment(payment: CheckedPayment, report: Report): void {
  const { id, customerId, currency, amountMinor, appliedMinor, allocatedMinor, heldMinor, refundingMinor, isFailed } =
    payment
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId, recordType: 'payment', recordId: id, what, stored, expected })
  const allocated = amountText(allocatedMinor, currency)
  if (appliedMinor !== allocatedMinor) text('what is allocated of it', amountText(appliedMinor, currency), allocated)
  if (allocatedMinor > amountMinor)
    text('allocations', allocated, `at most its amount, ${amountText(amountMinor, currency)}`)
  if (isFailed && allocatedMinor !== 0n) text('allocations', allocated, 'none, for it has failed')
  if (heldMinor !== refundingMinor)
    text('what is held for refunds', amountText(heldMinor, currency), amountText(refundingMinor, currency))
  if (payment.isPendingAtGateway !== payment.hasOpenTry)
    text(
      'its outcome',
      payment.isPendingAtGateway ? 'pending' : 'known',
      payment.hasOpenTry ? 'pending, for its try or line is open' : 'known, for no try or line of it is open',
    )
}

export const positives: Check = {
  name: 'positive adjustments',
  run: (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => listPositivePage(tx, tx.account, after, limit),
      async (page) => {
        const sums = await listAppliedTo(
          tx,
          tx.account,
          'positive_adjustment',
          page.map(({ id }) => id),
        )
        const applied = new Map(sums.map((sum) => [sum.id, sum]))
        for (const one of page) checkPositive(one, applied.get(one.id) ?? NOTHING_APPLIED, report)
      },
    ),
}

function checkPositive(one: CheckedPositive, applied: Omit<AppliedTo, 'id'>, report: Report): void {
  const { id, customerId, currency, amountMinor } = one
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId, recordType: 'positive_adjustment', recordId: id, what, stored, expected })
  const amount = (what: string, storedMinor: bigint, expectedMinor: bigint) => {
    if (storedMinor !== expectedMinor)
      text(what, amountText(storedMinor, currency), amountText(expectedMinor, currency))
  }
  amount('payments', one.paidMinor, applied.paidMinor)
  amount('pending payments', one.pendingMinor, applied.pendingMinor)
  amount('negative adjustments', one.negativeMinor, applied.negativeMinor)
  const allMinor = applied.paidMinor + applied.pendingMinor + applied.negativeMinor
  if (allMinor > amountMinor)
    text('allocations', amountText(allMinor, currency), `at most its amount, ${amountText(amountMinor, currency)}`)
}
