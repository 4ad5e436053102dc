import { matchTaxes, type Place, taxInvoice, taxMatcher, type TaxRule } from '../../engine/tax.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { type Decimal, ONE } from '../../kernel/decimal.ts'
import type { Problems } from '../../kernel/fault.ts'
import { amountOf, isAmountInBounds } from '../../kernel/money.ts'
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
      const { name, rate, taxNumber } = rates[index] as TaxRate
      return { name, rate, taxNumber, baseMinor, amountMinor, shares }
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

export const givenRate = (tax: { Name: string; Perc: Decimal }): TaxRate => ({
  name: tax.Name,
  rate: tax.Perc,
  taxNumber: null,
})

/** Makes a function that finds the rates of a place, and makes each list once. */
export function rateMatcher(rules: readonly TaxRule[]): (place: Place) => readonly TaxRate[] {
  const match = taxMatcher(rules)
  const known = new Map<readonly TaxRule[], readonly TaxRate[]>()
  return (place) => {
    const found = match(place)
    let rates = known.get(found)
    if (rates === undefined) known.set(found, (rates = found.map(taxRateOf)))
    return rates
  }
}

export const taxRateOf = ({ settingName, rate, taxNumber }: TaxRule): TaxRate => ({
  name: settingName,
  rate,
  taxNumber,
})

/** Returns the taxes that the rules find for a customer: none of one that is exempt. */
export const foundRates = (
  rules: readonly TaxRule[],
  customer: Pick<Customer, 'isWaiveTaxes' | 'countryId' | 'countryStateId'>,
): TaxRate[] =>
  customer.isWaiveTaxes
    ? []
    : matchTaxes(rules, {
        countryId: customer.countryId === null ? null : Number(customer.countryId),
        countryStateId: customer.countryStateId === null ? null : Number(customer.countryStateId),
      }).map(taxRateOf)
