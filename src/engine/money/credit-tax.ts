import { divideHalfAway } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import type { PostedTax, TaxAmount } from './postings.ts'

/** The taxes of an invoice that callers' credit notes take back. */

export interface TaxedInvoice {
  totalMinor: bigint
  /** Its frozen taxes in their order, each with what credit notes of the service have taken back of it. */
  taxes: readonly (TaxAmount & { takenBackMinor: bigint })[]
}

export interface CreditingAllocation {
  id: Id
  amountMinor: bigint
}

/**
 * Returns the share of each allocation of callers' credit notes to one invoice, by the allocation's identifier. Rule: together they take
 * back round(C × tax ÷ Total) of each tax, C being what they allocate; an allocation's share is what it adds to that, in the order made, so
 * that the shares add up; with what the service's notes took back never more than the tax itself. Allocations of a Total of 0 take none.
 */
export function taxShares(invoice: TaxedInvoice, allocations: readonly CreditingAllocation[]): Map<Id, TaxAmount[]> {
  const shares = new Map<Id, TaxAmount[]>()
  let creditedMinor = 0n
  for (const { id, amountMinor } of allocations.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const beforeMinor = creditedMinor
    creditedMinor += amountMinor
    const taken = invoice.taxes.map((tax) => ({
      ...postedTax(tax),
      amountMinor: takenBack(invoice, tax, creditedMinor) - takenBack(invoice, tax, beforeMinor),
    }))
    shares.set(
      id,
      taken.filter((share) => share.amountMinor !== 0n),
    )
  }
  return shares
}

const postedTax = ({ name, rate, taxNumber }: PostedTax): PostedTax => ({ name, rate, taxNumber })

function takenBack(
  { totalMinor }: TaxedInvoice,
  tax: TaxAmount & { takenBackMinor: bigint },
  creditedMinor: bigint,
): bigint {
  if (totalMinor <= 0n) return 0n
  const share = divideHalfAway(creditedMinor * tax.amountMinor, totalMinor)
  const left = tax.amountMinor - tax.takenBackMinor
  return share < left ? share : left < 0n ? 0n : left
}
