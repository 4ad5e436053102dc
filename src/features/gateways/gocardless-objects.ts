import type { IsoDate } from '../../kernel/calendar.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { GatewayCall } from './contract.ts'
import { type AnswerObject, isMoved, textIn } from './answer-objects.ts'

/** Days as GoCardless has them. */

/** Returns the day of a debit, as GoCardless writes days; in a moved clock, or without one, that clock's day. */
export function debitDay(call: GatewayCall, payment: AnswerObject, realNow: number): IsoDate {
  const day = textIn(payment, 'charge_date')
  return isMoved(call, realNow) || !/^\d{4}-\d\d-\d\d$/.test(day) ? call.today : day
}

/** Returns the day of a moment in the zone of the account; in a moved clock that clock's day. */
export function dayOfMoment(call: GatewayCall, at: string, realNow: number): IsoDate {
  return isMoved(call, realNow) || Number.isNaN(Date.parse(at))
    ? call.today
    : dateIn(new Date(at).toISOString(), call.timeZone)
}
