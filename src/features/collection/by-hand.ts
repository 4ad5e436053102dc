import { type FailureReason, readReason } from '../../engine/collection/reasons.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { PaymentRecord } from '../money/records.ts'
import { finishTry, type Known } from './outcome.ts'
import { lockTry, type Try } from './try-queries.ts'

/** Results by hand: a person settles a try whose gateway has been silent too long. */

const SILENT_MS = 24 * 60 * 60_000

/** Result of a try as a person gives it. */
export interface ResultByHand {
  Success: boolean
  Reason?: string | null
  Date?: IsoDate | null
}

/** Settles the open try of a locked payment by hand. Throws a conflict where its outcome is known, or its gateway may still answer. */
export async function settleByHand(
  tx: Transaction,
  context: RequestContext,
  { id }: PaymentRecord,
  result: ResultByHand,
): Promise<void> {
  const { now, today } = context.moment
  const t = await lockTry(tx, id)
  if (!t) throw conflict('payment_fixed', `Payment ${id} is no try of this service at a gateway.`)
  checkSilent(t, now)
  const on = result.Date ?? today
  checkDay(t, on, today)
  await finishTry(tx, context, t, knownOf(result, on))
}

const knownOf = ({ Success, Reason }: ResultByHand, on: IsoDate): Known =>
  Success ? { kind: 'succeeded', on } : { kind: 'failed', ...(readReason(Reason) satisfies FailureReason), on }

/** Rule: a result by hand is taken once the gateway was asked in vain for 24 hours, by the account's clock. */
function checkSilent({ paymentId, state, silentSince, isAsked }: Try, now: Instant): void {
  if (state !== 'open') throw conflict('try_ended', `The outcome of payment ${paymentId} is known already.`)
  if (Date.parse(now) < Date.parse(silentSince) + SILENT_MS)
    throw conflict(
      'gateway_may_answer',
      `The gateway of payment ${paymentId} is still asked what became of it; a result by hand is taken 24 hours after it fell silent.`,
    )
  // Its answer would be lost.
  if (isAsked)
    throw conflict(
      'gateway_asked',
      `The gateway of payment ${paymentId} is being asked right now; try again in a minute.`,
    )
}

function checkDay({ begunOn, paymentId }: Try, on: IsoDate, today: IsoDate): void {
  if (on > today) throw invalid('date_in_future', `Date ${on} lies after today, ${today}.`, 'Date')
  if (on < begunOn)
    throw invalid('date_before_try', `Date ${on} lies before the try of payment ${paymentId}, ${begunOn}.`, 'Date')
}
