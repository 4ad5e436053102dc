import type { IsoDate } from '../../kernel/calendar.ts'
import {
  bankOf,
  BATCH_CONTROL,
  BATCH_HEADER,
  CHANGE_ADDENDUM,
  DEBITS_AND_CREDITS,
  ENTRY,
  RETURN_ADDENDUM,
  traceOf,
} from './layout.ts'
import {
  added,
  dayText,
  digits,
  type NachaSums,
  nachaHeader,
  nachaRecord,
  NO_ENTRIES,
  sumFields,
  withFileEnd,
} from './records.ts'

/**
 * Writes the file in which a bank answers debits: returns, and corrections of accounts, with sums that add up. This service only reads such files; the
 * demo and the tests play the bank.
 */

export interface AnsweredEntry {
  /** Of the debit that is answered. */
  trace: string
  /** R01 and so on of a return, C01 and so on of a correction. */
  code: string
  /** In cents; 0 of a correction. */
  amountMinor?: bigint
  /** Of the debit. */
  reference?: string
  /** The right number, as the code has it. */
  corrected?: string
  /** Words of the bank about a return. */
  text?: string
  accountHolder?: string
  transactionCode?: string
  /** Of the entry itself. */
  ownTrace?: string
}

export interface AnswerFile {
  /** The company whose debits are answered, and its bank, to which the file goes. */
  company: { name: string; id: string; bank: string; routing: string }
  /** The bank that answers: its routing number. */
  answering: string
  day: IsoDate
}

/** Writes a file of answers: returns in a batch record, corrections in another. */
export function answerFile(entries: readonly AnsweredEntry[], about: AnswerFile): string {
  const { company, answering, day } = about
  const header = nachaHeader({
    destination: ` ${company.routing}`,
    origin: ` ${answering}`,
    day: dayText(day),
    time: '1200',
    modifier: 'A',
    destinationName: company.bank.toUpperCase(),
    originName: 'ACH OPERATOR',
  })
  const groups = [entries.filter((entry) => !isChange(entry)), entries.filter(isChange)].filter(
    ({ length }) => length > 0,
  )
  const lines = [header, ...groups.flatMap((group, index) => groupLines(group, about, index + 1))]
  const sums = groups.map((group) => groupSums(group, about)).reduce(added, NO_ENTRIES)
  return withFileEnd(lines, groups.length, sums).join('\n')
}

const isChange = ({ code }: AnsweredEntry): boolean => code.startsWith('C')
const codeOf = (entry: AnsweredEntry): string => entry.transactionCode ?? (isChange(entry) ? '21' : '26')
/** Debits have transaction codes that end in 5 to 9. */
const isDebitCode = (code: string): boolean => code.slice(1) >= '5'

function groupSums(group: readonly AnsweredEntry[], { company }: AnswerFile): NachaSums {
  const total = (isDebit: boolean) =>
    group
      .filter((entry) => isDebitCode(codeOf(entry)) === isDebit)
      .reduce((sum, { amountMinor = 0n }) => sum + amountMinor, 0n)
  return {
    // An entry and its addendum.
    entries: group.length * 2,
    hash: BigInt(bankOf(company.routing)) * BigInt(group.length),
    debits: total(true),
    credits: total(false),
  }
}

function groupLines(group: readonly AnsweredEntry[], about: AnswerFile, number: number): string[] {
  const { company, answering, day } = about
  const ends = {
    serviceClass: DEBITS_AND_CREDITS,
    companyId: company.id,
    odfi: bankOf(answering),
    batchNumber: digits(number, 7),
  }
  const sums = groupSums(group, about)
  return [
    nachaRecord(BATCH_HEADER, {
      ...ends,
      recordType: '5',
      companyName: company.name.toUpperCase(),
      entryClass: group.some(isChange) ? 'COR' : 'PPD',
      description: 'SUBSCRIPTN',
      effectiveDay: dayText(day),
      status: '1',
    }),
    ...group.flatMap((entry, index) => {
      const ownTrace = traceOf(answering, BigInt(dayText(day)) * 10n + BigInt(number), (index % 999) + 1)
      return entryLines({ ownTrace, ...entry }, about)
    }),
    nachaRecord(BATCH_CONTROL, { ...ends, ...sumFields(sums), recordType: '8', entries: digits(sums.entries, 6) }),
  ]
}

function entryLines(entry: AnsweredEntry & { ownTrace: string }, { company, answering }: AnswerFile): string[] {
  const trace = entry.ownTrace
  const answered = {
    recordType: '7',
    code: entry.code,
    originalTrace: entry.trace,
    originalRdfi: bankOf(answering),
    trace,
  }
  return [
    nachaRecord(ENTRY, {
      recordType: '6',
      transactionCode: codeOf(entry),
      routing: company.routing,
      amount: digits(entry.amountMinor ?? 0n, 10),
      reference: entry.reference ?? '',
      name: entry.accountHolder ?? '',
      hasAddenda: '1',
      trace,
    }),
    isChange(entry)
      ? nachaRecord(CHANGE_ADDENDUM, { ...answered, addendaType: '98', corrected: entry.corrected ?? '' })
      : nachaRecord(RETURN_ADDENDUM, { ...answered, addendaType: '99', text: entry.text ?? '' }),
  ]
}
