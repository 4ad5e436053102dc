import { amountText } from '../../kernel/currencies.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import { type CheckedSale, listSalePage } from './sales-queries.ts'

/** Checks that the charge of a capture session is one payment once a customer has it, and none before or when it was given back. */
export const sales: Check = {
  name: 'sales of capture sessions',
  run: eachRecord(listSalePage, checkSale),
}

function checkSale(sale: CheckedSale, report: Report): void {
  const { id, customerId, currency, amountMinor, paidMinor, paidCurrency } = sale
  const isPaid = sale.isCompleted && !sale.isRefunded
  const expected = isPaid ? amountText(amountMinor, currency) : 'none'
  const stored = paidMinor === null ? 'none' : amountText(paidMinor, paidCurrency ?? currency)
  if (stored !== expected)
    report({ customerId, recordType: 'charge', recordId: id, what: 'payment of a capture session', stored, expected })
}
