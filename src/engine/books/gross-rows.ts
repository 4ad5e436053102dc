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

type Settings = Pick<DatevSettings, 'keyWithoutTax' | 'automaticAccounts'>

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

function rowsOfPart(part: RevenuePart, main: string, settings: Settings): GrossRow[] {
  const ownMinor = sumMinor(part.taxes)
  const grossMinor = part.netMinor + ownMinor
  // A tax with the other sign, or without its base, is not in the gross amount.
  if (ownMinor !== 0n && ownMinor > 0n !== part.netMinor > 0n) return rowsApart(part, main, settings)
  const isAutomatic = settings.automaticAccounts.includes(part.code)
  const key = isAutomatic ? null : (part.first?.key ?? null)
  const isComputed = part.first !== null && (isAutomatic || key !== null)
  const computedMinor = isComputed ? taxWithin(grossMinor, (part.first as FirstTax).rate) : 0n
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
      key: account === 'tax' ? settings.keyWithoutTax : null,
      tax: null,
    })),
  ].filter((row) => row.account !== row.contra && row.amountMinor !== 0n)
}
