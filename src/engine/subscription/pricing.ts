import { assert, unreachable } from '../../kernel/assert.ts'
import { add, compare, type Decimal, multiply, ONE, subtract, ZERO } from '../../kernel/decimal.ts'

/** `tiered` is another word for `unit`: each unit at the price of its own bracket. */
export type Scheme = 'unit' | 'tiered' | 'volume' | 'stairstep'

/** A price for the quantities above the bracket before it, up to and including `till`; null has no upper end. */
export interface Bracket {
  from: Decimal
  till: Decimal | null
  price: Decimal
}

/** Prices for a quantity. */
export interface PriceList {
  scheme: Scheme
  list: readonly Bracket[]
}

/** How an amount that is not price × quantity of its line was priced. */
export interface PricedBrackets extends PriceList {
  /** All units that are priced. */
  quantity: Decimal
  /** For a difference: the quantity that was charged before and is taken off. Null where the whole quantity is charged. */
  before: Decimal | null
  /** Exact amount, with its sign, that the difference leaves out because invoices that charged it were cancelled; absent if there is none. */
  leftOut?: Decimal
}

/** Line that one bracket contributes to an invoice when nothing is cut by the day. */
export interface PricedLine {
  bracketIndex: number
  /** Units that this bracket prices. */
  quantity: Decimal
  price: Decimal
  /** Not rounded: quantity × price, or the price once when flat. */
  exact: Decimal
  /** True where the price is for the bracket, not for each unit (stairstep). */
  isFlat: boolean
}

/**
 * Returns the price of a quantity under a scheme. Rule: a bracket covers what is above the previous one's end, so that a fractional
 * quantity always has one; what is above the last closed bracket is priced by the last; 0 costs 0. The quantity must not be negative.
 */
export function priceQuantity(scheme: Scheme, brackets: readonly Bracket[], quantity: Decimal): PricedLine[] {
  assert(brackets.length > 0, 'a price has at least one bracket')
  assert(quantity.coefficient >= 0n, 'a quantity is never negative')
  if (quantity.coefficient === 0n) return []
  switch (scheme) {
    case 'unit':
    case 'tiered':
      return priceEachUnit(brackets, quantity)
    case 'volume':
      return [lineOf(brackets, bracketHolding(brackets, quantity), quantity, false)]
    case 'stairstep':
      return [lineOf(brackets, bracketHolding(brackets, quantity), quantity, true)]
    default:
      return unreachable(scheme)
  }
}

/** Returns the price of a quantity as one exact amount, not rounded. */
export const exactPrice = (scheme: Scheme, brackets: readonly Bracket[], quantity: Decimal): Decimal =>
  priceQuantity(scheme, brackets, quantity).reduce((sum, line) => add(sum, line.exact), ZERO)

/** Returns price(quantity) − price(what was charged before), exact, less what it leaves out. */
export function exactDifference({ scheme, list, quantity, before, leftOut = ZERO }: PricedBrackets): Decimal {
  const price = exactPrice(scheme, list, quantity)
  return before === null ? price : subtract(subtract(price, exactPrice(scheme, list, before)), leftOut)
}

function priceEachUnit(brackets: readonly Bracket[], quantity: Decimal): PricedLine[] {
  const last = bracketHolding(brackets, quantity)
  const lines: PricedLine[] = []
  let below = ZERO
  for (let index = 0; index < last; index += 1) {
    const till = brackets[index]!.till ?? below
    lines.push(lineOf(brackets, index, subtract(till, below), false))
    below = till
  }
  lines.push(lineOf(brackets, last, subtract(quantity, below), false))
  return lines
}

/** Returns the bracket that holds a quantity: the first that reaches it, else the last. */
function bracketHolding(brackets: readonly Bracket[], quantity: Decimal): number {
  const found = brackets.findIndex(({ till }) => till === null || compare(quantity, till) <= 0)
  return found === -1 ? brackets.length - 1 : found
}

function lineOf(brackets: readonly Bracket[], bracketIndex: number, quantity: Decimal, isFlat: boolean): PricedLine {
  const { price } = brackets[bracketIndex]!
  return { bracketIndex, quantity, price, exact: multiply(price, isFlat ? ONE : quantity), isFlat }
}
