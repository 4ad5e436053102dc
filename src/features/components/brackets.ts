import type { Bracket, PricedBrackets, PriceList, Scheme } from '../../engine/subscription/pricing.ts'
import { decimal, decimalText } from '../../kernel/decimal.ts'

/** Brackets as rows keep them, by value: decimals are texts, because JSON numbers would lose digits. */

export interface BracketJson {
  from: string
  till: string | null
  price: string
}

interface PriceListJson {
  scheme: Scheme
  list: BracketJson[]
}

/** Without a quantity it prices no line, and shows what the lines of a cycle were spread by. */
export interface PricedBracketsJson extends PriceListJson {
  quantity?: string
  before?: string | null
  leftOut?: string
}

export const bracketToJson = ({ from, till, price }: Bracket): BracketJson => ({
  from: decimalText(from),
  till: till === null ? null : decimalText(till),
  price: decimalText(price),
})

export const bracketFromJson = ({ from, till, price }: BracketJson): Bracket => ({
  from: decimal(from),
  till: till === null ? null : decimal(till),
  price: decimal(price),
})

/** Returns the JSON text of how a charge is priced; null where it is price × quantity of its line. */
export const bracketsText = (brackets: PricedBrackets | null): string | null =>
  brackets &&
  JSON.stringify({
    scheme: brackets.scheme,
    list: brackets.list.map(bracketToJson),
    quantity: decimalText(brackets.quantity),
    before: brackets.before === null ? null : decimalText(brackets.before),
    ...(brackets.leftOut ? { leftOut: decimalText(brackets.leftOut) } : {}),
  } satisfies PricedBracketsJson)

// Thousands of lines of a run share a list, and their text is made once.
const spreadTexts = new WeakMap<readonly Bracket[], { scheme: Scheme; text: string }>()

/** Returns the JSON text of what the lines of a cycle were spread by; null where they were not spread. */
export function spreadText(priceList: PriceList | undefined): string | null {
  if (!priceList) return null
  const { scheme, list } = priceList
  const known = spreadTexts.get(list)
  if (known?.scheme === scheme) return known.text
  const text = JSON.stringify({ scheme, list: list.map(bracketToJson) } satisfies PriceListJson)
  spreadTexts.set(list, { scheme, text })
  return text
}

/** Returns how a line is priced; null where it is price × quantity. */
export const bracketsOf = (stored: PricedBracketsJson | null): PricedBrackets | null =>
  stored?.quantity === undefined
    ? null
    : {
        ...priceListOf(stored),
        quantity: decimal(stored.quantity),
        before: stored.before ? decimal(stored.before) : null,
        ...(stored.leftOut === undefined ? {} : { leftOut: decimal(stored.leftOut) }),
      }

export const priceListOf = ({ scheme, list }: PriceListJson): PriceList => ({ scheme, list: list.map(bracketFromJson) })
