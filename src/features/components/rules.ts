import { type Decimal, equals } from '../../kernel/decimal.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { ComponentBracketId, ComponentVersionCurrencyId } from '../../kernel/ids.ts'
import type { Component, ComponentBracket, ComponentInput, VersionCurrency } from './queries.ts'
import type { BracketBody, CurrencyBody } from './wire.ts'

export interface BracketInput {
  price: Decimal
  from: bigint
  /** Null: no upper end. */
  till: bigint | null
}

export interface CurrencyInput {
  currency: string
  /** Undefined: keep those there are. */
  brackets: BracketInput[] | undefined
}

/**
 * Reads the prices of a version and reports the problems of all of them taken together: a currency twice, brackets that do not follow one
 * another. Fields with a problem of their own are absent and passed over.
 */
export function readCurrencies(
  bodies: readonly Partial<CurrencyBody>[],
  path: string,
  problems: Problems,
): CurrencyInput[] {
  const seen = new Set<string>()
  return bodies.map((body, index) => {
    const at = `${path}[${index}]`
    const currency = body.CurrencyCode
    if (currency !== undefined && seen.has(currency))
      problems.add(
        'duplicate_currency',
        `${at}.CurrencyCode`,
        `A version has one list of brackets per currency; ${currency} is there twice.`,
      )
    if (currency !== undefined) seen.add(currency)
    const brackets = body.ComponentBracketPrices
    return {
      currency: currency ?? '',
      brackets: brackets ? readBrackets(brackets, `${at}.ComponentBracketPrices`, problems) : undefined,
    }
  })
}

/**
 * Rule: the first bracket begins with 0 or 1, each next one unit above the end before it, and only the last may be open. A bracket with
 * a problem of its own is not held against its neighbours.
 */
function readBrackets(bodies: readonly Partial<BracketBody>[], path: string, problems: Problems): BracketInput[] {
  const refused = new Set(problems.found.map(({ field }) => field))
  let next: number | 'first' | 'unknown' = 'first'
  return bodies.flatMap(({ Price: price, QtyFrom: from, QtyTill: given }, index) => {
    const at = `${path}[${index}]`
    const till = refused.has(`${at}.QtyTill`) ? undefined : (given ?? null)
    const isLast = index === bodies.length - 1
    if (from !== undefined) checkBegin(from, next, `${at}.QtyFrom`, problems)
    if (till !== undefined) checkEnd({ from, till, isLast }, `${at}.QtyTill`, problems)
    next = till == null || (from !== undefined && till < from) ? 'unknown' : till + 1
    if (price === undefined || from === undefined || till === undefined) return []
    return [{ price, from: BigInt(from), till: till === null ? null : BigInt(till) }]
  })
}

function checkBegin(from: number, next: number | 'first' | 'unknown', field: string, problems: Problems): void {
  if (next === 'unknown') return
  if (next === 'first') {
    if (from > 1)
      problems.add(
        'bracket_begin',
        field,
        `${field} must be 0 or 1: prices begin with the first unit; ${from} was sent.`,
      )
  } else if (from !== next)
    problems.add(
      'bracket_sequence',
      field,
      `${field} must be ${next}, one above the QtyTill before it; ${from} was sent.`,
    )
}

function checkEnd(
  { from, till, isLast }: { from: number | undefined; till: number | null; isLast: boolean },
  field: string,
  problems: Problems,
): void {
  if (till === null) {
    if (!isLast) problems.add('bracket_open', field, `${field} is required: only the last bracket may be open.`)
  } else if (from !== undefined && till < from)
    problems.add(
      'bracket_end',
      field,
      `${field} must be at least ${from}, the QtyFrom of its bracket; ${till} was sent.`,
    )
}

/**
 * Checks the brackets of an edit. A currency that a version does not have yet needs brackets; for one it has, absent brackets stay as they
 * are.
 */
