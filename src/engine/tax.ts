import { type Decimal, powerOfTen } from '../kernel/decimal.ts'
import type { Id } from '../kernel/ids.ts'
import { rateOf } from '../kernel/money.ts'

/** A rule of a tax setting, with the setting's name: the tax on an invoice is named after it. */
export interface TaxRule {
  settingId: Id
  settingName: string
  /** A fraction of 1: 0.15 is 15 %. */
  rate: Decimal
  /** Null: the rule counts everywhere. */
  countryId: number | null
  /** Null: the rule counts in the whole country. */
  countryStateId: number | null
  taxNumber: string | null
}

export interface Place {
  countryId: number | null
  countryStateId: number | null
}

/**
 * Returns the taxes of a place: of each setting the rule that fits best, ordered by setting. Rule: same country and state, else same
 * country without a state, else a rule without country; at most one per setting.
 */
export function matchTaxes(rules: readonly TaxRule[], place: Place): TaxRule[] {
  const best = new Map<Id, TaxRule>()
  for (const rule of rules) {
    const fit = fitOf(rule, place)
    const found = best.get(rule.settingId)
    if (fit > 0 && (found === undefined || fit > fitOf(found, place))) best.set(rule.settingId, rule)
  }
  return [...best.values()].toSorted((a, b) => (a.settingId < b.settingId ? -1 : 1))
}

/** Makes a function that finds the taxes of places and keeps them by place, so that a run looks at the rules once for each. */
export function taxMatcher(rules: readonly TaxRule[]): (place: Place) => readonly TaxRule[] {
  const known = new Map<string, readonly TaxRule[]>()
  return (place) => {
    const key = `${place.countryId ?? ''}/${place.countryStateId ?? ''}`
    let found = known.get(key)
    if (found === undefined) known.set(key, (found = matchTaxes(rules, place)))
    return found
  }
}

/** Returns how well a rule fits a place: 3 state, 2 country, 1 everywhere, 0 not at all. */
function fitOf(rule: TaxRule, place: Place): number {
  if (rule.countryId === null) return 1
  if (rule.countryId !== place.countryId) return 0
  if (rule.countryStateId === null) return 2
  return rule.countryStateId === place.countryStateId ? 3 : 0
}

export interface InvoiceTax {
  /** Amount that the rate applies to: the sum of the lines. */
  baseMinor: bigint
  amountMinor: bigint
  /** Share of each line, in the order of the lines; together exactly amountMinor. */
  shares: bigint[]
}

/**
 * Returns the taxes of an invoice from its line amounts, in minor units. Rule: each tax is rounded once, halves away from zero, on the sum
 * of the lines, then shared among the lines by largest remainder, so that the lines add up to the total exactly.
 */
export function taxInvoice(
  netMinor: readonly bigint[],
  rates: readonly Decimal[],
): { taxes: InvoiceTax[]; grossMinor: bigint[]; totalMinor: bigint } {
  let baseMinor = 0n
  for (const net of netMinor) baseMinor += net
  const grossMinor = [...netMinor]
  let totalMinor = baseMinor
  const taxes = rates.map((rate): InvoiceTax => {
    const amountMinor = rateOf(baseMinor, rate)
    const shares = shareTax(netMinor, rate, amountMinor)
    shares.forEach((share, line) => (grossMinor[line]! += share))
    totalMinor += amountMinor
    return { baseMinor, amountMinor, shares }
  })
  return { taxes, grossMinor, totalMinor }
}

/**
 * Shares an amount by largest remainder. Shares are floored towards minus infinity; the units that are then missing go one each to the
 * largest remainders, the earlier line first among equals. Never more are missing than lines have a remainder, so a line without tax of its
 * own gets none.
 */
function shareTax(netMinor: readonly bigint[], rate: Decimal, amountMinor: bigint): bigint[] {
  if (netMinor.length === 1) return [amountMinor]
  const divisor = powerOfTen(rate.scale)
  const remainders: bigint[] = []
  let missing = amountMinor
  const shares = netMinor.map((net) => {
    const exact = net * rate.coefficient
    const remainder = ((exact % divisor) + divisor) % divisor
    const share = (exact - remainder) / divisor
    remainders.push(remainder)
    missing -= share
    return share
  })
  if (missing === 0n) return shares
  const byRemainder = remainders.map((_, line) => line).toSorted((a, b) => compareRemainders(remainders, a, b))
  for (const line of byRemainder.slice(0, Number(missing))) shares[line]! += 1n
  return shares
}

function compareRemainders(remainders: readonly bigint[], a: number, b: number): number {
  if (remainders[a] === remainders[b]) return a - b
  return remainders[a]! > remainders[b]! ? -1 : 1
}
