import { unreachable } from '../kernel/assert.ts'
import { addDays, daysBetween, type IsoDate } from '../kernel/calendar.ts'
import { type Decimal, decimalText, equals, multiply, ONE, powerOfTen } from '../kernel/decimal.ts'
import { amountOf, minorText, minorToDecimal } from '../kernel/money.ts'
import type { ChargeKind } from './charges.ts'
import { type Bracket, exactPrice, type Scheme } from './pricing.ts'

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
  /** Where several brackets make one amount: how the quantity is priced. Null where the price is for each unit. */
  brackets: PricedBrackets | null
}

export interface PricedBrackets {
  scheme: Scheme
  list: readonly Bracket[]
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
    brackets: PricedBrackets | null
  }
  formula: string
  sentence: string
}

/** What a planned charge already knows of its days. */
type CoveredDays = Pick<ChargeFacts, 'from' | 'until' | 'wholeFrom' | 'wholeUntil'>

interface Days {
  from: IsoDate
  to: IsoDate
  wholeFrom: IsoDate
  wholeTo: IsoDate
  days: number
  wholeDays: number
}

/** "2027-02-01 to 2027-02-28", and where it is cut ", 21 of 31 days"; empty for what covers no days. */
export function describeCharge(facts: CoveredDays): string {
  const covered = daysOf(facts)
  if (covered === null) return ''
  const { from, to, days, wholeDays } = covered
  return days === wholeDays ? `${from} to ${to}` : `${from} to ${to}, ${days} of ${wholeDays} days`
}

/** The amount in minor units from the facts alone; a check compares it with what is stored. */
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
      quantity: facts.quantity,
      brackets: facts.brackets,
    },
    formula: formulaOf(facts, covered),
    sentence: sentenceOf(facts, covered),
  }
}

/** A tax in words: its base, its rate and the one rounding. */
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

/** What the whole period costs, exact. */
const wholePriceOf = ({ brackets, price, quantity }: ChargeFacts): Decimal =>
  brackets === null ? multiply(price, quantity) : exactPrice(brackets.scheme, brackets.list, quantity)

function formulaOf(facts: ChargeFacts, covered: Days | null): string {
  const isCut = covered !== null && covered.days !== covered.wholeDays
  const product = wholePriceText(facts) + (isCut ? ` × ${covered.days} ÷ ${covered.wholeDays}` : '')
  const amount = minorText(facts.netMinor, facts.digits)
  return product === amount ? amount : product + resultText(isExact(facts, covered), amount)
}

/** What the whole period costs, in words: "31.00", "3.10 × 5", "price of 13 units (62.00)". */
function wholePriceText(facts: ChargeFacts): string {
  const units = decimalText(facts.quantity)
  if (facts.brackets !== null) return `price of ${units} units (${priceText(wholePriceOf(facts), facts.digits)})`
  return priceText(facts.price, facts.digits) + (equals(facts.quantity, ONE) ? '' : ` × ${units}`)
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
    case 'package':
    case 'component':
      return periodSentence(facts, covered)
    default:
      return unreachable(facts.kind)
  }
}

function periodSentence(facts: ChargeFacts, covered: Days | null): string {
  if (covered === null) return `${facts.name}: ${formulaOf(facts, covered)} ${facts.currency}.`
  const { from, to, wholeFrom, wholeTo, days, wholeDays } = covered
  if (days === wholeDays)
    return `${facts.name} for the whole period from ${from} to ${to}: ${formulaOf(facts, covered)} ${facts.currency}.`
  return (
    `${facts.name} from ${from} to ${to}: ${days} of the ${wholeDays} days of the period from ${wholeFrom} to ${wholeTo} ` +
    `are charged, so ${formulaOf(facts, covered)} ${facts.currency}.`
  )
}

/** Whether the amount came out without rounding. */
function isExact(facts: ChargeFacts, covered: Days | null): boolean {
  const price = wholePriceOf(facts)
  const part = BigInt(covered?.days ?? 1)
  const whole = BigInt(covered?.wholeDays ?? 1)
  return price.coefficient * part * powerOfTen(facts.digits) === facts.netMinor * powerOfTen(price.scale) * whole
}

const resultText = (isExactResult: boolean, amount: string): string =>
  isExactResult ? ` = ${amount}` : `, rounded to ${amount}`

/** A price with at least the decimals of its currency: "31.00", "0.0035". */
const priceText = (price: Decimal, digits: number): string =>
  price.scale >= digits ? decimalText(price) : minorText(price.coefficient * powerOfTen(digits - price.scale), digits)

const percentText = (rate: Decimal): string => `${decimalText(multiply(rate, { coefficient: 100n, scale: 0 }))} %`
