import type { WantedAllocation } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { afterLock, postingsOfPayment } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import { conflict, invalid, missing } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { lockCustomer } from '../customers/queries.ts'
import type { EventType } from '../events/queries.ts'
import { recordEvent } from '../events/record.ts'
import { type Asked, type GivenMoney, planAllocations } from '../money/allocate.ts'
import { listAllocationsOfGiven, listEndedAllocations } from '../money/allocation-queries.ts'
import {
  type DrawnIds,
  drawPaymentIds,
  findPayment,
  type NewPayment,
  type Payment,
  sendPayment,
  sendPaymentDelete,
  sendPaymentUpdate,
} from '../money/payment-queries.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { type WantedState, writeEdit, writeMoney } from '../money/write.ts'
import { isPending, postedPayment } from './rules.ts'
import { PaymentOut, paymentToWire } from './wire.ts'

/** Payments: recorded, corrected, failed, begun and settled. Each works on a locked customer, in one transaction. */

export const unknownPayment = (id: bigint | string) =>
  missing('payment_unknown', `There is no payment ${id}.`, 'paymentID')

/** A payment with what is allocated of it. */
export interface PaymentRecord {
  payment: Payment
  allocations: readonly AllocationState[]
}

/** The payment, its customer locked before it is read for good. */
export async function lockedPayment(tx: Transaction, id: Id): Promise<PaymentRecord> {
  const found = await findPayment(tx, tx.account, id)
  if (!found) throw unknownPayment(id)
  // All in one exchange; what is read waits for the lock before it.
  const [, record] = await Promise.all([lockCustomer(tx, tx.account, found.customerId), reread(tx, id)])
  return record
}

async function reread(tx: Transaction, id: Id): Promise<PaymentRecord> {
  const [payment, allocations] = await Promise.all([
    findPayment(tx, tx.account, id),
    listAllocationsOfGiven(tx, tx.account, 'payment', [id]),
  ])
  if (!payment) throw unknownPayment(id)
  return { payment, allocations }
}

const recordPayment = (
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  record: PaymentRecord,
  reason?: string,
) =>
  recordEvent(tx, context, {
    type,
    recordId: record.payment.id,
    customerId: record.payment.customerId,
    record: PaymentOut.write(paymentToWire(record.payment, record.allocations)),
    reason: reason ?? null,
  })

const givenOf = (payment: NewPayment & { id: Id }, isWaiting: boolean): GivenMoney => ({
  kind: 'payment',
  id: payment.id,
  customerId: payment.customerId,
  currency: payment.currency,
  dated: payment.dated,
  amountMinor: payment.amountMinor,
  counts: isWaiting ? 'pending' : 'paid',
  takesTax: false,
})

/** Adds a payment of a locked customer: recorded, or begun where its origin says so. With identifiers drawn ahead it waits for nothing. */
export async function addPayment(
  tx: Transaction,
  context: RequestContext,
  wanted: NewPayment,
  asked: Asked,
  drawn?: DrawnIds,
): Promise<PaymentRecord> {
  checkNotLocked(context.account.lockDate, [wanted.dated], 'the payment')
  const ids = drawn ?? (await drawPaymentIds(tx, 0))
  const begun: Payment = {
    ...wanted,
    id: ids.payment,
    appliedMinor: 0n,
    settledOn: null,
    failedOn: null,
    failReason: null,
    createdAt: context.moment.now,
  }
  const after = await planAllocations(tx, context, givenOf(begun, isPending(begun)), [], asked)
  const payment = { ...begun, appliedMinor: sumOf(after) }
  sendPayment(tx, payment)
  const allocations = await writeMoney(tx, context, {
    customerId: wanted.customerId,
    currency: wanted.currency,
    after: postingsOfPayment(postedPayment(payment)),
    allocations: { before: [], after, ids: ids.allocations },
    isGivenWritten: true,
  })
  const record = { payment, allocations }
  await recordPayment(tx, context, 'payment.created', record)
  return record
}

