import { type Decimal, powerOfTen } from '../kernel/decimal.ts'
import type { Id } from '../kernel/ids.ts'
import { rateOf } from '../kernel/money.ts'
import { asTaxCountry, isInEu } from '../kernel/tax-areas.ts'
import type { TaxArea, TaxCategory, TaxReason, TaxSubject } from '../kernel/tax.ts'

/** A rule of a tax setting, with the setting's name: the tax on an invoice is named after it. */
export interface TaxRule {
  id: Id
  settingId: Id
  settingName: string
  /** A fraction of 1: 0.15 is 15 %. */
  rate: Decimal
  /** Null: the rule counts everywhere. */
  countryId: number | null
  /** Null: the rule counts in the whole country. */
  countryStateId: number | null
  /** Of a rule without country: null for one that counts everywhere. */
  area: TaxArea | null
  appliesTo: TaxSubject
  taxNumber: string | null
  category: TaxCategory
  /** VATEX. */
  reasonCode: string | null
  reason: TaxReason | null
}

/** The rules of an account, and its own country, which is in no area. */
export interface TaxRules {
  rules: readonly TaxRule[]
  homeCountryId: number | null
}

export interface Place {
  countryId: number | null
  countryStateId: number | null
  /** The customer there is a company with a VAT number that is right in form. */
  isBusiness: boolean
}

/**
 * Returns the taxes of a place: of each setting the rule that fits best, ordered by setting. Rule: same country and state, else same
 * country without a state, else its area, else a rule without any; on one place one for businesses or consumers before one for all; at most
 * one per setting.
 */
export function matchTaxes({ rules, homeCountryId }: TaxRules, place: Place): TaxRule[] {
  const best = new Map<Id, { rule: TaxRule; fit: number }>()
  for (const rule of rules) {
    const fit = fitOf(rule, place, homeCountryId)
    const found = best.get(rule.settingId)
    if (fit > 0 && (found === undefined || fit > found.fit)) best.set(rule.settingId, { rule, fit })
  }
  return [...best.values()].map(({ rule }) => rule).toSorted((a, b) => (a.settingId < b.settingId ? -1 : 1))
}

/** Makes a function that finds the taxes of places and keeps them by place, so that a run looks at the rules once for each. */
export function taxMatcher(rules: TaxRules): (place: Place) => readonly TaxRule[] {
  const known = new Map<string, readonly TaxRule[]>()
  return (place) => {
    const key = `${place.countryId ?? ''}/${place.countryStateId ?? ''}/${place.isBusiness}`
    let found = known.get(key)
    if (found === undefined) known.set(key, (found = matchTaxes(rules, place)))
    return found
  }
}

/** Returns how well a rule fits a place, 0 where it does not: its place counts first, then whom it is for. */
function fitOf(rule: TaxRule, place: Place, homeCountryId: number | null): number {
  const isOther = rule.appliesTo === (place.isBusiness ? 'consumer' : 'business')
  const fit = isOther ? 0 : placeFitOf(rule, place, homeCountryId)
  return fit === 0 ? 0 : 2 * fit + (rule.appliesTo === 'all' ? 0 : 1)
}

/** Returns how well the place of a rule fits: 5 state, 4 country, 3 the country it is treated as, 2 area, 1 everywhere, 0 not at all. */
function placeFitOf(rule: TaxRule, { countryId, countryStateId }: Place, homeCountryId: number | null): number {
  if (rule.area !== null) return isInArea(rule.area, countryId, homeCountryId) ? 2 : 0
  if (rule.countryId === null) return 1
  if (countryId === null || (rule.countryId !== countryId && rule.countryId !== asTaxCountry(countryId))) return 0
  if (rule.countryStateId === null) return rule.countryId === countryId ? 4 : 3
  return rule.countryStateId === countryStateId ? 5 : 0
}

function isInArea(area: TaxArea, countryId: number | null, homeCountryId: number | null): boolean {
  if (countryId === null) return false
  const country = asTaxCountry(countryId)
  if (homeCountryId !== null && country === asTaxCountry(homeCountryId)) return false
  return (area === 'EU') === isInEu(country)
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
