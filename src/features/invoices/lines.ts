import { type Place, taxInvoice, taxMatcher, type TaxRule, type TaxRules } from '../../engine/tax.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { type Decimal, ONE, ZERO } from '../../kernel/decimal.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { amountOf, isAmountInBounds } from '../../kernel/money.ts'
import { defaultCategory, defaultReasonCode, type TaxCategory, type TaxReason } from '../../kernel/tax.ts'
import { vatNumberStatus } from '../../kernel/vat-numbers.ts'
import { checkCategory } from '../tax-settings/rules.ts'
import type { Customer } from '../customers/queries.ts'

/** Lines that a caller wrote, and what they come to: the same for invoices by hand and for recurring invoices. */

export interface WrittenLine {
  name: string | null
  description: string | null
  quantity: Decimal
  /** Exact price of one, without tax. */
  unitPrice: Decimal
}

/** A tax by name and rate: given by the caller, or found by the rules, which know a tax number too. */
export interface TaxRate {
  name: string
  rate: Decimal
  taxNumber: string | null
  /** Null for one that a caller wrote. */
  ruleId: Id | null
  category: TaxCategory | null
  /** VATEX. */
  reasonCode: string | null
  reason: TaxReason | null
}

export interface LineAmounts {
  netMinor: readonly bigint[]
  grossMinor: readonly bigint[]
  totalMinor: bigint
  taxes: readonly (TaxRate & { baseMinor: bigint; amountMinor: bigint; shares: readonly bigint[] })[]
}

/** Returns the amounts of written lines and their taxes, in minor units. Rule: each line and each tax is rounded once. */
export const amountsOf = (lines: readonly WrittenLine[], rates: readonly TaxRate[], digits: number): LineAmounts =>
  taxedAmounts(
    lines.map(({ quantity, unitPrice }) => amountOf(unitPrice, quantity, 1n, 1n, digits)),
    rates,
  )

/** Returns the amounts of lines whose amounts without tax are known. */
export function taxedAmounts(netMinor: readonly bigint[], rates: readonly TaxRate[]): LineAmounts {
  const { taxes, grossMinor, totalMinor } = taxInvoice(
    netMinor,
    rates.map(({ rate }) => rate),
  )
  return {
    netMinor,
    grossMinor,
    totalMinor,
    // Fields one by one: copying with a spread costs several times as much, and a run composes millions.
    taxes: taxes.map(({ baseMinor, amountMinor, shares }, index) => {
      const { name, rate, taxNumber, ruleId, category, reasonCode, reason } = rates[index] as TaxRate
      return { name, rate, taxNumber, ruleId, category, reasonCode, reason, baseMinor, amountMinor, shares }
    }),
  }
}

/** Checks amounts. Rule: below 10^12, and an invoice is not below zero, though a line may be (a discount). */
export function checkAmounts(amounts: LineAmounts, currency: string, list: string, problems: Problems): void {
  const digits = digitsOf(currency)
  let isFine = true
  for (const [index, net] of amounts.netMinor.entries()) {
    if (isAmountInBounds(net, digits)) continue
    isFine = false
    problems.add('amount_too_large', `${list}[${index}]`, `The amount of ${list}[${index}] reaches 1,000,000,000,000.`)
  }
  if (!isFine) return
  const all = [...amounts.grossMinor, ...amounts.taxes.map(({ amountMinor }) => amountMinor), amounts.totalMinor]
  if (!all.every((amount) => isAmountInBounds(amount, digits)))
    problems.add('amount_too_large', list, 'The total of the invoice reaches 1,000,000,000,000.')
  else if (amounts.totalMinor < 0n)
    problems.add(
      'negative_total',
      list,
      'The total of an invoice must not be negative; its discounts exceed its charges.',
    )
}

/** Of the text of one charge: more than a page and a half of paper. */
export const CHARGE_LINES_MAX = 100

/** Notes texts with too many lines. Rule: the text that a charge has already may be sent back as it is, however long. */
export function checkTexts(
  charges: readonly { Descrip?: string | null }[] | undefined,
  present: readonly { description: string | null }[] | undefined,
  list: string,
  problems: Problems,
): void {
  for (const [index, { Descrip: text }] of (charges ?? []).entries()) {
    const lines = text?.split('\n').length ?? 0
    if (lines <= CHARGE_LINES_MAX || present?.some(({ description }) => description === text)) continue
    const field = `${list}[${index}].Descrip`
    problems.add('too_many_lines', field, `${field} may have at most ${CHARGE_LINES_MAX} lines; ${lines} were sent.`)
  }
}

/** Returns the lines of a body. Rule: Qty is 1 where it is not given. */
export const lineOf = (line: {
  UnitCostEx: Decimal
  Qty?: Decimal | null
  Line?: string | null
  Descrip?: string | null
}): WrittenLine => ({
  name: line.Line ?? null,
  description: line.Descrip ?? null,
  quantity: line.Qty ?? ONE,
  unitPrice: line.UnitCostEx,
})

