import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { mismatchIn, recordMismatch } from '../gateways/actions.ts'
import type { Declined, Outcome } from '../gateways/contract.ts'
import { removeAtGateway } from '../payment-methods/removal.ts'
import {
  capture,
  captureSaleAlone,
  type CapturedDeps,
  type CapturedMethod,
  openSaleMethod,
  sealSaleMethod,
  tokenOf,
} from './captured.ts'
import {
  type CaptureSession,
  countRefusal,
  forgetCharge,
  lockSession,
  noteGiveBackFailed,
  noteGiveBackRefused,
} from './queries.ts'
import { recordSession } from './record.ts'
import { askAgainSeconds, CONFIRM_SECONDS, isKeptWithoutSale, isSilent } from './rules.ts'
import {
  beginSaleRefund,
  closeSale,
  closeSaleRefund,
  drawChargeId,
  insertSale,
  lockSale,
  nameSale,
  nameSaleRefund,
  noteAwaited,
  noteSilenceAnnounced,
  putOffSale,
  type Sale,
} from './sale-queries.ts'

/** Sales of sessions: begun before the call, ended by what the gateway answers, and given back. Each in one transaction, on a locked session. */

/** Answer to a charge, or that a call which got no answer has never arrived. */
export type ChargeAnswer = Outcome | { kind: 'never_arrived' }

/** Result of a sale for whoever pays: what the session is then, or what the form shows. */
export type SaleResult = 'captured' | 'declined' | 'no_answer' | 'waiting'

/** Begins the sale of a locked session with the card that its gateway has stored. */
export async function beginSale(
  tx: Transaction,
  { moment }: RequestContext,
  { envelope }: CapturedDeps,
  session: CaptureSession,
  method: CapturedMethod,
): Promise<Sale> {
  const chargeId = await drawChargeId(tx)
  return insertSale(tx, session, {
    chargeId,
    method: sealSaleMethod(envelope, tx.account, chargeId, method),
    gatewayToken: tokenOf(method),
    begunAt: moment.now,
  })
}

/** A locked session with its locked sale. */
interface Locked {
  session: CaptureSession
  sale: Sale
}

/** Locks a session with one of its sales. */
export async function lockSaleAndSession(
  tx: Transaction,
  { sessionId, chargeId }: Pick<Sale, 'sessionId' | 'chargeId'>,
): Promise<Locked> {
  const session = await lockSession(tx, sessionId)
  const sale = await lockSale(tx, chargeId)
  assert(session && sale, `sale ${chargeId} and its session exist`)
  return { session, sale }
}

/** Writes what became of a charge, whoever learned it. One whose outcome is known stays as it is, unless it was charged after all. */
export async function finishSale(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  begun: Sale,
  outcome: ChargeAnswer,
): Promise<SaleResult> {
  const locked = await lockSaleAndSession(tx, begun)
  const { sale } = locked
  const { chargeId } = sale
  const about = { what: `sale ${chargeId}`, noun: 'charge' } as const
  const other = await mismatchIn(outcome, about, (name) => nameSale(tx, chargeId, name))
  if (other !== undefined) {
    await recordMismatch(tx, context, sale.gatewayId, other)
    if (sale.state === 'open') await putOff(tx, context, sale, 'unknown')
    return sale.state === 'open' ? 'waiting' : 'no_answer'
  }
  if (sale.state !== 'open') return finishLate(tx, context, locked, outcome)
  switch (outcome.kind) {
    case 'succeeded':
      return succeed(tx, context, deps, locked, outcome)
    case 'declined':
      return decline(tx, context, deps, locked)
    case 'never_arrived':
    case 'not_sent':
      await removeCard(tx, deps, sale)
      await closeSale(tx, sale.chargeId, { state: 'not_made', chargedOn: null, gatewayReference: null })
      return 'no_answer'
    case 'requires_action':
      await noteAwaited(tx, sale.chargeId, { url: outcome.url, seconds: CONFIRM_SECONDS, now: context.moment.now })
      return 'waiting'
    case 'held':
    case 'pending':
    case 'unknown':
      await putOff(tx, context, sale, outcome.kind)
      return 'waiting'
  }
}

/** Answers after which a gateway is not silent: it has answered, or was not asked. */
const NOT_SILENT: ReadonlySet<ChargeAnswer['kind']> = new Set(['pending', 'requires_action', 'held'])

/** Lets go of a sale whose gateway is to be asked again. Rule: once it was silent for 24 hours that is an event, and a person may settle the sale. */
async function putOff(tx: Transaction, context: RequestContext, sale: Sale, kind: ChargeAnswer['kind']): Promise<void> {
  const { now } = context.moment
  await putOffSale(tx, sale, {
    wasUnanswered: sale.wasUnanswered || kind === 'unknown',
    silentSince: NOT_SILENT.has(kind) ? now : sale.silentSince,
    waitSeconds: askAgainSeconds(sale.asks),
  })
  if (kind === 'pending' || kind === 'held' || sale.isSilenceAnnounced || !isSilent(sale, now)) return
  await noteSilenceAnnounced(tx, sale.chargeId)
  const about = sale.refundState === 'open' ? 'refund' : 'charge'
  const reason = `The gateway has not answered for 24 hours what became of the ${about} of sale ${sale.chargeId}.`
  await recordSession(tx, context, 'capture_session.sale_silent', sale.sessionId, null, reason)
}

