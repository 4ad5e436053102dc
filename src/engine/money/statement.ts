import { sumMinor } from '../../kernel/money.ts'
import { daysBetween, type IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'

/** A customer's account as a book-keeper reads it: movements with a running balance, and how old what is open is. Minor units of one currency. */

export const MOVEMENT_TYPES = [
  'invoice',
  'invoice_cancelled',
  'payment',
  'payment_failed',
  'credit_note',
  'bad_debt',
  'bad_debt_recovered',
  'refund',
  'opening_balance',
  'interest',
] as const
export type MovementType = (typeof MOVEMENT_TYPES)[number]

/** Movement of a customer's account by one document or event; a debit is owed by the customer. */
export interface Movement {
  dated: IsoDate
  type: MovementType
  id: Id
  /** The number or reference it is known by. */
  number: string | null
  /** A payment whose outcome is not known. */
  isPending: boolean
  method: string | null
  debitMinor: bigint
  creditMinor: bigint
}

export interface StatementLine extends Movement {
  balanceMinor: bigint
}

export interface MovementsStatement {
  from: IsoDate
  to: IsoDate
  openingMinor: bigint
  lines: StatementLine[]
  debitsMinor: bigint
  creditsMinor: bigint
  closingMinor: bigint
  /** Sum of the movements dated after the last day; added to the closing balance it gives the present balance. */
  laterMinor: bigint
}

/** Makes a statement of some days, both included. `before` is the sum of all movements before them, `later` of those after. */
export function makeStatement(
  period: { from: IsoDate; to: IsoDate },
  movements: readonly Movement[],
  openingMinor: bigint,
  laterMinor: bigint,
): MovementsStatement {
  const lines = balanceLines(movements.toSorted(byDay), openingMinor)
  return {
    ...period,
    openingMinor,
    lines,
    debitsMinor: sumMinor(lines, 'debitMinor'),
    creditsMinor: sumMinor(lines, 'creditMinor'),
    closingMinor: lines.at(-1)?.balanceMinor ?? openingMinor,
    laterMinor,
  }
}

/** Movements in their order, each with the balance after it; `beforeMinor` is the balance before the first. */
export function balanceLines(ordered: readonly Movement[], beforeMinor: bigint): StatementLine[] {
  let balanceMinor = beforeMinor
  return ordered.map((movement) => {
    balanceMinor += movement.debitMinor - movement.creditMinor
    return { ...movement, balanceMinor }
  })
}

/** Rule: by date, then by identifier; an invoice stands before its cancellation, a payment before its failure. */
function byDay(a: Movement, b: Movement): number {
  if (a.dated !== b.dated) return a.dated < b.dated ? -1 : 1
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  return MOVEMENT_TYPES.indexOf(a.type) - MOVEMENT_TYPES.indexOf(b.type)
}

export const AGES = ['Current', 'Days1To30', 'Days31To60', 'Days61To90', 'Days91To120', 'DaysOver120'] as const
export type Age = (typeof AGES)[number]
export type Ageing = Record<Age, bigint>

/** Rule: by days after the due day; due today is current. */
export function ageOf(dueDate: IsoDate, on: IsoDate): Age {
  const days = daysBetween(dueDate, on)
  if (days <= 0) return 'Current'
  return AGES[Math.min(Math.ceil(days / 30), AGES.length - 1)] as Age
}

/** Sums the open amounts of documents by how long they are past due on a day. */
export function ageOpen(open: readonly { dueDate: IsoDate; openMinor: bigint }[], on: IsoDate): Ageing {
  const ageing = Object.fromEntries(AGES.map((age) => [age, 0n])) as Ageing
  for (const { dueDate, openMinor } of open) ageing[ageOf(dueDate, on)] += openMinor
  return ageing
}

export const sumOfAges = (ageing: Ageing): bigint => AGES.reduce((sum, age) => sum + ageing[age], 0n)
export const overdueOf = (ageing: Ageing): bigint => sumOfAges(ageing) - ageing.Current
