import { amountText } from '../../kernel/currencies.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import {
  type CheckedChange,
  type CheckedRefund,
  listChangePage,
  listConsoleRefundPage,
  listDoubleNames,
} from './charge-changes-queries.ts'

/** Checks that what befell a charge at its gateway stands in the books: of each change the payment, and of a refund of the console the refund. */
export const chargeChanges: Check = {
  name: 'changes of charges',
  run: eachRecord(listChangePage, checkChange),
}

function checkChange(change: CheckedChange, report: Report): void {
  const { kind, isRefund, reference, chargeId, paymentId, amountMinor, customerId, currency, refundedMinor } = change
  const what = `its change ${reference}`
  const text = (stored: string, expected: string) =>
    report({ customerId, recordType: 'charge', recordId: chargeId, what, stored, expected })
  if (currency === null) return text('a change', 'none, for the charge is no payment')
  if (paymentId !== null && !change.isOfCharge) text(`payment ${paymentId}`, 'a payment of the charge')
  // Nothing of it was booked: it was listed for a person.
  if (paymentId === null && amountMinor !== null && amountMinor > 0n)
    text(amountText(amountMinor, currency), 'a payment, or nothing')
  if (!isRefund || kind !== 'returned' || amountMinor === null) return
  const refunded = refundedMinor ?? 0n
  if (refunded !== amountMinor)
    text(amountText(amountMinor, currency), `${amountText(refunded, currency)}, which its refund is`)
}

/** Checks that a refund of a gateway's console is its positive adjustment. */
export const consoleRefunds: Check = {
  name: 'refunds of gateways',
  run: eachRecord(listConsoleRefundPage, checkRefund),
}

function checkRefund(refund: CheckedRefund, report: Report): void {
  const { id, paymentId, customerId, currency, amountMinor, dated } = refund
  const text = (what: string, stored: string, expected: string) =>
    report({
      customerId,
      recordType: 'payment',
      recordId: paymentId,
      what: `${what} of refund ${id}`,
      stored,
      expected,
    })
  const { adjustmentMinor, adjustmentDated, adjustmentCurrency } = refund
  if (refund.adjustmentKind !== 'refund' || adjustmentMinor === null || adjustmentCurrency === null)
    return text('the adjustment', refund.adjustmentKind ?? 'none', 'refund')
  if (refund.adjustmentCustomerId !== customerId)
    text('the customer', String(refund.adjustmentCustomerId), String(customerId))
  const adjusted = amountText(adjustmentMinor, adjustmentCurrency)
  const expected = amountText(amountMinor, currency)
  if (adjusted !== expected) text('the adjustment', adjusted, expected)
  if (!refund.hasFailed && adjustmentDated !== dated) text('the day', String(adjustmentDated), dated)
}

/** Checks that a gateway has no name for two charges or two refunds. */
export const gatewayNames: Check = {
  name: 'names of gateways',
  isAtOnce: true,
  run: async (tx, report) => {
    const found = await listDoubleNames(tx, tx.account)
    for (const { kind, name, id, count } of found)
      report({
        recordType: kind === 'charge' ? 'charge' : 'payment',
        recordId: id,
        what: kind === 'charge' ? 'its name' : `the name of refund ${id}`,
        stored: `${name}, ${count} times`,
        expected: 'once',
      })
    return found.length
  },
}
