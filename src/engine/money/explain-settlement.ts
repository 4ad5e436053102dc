import { decimalText, divideHalfAway } from '../../kernel/decimal.ts'
import { minorText, rateOf, sumMinor } from '../../kernel/money.ts'
import type { SettlementBasis, TaxAmount } from './postings.ts'

/** Explains what a settlement takes of an invoice and of its taxes, by the facts that are kept with it. */

export interface SettlementFacts {
  basis: SettlementBasis
  grossMinor: bigint
  /** Gross settled for the invoice before, in minor units; null for a settlement from before these facts were kept. */
  creditedBeforeMinor: bigint | null
  /** Total of the invoice, in minor units. */
  totalMinor: bigint
  /** Shares of the taxes of the invoice, in its order: taken, settled before, and the tax whole, in minor units. */
  taxes: readonly (TaxAmount & { settledBeforeMinor: bigint | null; wholeMinor: bigint })[]
}

export interface SettlementExplanation {
  netBeforeMinor: bigint | null
  taxBeforeMinor: bigint | null
  /** Empty where there are no taxes, or no facts. */
  formula: string
  sentence: string
}

/** Returns the explanation of a settlement; `label` names its invoice, "invoice 12". */
export function explainSettlement(
  facts: SettlementFacts,
  { digits, currency, label }: { digits: number; currency: string; label: string },
): SettlementExplanation {
  const { grossMinor, creditedBeforeMinor, taxes } = facts
  const text = (amountMinor: bigint) => `${minorText(amountMinor, digits)} ${currency}`
  const taken = `${text(grossMinor)} of ${label} is credited`
  const ofTaxes = taxes.length === 0 ? 'it has no taxes' : `${text(sumMinor(taxes))} of that is tax`
  if (creditedBeforeMinor === null)
    return {
      netBeforeMinor: null,
      taxBeforeMinor: null,
      formula: '',
      sentence: `${taken}: ${ofTaxes}. It is from before the way to compute it was kept.`,
    }
  const taxBeforeMinor = taxes.reduce((sum, tax) => sum + (tax.settledBeforeMinor ?? 0n), 0n)
  const after = creditedBeforeMinor === 0n ? '' : `, after ${text(creditedBeforeMinor)} before`
  return {
    netBeforeMinor: creditedBeforeMinor - taxBeforeMinor,
    taxBeforeMinor,
    formula: taxes
      .map((tax) => formulaOf(facts, tax, creditedBeforeMinor, creditedBeforeMinor - taxBeforeMinor, digits))
      .join('; '),
    sentence: `${taken}${after}: ${ofTaxes}.`,
  }
}

/** Returns the formula of one tax. Rules: cumulative by amount or by the net of lines; by the net alone where the service gives back. */
function formulaOf(
  { basis, grossMinor, totalMinor, taxes }: SettlementFacts,
  tax: SettlementFacts['taxes'][number],
  creditedBeforeMinor: bigint,
  netBeforeMinor: bigint,
  digits: number,
): string {
  const text = (amountMinor: bigint) => minorText(amountMinor, digits)
  const plus = (beforeMinor: bigint, nowMinor: bigint) =>
    beforeMinor === 0n ? text(nowMinor) : `(${text(beforeMinor)} + ${text(nowMinor)})`
  const beforeMinor = tax.settledBeforeMinor ?? 0n
  const netMinor = grossMinor - sumMinor(taxes)
  const rate = decimalText(tax.rate)
  const bySum = basis === 'amount' || basis === 'relief'
  const product = bySum
    ? `${plus(creditedBeforeMinor, grossMinor)} × ${text(tax.wholeMinor)} ÷ ${text(totalMinor)}`
    : `${plus(basis === 'lines' ? netBeforeMinor : 0n, netMinor)} × ${rate}`
  const wholeMinor = bySum
    ? totalMinor <= 0n
      ? 0n
      : divideHalfAway((creditedBeforeMinor + grossMinor) * tax.wholeMinor, totalMinor)
    : rateOf((basis === 'lines' ? netBeforeMinor : 0n) + netMinor, tax.rate)
  const lessMinor = basis === 'given_back' ? 0n : beforeMinor
  const less = lessMinor === 0n ? '' : ` − ${text(lessMinor)}`
  const computedMinor = wholeMinor - lessMinor
  const bounded = computedMinor === tax.amountMinor ? '' : `, within what is left ${text(tax.amountMinor)}`
  return `${product}${less} = ${text(computedMinor)}${bounded}`
}
