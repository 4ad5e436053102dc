import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { GivenKind, OwedKind } from './allocating.ts'
import { taxShares, type TaxedInvoice } from './credit-tax.ts'
import { afterLock, type Posting, postingsOfAllocation } from './postings.ts'

/** Effects that a change of allocations has on documents and on the ledger: pure sums over the states before and after. */

/** An allocation with all that its postings and the totals of its documents need. */
export interface AllocationState {
  id: Id
  customerId: CustomerId
  givenKind: GivenKind
  givenId: Id
  owedKind: OwedKind
  owedId: Id
  amountMinor: bigint
  dated: IsoDate
  isServiceMade: boolean
  /** The day on which a failure took it away; it then counts nowhere and stays as history. */
  endedOn: IsoDate | null
  counts: 'paid' | 'pending' | 'negative'
  /** It is of a caller's credit note, so it takes back tax of the invoice. */
  takesTax: boolean
}

/** Returns the day of an allocation. Rule: the later of the two documents' days; where that is locked, the day after the lock. */
export const allocationDay = (given: IsoDate, owed: IsoDate, lockDate: IsoDate | null): IsoDate =>
  afterLock(later(given, owed), lockDate)

/** Deltas, in minor units, by which adding or removing an allocation changes the two documents that it joins. */
export interface AppliedDeltas {
  given: Map<string, { kind: GivenKind; id: Id; amountMinor: bigint }>
  owed: Map<string, { kind: OwedKind; id: Id; paidMinor: bigint; pendingMinor: bigint; negativeMinor: bigint }>
}

const COLUMN = { paid: 'paidMinor', pending: 'pendingMinor', negative: 'negativeMinor' } as const

/** Returns, by document, how much more or less is allocated after than before; documents for which nothing changes are left out. */
export function appliedDeltas(before: readonly AllocationState[], after: readonly AllocationState[]): AppliedDeltas {
  const deltas: AppliedDeltas = { given: new Map(), owed: new Map() }
  const count = (some: readonly AllocationState[], sign: bigint): void => {
    for (const a of some) {
      if (a.endedOn !== null) continue
      const givenKey = `${a.givenKind} ${a.givenId}`
      const given = deltas.given.get(givenKey) ?? { kind: a.givenKind, id: a.givenId, amountMinor: 0n }
      given.amountMinor += sign * a.amountMinor
      deltas.given.set(givenKey, given)
      const owedKey = `${a.owedKind} ${a.owedId}`
      const owed = deltas.owed.get(owedKey) ?? {
        kind: a.owedKind,
        id: a.owedId,
        paidMinor: 0n,
        pendingMinor: 0n,
        negativeMinor: 0n,
      }
      owed[COLUMN[a.counts]] += sign * a.amountMinor
      deltas.owed.set(owedKey, owed)
    }
  }
  count(before, -1n)
  count(after, 1n)
  for (const [key, { amountMinor }] of deltas.given) if (amountMinor === 0n) deltas.given.delete(key)
  for (const [key, d] of deltas.owed)
    if (d.paidMinor === 0n && d.pendingMinor === 0n && d.negativeMinor === 0n) deltas.owed.delete(key)
  return deltas
}

/** Invoices whose taxes the allocations of callers' credit notes take back. */
export const taxedInvoicesOf = (...states: readonly (readonly AllocationState[])[]): Id[] => [
  ...new Set(
    states.flat().flatMap(({ takesTax, owedKind, owedId }) => (takesTax && owedKind === 'invoice' ? [owedId] : [])),
  ),
]

/**
 * Returns the ledger entries of allocations: the amount of each, and for those of callers' credit notes also their shares of the taxes. `taxed` holds
 * the facts of every invoice whose tax they take back, and `all` every such allocation to those invoices, of other notes too.
 */
export function postingsOfAllocations(
  some: readonly AllocationState[],
  taxed: ReadonlyMap<Id, TaxedInvoice>,
): Posting[] {
  const shares = new Map(
    [...taxed].flatMap(([invoiceId, invoice]) => {
      const taking = some.filter(
        (a) => a.takesTax && a.endedOn === null && a.owedKind === 'invoice' && a.owedId === invoiceId,
      )
      return [...taxShares(invoice, taking)]
    }),
  )
  return some.flatMap((a) => postingsOfAllocation({ ...a, taxes: shares.get(a.id) ?? [] }))
}
