import type { WantedAllocation } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { afterLock, postingsOfPayment } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { loseMoney } from '../dunning/lost.ts'
import { sendChangedWords, sendNewWords } from '../finding/words.ts'
import { type GivenMoney, planAllocations } from './allocate.ts'
import { listAllocationsOfGiven, listEndedAllocations } from './allocation-queries.ts'
import { applyNotesOf } from './apply-unallocated.ts'
import { coverRefunds } from './cover-refunds.ts'
import { onOpenDay, withRoom } from './release-pending-lines.ts'
import {
  type ChargeOfPayment,
  type DrawnIds,
  drawPaymentIds,
  findPayment,
  listPaymentsById,
  type NewPayment,
  type Payment,
  sendPaymentDelete,
  sendPaymentHeld,
  sendPaymentUpdate,
} from './payment-queries.ts'
import { lockedRecord, type PaymentRecord, recordMoneyEvent, withAllocations } from './records.ts'
import { checkCurrencyEdit, checkSameCustomer, isPending, postedPayment } from './rules.ts'
import { paymentShape } from './shapes.ts'
import { type MoneyChange, writeEdit, writeMoney } from './write.ts'
import type { Asked, WantedState } from './types.ts'

/** Payments: recorded, corrected, failed, begun and settled. Each works on a locked customer, in one transaction. */

/** Loads a payment with its allocations, in one exchange; undefined where there is none. */
export const loadPayment = (db: Queryable, account: AccountId, id: Id): Promise<PaymentRecord | undefined> =>
  withAllocations(findPayment(db, account, id), listAllocationsOfGiven(db, account, 'payment', [id]))

/** Loads payments with their allocations, in one exchange; those that do not exist are left out. */
export async function loadPayments(
  db: Queryable,
  account: AccountId,
  ids: readonly Id[],
): Promise<Map<Id, PaymentRecord>> {
  const [rows, allocations] = await Promise.all([
    listPaymentsById(db, account, ids),
    listAllocationsOfGiven(db, account, 'payment', ids),
  ])
  const records = new Map(rows.map((row) => [row.id, { ...row, allocations: [] as AllocationState[] }]))
  for (const allocation of allocations) records.get(allocation.givenId)?.allocations.push(allocation)
  return records
}

/** Locks the customer of a payment, and loads the payment; undefined where there is none. */
export const lockedPayment = async (tx: Transaction, id: Id): Promise<PaymentRecord | undefined> =>
  lockedRecord(tx, await findPayment(tx, tx.account, id), () => loadPayment(tx, tx.account, id))

const givenOf = (
  payment: NewPayment & Pick<Payment, 'id' | 'heldMinor' | 'givesWay'>,
  isWaiting: boolean,
  gaveWay = false,
): GivenMoney => ({
  kind: 'payment',
  id: payment.id,
  customerId: payment.customerId,
  currency: payment.currency,
  dated: payment.dated,
  amountMinor: payment.amountMinor,
  heldMinor: payment.heldMinor,
  counts: isWaiting ? 'pending' : 'paid',
  line: { gaveWay, givesWay: payment.givesWay },
})

/**
 * Adds a payment of a locked customer: recorded, or begun elsewhere, by its origin. With identifiers drawn ahead it waits for nothing. One that
 * `givesWay` is a line of the service in an open batch.
 */
export async function addPayment(
  tx: Transaction,
  context: RequestContext,
  wanted: NewPayment,
  asked: Asked,
  { drawn, charge, givesWay = false }: { drawn?: DrawnIds; charge?: ChargeOfPayment; givesWay?: boolean } = {},
): Promise<PaymentRecord> {
  checkNotLocked(context.account.lockDate, [wanted.dated], 'the payment')
  const ids = drawn ?? (await drawPaymentIds(tx, 0))
  const begun: Payment = {
    ...wanted,
    id: ids.payment,
    appliedMinor: 0n,
    heldMinor: 0n,
    gatewayId: charge?.gatewayId ?? null,
    chargeId: charge ? (charge.chargeId ?? ids.payment) : null,
    givesWay,
    settledOn: null,
    failedOn: null,
    failReason: null,
    transactionId: charge?.transactionId ?? null,
    createdAt: context.moment.now,
  }
  const plan = await planAllocations(tx, context, givenOf(begun, isPending(begun)), [], asked)
  const payment = { ...begun, appliedMinor: sumMinor(plan.allocations) }
  const allocations = await withRoom(tx, context, plan.room, () => {
    sendNewWords(tx, 'payments', [{ id: payment.id, texts: [payment.ref] }])
    return writeMoney(tx, context, {
      customerId: wanted.customerId,
      currency: wanted.currency,
      after: postingsOfPayment(postedPayment(payment)),
      allocations: { before: [], after: plan.allocations, ids: ids.allocations },
      payment,
    })
  })
  const record = { ...payment, allocations }
  await recordMoneyEvent(tx, context, paymentShape, 'payment.created', record)
  return record
}

