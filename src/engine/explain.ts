import { unreachable } from '../kernel/assert.ts'
import { addDays, daysBetween, type IsoDate } from '../kernel/calendar.ts'
import { type Decimal, decimalText, equals, multiply, ONE, powerOfTen } from '../kernel/decimal.ts'
import { amountOf, minorText, minorToDecimal } from '../kernel/money.ts'
import type { ChargeKind } from './subscription/charges.ts'
import type { CreditLine } from './subscription/credits.ts'
import { exactDifference, exactPrice, type PricedBrackets, type PriceList } from './subscription/pricing.ts'

/** A stored charge by value: nothing of the catalogue is needed to check or explain its amount. */
export interface ChargeFacts {
  kind: ChargeKind
  from: IsoDate | null
  until: IsoDate | null
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  price: Decimal
  quantity: Decimal
  unitPrice: Decimal
  netMinor: bigint
  digits: number
  currency: string
  name: string
  /** How the amount is priced where it is not price × quantity: several brackets cut by the day, a stairstep, a difference. */
  brackets: PricedBrackets | null
  /** Of a line that is price × quantity for one bracket of several: what its cycle was spread by, and the units of all its lines. */
  spread?: { priceList: PriceList; quantity: Decimal } | undefined
}

export interface ChargeExplanation {
  /** `to` and `wholeTo` are the last covered days. */
  facts: {
    from: IsoDate | null
    to: IsoDate | null
    wholeFrom: IsoDate | null
    wholeTo: IsoDate | null
    days: number | null
    wholeDays: number | null
    price: Decimal
    quantity: Decimal
    /** All units of the cycle, and those that were charged before where the line is a difference; null where nothing is counted. */
    totalQuantity: Decimal | null
    quantityBefore: Decimal | null
    priceList: PriceList | null
  }
  formula: string
  sentence: string
}

/** Days that a planned charge covers, and the whole period that they are part of. */
type CoveredDays = Pick<ChargeFacts, 'from' | 'until' | 'wholeFrom' | 'wholeUntil'>

interface Days {
  from: IsoDate
  to: IsoDate
  wholeFrom: IsoDate
  wholeTo: IsoDate
  days: number
  wholeDays: number
}

/**
 * Describes the days of a charge: "2027-02-01 to 2027-02-28", where it is cut ", 21 of 31 days", and where the line's quantity of 1 does
 * not show it, how many units were bought: ", 6 units", ", 3 → 8 units". Empty for what covers no days.
 */
export function describeCharge(facts: CoveredDays & Pick<ChargeFacts, 'kind' | 'brackets'>): string {
  const covered = daysOf(facts)
  if (covered === null) return ''
  const { from, to, days, wholeDays } = covered
  const cut = days === wholeDays ? '' : `, ${days} of ${wholeDays} days`
  return `${from} to ${to}${cut}${boughtText(facts)}`
}

function boughtText({ kind, brackets }: Pick<ChargeFacts, 'kind' | 'brackets'>): string {
  if (brackets === null) return ''
  const { quantity, before } = brackets
  const late = kind === 'late_usage' ? 'late: ' : ''
  return before === null
    ? `, ${late}${unitsText(quantity)}`
    : `, ${late}${decimalText(before)} → ${unitsText(quantity)}`
}

const unitsText = (quantity: Decimal): string => `${decimalText(quantity)} ${equals(quantity, ONE) ? 'unit' : 'units'}`

/** Returns the amount in minor units from the facts alone; a check compares it with what is stored. */
export function recomputeCharge(facts: ChargeFacts): bigint {
  const covered = daysOf(facts)
  const part = BigInt(covered?.days ?? 1)
  const whole = BigInt(covered?.wholeDays ?? 1)
  return amountOf(wholePriceOf(facts), ONE, part, whole, facts.digits)
}

/** Facts, formula and a sentence for a person. */
export function explainCharge(facts: ChargeFacts): ChargeExplanation {
  const covered = daysOf(facts)
  return {
    facts: {
      from: covered?.from ?? null,
      to: covered?.to ?? null,
      wholeFrom: covered?.wholeFrom ?? null,
      wholeTo: covered?.wholeTo ?? null,
      days: covered?.days ?? null,
      wholeDays: covered?.wholeDays ?? null,
      price: facts.price,
      quantity: facts.brackets?.quantity ?? facts.quantity,
      totalQuantity: facts.brackets?.quantity ?? facts.spread?.quantity ?? null,
      quantityBefore: facts.brackets?.before ?? null,
      priceList: facts.brackets ?? facts.spread?.priceList ?? null,
    },
    formula: formulaOf(facts, covered),
    sentence: sentenceOf(facts, covered),
  }
}

export interface CreditExplanation {
  /** `to` and `wholeTo` are the last unused day and the last day of the whole period. */
  facts: {
    from: IsoDate | null
    to: IsoDate | null
    wholeFrom: IsoDate | null
    wholeTo: IsoDate | null
    unusedDays: number | null
    wholeDays: number | null
    price: Decimal
    creditedBeforeMinor: bigint
  }
  formula: string
  sentence: string
}

