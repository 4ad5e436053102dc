import { type Decimal, divideHalfAway, powerOfTen } from '../../kernel/decimal.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { DatevSettings } from './codes.ts'
import type { FirstTax, Journal, Leg, RevenuePart } from './journals.ts'

/**
 * Journals as rows of two accounts and a gross amount, from which a program computes the tax by the key of the row or by the account itself. Each side
 * of a journal stands against its main account: the debtor, else what is unsettled, else the first.
 */

/** Row of an account against another; a positive amount debits the account. */
export interface GrossRow {
  account: string
  contra: string
  amountMinor: bigint
  key: string | null
  /** Revenue with this tax in it, and the tax that the program will compute; null of a row without revenue. */
  tax: { ownMinor: bigint; computedMinor: bigint; first: FirstTax | null } | null
}

interface Settings extends Pick<DatevSettings, 'keyWithoutTax' | 'automaticAccounts'> {
  /** Rates by which the program takes tax out of rows on automatic accounts; of an account that has none, the rate of each row is taken. */
  rates: ReadonlyMap<string, Decimal>
}

/** Returns the tax that a gross amount contains at a rate, rounded once. */
export const taxWithin = (grossMinor: bigint, { coefficient, scale }: Decimal): bigint =>
  divideHalfAway(grossMinor * coefficient, powerOfTen(scale) + coefficient)

const isDebtor = ({ account }: Leg): boolean => account === 'receivable' || account === 'unapplied'

const mainOf = (legs: readonly Leg[]): Leg | undefined =>
  legs.find(isDebtor) ??
  legs.find(({ account }) => account === 'unsettled') ??
  legs.find(({ account }) => account !== 'tax') ??
  legs[0]

/** Returns the rows of revenue and its taxes that go apart, because the program could not compute them from a gross amount. */
function rowsApart(part: RevenuePart, main: string, { keyWithoutTax }: Settings): GrossRow[] {
  const direct = part.taxes.map(({ code, amountMinor }): GrossRow => ({
    account: code,
    contra: part.code,
    amountMinor,
    key: keyWithoutTax,
    tax: null,
  }))
  const grossMinor = part.netMinor + sumMinor(part.taxes)
  if (grossMinor === 0n) return direct
  return [...direct, { account: main, contra: part.code, amountMinor: -grossMinor, key: keyWithoutTax, tax: null }]
}

/** Key of a row, and the tax that the program takes out of it. */
interface Computed {
  key: string | null
  computedMinor: bigint
}

const byOwnKey = (first: FirstTax | null, grossMinor: bigint): Computed => {
  const key = first?.key ?? null
  return { key, computedMinor: first && key !== null ? taxWithin(grossMinor, first.rate) : 0n }
}

/** Rule: a row without tax there has the key that lifts the automatic, so that the program takes none out of it; a taxed one has no key. */
function onAutomaticAccount(
  { code, first }: RevenuePart,
  { grossMinor, ownMinor }: { grossMinor: bigint; ownMinor: bigint },
  { keyWithoutTax, rates }: Settings,
): Computed {
  const rate = rates.get(code) ?? first?.rate
  const computedMinor = rate === undefined ? 0n : taxWithin(grossMinor, rate)
  const isTaxed = ownMinor !== 0n || (first !== null && first.rate.coefficient > 0n && computedMinor === 0n)
  return isTaxed ? { key: null, computedMinor } : { key: keyWithoutTax, computedMinor: 0n }
}

function rowsOfPart(part: RevenuePart, main: string, settings: Settings): GrossRow[] {
  const ownMinor = sumMinor(part.taxes)
  const grossMinor = part.netMinor + ownMinor
  // A tax with the other sign, or without its base, is not in the gross amount.
  if (ownMinor !== 0n && ownMinor > 0n !== part.netMinor > 0n) return rowsApart(part, main, settings)
  const { key, computedMinor } = settings.automaticAccounts.includes(part.code)
    ? onAutomaticAccount(part, { grossMinor, ownMinor }, settings)
    : byOwnKey(part.first, grossMinor)
  const tax = { ownMinor: -ownMinor, computedMinor: -computedMinor, first: part.first }
  return [{ account: main, contra: part.code, amountMinor: -grossMinor, key, tax }]
}

/** Returns the rows of a journal. */
export function grossRowsOf({ legs, revenue }: Journal, settings: Settings): GrossRow[] {
  const main = mainOf(legs)
  const mainCode = main?.code ?? revenue[0]?.code ?? ''
  const others = legs.filter((leg) => leg !== main)
  return [
    ...revenue.flatMap((part) => rowsOfPart(part, mainCode, settings)),
    ...others.map(({ account, code, amountMinor }): GrossRow => ({
      account: mainCode,
      contra: code,
      amountMinor: -amountMinor,
      key: account === 'tax' || settings.automaticAccounts.includes(code) ? settings.keyWithoutTax : null,
      tax: null,
    })),
  ].filter((row) => row.account !== row.contra && row.amountMinor !== 0n)
}
