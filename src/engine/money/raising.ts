import type { Id } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'

/** Settlements that follow from what a caller allocates of an open note, and from a lower amount of it. */

/** Gross amount for an invoice, in minor units. */
export interface InvoicePart {
  invoiceId: Id
  amountMinor: bigint
}

export interface Raise {
  /** Amounts that callers allocated of the note to invoices before the request. */
  before: readonly InvoicePart[]
  /** The same after it, by allocation. */
  after: readonly (InvoicePart & { id: Id })[]
  /** Amounts of the note that are settled already. */
  settled: readonly InvoicePart[]
  /** Amount of an invoice that can still be credited, in minor units. */
  creditableOf: (invoiceId: Id) => bigint
}

/**
 * Returns what a caller's request settles of an open note, by invoice. Rule: the amount by which it raises what callers allocate to invoices
 * above the higher of what they had allocated and what is settled; on the invoices that have more so allocated than settled, in the order of
 * the allocations, as far as each can be credited.
 */
export function settledByRaise({ before, after, settled, creditableOf }: Raise): InvoicePart[] {
  const beforeMinor = sumMinor(before)
  const settledMinor = sumMinor(settled)
  let left = sumMinor(after) - (beforeMinor > settledMinor ? beforeMinor : settledMinor)
  const to = (some: readonly InvoicePart[], invoiceId: Id) =>
    sumMinor(some.filter((one) => one.invoiceId === invoiceId))
  const inOrder = after.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ invoiceId }) => invoiceId)
  return [...new Set(inOrder)].flatMap((invoiceId): InvoicePart[] => {
    const amountMinor = [to(after, invoiceId) - to(settled, invoiceId), creditableOf(invoiceId), left].reduce((a, b) =>
      a < b ? a : b,
    )
    if (amountMinor <= 0n) return []
    left -= amountMinor
    return [{ invoiceId, amountMinor }]
  })
}

/**
 * Returns what a lower amount of a note takes away of its settlements, given oldest first, and what it settles again. Rule: the newest go first;
 * of the last that goes, what still fits is settled again for the same invoice.
 */
export function settledWithin<Settled extends InvoicePart>(
  settled: readonly Settled[],
  amountMinor: bigint,
): { gone: Settled[]; again: InvoicePart | null } {
  let keptMinor = sumMinor(settled)
  const gone: Settled[] = []
  for (const one of settled.toReversed()) {
    if (keptMinor <= amountMinor) break
    keptMinor -= one.amountMinor
    gone.push(one)
  }
  const last = gone.at(-1)
  const fitsMinor = amountMinor - keptMinor
  return { gone, again: last && fitsMinor > 0n ? { invoiceId: last.invoiceId, amountMinor: fitsMinor } : null }
}
