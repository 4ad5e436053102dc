import { later } from '../../kernel/calendar.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import { type CheckedAllocation, listAllocationPage } from './allocations-queries.ts'

const WORDS = {
  invoice: 'invoice',
  positive_adjustment: 'positive adjustment',
  payment: 'payment',
  negative_adjustment: 'credit note',
} as const

/**
 * Every allocation joins two documents that are there, of its own customer and of one currency, on a day on which both were. That they
 * stay inside both amounts is reported by the checks of invoices, payments, adjustments and credit notes, which know the sums.
 */
export const allocations: Check = {
  name: 'allocations',
  run: eachRecord(listAllocationPage, checkAllocation),
}

function checkAllocation(one: CheckedAllocation, report: Report): void {
  if (one.isEnded) return
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId: one.customerId, recordType: 'allocation', recordId: one.id, what, stored, expected })
  const side = (kind: keyof typeof WORDS, id: bigint, customerId: bigint | null) => {
    if (customerId === null) text(WORDS[kind], String(id), 'one that exists')
    else if (customerId !== one.customerId)
      text(WORDS[kind], `${id} of customer ${customerId}`, `one of customer ${one.customerId}`)
  }
  side(one.owedKind, one.owedId, one.owedCustomerId)
  side(one.givenKind, one.givenId, one.givenCustomerId)
  if (one.owedCurrency === null || one.givenCurrency === null || one.owedDated === null || one.givenDated === null)
    return
  if (one.givenCurrency !== one.owedCurrency)
    text('currency', `${one.givenCurrency} to ${one.owedCurrency}`, 'one and the same')
  // Closed books may have moved it to a later day.
  const day = later(one.givenDated, one.owedDated)
  if (one.dated < day) text('day', one.dated, `${day} or later`)
}
