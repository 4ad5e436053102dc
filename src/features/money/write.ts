import { type AllocationState, appliedDeltas, type AppliedDeltas } from '../../engine/money/allocation-effects.ts'
import { type Posting, postingsOfAllocation, postingsOfChange } from '../../engine/money/postings.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sendWake } from '../dunning/queries.ts'
import { type AppliedDelta, sendApplied } from '../invoices/state-queries.ts'
import { sendPostings } from '../ledger/post.ts'
import {
  addNegativeApplied,
  addPaymentApplied,
  addPositiveApplied,
  drawAllocationIds,
  sendAllocationDeletes,
  sendAllocations,
  sendAllocationUpdates,
} from './allocation-queries.ts'
import { type Payment, sendPayment, sendPaymentOfInvoices } from './payment-queries.ts'
import type { MoneyContext, WantedState } from './types.ts'

/** Writes of money: the one way in which allocations, the sums that documents keep of them, and the ledger change. */

export interface MoneyChange {
  customerId: CustomerId
  currency: string
  /** Postings that the records themselves stood for, and stand for now; those of allocations are computed here. */
  before?: readonly Posting[]
  after?: readonly Posting[]
  /** The allocations that are touched, as they are, and as they are to be: one that is left out is taken away. */
  allocations?: {
    before: readonly AllocationState[]
    after: readonly WantedState[]
    /** Drawn ahead for those that are new; what is missing is drawn. */
    ids?: readonly Id[]
  }
  /** A new payment, with its final applied amount: its row is written here. */
  payment?: Payment
  /** True where the row of a new note was inserted with its final applied amount, so that it needs no update. */
  isGivenWritten?: boolean
  /** Entries that settlements stood for, and stand for now; they follow those of the allocations. */
  settled?: { before: readonly Posting[]; after: readonly Posting[] }
  /** Entries that are posted as they are: what happens on a day, instead of correcting what was. */
  happened?: readonly Posting[]
}

/**
 * Writes a change of one locked customer: allocations, the sums that documents keep of them, and the difference in the ledger. The records
 * themselves, a new payment apart, are written by the caller: before this where they are new, after it where they go. Returns the allocations as they now are.
 */
export async function writeMoney(
  tx: Transaction,
  context: MoneyContext,
  change: MoneyChange,
): Promise<AllocationState[]> {
  const before = change.allocations?.before ?? []
  const wanted = change.allocations?.after ?? []
  const drawn = change.allocations?.ids ?? []
  const after = change.payment
    ? await writePayment(tx, context, change.payment, wanted, drawn)
    : await writeAllocations(tx, context, before, wanted, drawn)
  if (!change.payment) {
    const deltas = appliedDeltas(before, after)
    writeDeltas(tx, context, change.isGivenWritten ? { ...deltas, given: new Map() } : deltas)
  }
  const postings = postingsOfChange(
    [...(change.before ?? []), ...before.flatMap(postingsOfAllocation), ...(change.settled?.before ?? [])],
    [...(change.after ?? []), ...after.flatMap(postingsOfAllocation), ...(change.settled?.after ?? [])],
    context.account.lockDate,
  )
  const all = [...postings, ...(change.happened ?? [])]
  sendPostings(tx, [{ customerId: change.customerId, currency: change.currency, postings: all }], context.moment.now)
  return after
}

/** Record before or after an edit: what it stands for in the ledger, and its allocations. */
interface EditSide<Allocation> {
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  postings: readonly Posting[]
  allocations: readonly Allocation[]
}

/**
 * Writes an edit of a record: its allocations, the ledger and, by `writeRow`, its row. Where the currency changes, everything is taken back
 * in the one and made anew in the other.
 */
export async function writeEdit(
  tx: Transaction,
  context: MoneyContext,
  {
    before,
    after,
    settled = { before: [], after: [] },
    happened = [],
    writeRow,
  }: {
    before: EditSide<AllocationState>
    after: EditSide<WantedState>
    settled?: MoneyChange['settled']
    happened?: readonly Posting[]
    writeRow(): Promise<unknown>
  },
): Promise<void> {
  const { customerId } = before
  // The amount rises before what is allocated of it does, and falls after.
  const isRise = after.amountMinor > before.amountMinor
  if (isRise) await writeRow()
  const taken = { customerId, currency: before.currency, before: before.postings }
  const made = { customerId, currency: after.currency, after: after.postings }
  if (before.currency === after.currency) {
    const allocations = { before: before.allocations, after: after.allocations }
    await writeMoney(tx, context, { ...taken, ...made, allocations, settled, happened })
  } else {
    const freed = { before: before.allocations, after: [] }
    await writeMoney(tx, context, { ...taken, allocations: freed, settled: { ...settled, after: [] } })
    const allocated = { before: [], after: after.allocations }
    await writeMoney(tx, context, { ...made, allocations: allocated, settled: { ...settled, before: [] } })
  }
  if (!isRise) await writeRow()
}

