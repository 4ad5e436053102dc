import type { OwedRef } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { afterLock } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import { midnightOf } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listRefundIds } from './adjustment-queries.ts'
import { listEndedAllocations } from './allocation-queries.ts'
import { coverRefunds } from './cover-refunds.ts'
import { listFailedOfCharge, listOpenOfCharge } from './cover-queries.ts'
import { listOwed } from './open-queries.ts'
import { addPayment, applyNotesTo, type Failure, loadPayment, losePayment, settlePayment } from './payments.ts'
import type { PaymentRecord } from './records.ts'

/**
 * New money: what a gateway moves after a payment's outcome was known. It is a payment of its own, counts as processed by that gateway, is
 * dated the day it moved, and its Ref names what it is. Each works on a locked customer, in one transaction.
 */

export type NewMoneyCause = 'Dispute won' | 'Late success' | 'Kept of payment' | 'Refund failed'

const refOf = (cause: NewMoneyCause, id: Id): string =>
  cause === 'Kept of payment' ? `${cause} ${id}` : `${cause}: payment ${id}`

/** Document that new money is for, and how much of it at most. */
interface Share {
  target: OwedRef
  amountMinor: bigint
}

const shareOf = ({ owedKind, owedId, amountMinor }: AllocationState): Share => ({
  target: { kind: owedKind, id: owedId },
  amountMinor,
})

/**
 * Adds money that came back: what a payment had paid, or was to pay, is paid by it as far as that is open; what is over is unallocated. That of
 * a refund that failed goes to the refund, the positive adjustment `refundId`, alone.
 */
export async function addMoneyBack(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  { cause, amountMinor, on, refundId = null }: MoneyBack,
): Promise<PaymentRecord> {
  const shares =
    cause !== 'Refund failed'
      ? (await listLostBy(tx, payment)).map(shareOf)
      : refundId === null
        ? []
        : [{ target: { kind: 'positive_adjustment' as const, id: refundId }, amountMinor }]
  const added = await addNewMoney(tx, context, payment, { ref: refOf(cause, payment.id), amountMinor, on, shares })
  return (await coverRefunds(tx, context, payment.customerId)) ? reloaded(tx, added) : added
}

/** Lists what a payment had paid, and behind that what other failed payments of its charge had: a loss may have taken several of them. */
async function listLostBy(tx: Transaction, { id, gatewayId, chargeId }: PaymentRecord): Promise<AllocationState[]> {
  const failed = gatewayId === null || chargeId === null ? [] : await listFailedOfCharge(tx, { gatewayId, chargeId })
  const lost: AllocationState[] = []
  for (const one of [id, ...failed.filter((other) => other !== id)])
    lost.push(...(await listEndedAllocations(tx, tx.account, { kind: 'payment', id: one })))
  return lost
}

interface MoneyBack {
  cause: NewMoneyCause
  amountMinor: bigint
  on: IsoDate
  /** Of money of a refund that failed: the refund. */
  refundId?: Id | null
}

async function reloaded(tx: Transaction, { id }: PaymentRecord): Promise<PaymentRecord> {
  const payment = await loadPayment(tx, tx.account, id)
  assert(payment, `payment ${id} exists`)
  return payment
}

/**
 * Takes a received payment back, whole or in part. Rule: it fails; what is left of it is new money, and goes first to the refunds that it paid and to those of its
 * charge that are open, then to its other documents, the oldest first. Returns the payment as it is, and what was kept of it.
 */
