import type { TermType } from '../../kernel/calendar.ts'
import { type Decimal, equals } from '../../kernel/decimal.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { PackageRateId, PackageRateTermId } from '../../kernel/ids.ts'
import { plural } from '../../kernel/text.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import type { Rate, RateTerm } from './types.ts'
import type { RateBody, TermBody } from './wire.ts'

export interface TermInput {
  price: Decimal
  term: number
  termType: TermType
}

export interface RateInput {
  currency: string
  setupFeeMinor: bigint
  trialFeeMinor: bigint
  trialPeriod: number
  trialPeriodType: TermType
  /** Undefined: keep those there are. */
  terms: TermInput[] | undefined
}

/** A hundred years, as DAYS_MAX is. */
const MONTHS_MAX = 1_200

/**
 * Reads rates and reports the problems of all of them taken together: a currency or a term twice, fees finer than their currency.
 * Fields with a problem of their own are absent and passed over.
 */
export function readRates(bodies: readonly Partial<RateBody>[], path: string, problems: Problems): RateInput[] {
  const seen = new Set<string>()
  return bodies.map((body, index) => {
    const at = `${path}[${index}]`
    const currency = body.CurrencyCode
    if (currency !== undefined && seen.has(currency))
      problems.add(
        'duplicate_currency',
        `${at}.CurrencyCode`,
        `A version has one rate per currency; ${currency} is there twice.`,
      )
    if (currency !== undefined) seen.add(currency)
    checkMonths(body.TrialPeriod, body.TrialPeriodType, `${at}.TrialPeriod`, problems)
    return {
      currency: currency ?? '',
      setupFeeMinor: amountIn(problems, `${at}.SetupFee`, body.SetupFee, currency) ?? 0n,
      trialFeeMinor: amountIn(problems, `${at}.TrialFee`, body.TrialFee, currency) ?? 0n,
      trialPeriod: body.TrialPeriod ?? 0,
      trialPeriodType: body.TrialPeriodType ?? 'days',
      terms: body.PackageRateTerms ? readTerms(body.PackageRateTerms, `${at}.PackageRateTerms`, problems) : undefined,
    }
  })
}

function readTerms(bodies: readonly Partial<TermBody>[], path: string, problems: Problems): TermInput[] {
  const seen = new Set<string>()
  return bodies.flatMap((body, index) => {
    const { ChargePrice: price, ChargeTerm: term, ChargeTermType: termType } = body
    if (term === undefined || termType === undefined) return []
    const at = `${path}[${index}].ChargeTerm`
    checkMonths(term, termType, at, problems)
    if (seen.has(`${term} ${termType}`))
      problems.add(
        'duplicate_term',
        at,
        `A rate has each term once; ${plural(term, termType.slice(0, -1))} is there twice.`,
      )
    seen.add(`${term} ${termType}`)
    return price === undefined ? [] : [{ price, term, termType }]
  })
}

/** Notes a count of months over the longest term there is; the longest of days is a bound of the field itself. */
export function checkMonths(
  count: number | undefined,
  type: TermType | undefined,
  path: string,
  problems: Problems,
): void {
  if (type === 'months' && count !== undefined && count > MONTHS_MAX)
    problems.add('out_of_range', path, `${path} may be at most ${MONTHS_MAX} months; ${count} was sent.`)
}

/** Checks the terms of an edit. A rate that a version does not have yet needs terms; for one it has, absent terms stay as they are. */
export function checkNewRatesHaveTerms(
  bodies: readonly Partial<RateBody>[],
  present: readonly Rate[],
  path: string,
  problems: Problems,
): void {
  for (const [index, { CurrencyCode: currency, PackageRateTerms: terms }] of bodies.entries()) {
    const field = `${path}[${index}].PackageRateTerms`
    if (terms || currency === undefined || present.some((rate) => rate.currency === currency)) continue
    if (problems.found.some((problem) => problem.field?.startsWith(field))) continue
    problems.add('required', field, `${field} is required: the version has no rate in ${currency} yet.`)
  }
}

/** Version as a body asks for it, with the currencies that it will have afterwards. */
interface WantedVersion {
  isDefault: boolean
  isActive: boolean
  currencies: readonly string[]
}

/**
 * Returns whether a version that is not the first of its package or component becomes the default. Rule: only an active one that is wanted
 * as the default and can take over every currency of the present default.
 */