/** Explains a line of a credit note: the unused part of its charge, and the amount it was cut to if less was left. */
export function explainCredit(
  line: CreditLine,
  digits: number,
  currency: string,
  isByCaller = false,
): CreditExplanation {
  const isCorrection = isUsage(line) && !isByCaller
  const unused = daysOf(line)
  const part = BigInt(unused?.days ?? 1)
  const whole = BigInt(unused?.wholeDays ?? 1)
  const amount = minorText(line.netMinor, digits)
  const wantedMinor = amountOf(line.price, ONE, part, whole, digits)
  const price = priceText(line.price, digits)
  const product = part === whole ? price : `${price} × ${part} ÷ ${whole}`
  const isWhole =
    line.price.coefficient * part * powerOfTen(digits) === wantedMinor * powerOfTen(line.price.scale) * whole
  const wanted = minorText(wantedMinor, digits)
  const computed = product === wanted ? wanted : product + resultText(isWhole, wanted)
  const ofUnused = wantedMinor > line.netMinor ? `${computed}, at most what was left: ${amount}` : computed
  // Usage gives back the difference to what is due now: what stood of its charge, less what still stands.
  const stoodMinor = wantedMinor - line.creditedBeforeMinor
  const ofUsage = `${minorText(stoodMinor, digits)} − ${minorText(stoodMinor - line.netMinor, digits)} = ${amount}`
  const formula = isCorrection ? ofUsage : ofUnused
  return {
    facts: {
      from: unused?.from ?? null,
      to: unused?.to ?? null,
      wholeFrom: unused?.wholeFrom ?? null,
      wholeTo: unused?.wholeTo ?? null,
      unusedDays: unused?.days ?? null,
      wholeDays: unused?.wholeDays ?? null,
      price: line.price,
      creditedBeforeMinor: line.creditedBeforeMinor,
    },
    formula,
    sentence: isCorrection
      ? correctionSentence(line.name, unused, `${amount} ${currency}`)
      : creditSentence(line.name, unused, `${formula} ${currency}`),
  }
}

/** Explains a credit for usage, which is never unused but was corrected to less. */
const isUsage = ({ kind }: Pick<CreditLine, 'kind'>): boolean => kind === 'metered' || kind === 'late_usage'

const correctionSentence = (name: string, cycle: Days | null, amount: string): string =>
  `Usage of ${name}${cycle ? ` from ${cycle.from} to ${cycle.to}` : ''} was corrected to less: ${amount} is given back.`

function creditSentence(name: string, unused: Days | null, result: string): string {
  if (unused === null) return `${name} is given back: ${result}.`
  const { from, to, wholeFrom, wholeTo, days, wholeDays } = unused
  if (days === wholeDays) return `${name} for the whole period from ${from} to ${to} is given back: ${result}.`
  return (
    `${name} from ${from} to ${to} is given back: ${days} of the ${wholeDays} days of the period from ${wholeFrom} to ${wholeTo} ` +
    `are unused, so ${result}.`
  )
}

/** Explains a tax in words: its base, its rate and the one rounding. */
export function explainTax(tax: {
  name: string
  rate: Decimal
  baseMinor: bigint
  amountMinor: bigint
  digits: number
  currency: string
}): { formula: string; sentence: string } {
  const { name, currency, digits } = tax
  const exact = multiply(minorToDecimal(tax.baseMinor, digits), tax.rate)
  const amount = minorText(tax.amountMinor, digits)
  const base = minorText(tax.baseMinor, digits)
  const percent = percentText(tax.rate)
  const formula = `${base} × ${percent}${resultText(exact.scale <= digits, amount)}`
  return {
    formula,
    sentence: `${name} is ${percent} of ${base} ${currency}, the sum of the lines: ${formula} ${currency}.`,
  }
}

function daysOf({ from, until, wholeFrom, wholeUntil }: CoveredDays): Days | null {
  if (from === null || until === null) return null
  const wholeStart = wholeFrom ?? from
  const wholeEnd = wholeUntil ?? until
  return {
    from,
    to: addDays(until, -1),
    wholeFrom: wholeStart,
    wholeTo: addDays(wholeEnd, -1),
    days: daysBetween(from, until),
    wholeDays: daysBetween(wholeStart, wholeEnd),
  }
}

/** Returns the exact price of the whole period for everything that the line charges. Credits and extensions are shares of it. */
export const wholePriceOf = ({
  brackets,
  price,
  quantity,
}: Pick<ChargeFacts, 'brackets' | 'price' | 'quantity'>): Decimal =>
  brackets === null ? multiply(price, quantity) : exactDifference(brackets)

