import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateIn, instantOf } from '../../kernel/zone.ts'
import type { GatewayCall } from './contract.ts'

/** Objects of Stripe as they are read: nothing is taken for granted of what comes from outside. */

export type StripeObject = Readonly<Record<string, unknown>>

/** Returns a value as an object; an empty one where it is none. */
export const record = (value: unknown): StripeObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as StripeObject) : {}

/** Returns a text of an object; empty where there is none. */
export function textIn(object: StripeObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}

/** Returns the identifier of an object that an answer names or holds; empty where there is none. */
export function nameIn(object: StripeObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : textIn(record(value), 'id')
}

/** Returns a whole number of an object; undefined where there is none. */
export function wholeIn(object: StripeObject, name: string): number | undefined {
  const value = object[name]
  return Number.isSafeInteger(value) ? (value as number) : undefined
}

export const listIn = (object: StripeObject, name: string): StripeObject[] => {
  const value = object[name]
  return Array.isArray(value) ? value.map(record) : []
}

/** The name under which what is ours stands at Stripe: of whose gateway it is, what it is, and its reference. */
export type NameKind = 'charge' | 'refund' | 'card'
export const stripeName = ({ scope }: Pick<GatewayCall, 'scope'>, kind: NameKind, reference: string): string =>
  `${scope}/${kind}/${reference}`

/** Returns the reference that an object of a kind bears under this scope; undefined where it bears none. */
export function referenceIn(
  { scope }: Pick<GatewayCall, 'scope'>,
  kind: NameKind,
  object: StripeObject,
): string | undefined {
  const name = textIn(record(object.metadata), 'perennial')
  const start = `${scope}/${kind}/`
  return name.startsWith(start) && name.length > start.length ? name.slice(start.length) : undefined
}

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

const HOUR_MS = 3_600_000

/**
 * Returns the day of a moment of Stripe's, in seconds, in the zone of the account. Rule (§31): where the account's clock is more than an hour from
 * real time, the day of its clock.
 */
export function stripeDay(call: GatewayCall, seconds: number | undefined, realNow: number): IsoDate {
  const isMoved = Math.abs(Date.parse(call.now) - realNow) > HOUR_MS
  return isMoved || seconds === undefined ? call.today : dateIn(instantOf(seconds * 1000), call.timeZone)
}