/** Fields of a tax as callers write them. */
interface GivenTax {
  Name: string
  Perc: Decimal
  Category?: TaxCategory | null
  ReasonCode?: string | null
  Reason?: TaxReason | null
}

export const givenRate = ({ Name, Perc, Category, ReasonCode, Reason }: GivenTax): TaxRate =>
  ownRateOf({
    name: Name,
    rate: Perc,
    category: Category ?? defaultCategory(Perc.coefficient === 0n),
    reasonCode: ReasonCode ?? null,
    reason: Reason ?? null,
  })

/** Returns a tax that a caller wrote. Rule: a category brings its own code where none is given. */
export const ownRateOf = (tax: Pick<TaxRate, 'name' | 'rate' | 'category' | 'reasonCode' | 'reason'>): TaxRate => ({
  name: tax.name,
  rate: tax.rate,
  taxNumber: null,
  ruleId: null,
  category: tax.category,
  reasonCode: tax.reasonCode ?? (tax.category && defaultReasonCode(tax.category)),
  reason: tax.reason,
})

/** Notes what is wrong with taxes that a caller wrote. Rule: the rules of categories hold for those that name one, or a reason. */
export function checkTaxes(taxes: readonly Partial<GivenTax>[] | null | undefined, problems: Problems): void {
  for (const [index, { Perc, Category = null, ReasonCode = null, Reason = null }] of (taxes ?? []).entries())
    if (Perc && (Category !== null || ReasonCode !== null || Reason !== null))
      checkCategory(`Taxes[${index}]`, { Perc, Category, ReasonCode, Reason }, problems)
}

/** The facts of a customer from which their taxes follow. */
export type TaxedCustomer = Pick<
  Customer,
  'countryId' | 'countryStateId' | 'isCompany' | 'vatNumber' | 'isWaiveTaxes' | 'taxCategory' | 'taxReason'
> & {
  /** They are a business, where that is known already; left out: found from their VAT number. */
  isBusiness?: boolean
}

/** Finds the taxes of a customer. */
export type RatesOf = (customer: TaxedCustomer) => readonly TaxRate[]

const numberOf = (id: bigint | null): number | null => (id === null ? null : Number(id))

/** Returns whether a customer is a business. Rule: a company with a VAT number that is right in form. */
export const isBusiness = ({
  isCompany,
  vatNumber,
  countryId,
}: Pick<TaxedCustomer, 'isCompany' | 'vatNumber' | 'countryId'>): boolean =>
  isCompany && vatNumber !== null && vatNumberStatus(vatNumber, numberOf(countryId)) === 'valid'

/** Returns whether a rule asks for businesses: numbers are looked at only then, because a run composes millions of invoices. */
export const asksForBusiness = ({ rules }: TaxRules): boolean => rules.some(({ appliesTo }) => appliesTo !== 'all')

const NO_RATES: readonly TaxRate[] = []

/**
 * Makes a function that finds the taxes of customers by their place, and makes each list once. Rule: an exempt customer has none, or one of
 * 0 % by each setting that matches where it is known why.
 */
export function rateMatcher(rules: TaxRules): RatesOf {
  const match = taxMatcher(rules)
  const isAsked = asksForBusiness(rules)
  const known = new Map<readonly TaxRule[], readonly TaxRate[]>()
  return (customer) => {
    if (customer.isWaiveTaxes && customer.taxCategory === null) return NO_RATES
    const place: Place = {
      countryId: numberOf(customer.countryId),
      countryStateId: numberOf(customer.countryStateId),
      isBusiness: isAsked && (customer.isBusiness ?? isBusiness(customer)),
    }
    const found = match(place)
    if (customer.isWaiveTaxes) return found.map((rule) => exemptRateOf(rule, customer))
    let rates = known.get(found)
    if (rates === undefined) known.set(found, (rates = found.map(taxRateOf)))
    return rates
  }
}

const taxRateOf = (rule: TaxRule): TaxRate => ({
  name: rule.settingName,
  rate: rule.rate,
  taxNumber: rule.taxNumber,
  ruleId: rule.id,
  category: rule.category,
  reasonCode: rule.reasonCode,
  reason: rule.reason,
})

const exemptRateOf = (rule: TaxRule, { taxCategory, taxReason }: TaxedCustomer): TaxRate => ({
  ...taxRateOf(rule),
  rate: ZERO,
  category: taxCategory,
  reasonCode: taxCategory && defaultReasonCode(taxCategory),
  reason: taxReason === null ? null : { und: taxReason },
})

/** Returns the taxes that the rules find for a customer. */
export const foundRates = (rules: TaxRules, customer: TaxedCustomer): readonly TaxRate[] => rateMatcher(rules)(customer)
