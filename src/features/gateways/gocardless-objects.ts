import type { IsoDate } from '../../kernel/calendar.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { GatewayCall } from './contract.ts'
import type { GoCardlessObject } from './gocardless-answers.ts'
import { record, textIn } from './stripe-objects.ts'

/** Names and days of what is ours at GoCardless. */

/** Kinds of what stands there under a reference of ours. */
export type NameKind = 'charge' | 'refund' | 'mandate'

export const nameOfOurs = ({ scope }: Pick<GatewayCall, 'scope'>, kind: NameKind, reference: string): string =>
  `${scope}/${kind}/${reference}`

/** Returns the reference that metadata bear under a scope, as an object's own or as those of the object of an event; undefined where they bear none. */
export function referenceIn(
  { scope }: Pick<GatewayCall, 'scope'>,
  kind: NameKind,
  metadata: unknown,
): string | undefined {
  const name = textIn(record(metadata), 'perennial')
  const start = `${scope}/${kind}/`
  return name.startsWith(start) && name.length > start.length ? name.slice(start.length) : undefined
}

const HOUR_MS = 3_600_000

/** Returns whether the account's clock is more than an hour from real time: days of the gateway mean nothing there (§31, §38). */
export const isMoved = ({ now }: Pick<GatewayCall, 'now'>, realNow: number): boolean =>
  Math.abs(Date.parse(now) - realNow) > HOUR_MS

/** Returns the day of a debit, as GoCardless writes days; in a moved clock, or without one, that clock's day. */
export function debitDay(call: GatewayCall, payment: GoCardlessObject, realNow: number): IsoDate {
  const day = textIn(payment, 'charge_date')
  return isMoved(call, realNow) || !/^\d{4}-\d\d-\d\d$/.test(day) ? call.today : day
}

/** Returns the day of a moment in the zone of the account; in a moved clock that clock's day. */
export function dayOfMoment(call: GatewayCall, at: string, realNow: number): IsoDate {
  return isMoved(call, realNow) || Number.isNaN(Date.parse(at))
    ? call.today
    : dateIn(new Date(at).toISOString(), call.timeZone)
}
