import { decimal } from '../../kernel/decimal.ts'
import { taxWithin } from '../../engine/books/gross-rows.ts'
import type { ReadStackRow } from '../../rails/datev/check-stack.testing.ts'
import { CODES } from './exports.testing.ts'

/** Stacks of DATEV as the program of the accountant computes them, held against the ledger. */

const RATES: Record<string, ReturnType<typeof decimal>> = { '0003': decimal('0.23'), '0009': decimal('0.015') }
const NAMES = Object.fromEntries(Object.entries(CODES).map(([name, code]) => [code, name]))

/** Adds up what the program of the accountant comes to, by ledger account, with the differences that are named. */
export function computedSums(rows: readonly ReadStackRow[], differences: readonly any[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {}
  const add = (code: string, amount: bigint) => {
    const name = NAMES[code] === 'unsettled' ? 'revenue' : (NAMES[code] ?? code)
    sums[name] = (sums[name] ?? 0n) + amount
  }
  for (const [place, { amount, side, account, contra, key }] of rows.entries()) {
    const signed = side === 'S' ? amount : -amount
    const rate = RATES[key]
    const named = differences.find(({ Row, Problem }) => Row === place + 1 && Problem === 'tax')
    const tax = named ? BigInt(Math.round(Number(named.Expected) * 100)) : rate ? taxWithin(signed, rate) : 0n
    add(account, signed)
    add(contra, -(signed - tax))
    add(CODES.tax, -tax)
  }
  return Object.fromEntries(
    Object.entries(sums)
      .filter(([, sum]) => sum !== 0n)
      .toSorted(),
  )
}

/** Adds up sums by account; those of 0 are left out. */
export function addSums(all: readonly Record<string, bigint>[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {}
  for (const one of all) for (const [name, sum] of Object.entries(one)) sums[name] = (sums[name] ?? 0n) + sum
  return Object.fromEntries(
    Object.entries(sums)
      .filter(([, sum]) => sum !== 0n)
      .toSorted(),
  )
}

/** Adds up entries of the ledger by account, in cents; debits are positive. */
export const ledgerOf = (entries: readonly { Debit: string; Credit: string; Amount: number }[]) =>
  addSums(
    entries.flatMap(({ Debit, Credit, Amount }) => [
      { [Debit]: BigInt(Math.round(Amount * 100)) },
      { [Credit]: -BigInt(Math.round(Amount * 100)) },
    ]),
  )
