import { readReason } from '../../engine/collection/reasons.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Outcome } from '../gateways/contract.ts'
import { giveBackMethod } from './actions.ts'
import type { CapturedDeps } from './captured.ts'
import type { CaptureSession } from './queries.ts'
import { recordSession } from './record.ts'
import { isSilent, waitingOf } from './rules.ts'
import { closeSaleRefund, type Sale } from './sale-queries.ts'
import { finishGivingBack, finishSale, lockSaleAndSession } from './sales.ts'

/** Results by hand: a person settles a sale whose gateway has been silent too long, or which the gateway refuses for good to give back. */

/** Result of a sale, or of its refund, as a person gives it. */
export interface SaleResultByHand {
  Success: boolean
  Reason?: string | null
  Date?: IsoDate | null
}

/** Settles what a sale waits for. Throws a conflict where it waits for nothing, or its gateway may still answer. */
export async function settleSaleByHand(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  found: Sale,
  result: SaleResultByHand,
): Promise<void> {
  const { session, sale } = await lockSaleAndSession(tx, found)
  const waiting = waitingOf(session, sale)
  if (waiting === null) throw conflict('sale_ended', `The outcome of sale ${sale.chargeId} is known already.`)
  if (waiting === 'refused') {
    if (!result.Success)
      throw conflict('refund_refused', `The gateway has refused the refund of sale ${sale.chargeId} already.`)
    checkDay(context, sale, result)
    await settleRefused(tx, context, deps, session, sale)
  } else {
    checkSilent(context, sale)
    const outcome = outcomeOf(result, checkDay(context, sale, result))
    const expire = (ended: CaptureSession) => giveBackMethod(tx, context, deps, ended)
    if (waiting === 'refund') await finishGivingBack(tx, context, sale, outcome, expire)
    else await finishSale(tx, context, deps, sale, isNotSent(outcome) ? { kind: 'never_arrived' } : outcome)
  }
  await recordSession(tx, context, 'capture_session.settled_by_hand', session.id, null, result.Reason ?? null)
}

/** Ends a sale whose money was given back in another way, and its session with it where that still has the money. */
async function settleRefused(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  session: CaptureSession,
  { chargeId }: Sale,
): Promise<void> {
  await closeSaleRefund(tx, chargeId, 'made')
  if (session.sale?.chargeId === chargeId) await giveBackMethod(tx, context, deps, session)
}

/** Rule: a result by hand is taken once the gateway was asked in vain for 24 hours, by the account's clock. */
function checkSilent({ moment }: RequestContext, sale: Sale): void {
  if (!isSilent(sale, moment.now))
    throw conflict(
      'gateway_may_answer',
      `The gateway of sale ${sale.chargeId} is still asked what became of it; a result by hand is taken 24 hours after it fell silent.`,
    )
  // Its answer would be lost.
  if (sale.isAsked)
    throw conflict(
      'gateway_asked',
      `The gateway of sale ${sale.chargeId} is being asked right now; try again in a minute.`,
    )
}

function checkDay(
  { account, moment }: RequestContext,
  { chargeId, begunAt }: Sale,
  { Date: day }: SaleResultByHand,
): IsoDate {
  const on = day ?? moment.today
  const begunOn = dateIn(begunAt, account.timeZone)
  if (on > moment.today) throw invalid('date_in_future', `Date ${on} lies after today, ${moment.today}.`, 'Date')
  if (on < begunOn) throw invalid('date_before_sale', `Date ${on} lies before sale ${chargeId}, ${begunOn}.`, 'Date')
  return on
}

function outcomeOf({ Success, Reason }: SaleResultByHand, on: IsoDate): Outcome {
  if (Success) return { kind: 'succeeded', gatewayReference: null, on }
  const { class: declineClass, code, message } = readReason(Reason)
  return { kind: 'declined', class: declineClass, code: code ?? 'by_hand', message, on }
}

const isNotSent = (outcome: Outcome): boolean => outcome.kind === 'declined' && outcome.class === 'not_sent'