/** Names the fields of a payment that would differ, as the interface spells them. */
function differences(now: Payment, wanted: NewPayment): string[] {
  return [
    ...(wanted.amountMinor === now.amountMinor ? [] : ['Amount']),
    ...(wanted.currency === now.currency ? [] : ['CurrencyCode']),
    ...(wanted.paidAt === now.paidAt ? [] : ['Date']),
    ...(wanted.method === now.method ? [] : ['Method']),
  ]
}

/**
 * Throws a conflict where an edit is refused. Rule: a payment never changes customer; one that failed keeps all but Memo and Ref; one that a gateway or a batch processed keeps all but
 * these and its allocations.
 */
function checkEdit(present: PaymentRecord, wanted: NewPayment, list: readonly WantedAllocation[] | null): void {
  const label = `Payment ${present.id}`
  const hasFailed = present.failedOn !== null
  checkSameCustomer(label, present.customerId, wanted.customerId)
  const changed = differences(present, wanted)
  if ((hasFailed || present.origin !== 'recorded') && changed.length > 0) {
    const why = hasFailed ? 'has failed' : 'was processed elsewhere'
    throw conflict('payment_fixed', `${label} ${why}; its ${sentenceList(changed)} cannot change.`, changed[0] ?? null)
  }
  if (hasFailed && list !== null && list.length > 0)
    throw conflict('payment_failed', `${label} has failed; nothing of it can be allocated.`, 'Allocations')
  checkCurrencyEdit(label, present.currency, wanted.currency, (list ?? present.allocations).length > 0)
}

const isSameList = (before: readonly AllocationState[], after: readonly WantedState[]): boolean =>
  before.length === after.length &&
  after.every((a) =>
    before.some(
      (b) => a.id === b.id && a.amountMinor === b.amountMinor && a.owedKind === b.owedKind && a.owedId === b.owedId,
    ),
  )

/** Called when a caller has given a debit that waits in a batch other allocations. */
export type OnLineChanged = (tx: Transaction, context: RequestContext, paymentId: Id) => Promise<void>

/** Corrects a payment and its allocations: the ledger follows what the payment is now, dated as what is corrected. */
export async function editPayment(
  tx: Transaction,
  context: RequestContext,
  before: PaymentRecord,
  wanted: NewPayment,
  asked: Asked,
  onLineChanged: OnLineChanged,
): Promise<PaymentRecord> {
  checkEdit(before, wanted, 'list' in asked ? asked.list : null)
  // The day of an instant that stays is the day it was, whatever zone the account is in by now.
  const dated = wanted.paidAt === before.paidAt ? before.dated : wanted.dated
  const edited: Payment = { ...before, ...wanted, dated, origin: before.origin }
  const isMoved =
    edited.amountMinor !== before.amountMinor || edited.dated !== before.dated || edited.currency !== before.currency
  if (isMoved) checkNotLocked(context.account.lockDate, [before.dated, edited.dated], `payment ${before.id}`)
  const written = await writeChange(tx, context, before, { ...edited, givesWay: false }, asked)
  const isLine = before.origin === 'batch' && isPending(before)
  if (isLine && !isSameList(before.allocations, written.allocations)) await onLineChanged(tx, context, before.id)
  return written
}

/** Fields of a line that can change while its batch was not submitted. */
export type LineChange = Partial<
  Pick<Payment, 'amountMinor' | 'paidAt' | 'dated' | 'method' | 'gatewayId' | 'givesWay' | 'ref' | 'memo'>
>

/** Changes a payment that waits in a batch. Rule: nothing of it is refused for a closed day; it takes the day after. */
export const changeLine = (
  tx: Transaction,
  context: RequestContext,
  before: PaymentRecord,
  to: LineChange,
  asked: Asked,
): Promise<PaymentRecord> => {
  const edited = { ...before, ...to }
  const isMoved = edited.amountMinor !== before.amountMinor || edited.dated !== before.dated
  return writeChange(tx, context, before, isMoved ? onOpenDay(edited, context) : edited, asked)
}

