import { daysBetween, type IsoDate } from '../../kernel/calendar.ts'
import { type Decimal, ONE } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import { amountOf, minorToDecimal, roundToMinor } from '../../kernel/money.ts'
import type { Period } from './period.ts'
import type { PricedBrackets, PriceList } from './pricing.ts'

/**
 * Kinds of charges that a line can be for. `package` and `component` are the charge of a period itself; an extension charges days of it
 * that an end had cut off; `rise` (an increase of a quantity inside an invoiced cycle), `metered` and `late_usage` belong to components.
 */
export const CHARGE_KINDS = [
  'setup',
  'trial',
  'package',
  'package_extension',
  'component',
  'component_extension',
  'rise',
  'metered',
  'late_usage',
  'manual',
] as const
export type ChargeKind = (typeof CHARGE_KINDS)[number]

/** Charge of a line to come, with every fact that its amount follows from. */
export interface PlannedCharge {
  kind: ChargeKind
  /** The package (or component) that is charged. */
  itemId: Id
  /** 0 is the charge of the period itself; rises, late usage and extensions after it count from 1. */
  part: number
  /** Which bracket a line of several belongs to; 0 where there is one line. With kind, item, stretch, first day and part it is unique. */
  bracketIndex: number
  /** Number of the phase of the subscription: each start, restart and change of package or term begins a new one. */
  stretch: number
  /** The days that are charged, half-open; null for fees. */
  from: IsoDate | null
  until: IsoDate | null
  /** The whole period that they are cut from: equal to from and until when nothing is cut. */
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  /** The exact price of the whole period, or the fee. */
  price: Decimal
  /** The line's quantity: 1 where the amount is not price × quantity. */
  quantity: Decimal
  /** How the amount is priced where it is not price × quantity; null where it is. */
  brackets: PricedBrackets | null
  /**
   * Prices by which a quantity was spread over several brackets, with a line of price × quantity for each. Only the first of these lines
   * keeps it: amounts do not need it, and an explanation finds the other lines beside it.
   */
  spreadBy?: PriceList
  /** The heading of the line. */
  name: string
  /** Unit price that the line shows: times quantity, rounded, it always gives netMinor. */
  unitPrice: Decimal
  netMinor: bigint
}

/** Terms that the charges of a package follow from. */
export interface PackageTerms {
  packageId: Id
  packageName: string
  stretch: number
  /** Exact price of a whole period. */
  price: Decimal
  setupFeeMinor: bigint
  trialFeeMinor: bigint
  /** Decimals of the currency. */
  digits: number
}

/** Returns the charge of the days of a piece. A piece that is its whole period costs the price as it stands, else its share by days. */
export function packageCharge(terms: PackageTerms, piece: Period, whole: Period): PlannedCharge {
  const isWhole = piece.from === whole.from && piece.until === whole.until
  const netMinor = isWhole
    ? roundToMinor(terms.price, terms.digits)
    : shareByDays(terms.price, piece, whole, terms.digits)
  return {
    kind: 'package',
    itemId: terms.packageId,
    part: 0,
    bracketIndex: 0,
    stretch: terms.stretch,
    from: piece.from,
    until: piece.until,
    wholeFrom: whole.from,
    wholeUntil: whole.until,
    price: terms.price,
    quantity: ONE,
    brackets: null,
    name: terms.packageName,
    unitPrice: isWhole ? terms.price : minorToDecimal(netMinor, terms.digits),
    netMinor,
  }
}

/**
 * Returns price × days of the piece ÷ days of the whole period, in minor units. Rule: actual days over the actual days of the period that
 * the piece is cut from, rounded once from the exact price; the price of a single day is never rounded.
 */
export const shareByDays = (price: Decimal, piece: Period, whole: Period, digits: number): bigint =>
  amountOf(
    price,
    ONE,
    BigInt(daysBetween(piece.from, piece.until)),
    BigInt(daysBetween(whole.from, whole.until)),
    digits,
  )

/** Returns set-up fee and trial fee, as far as there are any. Rule: without a trial the trial fee is not charged. */
export function feeCharges(terms: PackageTerms, hasTrial: boolean): PlannedCharge[] {
  const charges: PlannedCharge[] = []
  if (terms.setupFeeMinor > 0n) charges.push(feeCharge(terms, 'setup', 'Set-up fee', terms.setupFeeMinor))
  if (hasTrial && terms.trialFeeMinor > 0n) charges.push(feeCharge(terms, 'trial', 'Trial fee', terms.trialFeeMinor))
  return charges
}

function feeCharge(terms: PackageTerms, kind: 'setup' | 'trial', name: string, feeMinor: bigint): PlannedCharge {
  const price = minorToDecimal(feeMinor, terms.digits)
  return {
    kind,
    itemId: terms.packageId,
    part: 0,
    bracketIndex: 0,
    stretch: terms.stretch,
    from: null,
    until: null,
    wholeFrom: null,
    wholeUntil: null,
    price,
    quantity: ONE,
    brackets: null,
    name,
    unitPrice: price,
    netMinor: feeMinor,
  }
}