export function becomesDefault(wanted: WantedVersion, presentCurrencies: readonly string[]): boolean {
  if (!wanted.isDefault || !wanted.isActive) return false
  return presentCurrencies.every((currency) => wanted.currencies.includes(currency))
}

/**
 * Returns whether an edited version is the default afterwards; the only one of its owner ("package 3") is it whatever is sent. Throws 409
 * when the default would be given up.
 */
export function defaultAfterEdit(
  owner: string,
  version: { versionNo: number; isDefault: boolean },
  versionCount: number,
  wanted: WantedVersion,
  presentCurrencies: readonly string[],
): boolean {
  if (!version.isDefault) return becomesDefault(wanted, presentCurrencies)
  if (wanted.isDefault || versionCount === 1) return true
  throw conflict(
    'default_version',
    `Version ${version.versionNo} is the default of ${owner}; make another version the default instead.`,
    'isDefault',
  )
}

/** Throws 409 when its owner ("package 3") cannot do without the version: it is the last, or the default. */
export function checkCanBeSpared(
  owner: string,
  version: { versionNo: number; isDefault: boolean },
  versionCount: number,
): void {
  const about = `Version ${version.versionNo} of ${owner}`
  if (versionCount === 1)
    throw conflict('last_version', `${about} is its last version and cannot be deleted.`, 'versionno')
  if (version.isDefault)
    throw conflict('default_version', `${about} is its default; make another version the default first.`, 'versionno')
}

/** Plan of a PUT for the rates of a version. Rates are matched by currency, terms by their length, so that identifiers survive. */
export interface VersionPlan {
  addRates: RateInput[]
  editRates: (Omit<RateInput, 'terms'> & { id: PackageRateId })[]
  dropRates: PackageRateId[]
  addTerms: (TermInput & { rateId: PackageRateId })[]
  editTerms: { id: PackageRateTermId; price: Decimal }[]
  dropTerms: PackageRateTermId[]
  /** Changes that a version in use does not allow, each as a phrase: "the SetupFee in USD". */
  frozen: string[]
}

export function planRates(present: readonly Rate[], wanted: readonly RateInput[]): VersionPlan {
  const plan: VersionPlan = {
    addRates: wanted.filter(({ currency }) => !present.some((rate) => rate.currency === currency)),
    editRates: [],
    dropRates: [],
    addTerms: [],
    editTerms: [],
    dropTerms: [],
    frozen: [],
  }
  for (const rate of present) {
    const next = wanted.find(({ currency }) => currency === rate.currency)
    if (next) planRate(plan, rate, next)
    else {
      plan.dropRates.push(rate.id)
      plan.frozen.push(`the rate in ${rate.currency}`)
    }
  }
  return plan
}

function planRate(plan: VersionPlan, rate: Rate, { terms, ...next }: RateInput): void {
  const changed = [
    ...(rate.setupFeeMinor === next.setupFeeMinor ? [] : ['SetupFee']),
    ...(rate.trialFeeMinor === next.trialFeeMinor ? [] : ['TrialFee']),
    ...(rate.trialPeriod === next.trialPeriod ? [] : ['TrialPeriod']),
    ...(rate.trialPeriodType === next.trialPeriodType ? [] : ['TrialPeriodType']),
  ]
  if (changed.length > 0) plan.editRates.push({ ...next, id: rate.id })
  plan.frozen.push(...changed.map((field) => `the ${field} in ${rate.currency}`))
  if (terms) planTerms(plan, rate, terms)
}

function planTerms(plan: VersionPlan, rate: Rate, wanted: readonly TermInput[]): void {
  const isSame = (a: RateTerm | TermInput, b: TermInput) => a.term === b.term && a.termType === b.termType
  for (const term of rate.terms) {
    const next = wanted.find((one) => isSame(term, one))
    const phrase = `${plural(term.term, term.termType.slice(0, -1))} in ${rate.currency}`
    if (!next) {
      plan.dropTerms.push(term.id)
      plan.frozen.push(`the term of ${phrase}`)
    } else if (!equals(next.price, term.price)) {
      plan.editTerms.push({ id: term.id, price: next.price })
      plan.frozen.push(`the price of ${phrase}`)
    }
  }
  for (const next of wanted)
    if (!rate.terms.some((term) => isSame(term, next))) plan.addTerms.push({ ...next, rateId: rate.id })
}
