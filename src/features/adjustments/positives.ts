import { planAutoApply, takeFree } from '../../engine/money/allocating.ts'
import { allocationDay, type AllocationState } from '../../engine/money/allocation-effects.ts'
import { postingsOfPositive } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import { later } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { minorText } from '../../kernel/money.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { lockCustomer } from '../customers/queries.ts'
import { recordEvent } from '../events/record.ts'
import {
  deletePositive,
  findPositive,
  insertPositive,
  type NewPositive,
  type PositiveAdjustment,
  updatePositive,
} from '../money/adjustment-queries.ts'
import { dayAfter } from '../money/allocate.ts'
import { listAllocationsOfOwed, listEndedAllocations } from '../money/allocation-queries.ts'
import { type GivenDocument, listFree, listGiven } from '../money/record-queries.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { type WantedState, writeMoney } from '../money/write.ts'
import type { WantedGiven } from './choose-givens.ts'
import { PositiveOut, type PositiveRecord, positiveToWire } from './wire.ts'

/** Positive adjustments: what is owed beside invoices. Each works on a locked customer, in one transaction. */

/** Which money pays it: a list; what there is and as much unallocated money as is needed; or what there is. */
export type PositiveAsked = { list: readonly WantedGiven[] } | { auto: 'caller' | 'service' } | { keep: true }

/** The record, its customer locked before it is read for good; undefined where there is none. */
export async function lockedPositive(tx: Transaction, id: Id): Promise<PositiveRecord | undefined> {
  const found = await findPositive(tx, tx.account, id)
  if (!found) return undefined
  await lockCustomer(tx, tx.account, found.customerId)
  const positive = await findPositive(tx, tx.account, id)
  return positive && { positive, allocations: await listAllocationsOfOwed(tx, tx.account, 'positive_adjustment', [id]) }
}

const recordPositive = (
  tx: Transaction,
  context: RequestContext,
  what: 'created' | 'updated' | 'deleted',
  record: PositiveRecord,
) =>
  recordEvent(tx, context, {
    type: `positive_adjustment.${what}`,
    recordId: record.positive.id,
    customerId: record.positive.customerId,
    record: PositiveOut.write(positiveToWire(record, context.account.timeZone, context.moment.today)),
  })

/** Adds one of a locked customer. Rule: a refund takes unallocated money at once, unless the account says that none is taken by itself. */
export async function addPositive(
  tx: Transaction,
  context: RequestContext,
  wanted: NewPositive,
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
  const after = await planGivens(tx, context, positive, [], takes ? { auto: 'service' } : { keep: true })
  await writeMoney(tx, context, {
    customerId: wanted.customerId,
    currency: wanted.currency,
    after: postingsOfPositive(positive),
    allocations: { before: [], after },
  })
  const record = (await lockedPositive(tx, id)) as PositiveRecord
  await recordPositive(tx, context, 'created', record)
  return record
}

/** What of one can be edited. */
export type PositiveEdit = Pick<PositiveAdjustment, 'dated' | 'dueDate' | 'amountMinor' | 'ref' | 'memo'>

/** Corrects one and what pays it; a new day is one of its allocations too. */
export async function editPositive(
  tx: Transaction,
  context: RequestContext,
  present: PositiveRecord,
  wanted: PositiveEdit,
  asked: PositiveAsked,
): Promise<PositiveRecord> {
  const { positive: before, allocations } = present
  const positive: PositiveAdjustment = { ...before, ...wanted }
  if (positive.amountMinor !== before.amountMinor || positive.dated !== before.dated)
    checkNotLocked(context.account.lockDate, [before.dated, positive.dated], `positive adjustment ${before.id}`)
  const after = await planGivens(tx, context, positive, allocations, asked)
  const ended = positive.dated === before.dated ? NO_ENDED : await endedOf(tx, context, positive)
  // The amount rises before what is allocated to it does, and falls after.
  const isRise = positive.amountMinor > before.amountMinor
  if (isRise) await updatePositive(tx, positive)
  await writeMoney(tx, context, {
    customerId: before.customerId,
    currency: before.currency,
    before: postingsOfPositive(before),
    after: postingsOfPositive(positive),
    allocations: { before: [...allocations, ...ended.before], after: [...after, ...ended.after] },
  })
  if (!isRise) await updatePositive(tx, positive)
  const record = (await lockedPositive(tx, positive.id)) as PositiveRecord
  await recordPositive(tx, context, 'updated', record)
  return record
}

const NO_ENDED = { before: [], after: [] }

/** What failed payments had been allocated to it, before and on its new day. Rule: no entry is dated before its document. */
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