export function checkNewCurrenciesHaveBrackets(
  bodies: readonly Partial<CurrencyBody>[],
  present: readonly VersionCurrency[],
  path: string,
  problems: Problems,
): void {
  for (const [index, { CurrencyCode: currency, ComponentBracketPrices: brackets }] of bodies.entries()) {
    const field = `${path}[${index}].ComponentBracketPrices`
    if (brackets || currency === undefined || present.some((one) => one.currency === currency)) continue
    if (problems.found.some((problem) => problem.field?.startsWith(field))) continue
    problems.add('required', field, `${field} is required: the version has no brackets in ${currency} yet.`)
  }
}

/** Returns the fields that a component in use does not let change, of those that an edit would change. */
export function frozenFields(present: Component, wanted: ComponentInput): string[] {
  return [
    ...(wanted.type === present.type ? [] : ['Type']),
    ...(wanted.scheme === present.scheme ? [] : ['Scheme']),
    ...(wanted.term === present.term ? [] : ['Term']),
    ...(wanted.termType === present.termType ? [] : ['TermType']),
  ]
}

/** Plan of a PUT for the prices of a version. Currencies are matched by code, brackets by QtyFrom, so that identifiers survive. */
export interface PricesPlan {
  addCurrencies: CurrencyInput[]
  dropCurrencies: ComponentVersionCurrencyId[]
  addBrackets: (BracketInput & { currencyId: ComponentVersionCurrencyId })[]
  editBrackets: (BracketInput & { id: ComponentBracketId })[]
  dropBrackets: ComponentBracketId[]
  /** Changes that a version in use does not allow, each as a phrase: "the price from 11 in USD". */
  frozen: string[]
}

export function planPrices(present: readonly VersionCurrency[], wanted: readonly CurrencyInput[]): PricesPlan {
  const plan: PricesPlan = {
    addCurrencies: wanted.filter(({ currency }) => !present.some((one) => one.currency === currency)),
    dropCurrencies: [],
    addBrackets: [],
    editBrackets: [],
    dropBrackets: [],
    frozen: [],
  }
  for (const one of present) {
    const next = wanted.find(({ currency }) => currency === one.currency)
    if (!next) {
      plan.dropCurrencies.push(one.id)
      plan.frozen.push(`the brackets in ${one.currency}`)
    } else if (next.brackets) planBrackets(plan, one, next.brackets)
  }
  return plan
}

function planBrackets(plan: PricesPlan, { id, currency, brackets }: VersionCurrency, wanted: readonly BracketInput[]) {
  const nextOf = matcher(brackets, wanted)
  const kept = new Set<BracketInput>()
  for (const bracket of brackets) {
    const next = nextOf(bracket)
    const phrase = `from ${bracket.from} in ${currency}`
    if (!next) {
      plan.dropBrackets.push(bracket.id)
      plan.frozen.push(`the bracket ${phrase}`)
      continue
    }
    kept.add(next)
    const hasPrice = equals(next.price, bracket.price)
    const hasEnd = next.till === bracket.till
    if (!hasPrice) plan.frozen.push(`the price ${phrase}`)
    if (!hasEnd) plan.frozen.push(`the QtyTill of the bracket ${phrase}`)
    if (!hasPrice || !hasEnd || next.from !== bracket.from) plan.editBrackets.push({ ...next, id: bracket.id })
  }
  const added = wanted.filter((next) => !kept.has(next))
  plan.addBrackets.push(...added.map((next) => ({ ...next, currencyId: id })))
  // Also where every present bracket stays: quantities above the last one would cost something else.
  if (added.length > 0) plan.frozen.push(`the list of brackets in ${currency}`)
}

/** Returns a function that finds the wanted bracket for a present one. The first bracket matches whether it begins with 0 or 1: both mean from 0. */
function matcher(present: readonly ComponentBracket[], wanted: readonly BracketInput[]) {
  const [first] = wanted
  const isFirstNew = first !== undefined && !present.some(({ from }) => from === first.from)
  return (bracket: ComponentBracket): BracketInput | undefined =>
    wanted.find(({ from }) => from === bracket.from) ?? (isFirstNew && bracket === present[0] ? first : undefined)
}