/** Writes what a payment is to be: one that gave way goes on so where nothing of its amount, method and allocations changes. */
async function writeChange(
  tx: Transaction,
  context: RequestContext,
  before: PaymentRecord,
  edited: Payment,
  asked: Asked,
): Promise<PaymentRecord> {
  const kept = edited.currency === before.currency ? before.allocations : []
  const given = givenOf(edited, isPending(edited), before.givesWay)
  const plan =
    before.failedOn === null ? await planAllocations(tx, context, given, kept, asked) : { allocations: [], room: [] }
  // Rule: a line is the service's until a caller changes its amount, method or allocations.
  const isSame =
    edited.amountMinor === before.amountMinor &&
    edited.method === before.method &&
    isSameList(before.allocations, plan.allocations)
  const payment = { ...edited, givesWay: before.givesWay && isSame }
  const ended = await endedOf(tx, before, payment)
  const write = () =>
    writeEdit(tx, context, {
      before: {
        ...before,
        postings: postingsOfPayment(postedPayment(before)),
        allocations: [...before.allocations, ...ended.before],
      },
      after: {
        ...payment,
        postings: postingsOfPayment(postedPayment(payment)),
        allocations: [...plan.allocations, ...ended.after],
      },
      writeRow: async () => {
        sendPaymentUpdate(tx, payment)
        sendChangedWords(tx, 'payments', payment.id, [before.ref], [payment.ref])
      },
    })
  await withRoom(tx, context, plan.room, write, before.id)
  if (payment.chargeId !== null) await coverRefunds(tx, context, payment.customerId)
  const record = await loadPayment(tx, tx.account, payment.id)
  assert(record, `payment ${payment.id} exists`)
  await recordMoneyEvent(tx, context, paymentShape, 'payment.updated', record)
  return record
}

/**
 * Lists what ended of the allocations of a payment that still counts, as it is and as it is to be. Rule: no entry is dated before its document, and
 * in another currency nothing was ever allocated.
 */
async function endedOf(
  tx: Transaction,
  before: PaymentRecord,
  payment: Payment,
): Promise<{ before: AllocationState[]; after: AllocationState[] }> {
  const isMoved = before.dated !== payment.dated || before.currency !== payment.currency
  if (!isMoved || before.failedOn !== null || isPending(before)) return { before: [], after: [] }
  const ended = await listEndedAllocations(tx, tx.account, { kind: 'payment', id: before.id })
  if (before.currency !== payment.currency) return { before: ended, after: [] }
  const after = ended.map((a) => ({
    ...a,
    dated: later(a.dated, payment.dated),
    endedOn: later(a.endedOn ?? a.dated, payment.dated),
  }))
  return { before: ended, after }
}

/** Deletes a recorded payment: its entries are reversed and its allocations freed. */
export async function removePayment(tx: Transaction, context: RequestContext, payment: PaymentRecord): Promise<void> {
  if (payment.origin !== 'recorded')
    throw conflict('payment_fixed', `Payment ${payment.id} was processed elsewhere and cannot be deleted.`)
  checkNotLocked(context.account.lockDate, [payment.dated], `payment ${payment.id}`)
  await takeBackPayment(tx, context, payment)
}

/** Deletes a payment that nobody has processed yet: recorded, or a line of a batch that was not submitted. */
export async function takeBackPayment(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  reason?: string,
): Promise<void> {
  const ended = await listEndedAllocations(tx, tx.account, { kind: 'payment', id: payment.id })
  await writeMoney(tx, context, {
    customerId: payment.customerId,
    currency: payment.currency,
    before: postingsOfPayment(postedPayment(payment)),
    allocations: { before: [...payment.allocations, ...ended], after: [] },
  })
  sendPaymentDelete(tx, payment.id)
  sendChangedWords(tx, 'payments', payment.id, [payment.ref], [null])
  await recordMoneyEvent(tx, context, paymentShape, 'payment.deleted', payment, reason)
}

/** Writes that the outcome of a payment is known: its row, its allocations and the difference in the ledger. Returns it as it then is. */
async function writeOutcome(
  tx: Transaction,
  context: RequestContext,
  before: PaymentRecord,
  outcome: Pick<Payment, 'failedOn' | 'failReason' | 'memo'> | Pick<Payment, 'settledOn'>,
  after: readonly WantedState[],
): Promise<PaymentRecord> {
  const payment: Payment = { ...before, ...outcome, givesWay: false }
  const change: MoneyChange = {
    customerId: payment.customerId,
    currency: payment.currency,
    before: postingsOfPayment(postedPayment(before)),
    after: postingsOfPayment(postedPayment(payment)),
    allocations: { before: before.allocations, after },
  }
  const allocations = (await writeMoney(tx, context, change)).filter(({ endedOn }) => endedOn === null)
  sendPaymentUpdate(tx, payment)
  return { ...payment, appliedMinor: sumMinor(allocations), allocations }
}

/** Why and when a payment failed. */
export interface Failure {
  on: IsoDate
  reason: string
  declineClass?: DeclineClass | null
}

/**
 * Fails a payment that was declined or returned. Rule: it loses its allocations, dated the day on which that is known, and what it paid is
 * open again, except for what notes settled for it have unallocated; it keeps its amount. A day whose books are closed becomes the day after.
 */