const sumOf = (allocations: readonly { amountMinor: bigint }[]): bigint =>
  allocations.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)

/** Names of what of a payment would differ, as the interface spells it. */
function differences(now: Payment, wanted: NewPayment): string[] {
  return [
    ...(wanted.amountMinor === now.amountMinor ? [] : ['Amount']),
    ...(wanted.currency === now.currency ? [] : ['CurrencyCode']),
    ...(wanted.paidAt === now.paidAt ? [] : ['Date']),
    ...(wanted.method === now.method ? [] : ['Method']),
  ]
}

/**
 * Rule: a payment never changes customer; one that failed keeps all but Memo and Ref; one that a gateway or a batch processed keeps all but
 * these and its allocations.
 */
function checkEdit(
  { payment, allocations }: PaymentRecord,
  wanted: NewPayment,
  list: readonly WantedAllocation[] | null,
): void {
  if (wanted.customerId !== payment.customerId)
    throw conflict(
      'other_customer',
      `Payment ${payment.id} is of customer ${payment.customerId} and cannot become one of customer ${wanted.customerId}.`,
      'customerID',
    )
  const changed = differences(payment, wanted)
  const isFixed = payment.failedOn !== null || payment.origin !== 'recorded'
  if (isFixed && changed.length > 0) {
    const why = payment.failedOn !== null ? 'has failed' : 'was processed elsewhere'
    throw conflict(
      'payment_fixed',
      `Payment ${payment.id} ${why}; its ${sentenceList(changed)} cannot change.`,
      changed[0] ?? null,
    )
  }
  if (payment.failedOn !== null && list !== null && list.length > 0)
    throw conflict('payment_failed', `Payment ${payment.id} has failed; nothing of it can be allocated.`, 'Allocations')
  const keepsSome = list === null ? allocations.length > 0 : list.length > 0
  if (changed.includes('CurrencyCode') && keepsSome)
    throw conflict(
      'currency_allocated',
      `Payment ${payment.id} is in ${payment.currency}; its currency can change only with an empty list of allocations.`,
      'CurrencyCode',
    )
}

/** Corrects a payment and its allocations: the ledger says what it says now, dated as what is corrected. */
export async function editPayment(
  tx: Transaction,
  context: RequestContext,
  present: PaymentRecord,
  wanted: NewPayment,
  asked: Asked,
): Promise<PaymentRecord> {
  const { payment: before } = present
  checkEdit(present, wanted, 'list' in asked ? asked.list : null)
  // The day of an instant that stays is the day it was, whatever zone the account is in by now.
  const dated = wanted.paidAt === before.paidAt ? before.dated : wanted.dated
  const payment: Payment = { ...before, ...wanted, dated, origin: before.origin }
  const isMoved =
    payment.amountMinor !== before.amountMinor || payment.dated !== before.dated || payment.currency !== before.currency
  if (isMoved) checkNotLocked(context.account.lockDate, [before.dated, payment.dated], `payment ${before.id}`)
  if (before.failedOn !== null) return writeEdited(tx, context, present, payment, [])
  const given = givenOf(payment, isPending(payment))
  const isOtherCurrency = payment.currency !== before.currency
  const kept = isOtherCurrency ? [] : present.allocations
  return writeEdited(tx, context, present, payment, await planAllocations(tx, context, given, kept, asked))
}

async function writeEdited(
  tx: Transaction,
  context: RequestContext,
  present: PaymentRecord,
  payment: Payment,
  after: readonly WantedState[],
): Promise<PaymentRecord> {
  const { payment: before, allocations } = present
  const was = postingsOfPayment(postedPayment(before))
  const is = postingsOfPayment(postedPayment(payment))
  // The amount rises before what is allocated of it does, and falls after.
  const isRise = payment.amountMinor > before.amountMinor
  if (isRise) sendPaymentUpdate(tx, payment)
  await writeEdit(tx, context, before.customerId, {
    before: { currency: before.currency, postings: was, allocations },
    after: { currency: payment.currency, postings: is, allocations: after },
  })
  if (!isRise) sendPaymentUpdate(tx, payment)
  const record = await reread(tx, payment.id)
  await recordPayment(tx, context, 'payment.updated', record)
  return record
}

