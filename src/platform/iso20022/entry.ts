import type { IsoDate } from '../../kernel/calendar.ts'
import { elementAt, textAt, type XmlElement } from './elements.ts'
import type { BankAmount } from './result-lines.ts'
import { amountAt, codeAt, dayAt, referenceAt } from './values.ts'

/** Entry (Ntry) as it stands in the file, apart from its parts. */

export interface EntryFacts {
  /** Whether it counts: an entry without a status is missing one. */
  status: 'booked' | 'other' | 'missing'
  /** Null if it cannot be used. */
  amount: BankAmount | null
  /** Null if it is neither CRDT nor DBIT, or not there. */
  isCredit: boolean | null
  on: IsoDate | null
  /** Its amount, direction or day cannot be used. */
  isUnreadable: boolean
  /** An amount in it is no number. */
  isMalformed: boolean
  /** The amount before charges or exchange, if the bank gives one of the entry that can be used. */
  original: BankAmount | null
  bankReference: string | null
}

/** Reads an entry, as far as it stands in the file by now; the day of its statement stands in for one that it lacks. */
export function entryFactsOf(entry: XmlElement, statementDay: IsoDate | null): EntryFacts {
  const amount = amountAt(entry, 'Amt')
  const original = amountAt(entry, 'AmtDtls/InstdAmt/Amt')
  const isCredit = directionOf(entry) ?? null
  const booked = dayAt(entry, 'BookgDt/Dt', 'BookgDt/DtTm')
  const valued = dayAt(entry, 'ValDt/Dt', 'ValDt/DtTm')
  const own = (booked ?? valued ?? { day: statementDay }).day
  return {
    status: statusOf(entry),
    amount: amount?.amount ?? null,
    isCredit,
    on: own ?? valued?.day ?? statementDay,
    isUnreadable: !amount?.amount || isCredit === null || own === null,
    isMalformed: (amount?.isMalformed ?? false) || (original?.isMalformed ?? false),
    original: original?.amount ?? null,
    bankReference: referenceAt(entry, 'AcctSvcrRef'),
  }
}

/** Returns the status of an entry: the text of Sts in versions up to .04, its code from then on. */
function statusOf(entry: XmlElement): EntryFacts['status'] {
  const status = textAt(entry, 'Sts') ?? codeAt(entry, 'Sts')
  if (status === null) return 'missing'
  return status === 'BOOK' ? 'booked' : 'other'
}

/** Returns whether an entry or part is a credit; undefined if it has no direction, null if that is neither CRDT nor DBIT. */
export function directionOf(element: XmlElement): boolean | null | undefined {
  if (!elementAt(element, 'CdtDbtInd')) return undefined
  const direction = textAt(element, 'CdtDbtInd')
  return direction === 'CRDT' || direction === 'DBIT' ? direction === 'CRDT' : null
}

/**
 * Returns the facts of an entry that has ended, given those that its first part was read with. Rule: parts are read by what stands before them, so
 * an entry with something else behind them cannot be read.
 */
export function asEnded(before: EntryFacts, ended: EntryFacts): EntryFacts {
  const isAsBefore =
    before.status === ended.status &&
    before.amount?.amountMinor === ended.amount?.amountMinor &&
    before.amount?.currency === ended.amount?.currency &&
    before.isCredit === ended.isCredit &&
    before.on === ended.on
  return isAsBefore ? ended : { ...ended, isUnreadable: true }
}