export async function failPayment(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  failure: Failure,
): Promise<PaymentRecord> {
  const failed = await losePayment(tx, context, payment, failure)
  await applyNotesTo(tx, context, [{ failed, before: payment }])
  // A refund that it had paid is open again. A try that was declined has paid none.
  if (payment.chargeId !== null && !isPending(payment)) await coverRefunds(tx, context, payment.customerId)
  return failed
}

/** Payment that has failed, and as it was before. */
export interface LostPayment {
  failed: PaymentRecord
  before: PaymentRecord
}

/** Lets unallocated notes take the place of payments that have failed, on the invoices that they paid before. */
export const applyNotesTo = (tx: Transaction, context: RequestContext, lost: readonly LostPayment[]): Promise<void> =>
  applyNotesOf(
    tx,
    context,
    lost.map(({ failed: { customerId, currency, failedOn }, before }) => {
      assert(failedOn !== null, 'a payment whose place is taken has failed')
      return { customerId, currency, invoiceIds: invoicesOf(before), on: failedOn }
    }),
  )

/** Moves the ends of what gave way to credit after the day on which a payment is lost to that day: from then on there was no money that paid. */
async function endBy(
  tx: Transaction,
  context: RequestContext,
  { id, customerId, currency }: PaymentRecord,
  lostOn: IsoDate,
): Promise<void> {
  const ended = await listEndedAllocations(tx, tx.account, { kind: 'payment', id })
  const before = ended.filter(({ endedOn }) => endedOn !== null && endedOn > lostOn)
  if (before.length === 0) return
  const after = before.map((a) => ({ ...a, endedOn: later(lostOn, a.dated) }))
  await writeMoney(tx, context, { customerId, currency, allocations: { before, after } })
}

/** Fails a payment and leaves what it paid open. */
export async function losePayment(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  { on, reason, declineClass = null }: Failure,
): Promise<PaymentRecord> {
  if (payment.failedOn !== null) throw conflict('payment_failed', `Payment ${payment.id} has failed already.`)
  const earliest = later(payment.dated, payment.settledOn ?? payment.dated)
  const failedOn = afterLock(later(on, earliest), context.account.lockDate)
  await endBy(tx, context, payment, failedOn)
  const ended = payment.allocations.map((a) => ({ ...a, endedOn: later(failedOn, a.dated) }))
  // A try that was declined shows why; a payment that somebody recorded keeps the Memo it was given.
  const memo = isPending(payment) ? (payment.memo ?? reason) : payment.memo
  const failed = await writeOutcome(tx, context, payment, { failedOn, failReason: reason, memo }, ended)
  // A payment that was only pending is a try, whose own outcome moves its invoice; what never went out was no try.
  if (!isPending(payment) && declineClass !== 'not_sent')
    await loseMoney(tx, context, invoicesOf(payment), declineClass)
  await recordMoneyEvent(tx, context, paymentShape, 'payment.failed', failed, reason)
  return failed
}

/** Frees what was held of a payment for a refund that is not made: what the console of its gateway refunded is paid by it first. The customer is locked. */
export async function endHeld(
  tx: Transaction,
  context: RequestContext,
  { paymentId, customerId, amountMinor }: { paymentId: Id; customerId: CustomerId; amountMinor: bigint },
): Promise<void> {
  sendPaymentHeld(tx, paymentId, -amountMinor)
  await coverRefunds(tx, context, customerId)
}

const invoicesOf = ({ allocations }: PaymentRecord): Id[] => [
  ...new Set(allocations.filter(({ owedKind }) => owedKind === 'invoice').map(({ owedId }) => owedId)),
]

/** Throws where a caller reports a failure of a payment that was not recorded by one, or one that lies after today. */
export function checkFailing(payment: PaymentRecord, on: IsoDate, today: IsoDate): void {
  if (payment.origin !== 'recorded')
    throw conflict('payment_fixed', `Payment ${payment.id} was processed elsewhere; its outcome is told by that.`)
  if (on > today) throw invalid('date_in_future', `Date ${on} lies after today, ${today}.`, 'Date')
}

/** Settles a payment that waited: it is received, and what it is allocated to counts as paid from now on. */
export async function settlePayment(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  on: IsoDate,
): Promise<PaymentRecord> {
  assert(isPending(payment), `payment ${payment.id} waits for its outcome`)
  const settledOn = afterLock(later(on, payment.dated), context.account.lockDate)
  const paid = payment.allocations.map((a) => ({ ...a, counts: 'paid' as const }))
  const settled = await writeOutcome(tx, context, payment, { settledOn }, paid)
  await recordMoneyEvent(tx, context, paymentShape, 'payment.settled', settled)
  return settled
}