const isSame = (a: AllocationState, b: WantedState): boolean =>
  a.givenKind === b.givenKind &&
  a.givenId === b.givenId &&
  a.owedKind === b.owedKind &&
  a.owedId === b.owedId &&
  a.amountMinor === b.amountMinor &&
  a.dated === b.dated &&
  a.isServiceMade === b.isServiceMade &&
  a.endedOn === b.endedOn

async function writeAllocations(
  tx: Transaction,
  { moment }: MoneyContext,
  before: readonly AllocationState[],
  wanted: readonly WantedState[],
  drawn: readonly Id[],
): Promise<AllocationState[]> {
  const known = new Map(before.map((allocation) => [allocation.id, allocation]))
  const gone = before.filter(({ id }) => !wanted.some((a) => a.id === id)).map(({ id }) => id)
  const kept = wanted.filter((a): a is AllocationState => a.id !== null)
  const changed = kept.filter((a) => !isSame(known.get(a.id) as AllocationState, a))
  const added = wanted.filter(({ id }) => id === null)
  if (gone.length > 0) sendAllocationDeletes(tx, gone)
  if (changed.length > 0) sendAllocationUpdates(tx, changed)
  if (added.length === 0) return kept
  const made = await identified(tx, added, drawn)
  sendAllocations(tx, made, moment.now)
  return [...kept, ...made]
}

async function identified(
  tx: Transaction,
  added: readonly WantedState[],
  drawn: readonly Id[],
): Promise<AllocationState[]> {
  const ids = drawn.length >= added.length ? drawn : await drawAllocationIds(tx, added.length)
  return added.map((a, place) => ({ ...a, id: ids[place] as Id }))
}

/** Writes a new payment, its allocations and the sums that documents keep of these: of invoices in one statement. */
async function writePayment(
  tx: Transaction,
  { moment }: MoneyContext,
  payment: Payment,
  wanted: readonly WantedState[],
  drawn: readonly Id[],
): Promise<AllocationState[]> {
  const allocations = await identified(tx, wanted, drawn)
  const oweds = [...appliedDeltas([], allocations).owed.values()]
  const invoices = oweds.filter(({ kind }) => kind === 'invoice')
  const positives = oweds.filter(({ kind }) => kind === 'positive_adjustment')
  if (invoices.length > 0) sendPaymentOfInvoices(tx, { payment, allocations, invoices, at: moment.now })
  else {
    sendPayment(tx, payment)
    if (allocations.length > 0) sendAllocations(tx, allocations, moment.now)
  }
  if (positives.length > 0) addPositiveApplied(tx, positives)
  return allocations
}

/** Moves the sums that documents keep of what is allocated of them, and to them; nobody waits for it but the commit. */
export function writeDeltas(tx: Transaction, { moment }: MoneyContext, { given, owed }: AppliedDeltas): void {
  const givens = [...given.values()]
  const oweds = [...owed.values()]
  const payments = givens.filter(({ kind }) => kind === 'payment')
  const negatives = givens.filter(({ kind }) => kind === 'negative_adjustment')
  const invoices = oweds.filter(({ kind }) => kind === 'invoice')
  const positives = oweds.filter(({ kind }) => kind === 'positive_adjustment')
  if (payments.length > 0) addPaymentApplied(tx, payments)
  if (negatives.length > 0) addNegativeApplied(tx, negatives)
  if (invoices.length > 0) sendApplied(tx, invoices, moment.now)
  const isOpened = (i: AppliedDelta) => i.paidMinor + i.pendingMinor + i.negativeMinor < 0n
  if (invoices.some(isOpened))
    sendWake(
      tx,
      invoices.filter(isOpened).map(({ id }) => id),
      moment.today,
    )
  if (positives.length > 0) addPositiveApplied(tx, positives)
}