export async function returnPayment(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  { returnedMinor, ...failure }: Failure & { returnedMinor: bigint },
): Promise<{ failed: PaymentRecord; kept: PaymentRecord | null }> {
  assert(returnedMinor > 0n && returnedMinor <= payment.amountMinor, `a return is within payment ${payment.id}`)
  const failed = await losePayment(tx, context, payment, failure)
  const keptMinor = payment.amountMinor - returnedMinor
  const kept =
    keptMinor === 0n
      ? null
      : await addNewMoney(tx, context, payment, {
          ref: refOf('Kept of payment', payment.id),
          amountMinor: keptMinor,
          on: failure.on,
          shares: await inOrderOfKeeping(tx, payment),
        })
  // What was kept goes back where it was first.
  await applyNotesTo(tx, context, [{ failed, before: payment }])
  const isCovered = await coverRefunds(tx, context, payment.customerId)
  return { failed, kept: kept && isCovered ? await reloaded(tx, kept) : kept }
}

async function inOrderOfKeeping(
  tx: Transaction,
  { allocations, gatewayId, chargeId }: PaymentRecord,
): Promise<Share[]> {
  const open = gatewayId === null || chargeId === null ? [] : await listOpenOfCharge(tx, { gatewayId, chargeId })
  const shares = [
    ...allocations.map(shareOf),
    ...open.map(({ id, openMinor }): Share => ({
      target: { kind: 'positive_adjustment', id },
      amountMinor: openMinor,
    })),
  ]
  const targets = shares.map(({ target }) => target)
  const refunds = new Set(
    await listRefundIds(
      tx,
      targets.filter(({ kind }) => kind === 'positive_adjustment').map(({ id }) => id),
    ),
  )
  const owed = await listOwed(tx, tx.account, targets)
  const isRefund = ({ target }: Share) => target.kind === 'positive_adjustment' && refunds.has(target.id)
  const dayOf = ({ target }: Share) =>
    owed.find(({ kind, id }) => kind === target.kind && id === target.id)?.dated ?? ''
  return shares.toSorted((a, b) => {
    if (isRefund(a) !== isRefund(b)) return isRefund(a) ? -1 : 1
    return dayOf(a) < dayOf(b) ? -1 : dayOf(a) > dayOf(b) ? 1 : 0
  })
}

async function addNewMoney(
  tx: Transaction,
  context: RequestContext,
  of: PaymentRecord,
  { ref, amountMinor, on, shares }: { ref: string; amountMinor: bigint; on: IsoDate; shares: readonly Share[] },
): Promise<PaymentRecord> {
  const { account } = context
  const dated = afterLock(later(on, of.dated), account.lockDate)
  const owed = await listOwed(
    tx,
    tx.account,
    shares.map(({ target }) => target),
  )
  const payment = await addPayment(
    tx,
    context,
    {
      customerId: of.customerId,
      paidAt: midnightOf(dated, account.timeZone),
      dated,
      currency: of.currency,
      amountMinor,
      method: of.method,
      origin: of.origin === 'recorded' ? 'gateway' : of.origin,
      ref,
      memo: null,
    },
    { list: fitted(shares, owed, of.currency, amountMinor), isServiceMade: true },
    of.gatewayId !== null && of.chargeId !== null
      ? { charge: { gatewayId: of.gatewayId, chargeId: of.chargeId, transactionId: of.transactionId } }
      : {},
  )
  return settlePayment(tx, context, payment, dated)
}

type Owed = Awaited<ReturnType<typeof listOwed>>

/** Cuts shares to what is open of each document, and to the amount together. */
function fitted(shares: readonly Share[], owed: Owed, currency: string, amountMinor: bigint) {
  const open = new Map(
    owed
      .filter((one) => one.state === 'open' && one.currency === currency)
      .map((one) => [`${one.kind} ${one.id}`, one.openMinor]),
  )
  let left = amountMinor
  return shares.flatMap(({ target, amountMinor: wantedMinor }) => {
    const key = `${target.kind} ${target.id}`
    const takenMinor = [wantedMinor, open.get(key) ?? 0n, left].reduce((a, b) => (b < a ? b : a))
    if (takenMinor <= 0n) return []
    left -= takenMinor
    open.set(key, (open.get(key) ?? 0n) - takenMinor)
    return [{ id: null, target, amountMinor: takenMinor }]
  })
}
