import { daysBetween, type IsoDate } from '../../kernel/calendar.ts'
import { isWithoutFunds } from './codes.ts'

/**
 * Debits that are made again after they came back for want of funds (reinitiated entries, as Nacha has them): at most two within 180 days of the
 * first, and none after any other return.
 */

const REPEATS_MAX = 2
const REPEAT_DAYS = 180

/** A debit of an invoice that left, with what has become of it. */
export interface SentDebit {
  amountMinor: bigint
  actionDate: IsoDate
  /** Equal for debits of the same account; null where it is not known. */
  account: string | null
  /** The code with which it came back; null where it did not. */
  code: string | null
}

type NextDebit = Omit<SentDebit, 'code'>

/** How often the first debit of a row was made again, each time because the one before had come back for want of funds. */
interface Row {
  first: SentDebit
  last: SentDebit
  repeats: number
}

const goesOn = ({ first, last }: Row, next: NextDebit): boolean =>
  isWithoutFunds(last.code) &&
  last.account === next.account &&
  daysBetween(first.actionDate, next.actionDate) <= REPEAT_DAYS

/** Returns the newest row of debits of an invoice, which come oldest first. */
function rowOf(debits: readonly SentDebit[]): Row | undefined {
  let row: Row | undefined
  for (const debit of debits)
    row =
      row && goesOn(row, debit)
        ? { first: row.first, last: debit, repeats: row.repeats + 1 }
        : { first: debit, last: debit, repeats: 0 }
  return row
}

/**
 * Returns what a debit is beside those of its invoice that left before, oldest first: `new`; a `repeat` of the last, by its amount; or one `too_many`.
 * Rule: two within 180 days of the first, whatever their amounts.
 */
export function repeatStanding(debits: readonly SentDebit[], next: NextDebit): 'new' | 'repeat' | 'too_many' {
  const row = rowOf(debits)
  if (!row || !goesOn(row, next)) return 'new'
  if (row.repeats >= REPEATS_MAX) return 'too_many'
  return row.last.amountMinor === next.amountMinor ? 'repeat' : 'new'
}

const OF_ACH = /^R\d\d$/

/** Returns whether an invoice is debited no more until its method changes: its newest debit came back otherwise than for want of funds, or twice again. */
export function endsTries(debits: readonly SentDebit[]): boolean {
  const row = rowOf(debits)
  if (!row || !OF_ACH.test(row.last.code ?? '')) return false
  return !isWithoutFunds(row.last.code) || row.repeats >= REPEATS_MAX
}