/**
 * Rule: a charge that was made though it was found not made belongs to nobody, for its session went on without it: it goes back at once.
 */
async function finishLate(
  tx: Transaction,
  { moment }: RequestContext,
  { session, sale }: Locked,
  outcome: ChargeAnswer,
): Promise<SaleResult> {
  if (sale.state === 'charged') return 'captured'
  if (outcome.kind === 'succeeded') {
    const { on: chargedOn, gatewayReference } = outcome
    await forgetCharge(tx, session.id, sale.chargeId)
    await closeSale(tx, sale.chargeId, { state: 'charged', chargedOn, gatewayReference })
    await beginSaleRefund(tx, sale.chargeId, moment.now)
  }
  return sale.state === 'declined' ? 'declined' : 'no_answer'
}

async function succeed(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  { session, sale }: Locked,
  { on: chargedOn, gatewayReference }: Extract<Outcome, { kind: 'succeeded' }>,
): Promise<SaleResult> {
  assert(session.capturedAt === null, `capture session ${session.id} is captured by its one open sale`)
  const method = openSaleMethod(deps.envelope, tx.account, sale)
  await closeSale(tx, sale.chargeId, { state: 'charged', chargedOn, gatewayReference })
  if (session.saleType === 'SaleOnly') {
    if (method.kind === 'card') await removeAtGateway(tx, method.card)
    await captureSaleAlone(tx, context, session)
  } else await capture(tx, context, deps, session, method)
  return 'captured'
}

/** Rule: a declined sale leaves the session open, or captured with its card, as it was begun. */
async function decline(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  { session, sale }: Locked,
): Promise<SaleResult> {
  const isKept = isKeptWithoutSale(session)
  const method = openSaleMethod(deps.envelope, tx.account, sale)
  if (!isKept) await removeCard(tx, deps, sale)
  await closeSale(tx, sale.chargeId, { state: 'declined', chargedOn: null, gatewayReference: null })
  if (isKept) {
    await capture(tx, context, deps, session, method)
    return 'captured'
  }
  await countRefusal(tx, session.id)
  return 'declined'
}

async function removeCard(tx: Transaction, { envelope }: CapturedDeps, sale: Sale): Promise<void> {
  const method = openSaleMethod(envelope, tx.account, sale)
  if (method.kind === 'card') await removeAtGateway(tx, method.card)
}

/** Writes what became of the refund of a charge. Refused for good, the session stays captured, with an event for a person. */
export async function finishGivingBack(
  tx: Transaction,
  context: RequestContext,
  begun: Sale,
  outcome: ChargeAnswer,
  endSession: (session: CaptureSession) => Promise<void>,
): Promise<void> {
  const { session, sale } = await lockSaleAndSession(tx, begun)
  if (sale.refundState !== 'open') return
  const about = { what: `refund ${sale.refundId}`, noun: 'refund' } as const
  const other = await mismatchIn(outcome, about, (name) => nameSaleRefund(tx, sale.chargeId, name))
  if (other !== undefined) {
    await recordMismatch(tx, context, sale.gatewayId, other)
    return putOff(tx, context, sale, 'unknown')
  }
  const isOfSession = session.sale?.chargeId === sale.chargeId && session.capturedAt !== null
  switch (outcome.kind) {
    case 'succeeded':
      await closeSaleRefund(tx, sale.chargeId, 'made')
      if (isOfSession) await endSession(session)
      return
    case 'declined':
      await closeSaleRefund(tx, sale.chargeId, 'refused')
      if (isOfSession) await noteGiveBackRefused(tx, session.id, context.moment.now)
      await recordSession(tx, context, 'capture_session.give_back_refused', session.id, null, outcome.message)
      return
    default:
      await putOff(tx, context, sale, outcome.kind)
  }
}

/**
 * Writes that the refund of a charge, which was made, has come back. Rule: the session is captured again, with an event for a person; whoever
 * completes it gets the payment, without the method, which is no longer at its gateway.
 */
export async function failGivingBack(
  tx: Transaction,
  context: RequestContext,
  made: Sale,
  { message }: Declined,
): Promise<void> {
  const { session, sale } = await lockSaleAndSession(tx, made)
  if (sale.refundState !== 'made') return
  await closeSaleRefund(tx, sale.chargeId, 'refused')
  if (session.sale?.chargeId === sale.chargeId) await noteGiveBackFailed(tx, session.id, context.moment.now)
  await recordSession(tx, context, 'capture_session.give_back_refused', session.id, null, message)
}