/** Deletes one. Rule: not while money is allocated to it; the allocations are named. */
export async function removePositive(tx: Transaction, context: RequestContext, present: PositiveRecord): Promise<void> {
  const { positive, allocations } = present
  if (allocations.length > 0) {
    const named = allocations.map(({ id, givenKind, givenId }) => `${id} of ${WORD[givenKind]} ${givenId}`)
    throw conflict(
      'adjustment_allocated',
      `Positive adjustment ${positive.id} has the allocation ${sentenceList(named)}; take it off before deleting.`,
    )
  }
  checkNotLocked(context.account.lockDate, [positive.dated], `positive adjustment ${positive.id}`)
  const { customerId, currency } = positive
  const ended = await listEndedAllocations(tx, tx.account, { kind: 'positive_adjustment', id: positive.id })
  await writeMoney(tx, context, {
    customerId,
    currency,
    before: postingsOfPositive(positive),
    allocations: { before: ended, after: [] },
  })
  await deletePositive(tx, positive.id)
  await recordPositive(tx, context, 'deleted', present)
}

const WORD = { payment: 'payment', negative_adjustment: 'negative adjustment' } as const

/** An allocation to be, before its day is known. */
interface Share extends WantedGiven {
  isServiceMade: boolean
}

/** The allocations that it is to have. Throws a conflict for money that cannot pay it and sums that are too high. */
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
  checkSums(positive, present, shares, givens)
  return shares.map((share) => stateOf(context, positive, present, share, givens))
}

async function sharesOf(
  tx: Transaction,
  positive: PositiveAdjustment,
  present: readonly AllocationState[],
  asked: PositiveAsked,
): Promise<Share[]> {
  if ('list' in asked)
    return asked.list.map((entry) => ({ ...entry, isServiceMade: isKept(present, entry)?.isServiceMade ?? false }))
  const kept = present.map(shareOf)
  if ('keep' in asked) return kept
  const { removed, changed } = planAutoApply(positive.amountMinor, present, [], 'by_date')
  const cut = kept
    .filter(({ id }) => !removed.some((gone) => gone.id === id))
    .map((share) => ({
      ...share,
      amountMinor: changed.find(({ before }) => before.id === share.id)?.amountMinor ?? share.amountMinor,
    }))
  const openMinor = cut.reduce((left, { amountMinor }) => left - amountMinor, positive.amountMinor)
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

/** The allocation that an entry leaves as it is. Rule: one whose money and amount stay, stays whose it is. */
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
    amountMinor: share.amountMinor,
    dated: before ? dayAfter(before.dated, isChanged, later(given.dated, positive.dated), day) : day,
    isServiceMade: share.isServiceMade,
    endedOn: null,
    counts: given.counts,
    takesTax: given.takesTax && !share.isServiceMade,
  }
}

/** Rule: only money of the same customer and currency that has not failed; neither amount is ever exceeded, and both are named. */
function checkSums(
  positive: PositiveAdjustment,
  present: readonly AllocationState[],
  shares: readonly Share[],
  givens: readonly GivenDocument[],
): void {
  const text = (amountMinor: bigint) => `${minorText(amountMinor, digitsOf(positive.currency))} ${positive.currency}`
  for (const share of shares) if (!isKept(present, share)) checkGiven(positive, givenOf(givens, share))
  const allocatedMinor = sumOf(shares)
  if (allocatedMinor > positive.amountMinor)
    throw conflict(
      'over_allocated',
      `The allocations come to ${text(allocatedMinor)}, more than the amount of ${text(positive.amountMinor)}.`,
    )
  for (const { kind, id, freeMinor } of givens) {
    const hereMinor = sumOf(present.filter(({ givenKind, givenId }) => givenKind === kind && givenId === id))
    const wantedMinor = sumOf(shares.filter(({ given }) => given.kind === kind && given.id === id))
    if (wantedMinor > freeMinor + hereMinor)
      throw conflict(
        'too_little_unallocated',
        `The ${WORD[kind]} ${id} has ${text(freeMinor + hereMinor)} unallocated; ${text(wantedMinor)} of it cannot be allocated.`,
      )
  }
}

const sumOf = (some: readonly { amountMinor: bigint }[]): bigint =>
  some.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)

function checkGiven(positive: PositiveAdjustment, given: GivenDocument): void {
  const label = `The ${WORD[given.kind]} ${given.id}`
  if (given.customerId !== positive.customerId)
    throw conflict(
      'other_customer',
      `${label} is of customer ${given.customerId}, not of customer ${positive.customerId}.`,
    )
  if (given.currency !== positive.currency)
    throw conflict('other_currency', `${label} is in ${given.currency}; it cannot pay what is in ${positive.currency}.`)
  if (given.isFailed) throw conflict('payment_failed', `${label} has failed; nothing of it can be allocated.`)
}
