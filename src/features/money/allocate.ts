import { amountText } from '../../kernel/currencies.ts'
import {
  type AllocationPlan,
  type GivenKind,
  type OwedRef,
  planAutoApply,
  planList,
} from '../../engine/money/allocating.ts'
import { allocationDay, type AllocationState } from '../../engine/money/allocation-effects.ts'
import { assert } from '../../kernel/assert.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { ALLOCATIONS_MAX } from './allocation-wire.ts'
import { listOpen, listOwed } from './open-queries.ts'
import { checkAllocated, labelOf } from './rules.ts'
import { type Room, roomFor } from './pending-lines-room.ts'
import type { Asked, MoneyContext, OwedDocument, WantedState } from './types.ts'

/** Plans what a record's money is allocated to, checked against the documents as they stand; the caller has locked the customer. */

/** Money given, as it is to be after the change: a payment, a credit note or a bad debt. */
export interface GivenMoney {
  kind: GivenKind
  id: Id
  customerId: CustomerId
  currency: string
  dated: IsoDate
  amountMinor: bigint
  /** Of it, held for refunds. */
  heldMinor: bigint
  counts: AllocationState['counts']
  /** It gave way until now; it gives way from now on. Left out where it is no line. */
  line?: { gaveWay: boolean; givesWay: boolean }
}

/** Allocations that a record is to have, and the room that lines have to make for them first. */
export interface PlannedAllocations {
  allocations: WantedState[]
  room: Room[]
}

/** Plans the allocations that a record is to have. Throws a conflict for targets that cannot take it and sums that are too high. */
export async function planAllocations(
  tx: Transaction,
  context: MoneyContext,
  given: GivenMoney,
  present: readonly AllocationState[],
  asked: Asked,
): Promise<PlannedAllocations> {
  const plan = await planOf(tx, given, present, asked)
  checkCount(present.length - plan.removed.length, plan.added.length)
  const targets: OwedRef[] = [
    ...present.map(({ owedKind, owedId }) => ({ kind: owedKind, id: owedId })),
    ...plan.changed.map(({ target }) => target),
    ...plan.added.map(({ target }) => target),
  ]
  const known = 'list' in asked ? (asked.owed ?? []) : []
  const unread = targets.filter((target) => !known.some(({ kind, id }) => kind === target.kind && id === target.id))
  const read = unread.length === 0 ? known : [...known, ...(await listOwed(tx, tx.account, unread))]
  const owed = read.map((document) => asSeenBy(given, present, document))
  const fieldOf = (target: OwedRef) => ('list' in asked ? (asked.fieldOf?.(target) ?? null) : null)
  checkTargets(given, plan, owed, fieldOf)
  const after = statesAfter(context, given, present, plan, owed)
  checkSums(given, present, after, owed, { ofAmount: fieldOfAmount(asked), of: fieldOf })
  return { allocations: after, room: roomFor(owed, amountTo(present), amountTo(after)) }
}

/** Returns the field that made a sum too high: the list, or the amount where the allocations stay as they are. */
export const fieldOfAmount = (asked: { list: unknown; field?: string } | object): string | null =>
  'list' in asked ? ('field' in asked ? (asked.field ?? null) : null) : 'Amount'

const amountTo =
  (some: readonly WantedState[]) =>
  ({ kind, id }: OwedRef): bigint =>
    sumMinor(some.filter(({ owedKind, owedId }) => owedKind === kind && owedId === id))

/**
 * Returns a document as a record sees it. Rule: what it gave way with itself is counted among its own allocations, and a line that gives way
 * takes no other's place.
 */
function asSeenBy({ line }: GivenMoney, present: readonly WantedState[], document: OwedDocument): OwedDocument {
  if (!line || document.givesWayMinor === 0n) return document
  const ownMinor = line.gaveWay ? amountTo(present)(document) : 0n
  const othersMinor = document.givesWayMinor - ownMinor
  const openMinor = document.openMinor - ownMinor
  return line.givesWay
    ? { ...document, openMinor: openMinor - othersMinor, givesWayMinor: 0n }
    : { ...document, openMinor, givesWayMinor: othersMinor }
}

/** Throws 400 where a record would have more allocations than the limit; what is only kept is never refused. */
function checkCount(kept: number, added: number): void {
  if (added === 0 || kept + added <= ALLOCATIONS_MAX) return
  throw invalid(
    'too_many_allocations',
    `A record may have at most ${ALLOCATIONS_MAX} allocations; this would have ${kept + added}. Send a list of allocations instead.`,
  )
}

async function planOf(
  tx: Transaction,
  given: GivenMoney,
  present: readonly AllocationState[],
  asked: Asked,
): Promise<AllocationPlan> {
  if ('list' in asked) return planList(present, asked.list, asked.isServiceMade)
  if ('keep' in asked) return { removed: [], changed: [], added: [] }
  const open = (await listOpen(tx, given.customerId, given.currency)).map((one) => asSeenBy(given, present, one))
  return planAutoApply(given.amountMinor - given.heldMinor, present, open, asked.auto)
}

