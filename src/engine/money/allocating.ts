import { sumMinor } from '../../kernel/money.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'

/** Which money goes to which document: callers' lists, AutoApply, and unallocated money. Amounts are minor units of one currency. */

export type OwedKind = 'invoice' | 'positive_adjustment'
export type GivenKind = 'payment' | 'negative_adjustment'

export interface OwedRef {
  kind: OwedKind
  id: Id
}

export interface GivenRef {
  kind: GivenKind
  id: Id
}

/** An open document of the customer and currency. */
export interface OpenDocument extends OwedRef {
  dated: IsoDate
  /** An invoice's number, an adjustment's identifier: what decides between documents of one day. */
  order: Id
  /** Its amount less everything allocated to it, pending money too, except for lines that give way. */
  openMinor: bigint
}

/** An allocation as it stands; `id` is null for one that is not yet made. */
export interface Allocation<Given = GivenKind> {
  id: Id
  givenKind: Given
  givenId: Id
  owedKind: OwedKind
  owedId: Id
  amountMinor: bigint
  dated: IsoDate
  /** Made by the service: by its rules, a collection attempt or a batch line it filled. */
  isServiceMade: boolean
}

/** Allocation that a caller asks for: a target and an amount. With an identifier it edits the allocation that has it. */
export interface WantedAllocation {
  id: Id | null
  target: OwedRef
  amountMinor: bigint
}

export interface AllocationPlan {
  removed: Allocation[]
  changed: { before: Allocation; target: OwedRef; amountMinor: bigint; isServiceMade: boolean }[]
  added: { target: OwedRef; amountMinor: bigint; isServiceMade: boolean }[]
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * Plans a caller's list in place of the allocations there are. Rule: an entry without an identifier is added, one with an identifier
 * edited, an allocation that is left out taken away. One that keeps its target and amount stays as it is, the service's too; a change of
 * either makes it the caller's; one that is added is the caller's, or the service's by `isServiceMade`.
 */
export function planList(
  existing: readonly Allocation[],
  wanted: readonly WantedAllocation[],
  isServiceMade = false,
): AllocationPlan {
  const byId = new Map(existing.map((allocation) => [allocation.id, allocation]))
  const plan: AllocationPlan = { removed: [], changed: [], added: [] }
  const kept = new Set<Id>()
  for (const { id, target, amountMinor } of wanted) {
    const before = id === null ? undefined : byId.get(id)
    if (before === undefined) {
      plan.added.push({ target, amountMinor, isServiceMade })
      continue
    }
    kept.add(before.id)
    const isSame = before.owedKind === target.kind && before.owedId === target.id && before.amountMinor === amountMinor
    if (!isSame) plan.changed.push({ before, target, amountMinor, isServiceMade: false })
  }
  plan.removed = existing.filter(({ id }) => !kept.has(id))
  return plan
}

/** How open documents are chosen: payments pay all invoices before any adjustment, adjustments take both by their day. */
export type ApplyOrder = 'invoices_first' | 'by_date' | 'invoices_only'

/** Orders documents by day; on one day invoices before adjustments; then by number or identifier. */
export function inOrder(documents: readonly OpenDocument[], order: ApplyOrder): OpenDocument[] {
  const rank = ({ kind }: OpenDocument) => (kind === 'invoice' ? 0 : 1)
  const some = order === 'invoices_only' ? documents.filter(({ kind }) => kind === 'invoice') : documents
  return some.toSorted((a, b) => {
    if (order === 'invoices_first' && a.kind !== b.kind) return rank(a) - rank(b)
    if (a.dated !== b.dated) return a.dated < b.dated ? -1 : 1
    if (a.kind !== b.kind) return rank(a) - rank(b)
    return a.order < b.order ? -1 : a.order > b.order ? 1 : 0
  })
}

/**
 * Plans AutoApply: it keeps the allocations there are and applies the rest to the open documents, the earliest first, as far as it reaches.
 * Where the amount fell below what is allocated, the newest give way first. `open` does not count what is taken away here.
 */
export function planAutoApply(
  amountMinor: bigint,
  existing: readonly Allocation[],
  open: readonly OpenDocument[],
  order: ApplyOrder,
  isServiceMade = false,
): AllocationPlan {
  const plan: AllocationPlan = { removed: [], changed: [], added: [] }
  let over = sumMinor(existing) - amountMinor
  for (const allocation of existing.toSorted((a, b) => (a.id < b.id ? 1 : -1))) {
    if (over <= 0n) break
    const cut = least(over, allocation.amountMinor)
    over -= cut
    if (cut === allocation.amountMinor) plan.removed.push(allocation)
    else {
      const target = { kind: allocation.owedKind, id: allocation.owedId }
      const { isServiceMade: wasServiceMade } = allocation
      plan.changed.push({
        before: allocation,
        target,
        amountMinor: allocation.amountMinor - cut,
        isServiceMade: wasServiceMade,
      })
    }
  }
  let left = amountMinor - sumMinor(existing)
  for (const document of inOrder(open, order)) {
    if (left <= 0n) break
    const amount = least(left, document.openMinor)
    if (amount <= 0n) continue
    left -= amount
    plan.added.push({ target: { kind: document.kind, id: document.id }, amountMinor: amount, isServiceMade })
  }
  return plan
}

/** Unallocated money of the customer and currency. */
export interface FreeMoney {
  kind: GivenKind
  id: Id
  dated: IsoDate
  freeMinor: bigint
}

export interface Taken {
  givenKind: GivenKind
  givenId: Id
  target: OwedRef
  amountMinor: bigint
}

/**
 * Allocates unallocated money to documents that are being made. Rule for invoices of the rules: by day, credit notes before payments on
 * one day, then by identifier; for a refund: payments, then credit notes, each oldest first.
 */
export function takeFree(
  free: readonly FreeMoney[],
  targets: readonly (OwedRef & { openMinor: bigint })[],
  first: 'credit_notes_of_a_day' | 'payments',
): Taken[] {
  const rank = ({ kind }: FreeMoney) => ((kind === 'payment') === (first === 'payments') ? 0 : 1)
  const ordered = free.toSorted((a, b) => {
    if (first === 'payments' && a.kind !== b.kind) return rank(a) - rank(b)
    if (a.dated !== b.dated) return a.dated < b.dated ? -1 : 1
    if (a.kind !== b.kind) return rank(a) - rank(b)
    return a.id < b.id ? -1 : 1
  })
  const left = ordered.map(({ freeMinor }) => freeMinor)
  const taken: Taken[] = []
  for (const { kind, id, openMinor } of targets) {
    let open = openMinor
    ordered.forEach((money, index) => {
      const amount = least(open, left[index] as bigint)
      if (amount <= 0n) return
      open -= amount
      left[index] = (left[index] as bigint) - amount
      taken.push({ givenKind: money.kind, givenId: money.id, target: { kind, id }, amountMinor: amount })
    })
  }
  return taken
}
