import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateIn, instantOf } from '../../kernel/zone.ts'
import { isMoved } from './answer-objects.ts'
import type { GatewayCall } from './contract.ts'

/** Amounts and days as Stripe has them. */

/** Currencies of which Stripe counts another unit than ISO 4217 has as its smallest: how many of Stripe's are one of these. */
const TIMES: Readonly<Record<string, bigint>> = { ISK: 100n }
const PARTS: Readonly<Record<string, bigint>> = { MGA: 100n }
/** Digits of currencies whose last one has to be 0: cards know no thousandths. */
const THOUSANDTHS = 3

/** Returns an amount as Stripe counts it; undefined where it does not divide. */
export function toStripe(amountMinor: bigint, currency: string): bigint | undefined {
  const parts = PARTS[currency] ?? 1n
  const isUnfit = digitsOf(currency) === THOUSANDTHS ? amountMinor % 10n !== 0n : amountMinor % parts !== 0n
  return isUnfit ? undefined : (amountMinor * (TIMES[currency] ?? 1n)) / parts
}

/** Returns an amount of Stripe in minor units; undefined where it does not divide, or is none. */
export function fromStripe(amount: number | undefined, currency: string): bigint | undefined {
  if (amount === undefined) return undefined
  const times = TIMES[currency] ?? 1n
  const whole = BigInt(amount)
  return whole % times === 0n ? (whole / times) * (PARTS[currency] ?? 1n) : undefined
}

/**
 * Returns the day of a moment of Stripe's, in seconds, in the zone of the account. Rule (§31): where the account's clock is more than an hour from
 * real time, the day of its clock.
 */
export function stripeDay(call: GatewayCall, seconds: number | undefined, realNow: number): IsoDate {
  return isMoved(call, realNow) || seconds === undefined ? call.today : dateIn(instantOf(seconds * 1000), call.timeZone)
}