const owedOf = (owed: readonly OwedDocument[], { kind, id }: OwedRef): OwedDocument => {
  const document = owed.find((one) => one.kind === kind && one.id === id)
  assert(document, `${kind} ${id} exists`)
  return document
}

/** Returns the number of an issued invoice; null of an adjustment. */
export const numberOf = ({ kind, order }: Pick<OwedDocument, 'kind' | 'order'>): bigint | null =>
  kind === 'invoice' ? order : null

/** Names a document at the beginning of a sentence. */
const capitalOf = (document: OwedRef): string => labelOf(document).replace(/^./, (first) => first.toUpperCase())

/** Rule: only open documents of the same customer and currency can be paid. */
function checkTargets(
  given: GivenMoney,
  plan: AllocationPlan,
  owed: readonly OwedDocument[],
  fieldOf: (target: OwedRef) => string | null,
): void {
  for (const { target } of [...plan.changed, ...plan.added]) checkTarget(given, owedOf(owed, target), fieldOf(target))
}

/** Throws a conflict where a document is none that money of a customer and currency can go to: a draft, a cancelled one, one of somebody else. */
export function checkTarget(
  given: Pick<GivenMoney, 'customerId' | 'currency'>,
  document: OwedDocument,
  field: string | null,
): void {
  const label = capitalOf(document)
  if (document.customerId !== given.customerId)
    throw conflict(
      'other_customer',
      `${label} is of customer ${document.customerId}, not of customer ${given.customerId}.`,
      field,
    )
  if (document.currency !== given.currency)
    throw conflict(
      'other_currency',
      `${label} is in ${document.currency}; money in ${given.currency} cannot pay it.`,
      field,
    )
  if (document.state !== 'open')
    throw conflict(
      `invoice_${document.state === 'draft' ? 'draft' : 'cancelled'}`,
      `${label} is ${document.state === 'draft' ? 'a draft' : 'cancelled'}; nothing can be allocated to it.`,
      field,
    )
}

function statesAfter(
  { account }: MoneyContext,
  given: GivenMoney,
  present: readonly AllocationState[],
  plan: AllocationPlan,
  owed: readonly OwedDocument[],
): WantedState[] {
  const dayOf = (target: OwedRef) => allocationDay(given.dated, owedOf(owed, target).dated, account.lockDate)
  const gone = new Set(plan.removed.map(({ id }) => id))
  const changes = new Map(plan.changed.map((change) => [change.before.id, change]))
  const kept = present
    .filter(({ id }) => !gone.has(id))
    .map((allocation): WantedState => {
      const change = changes.get(allocation.id)
      const target = change?.target ?? { kind: allocation.owedKind, id: allocation.owedId }
      const isServiceMade = change?.isServiceMade ?? allocation.isServiceMade
      return {
        ...allocation,
        owedKind: target.kind,
        owedId: target.id,
        invoiceNumber: numberOf(owedOf(owed, target)),
        amountMinor: change?.amountMinor ?? allocation.amountMinor,
        isServiceMade,
        dated: dayAfter(
          allocation.dated,
          change !== undefined,
          later(given.dated, owedOf(owed, target).dated),
          dayOf(target),
        ),
      }
    })
  const { customerId, kind, id, counts } = given
  const added = plan.added.map(({ target, amountMinor, isServiceMade }): WantedState => ({
    id: null,
    customerId,
    givenKind: kind,
    givenId: id,
    owedKind: target.kind,
    owedId: target.id,
    invoiceNumber: numberOf(owedOf(owed, target)),
    amountMinor,
    dated: dayOf(target),
    isServiceMade,
    endedOn: null,
    counts,
  }))
  return [...kept, ...added]
}

/** Keeps the day of an allocation while it is in order: a lock moves nothing that was made before it, or on the day after an earlier one; a document's new date does. */
export function dayAfter(before: IsoDate, isChanged: boolean, documentsDay: IsoDate, day: IsoDate): IsoDate {
  const isLocked = day !== documentsDay
  return !isChanged && (before === documentsDay || (isLocked && before > documentsDay)) ? before : day
}

/** Rule: neither the record's amount nor what a document has open is ever exceeded; both amounts are named. */
function checkSums(
  given: GivenMoney,
  present: readonly AllocationState[],
  after: readonly WantedState[],
  owed: readonly OwedDocument[],
  fields: { ofAmount: string | null; of: (target: OwedRef) => string | null },
): void {
  const { currency } = given
  checkAllocated(sumMinor(after), given, fields.ofAmount)
  for (const document of owed) {
    const openMinor = document.openMinor + amountTo(present)(document)
    const wantedMinor = amountTo(after)(document)
    if (wantedMinor > openMinor)
      throw conflict(
        'too_little_open',
        `${capitalOf(document)} has ${amountText(openMinor, currency)} open; ${amountText(wantedMinor, currency)} cannot be allocated to it.`,
        fields.of(document),
      )
  }
}
