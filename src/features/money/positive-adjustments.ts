import { amountText } from '../../kernel/currencies.ts'
import { type GivenRef, planAutoApply, takeFree } from '../../engine/money/allocating.ts'
import { allocationDay, type AllocationState } from '../../engine/money/allocation-effects.ts'
import { postingsOfPositive } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import { later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Queryable, Snapshot, Transaction } from '../../platform/database/database.ts'
import { PORTION_ROWS } from '../../platform/database/reads.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import {
  deletePositive,
  findPositive,
  insertPositive,
  type NewPositive,
  type PositiveAdjustment,
  updatePositive,
} from './adjustment-queries.ts'
import { dayAfter, fieldOfAmount } from './allocate.ts'
import { allocationNames } from './allocation-names.ts'
import { coverRefunds } from './cover-refunds.ts'
import { findRefundOfAdjustment } from './cover-queries.ts'
import { listAllocationsOfOwed, listEndedAllocations, portionsOfOwed } from './allocation-queries.ts'
import { type GivenDocument, listFree, listGiven } from './open-queries.ts'
import { lockedRecord, type PositiveRecord, recordMoneyEvent, withAllocations } from './records.ts'
import { checkAllocated, labelOf } from './rules.ts'
import { positiveShape } from './shapes.ts'
import { writeEdit, writeMoney } from './write.ts'
import type { WantedState } from './types.ts'

/** Positive adjustments: what is owed beside invoices. Each works on a locked customer, in one transaction. */

/** Money that is to pay a positive adjustment: a list; the present allocations and as much unallocated money as is needed; or the present ones. */
export type PositiveAsked =
  | {
      list: readonly (WantedGiven & { isServiceMade?: boolean })[]
      /** Names the list, for refusals. */
      field?: string
    }
  | { auto: 'caller' | 'service' }
  | { keep: true }

/** Loads a positive adjustment with its allocations, in one exchange; undefined where there is none. */
export const loadPositive = (db: Queryable, account: AccountId, id: Id): Promise<PositiveRecord | undefined> =>
  withAllocations(findPositive(db, account, id), listAllocationsOfOwed(db, account, 'positive_adjustment', [id]))

/** Reads the allocations of a positive adjustment, of which there may be any number, in portions. */
export const portionsOfPositive = (db: Snapshot, account: AccountId, id: Id) =>
  portionsOfOwed(db, account, { kind: 'positive_adjustment', id, size: PORTION_ROWS })

/** Locks the customer of a positive adjustment, and loads the adjustment; undefined where there is none. */
export const lockedPositive = async (tx: Transaction, id: Id): Promise<PositiveRecord | undefined> =>
  lockedRecord(tx, await findPositive(tx, tx.account, id), () => loadPositive(tx, tx.account, id))

/** Covers what gateways' consoles have refunded of a locked customer, and loads one of these refunds, as it is then. */
export async function coveredPositive(
  tx: Transaction,
  context: RequestContext,
  { id, customerId }: { id: Id; customerId: CustomerId },
): Promise<PositiveRecord> {
  await coverRefunds(tx, context, customerId)
  const record = await loadPositive(tx, tx.account, id)
  assert(record, `positive adjustment ${id} exists`)
  return record
}

/** Loads a positive adjustment that was just written and records what happened to it. */
async function recordWritten(
  tx: Transaction,
  context: RequestContext,
  type: 'positive_adjustment.created' | 'positive_adjustment.updated',
  id: Id,
): Promise<PositiveRecord> {
  const record = await loadPositive(tx, tx.account, id)
  assert(record, `positive adjustment ${id} exists`)
  await recordMoneyEvent(tx, context, positiveShape, type, record)
  return record
}

/**
 * Adds a positive adjustment of a locked customer. Rule: a refund takes unallocated money at once, unless the account has turned that off; one
 * of money given is paid by that, if by anything.
 */
export async function addPositive(
  tx: Transaction,
  context: RequestContext,
  wanted: NewPositive,
  refunded?: { given: GivenRef | null },
): Promise<PositiveRecord> {
  checkNotLocked(context.account.lockDate, [wanted.dated], 'the adjustment')
  const id = await insertPositive(tx, wanted, context.moment.now)
  const positive: PositiveAdjustment = {
    ...wanted,
    id,
    paidMinor: 0n,
    pendingMinor: 0n,
    negativeMinor: 0n,
    createdAt: context.moment.now,
  }
  const takes = wanted.kind === 'refund' && context.account.isAutoApply
  const after = await planGivens(tx, context, positive, [], askedOf(positive, takes, refunded))
  await writeMoney(tx, context, {
    customerId: wanted.customerId,
    currency: wanted.currency,
    after: postingsOfPositive(positive),
    allocations: { before: [], after },
  })
  return recordWritten(tx, context, 'positive_adjustment.created', id)
}

function askedOf(positive: PositiveAdjustment, takes: boolean, refunded?: { given: GivenRef | null }): PositiveAsked {
  if (!refunded) return takes ? { auto: 'service' } : { keep: true }
  const { given } = refunded
  if (given === null) return { keep: true }
  return { list: [{ id: null, given, amountMinor: positive.amountMinor, isServiceMade: true }] }
}