function formulaOf(facts: ChargeFacts, covered: Days | null): string {
  const isCut = covered !== null && covered.days !== covered.wholeDays
  const price = wholePriceText(facts)
  const isDifference = facts.brackets !== null && facts.brackets.before !== null
  const product = isCut ? `${isDifference ? `(${price})` : price} × ${covered.days} ÷ ${covered.wholeDays}` : price
  const amount = minorText(facts.netMinor, facts.digits)
  return product === amount ? amount : product + resultText(isExact(facts, covered), amount)
}

/** Returns the price of the whole period in words: "31.00", "3.10 × 5", "price of 13 units (62.00)", and of a difference both prices. */
function wholePriceText({ brackets, price, quantity, digits }: ChargeFacts): string {
  if (brackets === null) return priceText(price, digits) + (equals(quantity, ONE) ? '' : ` × ${decimalText(quantity)}`)
  const priceOf = (units: Decimal): string =>
    `price of ${unitsText(units)} (${priceText(exactPrice(brackets.scheme, brackets.list, units), digits)})`
  if (brackets.before === null) return priceOf(brackets.quantity)
  return `${priceOf(brackets.quantity)} − ${priceOf(brackets.before)}${leftOutText(brackets.leftOut, digits)}`
}

/** Returns, with the sign that takes it back, the amount that a difference leaves out. */
function leftOutText(leftOut: Decimal | undefined, digits: number): string {
  if (leftOut === undefined) return ''
  const { coefficient, scale } = leftOut
  const isNegative = coefficient < 0n
  const text = priceText({ coefficient: isNegative ? -coefficient : coefficient, scale }, digits)
  return ` ${isNegative ? '+' : '−'} ${text} that was cancelled or credited`
}

function sentenceOf(facts: ChargeFacts, covered: Days | null): string {
  const amount = `${minorText(facts.netMinor, facts.digits)} ${facts.currency}`
  switch (facts.kind) {
    case 'setup':
      return `The set-up fee of ${amount} is charged once, when the subscription starts.`
    case 'trial':
      return `The trial fee of ${amount} is charged once, when the trial starts.`
    case 'manual':
      return `${facts.name}: ${formulaOf(facts, covered)} ${facts.currency}, as it was entered.`
    case 'metered':
      return usageSentence(facts, covered, 'usage')
    case 'late_usage':
      return usageSentence(facts, covered, 'usage that was reported after the cycle had been invoiced, of the cycle')
    case 'rise':
      return periodSentence(facts, covered, 'rise in quantity')
    case 'package_extension':
    case 'component_extension':
      return periodSentence(facts, covered, 'because the end moved')
    case 'package':
    case 'component':
      return periodSentence(facts, covered, '')
    default:
      return unreachable(facts.kind)
  }
}

function usageSentence(facts: ChargeFacts, covered: Days | null, what: string): string {
  const days = covered === null ? '' : ` from ${covered.from} to ${covered.to}`
  return `${facts.name}, ${what}${days}: ${formulaOf(facts, covered)} ${facts.currency}${spreadText(facts)}.`
}

/** Returns which of all units one line of several is for. */
function spreadText({ quantity, spread }: ChargeFacts): string {
  if (!spread) return ''
  const { priceList, quantity: total } = spread
  const share = equals(quantity, total) ? '' : `${decimalText(quantity)} of `
  return `, for ${share}${unitsText(total)} (${priceList.scheme})`
}

function periodSentence(facts: ChargeFacts, covered: Days | null, cause: string): string {
  const formula = `${formulaOf(facts, covered)} ${facts.currency}`
  if (covered === null) return `${facts.name}: ${formula}.`
  const { from, to, wholeFrom, wholeTo, days, wholeDays } = covered
  const item = cause === '' ? facts.name : `${facts.name}, ${cause},`
  if (days === wholeDays) return `${item} for the whole period from ${from} to ${to}: ${formula}${spreadText(facts)}.`
  return (
    `${item} from ${from} to ${to}: ${days} of the ${wholeDays} days of the period from ${wholeFrom} to ${wholeTo} ` +
    `are charged, so ${formula}.`
  )
}

/** Returns whether the amount came out without rounding. */
function isExact(facts: ChargeFacts, covered: Days | null): boolean {
  const price = wholePriceOf(facts)
  const part = BigInt(covered?.days ?? 1)
  const whole = BigInt(covered?.wholeDays ?? 1)
  return price.coefficient * part * powerOfTen(facts.digits) === facts.netMinor * powerOfTen(price.scale) * whole
}

const resultText = (isExactResult: boolean, amount: string): string =>
  isExactResult ? ` = ${amount}` : `, rounded to ${amount}`

/** Returns a price with at least the decimals of its currency: "31.00", "0.0035". */
const priceText = (price: Decimal, digits: number): string =>
  price.scale >= digits ? decimalText(price) : minorText(price.coefficient * powerOfTen(digits - price.scale), digits)

const percentText = (rate: Decimal): string => `${decimalText(multiply(rate, { coefficient: 100n, scale: 0 }))} %`
