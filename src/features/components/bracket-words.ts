import { type PricedBrackets, type PriceList, priceQuantity, type Scheme } from '../../engine/subscription/pricing.ts'
import { compare, type Decimal, equals, ZERO } from '../../kernel/decimal.ts'
import { type Formats, formatsOf, type Language } from '../../platform/locale/format.ts'

/** Price list and total quantity by which the units of one cycle were spread over its lines. */
export interface Spread {
  priceList: PriceList
  quantity: Decimal
  /** Place in the list of the bracket that the line is for. */
  bracketIndex: number
}

interface BracketWords {
  step(range: string): string
  bracket(range: string): string
  upTo(till: string): string
  from(from: string): string
  fromTo(from: string, till: string): string
  unitsUpTo(till: string): string
  unitsBetween(below: string, till: string): string
  free(count: string): string
}

const WORDS: Record<Language, BracketWords> = {
  en: {
    step: (range) => `step ${range}`,
    bracket: (range) => `bracket ${range}`,
    upTo: (till) => `up to ${till}`,
    from: (from) => `from ${from}`,
    fromTo: (from, till) => `${from} to ${till}`,
    unitsUpTo: (till) => `units up to ${till}`,
    unitsBetween: (below, till) => `units above ${below} up to ${till}`,
    free: (count) => `the first ${count} are free`,
  },
  de: {
    step: (range) => `Stufe ${range}`,
    bracket: (range) => `Staffel ${range}`,
    upTo: (till) => `bis ${till}`,
    from: (from) => `ab ${from}`,
    fromTo: (from, till) => `${from} bis ${till}`,
    unitsUpTo: (till) => `Einheiten bis ${till}`,
    unitsBetween: (below, till) => `Einheiten über ${below} bis ${till}`,
    free: (count) => `die ersten ${count} sind frei`,
  },
}

type List = PricedBrackets['list']

/** Returns by which step, bracket or free units a line is priced, as its papers name it; null where its price list has but one price. */
export const pricedBy = (
  { brackets }: { brackets: PricedBrackets | null },
  spread: Spread | undefined,
  locale: string,
): string | null => (brackets ? bracketText(brackets, locale) : spread ? spreadWords(spread, locale) : null)

/** Returns how many units from the first on cost nothing; 0 where the first bracket has a price. */
function freeUnits(list: List): Decimal {
  const first = list.findIndex(({ price }) => !equals(price, ZERO))
  return list[(first === -1 ? list.length : first) - 1]?.till ?? ZERO
}

/** Returns the place of the one bracket that prices a quantity under volume and stairstep; undefined for 0. */
const placeOf = (scheme: Scheme, list: List, quantity: Decimal): number | undefined =>
  priceQuantity(scheme, list, quantity)[0]?.bracketIndex

function rangeOf(list: List, place: number, words: BracketWords, { number }: Formats): string {
  const { from, till } = list[place]!
  if (place === 0 && till !== null) return words.upTo(number(till))
  return till === null || place === list.length - 1
    ? words.from(number(from))
    : words.fromTo(number(from), number(till))
}

/** Returns the text of free units, where some of a quantity are. */
function freeText(list: List, words: BracketWords, { number }: Formats): string[] {
  const free = freeUnits(list)
  return equals(free, ZERO) ? [] : [words.free(number(free))]
}

const isByUnit = (scheme: Scheme): boolean => scheme === 'unit' || scheme === 'tiered'

/** Returns by which step or brackets a line is priced as one amount, what was charged before among it: "step up to 5 → 6 to 20". */
function bracketText({ scheme, list, quantity, before }: PricedBrackets, locale: string): string | null {
  const formats = formatsOf(locale)
  const words = WORDS[formats.language]
  if (list.length < 2) return null
  if (isByUnit(scheme)) return freeText(list, words, formats)[0] ?? null
  const places = [before ?? ZERO, quantity].flatMap((units) => placeOf(scheme, list, units) ?? [])
  const ranges = [...new Set(places)].map((place) => rangeOf(list, place, words, formats))
  const named = scheme === 'stairstep' ? words.step : words.bracket
  return ranges.length === 0 ? null : named(ranges.join(' → '))
}

/** Returns which units of a cycle a line of one bracket is for, and how many are free: "units above 500 up to 1,572; the first 500 are free". */
function spreadWords({ priceList, quantity, bracketIndex }: Spread, locale: string): string | null {
  const { scheme, list } = priceList
  const formats = formatsOf(locale)
  const words = WORDS[formats.language]
  if (list.length < 2) return null
  if (!isByUnit(scheme)) return words.bracket(rangeOf(list, bracketIndex, words, formats))
  const { till } = list[bracketIndex]!
  const below = list[bracketIndex - 1]?.till ?? ZERO
  const isLast = till === null || bracketIndex === list.length - 1 || compare(quantity, till) <= 0
  const end = formats.number(isLast || till === null ? quantity : till)
  const units = equals(below, ZERO) ? words.unitsUpTo(end) : words.unitsBetween(formats.number(below), end)
  return [units, ...freeText(list, words, formats)].join('; ')
}