/** Fields of a positive adjustment that can be edited. */
export type PositiveEdit = Pick<PositiveAdjustment, 'dated' | 'dueDate' | 'amountMinor' | 'ref' | 'memo'>

/** Corrects a positive adjustment and what pays it; its allocations move to a new day with it. */
export async function editPositive(
  tx: Transaction,
  context: RequestContext,
  before: PositiveRecord,
  wanted: PositiveEdit,
  asked: PositiveAsked,
): Promise<PositiveRecord> {
  const positive: PositiveAdjustment = { ...before, ...wanted }
  const isMoved = positive.amountMinor !== before.amountMinor || positive.dated !== before.dated
  if (isMoved) await checkNoRefund(tx, before, 'its Amount and Date cannot change')
  if (isMoved) checkNotLocked(context.account.lockDate, [before.dated, positive.dated], labelOfPositive(before))
  const after = await planGivens(tx, context, positive, before.allocations, asked)
  const ended = positive.dated === before.dated ? NO_ENDED : await endedOf(tx, context, positive)
  await writeEdit(tx, context, {
    before: {
      ...before,
      postings: postingsOfPositive(before),
      allocations: [...before.allocations, ...ended.before],
    },
    after: { ...positive, postings: postingsOfPositive(positive), allocations: [...after, ...ended.after] },
    writeRow: () => updatePositive(tx, positive),
  })
  if (before.allocations.length > 0) await coverRefunds(tx, context, before.customerId)
  return recordWritten(tx, context, 'positive_adjustment.updated', before.id)
}

/** Throws a conflict for what a gateway's console has refunded: the money is gone, whoever owes it. */
async function checkNoRefund(tx: Transaction, { id, kind, customerId }: PositiveAdjustment, what: string) {
  const refund = kind === 'refund' ? await findRefundOfAdjustment(tx, customerId, id) : undefined
  if (refund)
    throw conflict(
      'adjustment_fixed',
      `Positive adjustment ${id} was refunded of payment ${refund.paymentId} at its gateway; ${what}.`,
    )
}

const NO_ENDED = { before: [], after: [] }

/** Lists the ended allocations of failed payments to it, as they are and on its new day. Rule: no entry is dated before its document. */
async function endedOf(tx: Transaction, { account }: RequestContext, positive: PositiveAdjustment) {
  const before = await listEndedAllocations(tx, tx.account, { kind: 'positive_adjustment', id: positive.id })
  if (before.length === 0) return NO_ENDED
  const refs = before.map(({ givenKind, givenId }) => ({ kind: givenKind, id: givenId }))
  const givens = await listGiven(tx, tx.account, refs)
  const after = before.map((allocation) => {
    const given = givens.find(({ kind, id }) => kind === allocation.givenKind && id === allocation.givenId)
    assert(given, `${allocation.givenKind} ${allocation.givenId} exists`)
    const dated = allocationDay(given.dated, positive.dated, account.lockDate)
    return { ...allocation, dated, endedOn: later(allocation.endedOn ?? dated, dated) }
  })
  return { before, after }
}

const labelOfPositive = ({ id }: { id: Id }): string => labelOf({ kind: 'positive_adjustment', id })

/** Deletes a positive adjustment. Rule: not while money is allocated to it; the allocations are named. */
export async function removePositive(
  tx: Transaction,
  context: RequestContext,
  positive: PositiveRecord,
): Promise<void> {
  const label = labelOfPositive(positive)
  if (positive.allocations.length > 0)
    throw conflict(
      'adjustment_allocated',
      `Positive adjustment ${positive.id} has the allocation ${await allocationNames(tx, positive.allocations)}; take it off before deleting.`,
    )
  await checkNoRefund(tx, positive, 'it cannot be deleted')
  checkNotLocked(context.account.lockDate, [positive.dated], label)
  const { id, customerId, currency } = positive
  const ended = await listEndedAllocations(tx, tx.account, { kind: 'positive_adjustment', id })
  await writeMoney(tx, context, {
    customerId,
    currency,
    before: postingsOfPositive(positive),
    allocations: { before: ended, after: [] },
  })
  await deletePositive(tx, id)
  await recordMoneyEvent(tx, context, positiveShape, 'positive_adjustment.deleted', positive)
}

/** Allocation to be made or kept, before its day is known. */
interface Share extends WantedGiven {
  isServiceMade: boolean
}

/** Plans the allocations that it is to have. Throws a conflict for money that cannot pay it and sums that are too high. */
async function planGivens(
  tx: Transaction,
  context: RequestContext,
  positive: PositiveAdjustment,
  present: readonly AllocationState[],
  asked: PositiveAsked,
): Promise<WantedState[]> {
  const shares = await sharesOf(tx, positive, present, asked)
  const refs = [
    ...shares.map(({ given }) => given),
    ...present.map(({ givenKind, givenId }) => ({ kind: givenKind, id: givenId })),
  ]
  const givens = refs.length === 0 ? [] : await listGiven(tx, tx.account, refs)
  checkSums(positive, present, { shares, field: fieldOfAmount(asked) }, givens)
  return shares.map((share) => stateOf(context, positive, present, share, givens))
}

