import type { Bracket, PricedBrackets, Scheme } from '../../engine/pricing.ts'
import { decimal, decimalText } from '../../kernel/decimal.ts'

/** Brackets as rows keep them, by value: decimals are texts, because JSON numbers would lose digits. */

export interface BracketJson {
  from: string
  till: string | null
  price: string
}

export interface PricedBracketsJson {
  scheme: Scheme
  list: BracketJson[]
  quantity: string
  before: string | null
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

/** The JSON text of how a charge is priced; null where it is price × quantity of its line. */
export const bracketsText = (brackets: PricedBrackets | null): string | null =>
  brackets &&
  JSON.stringify({
    scheme: brackets.scheme,
    list: brackets.list.map(bracketToJson),
    quantity: decimalText(brackets.quantity),
    before: brackets.before === null ? null : decimalText(brackets.before),
    ...(brackets.leftOut ? { leftOut: decimalText(brackets.leftOut) } : {}),
  } satisfies PricedBracketsJson)

export const bracketsOf = (stored: PricedBracketsJson | null): PricedBrackets | null =>
  stored && {
    scheme: stored.scheme,
    list: stored.list.map(bracketFromJson),
    quantity: decimal(stored.quantity),
    before: stored.before === null ? null : decimal(stored.before),
    ...(stored.leftOut === undefined ? {} : { leftOut: decimal(stored.leftOut) }),
  }
