import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { GivenKind, OwedKind } from './allocating.ts'
import { afterLock } from './postings.ts'

/** Effects that a change of allocations has on documents and on the ledger: pure sums over the states before and after. */

/** How an allocation counts for the document owed: money paid, money that waits, a credit note, or bad debt that writes it off. */
export type AppliedAs = 'paid' | 'pending' | 'negative' | 'written_off'

/** An allocation with all that its postings and the totals of its documents need. */
export interface AllocationState {
  id: Id
  customerId: CustomerId
  givenKind: GivenKind
  givenId: Id
  owedKind: OwedKind
  owedId: Id
  /** The number of the invoice that it pays; null where it pays none. */
  invoiceNumber: bigint | null
  amountMinor: bigint
  dated: IsoDate
  isServiceMade: boolean
  /** The day on which a failure took it away; it then counts nowhere and stays as history. */
  endedOn: IsoDate | null
  counts: AppliedAs
}

/** Returns the day of an allocation. Rule: the later of the two documents' days; where that is locked, the day after the lock. */
export const allocationDay = (given: IsoDate, owed: IsoDate, lockDate: IsoDate | null): IsoDate =>
  afterLock(later(given, owed), lockDate)

/** Deltas, in minor units, by which adding or removing an allocation changes the two documents that it joins. */
export interface AppliedDeltas {
  given: Map<string, { kind: GivenKind; id: Id; amountMinor: bigint }>
  owed: Map<string, { kind: OwedKind; id: Id } & OwedSums>
}

/** Sums that a document owed keeps of its allocations; what is written off is of the negative one. */
export type OwedSums = Record<'paidMinor' | 'pendingMinor' | 'negativeMinor' | 'writtenOffMinor', bigint>

const COLUMN = {
  paid: 'paidMinor',
  pending: 'pendingMinor',
  negative: 'negativeMinor',
  written_off: 'negativeMinor',
} as const

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
        writtenOffMinor: 0n,
      }
      owed[COLUMN[a.counts]] += sign * a.amountMinor
      if (a.counts === 'written_off') owed.writtenOffMinor += sign * a.amountMinor
      deltas.owed.set(owedKey, owed)
    }
  }
  count(before, -1n)
  count(after, 1n)
  for (const [key, { amountMinor }] of deltas.given) if (amountMinor === 0n) deltas.given.delete(key)
  for (const [key, d] of deltas.owed)
    if (d.paidMinor === 0n && d.pendingMinor === 0n && d.negativeMinor === 0n && d.writtenOffMinor === 0n)
      deltas.owed.delete(key)
  return deltas
}