async function sharesOf(
  tx: Transaction,
  positive: PositiveAdjustment,
  present: readonly AllocationState[],
  asked: PositiveAsked,
): Promise<Share[]> {
  if ('list' in asked)
    return asked.list.map((entry) => ({
      ...entry,
      isServiceMade: entry.isServiceMade ?? isKept(present, entry)?.isServiceMade ?? false,
    }))
  const kept = present.map(shareOf)
  if ('keep' in asked) return kept
  const { removed, changed } = planAutoApply(positive.amountMinor, present, [], 'by_date')
  const cut = kept
    .filter(({ id }) => !removed.some((gone) => gone.id === id))
    .map((share) => ({
      ...share,
      amountMinor: changed.find(({ before }) => before.id === share.id)?.amountMinor ?? share.amountMinor,
    }))
  const openMinor = positive.amountMinor - sumMinor(cut)
  const free = (await listFree(tx, [positive.customerId])).filter(({ currency }) => currency === positive.currency)
  const taken = takeFree(free, [{ kind: 'positive_adjustment', id: positive.id, openMinor }], 'payments')
  return [
    ...cut,
    ...taken.map(({ givenKind, givenId, amountMinor }) => ({
      id: null,
      given: { kind: givenKind, id: givenId },
      amountMinor,
      isServiceMade: asked.auto === 'service',
    })),
  ]
}

const shareOf = ({ id, givenKind, givenId, amountMinor, isServiceMade }: AllocationState): Share => ({
  id,
  given: { kind: givenKind, id: givenId },
  amountMinor,
  isServiceMade,
})

/** Finds the allocation that an entry leaves as it is. Rule: one whose money and amount stay, stays whose it is. */
const isKept = (present: readonly AllocationState[], { id, given, amountMinor }: WantedGiven) =>
  present.find(
    (a) => a.id === id && a.givenKind === given.kind && a.givenId === given.id && a.amountMinor === amountMinor,
  )

const givenOf = (givens: readonly GivenDocument[], { given }: WantedGiven): GivenDocument => {
  const found = givens.find(({ kind, id }) => kind === given.kind && id === given.id)
  assert(found, `${given.kind} ${given.id} exists`)
  return found
}

function stateOf(
  { account }: RequestContext,
  positive: PositiveAdjustment,
  present: readonly AllocationState[],
  share: Share,
  givens: readonly GivenDocument[],
): WantedState {
  const given = givenOf(givens, share)
  const before = present.find(({ id }) => id === share.id)
  const day = allocationDay(given.dated, positive.dated, account.lockDate)
  const isChanged = isKept(present, share) === undefined
  return {
    id: share.id,
    customerId: positive.customerId,
    givenKind: given.kind,
    givenId: given.id,
    owedKind: 'positive_adjustment',
    owedId: positive.id,
    invoiceNumber: null,
    amountMinor: share.amountMinor,
    dated: before ? dayAfter(before.dated, isChanged, later(given.dated, positive.dated), day) : day,
    isServiceMade: share.isServiceMade,
    endedOn: null,
    counts: given.counts,
  }
}

/** Throws a conflict for money of another customer or currency, money that failed, and sums over either amount; both amounts are named. */
function checkSums(
  positive: PositiveAdjustment,
  present: readonly AllocationState[],
  { shares, field }: { shares: readonly Share[]; field: string | null },
  givens: readonly GivenDocument[],
): void {
  for (const share of shares) if (!isKept(present, share)) checkGiven(positive, givenOf(givens, share), field)
  checkAllocated(sumMinor(shares), positive, field)
  for (const given of givens) {
    const { kind, id, currency } = given
    const hereMinor = sumMinor(present.filter(({ givenKind, givenId }) => givenKind === kind && givenId === id))
    const wantedMinor = sumMinor(shares.filter((share) => share.given.kind === kind && share.given.id === id))
    const freeMinor = given.freeMinor + hereMinor
    if (wantedMinor > freeMinor)
      throw conflict(
        'too_little_unallocated',
        `The ${labelOf(given)} has ${amountText(freeMinor, currency)} unallocated; ${amountText(wantedMinor, currency)} of it cannot be allocated.`,
        field,
      )
  }
}

function checkGiven(positive: PositiveAdjustment, given: GivenDocument, field: string | null): void {
  const label = `The ${labelOf(given)}`
  if (given.customerId !== positive.customerId)
    throw conflict(
      'other_customer',
      `${label} is of customer ${given.customerId}, not of customer ${positive.customerId}.`,
      field,
    )
  if (given.currency !== positive.currency)
    throw conflict(
      'other_currency',
      `${label} is in ${given.currency}; it cannot pay what is in ${positive.currency}.`,
      field,
    )
  if (given.isFailed) throw conflict('payment_failed', `${label} has failed; nothing of it can be allocated.`, field)
}

export interface WantedGiven {
  /** The allocation that the entry edits; null for a new one. */
  id: Id | null
  given: GivenRef
  amountMinor: bigint
}
