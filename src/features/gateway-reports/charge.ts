import { assert } from '../../kernel/assert.ts'
import { earlier, type IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { amountText } from '../../kernel/currencies.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import { findLine } from '../batches/line-queries.ts'
import { applyLineResult, type LineResult, moveLineTo, noteReturned } from '../batches/results.ts'
import { findCustomer } from '../customers/queries.ts'
import { mismatchIn, recordMismatch } from '../gateways/actions.ts'
import type { KnownCharge } from '../gateways/charge-queries.ts'
import type { ChargeChange, ChargeState, Declined } from '../gateways/contract.ts'
import { addMoneyBack, returnPayment } from '../money/new-money.ts'
import { loadPayment, lockedPayment } from '../money/payments.ts'
import { sendReceipt } from '../money/receipt.ts'
import { getReceivedOfCharge } from '../refunds/queries.ts'
import type { PaymentRecord } from '../money/records.ts'
import { isPending } from '../money/rules.ts'
import { nameCharge } from './names.ts'
import { type Applying, noteChange, bookableOf } from './applying.ts'
import { applyRefunded, applyRefundFailed, type OnRefunded } from './console-refunds.ts'
import { type AppliedChange, listAppliedChanges, listPaymentsOfCharge } from './queries.ts'
import { APPLIED, lostShares, refused, type Verdict, WAITS, wasNeverReceived } from './rules.ts'

/** Applies the present truth about a charge to its payments: each change once, whoever learned of it and however often. */

/** A charge that a gateway was asked about; `wasPending`: its outcome was not known here when the question left. */
interface Asked {
  charge: KnownCharge
  paymentId: Id
  wasPending: boolean
}

/** Applies what a gateway knows of a charge, in one transaction; `outdated` if its answer is older than what was written here since it was asked. */
export async function applyCharge(
  tx: Transaction,
  context: RequestContext,
  { charge: asked, paymentId, wasPending }: Asked,
  { outcome, changes }: ChargeState,
  { linesOfService, onRefunded }: { linesOfService: LinesOfService; onRefunded: OnRefunded },
): Promise<Verdict | 'outdated'> {
  const { gatewayId, id: chargeId } = asked
  assert(await lockedPayment(tx, paymentId), `payment ${paymentId} exists`)
  const about = { what: `charge ${chargeId}`, noun: 'charge' } as const
  const keep = async (name: string) => (asked.gatewayReference === name ? name : nameCharge(tx, asked, name))
  const mismatch = await mismatchIn(outcome, about, keep)
  if (mismatch !== undefined) {
    await recordMismatch(tx, context, gatewayId, mismatch)
    return refused(mismatch)
  }
  const begun = await loadPayment(tx, tx.account, paymentId)
  assert(begun, `payment ${paymentId} exists`)
  const charge = isPending(begun) ? await withResult(tx, context, begun, outcome, linesOfService) : begun
  if (isPending(charge)) {
    if (asked.kind !== 'line' || outcome.kind !== 'pending') return WAITS
    // A debit takes days: it is asked about every day from its own on.
    if (outcome.debitOn !== undefined) await moveLineTo(tx, context, paymentId, outcome.debitOn)
    return APPLIED
  }
  const applied = await listAppliedChanges(tx, gatewayId, chargeId)
  const applying: Applying = { gatewayId, chargeId, charge, applied }
  if (outcome.kind !== 'succeeded') {
    if (charge.settledOn === null) return APPLIED
    // Somebody else made the charge between the answer and now, and knows better than the answer.
    if (wasPending && !isPending(begun)) return 'outdated'
    return outcome.kind === 'declined'
      ? reverse(tx, context, applying, outcome)
      : refused(`Payment ${paymentId} is recorded as received, and the gateway does not know it as made.`)
  }
  await succeedLate(tx, context, applying, outcome.on)
  let verdict = APPLIED
  for (const change of changes) {
    if (applied.some(({ kind, reference }) => kind === change.kind && reference === change.reference)) continue
    const one = await applyChange(tx, context, applying, change, onRefunded)
    if (one.kind !== 'applied') verdict = one
  }
  return verdict
}

function applyChange(
  tx: Transaction,
  context: RequestContext,
  applying: Applying,
  change: ChargeChange,
  onRefunded: OnRefunded,
): Promise<Verdict> {
  if (change.unbookable !== undefined) return listUnbookable(tx, applying, change, change.unbookable)
  switch (change.kind) {
    case 'returned':
    case 'disputed':
      return lose(tx, context, applying, change)
    case 'dispute_won':
      return win(tx, context, applying, change)
    case 'refunded':
      return applyRefunded(tx, context, applying, change, onRefunded)
    case 'refund_failed':
      return applyRefundFailed(tx, context, applying, change)
  }
}

/** Lists a change that no amount of the charge stands for, once. */
async function listUnbookable(
  tx: Transaction,
  applying: Applying,
  { kind, reference }: ChargeChange,
  reason: string,
): Promise<Verdict> {
  await noteChange(tx, applying, { kind, reference, paymentId: null, amountMinor: 0n, undoes: null })
  return refused(reason)
}

/** Applies the first result of a debit, where the charge is a line of a batch; returns the payment as it is then. */
async function withResult(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  outcome: ChargeState['outcome'],
  linesOfService: LinesOfService,
): Promise<PaymentRecord> {
  if (outcome.kind !== 'succeeded' && outcome.kind !== 'declined') return payment
  const result: LineResult = {
    isSuccess: outcome.kind === 'succeeded',
    reason: outcome.kind === 'declined' ? outcome : null,
    on: earlier(outcome.on, context.moment.today),
    source: 'gateway',
  }
  await applyLineResult(tx, context, payment.id, result, linesOfService)
  return (await loadPayment(tx, tx.account, payment.id)) ?? payment
}

/** Rule: a charge that was recorded as failed and that succeeded is new money, once. */
async function succeedLate(tx: Transaction, context: RequestContext, applying: Applying, on: IsoDate): Promise<void> {
  const { charge, applied } = applying
  if (!wasNeverReceived(charge) || applied.some(({ kind }) => kind === 'late_success')) return
  const money = { cause: 'Late success' as const, amountMinor: charge.amountMinor, on }
  const added = await addMoneyBack(tx, context, charge, { ...money, on: earlier(on, context.moment.today) })
  const customer = await findCustomer(tx, tx.account, added.customerId)
  assert(customer, `the customer of payment ${added.id} exists`)
  await sendReceipt(tx, context, added, customer)
  const { id: paymentId, amountMinor } = added
  await noteChange(tx, applying, {
    kind: 'late_success',
    reference: String(charge.id),
    paymentId,
    amountMinor,
    undoes: null,
  })
}

/** Rule: a charge that was recorded as received, by hand, and that its gateway declined is taken back, once. */
async function reverse(
  tx: Transaction,
  context: RequestContext,
  applying: Applying,
  { class: declineClass, code, message, on }: Declined,
): Promise<Verdict> {
  const { charge, applied } = applying
  const reference = `declined ${charge.id}`
  if (applied.some((one) => one.reference === reference)) return APPLIED
  const { amountMinor } = charge
  return lose(tx, context, applying, {
    kind: 'returned',
    reference,
    on,
    amountMinor,
    class: declineClass,
    code,
    message,
  })
}

/** Rule: what is taken back fails the payments of the charge, as far as they are received and not refunded; what is over is listed. */
async function lose(
  tx: Transaction,
  context: RequestContext,
  applying: Applying,
  change: ChargeChange,
): Promise<Verdict> {
  const { gatewayId, chargeId, charge } = applying
  const ids = await listPaymentsOfCharge(tx, gatewayId, chargeId)
  const payments = (await Promise.all(ids.map((id) => loadPayment(tx, tx.account, id)))).filter(
    (one) => one !== undefined,
  )
  const leftMinor = await getReceivedOfCharge(tx, gatewayId, chargeId)
  const { bookedMinor, overMinor } = bookableOf(change.amountMinor, leftMinor)
  const { shares, beyondMinor } = lostShares(payments, bookedMinor)
  const { class: declineClass, code, message: reason } = change
  const failure = { on: earlier(change.on, context.moment.today), reason, declineClass }
  for (const { payment, lostMinor } of shares)
    await returnPayment(tx, context, payment, { ...failure, returnedMinor: lostMinor })
  const { kind, reference } = change
  const why = { class: declineClass, code, message: reason }
  const paymentId = shares[0]?.payment.id ?? null
  await noteChange(tx, applying, {
    kind,
    reference,
    paymentId,
    amountMinor: bookedMinor - beyondMinor,
    undoes: null,
    why,
  })
  const line = await findLine(tx, tx.account, charge.id)
  const isLost = shares.some(({ payment }) => payment.id === charge.id)
  if (line?.result === 'success' && isLost)
    await noteReturned(tx, context, line, { ...why, on: failure.on, source: 'gateway' })
  // A person has recorded the return of the debit before.
  else if (line && line.returnedOn !== null) return APPLIED
  if (beyondMinor + overMinor === 0n) return APPLIED
  const amount = amountText(beyondMinor + overMinor, charge.currency)
  return refused(`Of what was taken back ${amount} is more than was received by payment ${charge.id}.`)
}

/**
 * Rule: money that is won back pays what the payment had paid that was lost by the change which it undoes, else by the last one. It is what that very loss took,
 * less what was won of it before; what is over is listed.
 */
async function win(
  tx: Transaction,
  context: RequestContext,
  applying: Applying,
  { kind, reference, undoes, amountMinor, on }: ChargeChange,
): Promise<Verdict> {
  const { charge, applied } = applying
  const lost = applied.findLast(
    (one) => (one.kind === 'returned' || one.kind === 'disputed') && (undoes === undefined || one.reference === undoes),
  )
  if (lost === undefined || amountMinor <= 0n)
    return refused(`A dispute of payment ${charge.id} was won, and none is known to be lost.`)
  const { bookedMinor, overMinor } = bookableOf(amountMinor, leftOf(applied, lost))
  const payment =
    bookedMinor === 0n || lost.paymentId === null ? undefined : await loadPayment(tx, tx.account, lost.paymentId)
  const money = { cause: 'Dispute won' as const, amountMinor: bookedMinor, on: earlier(on, context.moment.today) }
  const paymentId = payment ? (await addMoneyBack(tx, context, payment, money)).id : null
  await noteChange(tx, applying, { kind, reference, paymentId, amountMinor: bookedMinor, undoes: lost.reference })
  if (overMinor === 0n) return APPLIED
  const amount = amountText(overMinor, charge.currency)
  return refused(`Of a dispute of payment ${charge.id} that was won ${amount} is more than it had taken.`)
}

/** Returns what of a loss has not been won back, in minor units; null where a program before has applied it. Rule: of what was not booked nothing comes back. */
function leftOf(applied: readonly AppliedChange[], lost: AppliedChange): bigint | null {
  if (lost.paymentId === null) return 0n
  if (lost.amountMinor === null) return null
  const won = applied.filter(({ kind, undoes }) => kind === 'dispute_won' && undoes === lost.reference)
  return won.reduce((left, { amountMinor }) => left - (amountMinor ?? 0n), lost.amountMinor)
}