/** Deletes a recorded payment: its entries are reversed and its allocations freed. */
export async function removePayment(tx: Transaction, context: RequestContext, present: PaymentRecord): Promise<void> {
  const { payment, allocations } = present
  if (payment.origin !== 'recorded')
    throw conflict('payment_fixed', `Payment ${payment.id} was processed elsewhere and cannot be deleted.`)
  checkNotLocked(context.account.lockDate, [payment.dated], `payment ${payment.id}`)
  const ended = await listEndedAllocations(tx, tx.account, { kind: 'payment', id: payment.id })
  await writeMoney(tx, context, {
    customerId: payment.customerId,
    currency: payment.currency,
    before: postingsOfPayment(postedPayment(payment)),
    allocations: { before: [...allocations, ...ended], after: [] },
  })
  sendPaymentDelete(tx, payment.id)
  await recordPayment(tx, context, 'payment.deleted', present)
}

/**
 * A payment fails: declined or returned. Rule: it loses its allocations, dated the day on which that is known, and what it paid is open
 * again; it keeps its amount. A day whose books are closed becomes the day after.
 */
export async function failPayment(
  tx: Transaction,
  context: RequestContext,
  present: PaymentRecord,
  { on, reason }: { on: IsoDate; reason: string },
): Promise<PaymentRecord> {
  const { payment, allocations } = present
  if (payment.failedOn !== null) throw conflict('payment_failed', `Payment ${payment.id} has failed already.`)
  const failedOn = afterLock(
    later(on, later(payment.dated, payment.settledOn ?? payment.dated)),
    context.account.lockDate,
  )
  const failed: Payment = { ...payment, failedOn, failReason: reason }
  await writeMoney(tx, context, {
    customerId: payment.customerId,
    currency: payment.currency,
    before: postingsOfPayment(postedPayment(payment)),
    after: postingsOfPayment(postedPayment(failed)),
    allocations: { before: allocations, after: allocations.map((a) => ({ ...a, endedOn: later(failedOn, a.dated) })) },
  })
  sendPaymentUpdate(tx, failed)
  const record = await reread(tx, payment.id)
  await recordPayment(tx, context, 'payment.failed', record, reason)
  return record
}

/** Rule: a caller tells of recorded payments only, and of what has happened: not of tomorrow. */
export function checkFailing({ payment }: PaymentRecord, on: IsoDate, today: IsoDate): void {
  if (payment.origin !== 'recorded')
    throw conflict('payment_fixed', `Payment ${payment.id} was processed elsewhere; its outcome is told by that.`)
  if (on > today) throw invalid('date_in_future', `Date ${on} lies after today, ${today}.`, 'Date')
}

/** A payment that waited is received: what it is allocated to counts as paid from now on. */
export async function settlePayment(
  tx: Transaction,
  context: RequestContext,
  present: PaymentRecord,
  on: IsoDate,
): Promise<PaymentRecord> {
  const { payment, allocations } = present
  assert(isPending(payment), `payment ${payment.id} waits for its outcome`)
  const settledOn = afterLock(later(on, payment.dated), context.account.lockDate)
  const settled: Payment = { ...payment, settledOn }
  await writeMoney(tx, context, {
    customerId: payment.customerId,
    currency: payment.currency,
    before: postingsOfPayment(postedPayment(payment)),
    after: postingsOfPayment(postedPayment(settled)),
    allocations: { before: allocations, after: allocations.map((a) => ({ ...a, counts: 'paid' as const })) },
  })
  sendPaymentUpdate(tx, settled)
  const record = await reread(tx, payment.id)
  await recordPayment(tx, context, 'payment.settled', record)
  return record
}
