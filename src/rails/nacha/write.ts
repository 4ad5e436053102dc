import type { IsoDate } from '../../kernel/calendar.ts'
import { achText } from './characters.ts'
import {
  bankOf,
  BATCH_CONTROL,
  BATCH_HEADER,
  CREDIT_OF_CHECKING,
  DEBIT_OF_CHECKING,
  DEBIT_OF_SAVINGS,
  DEBITS_ALONE,
  DEBITS_AND_CREDITS,
  ENTRY,
  LINE_END,
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

/** Writes NACHA files of debits. The same facts give the same text. */

/** Entry classes of debits: of a company's account, of a consumer's by a mandate on paper, and by one that was given on a web page. */
export const ENTRY_CLASSES = ['CCD', 'PPD', 'WEB'] as const
export type EntryClass = (typeof ENTRY_CLASSES)[number]

/** The greatest amount of an entry, in cents: ten places. */
export const AMOUNT_MAX = 9_999_999_999n
/** The greatest total of a file, in cents: twelve places. */
export const TOTAL_MAX = 999_999_999_999n
export const ACCOUNT_MAX = 17
export const HOLDER_MAX = 22
export const REFERENCE_MAX = 15

/** The letters and digits by which files of one gateway and day differ. */
const MODIFIERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
export const FILES_A_DAY = MODIFIERS.length

export interface AchDebit {
  isSavings: boolean
  /** Nine digits. */
  routing: string
  account: string
  /** In cents. */
  amountMinor: bigint
  /** Comes back with the answers of banks; at most 15 characters. */
  reference: string
  accountHolder: string
  /** Of WEB: whether the mandate is for one debit or for many. */
  frequency: 'R' | 'S' | null
  /** Fifteen digits, as `traceOf` makes them. */
  trace: string
}

export interface AchBatch {
  entryClass: EntryClass
  description: string
  debits: readonly AchDebit[]
}

export interface AchFile {
  destination: { routing: string; name: string }
  origin: { id: string; name: string }
  company: { name: string; id: string }
  /** The bank that takes the file: its routing number. */
  odfi: string
  /** Day and time (hh:mm) of the file. */
  writtenOn: IsoDate
  writtenAt: string
  /** Which file of its day it is, from 0. */
  fileOfDay: number
  actionDate: IsoDate
  /** Names the traces of what balances the batches. */
  batchId: bigint
  /** The account that is credited with what is debited; null: the bank does that on its own. */
  offset: { routing: string; account: string } | null
  batches: readonly AchBatch[]
}

const sumsOf = ({ debits }: AchBatch, offset: AchFile['offset']): NachaSums => {
  const total = debits.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
  const routings = [...debits.map(({ routing }) => routing), ...(offset ? [offset.routing] : [])]
  return {
    entries: routings.length,
    hash: routings.reduce((sum, routing) => sum + BigInt(bankOf(routing)), 0n),
    debits: total,
    credits: offset ? total : 0n,
  }
}

const debitLine = (debit: AchDebit): string =>
  nachaRecord(ENTRY, {
    recordType: '6',
    transactionCode: debit.isSavings ? DEBIT_OF_SAVINGS : DEBIT_OF_CHECKING,
    routing: debit.routing,
    account: debit.account,
    amount: digits(debit.amountMinor, 10),
    reference: debit.reference,
    name: achText(debit.accountHolder, HOLDER_MAX),
    discretionary: debit.frequency ?? '',
    hasAddenda: '0',
    trace: debit.trace,
  })

/** Places in traces of what balances the batches of a file: after those of 900 debits. */
const OFFSET_PLACE = 901

function batchLines(file: AchFile, batch: AchBatch, index: number): string[] {
  const { offset, odfi, company } = file
  const sums = sumsOf(batch, offset)
  const companyName = achText(company.name, 16)
  const ends = {
    serviceClass: offset ? DEBITS_AND_CREDITS : DEBITS_ALONE,
    companyId: company.id,
    odfi: bankOf(odfi),
    batchNumber: digits(index + 1, 7),
  }
  const header = nachaRecord(BATCH_HEADER, {
    ...ends,
    recordType: '5',
    companyName,
    entryClass: batch.entryClass,
    description: achText(batch.description, 10),
    effectiveDay: dayText(file.actionDate),
    status: '1',
  })
  const balance = offset && {
    recordType: '6',
    transactionCode: CREDIT_OF_CHECKING,
    routing: offset.routing,
    account: offset.account,
    amount: digits(sums.credits, 10),
    name: companyName,
    hasAddenda: '0',
    trace: traceOf(odfi, file.batchId, OFFSET_PLACE + index),
  }
  const control = nachaRecord(BATCH_CONTROL, {
    ...ends,
    ...sumFields(sums),
    recordType: '8',
    entries: digits(sums.entries, 6),
  })
  return [header, ...batch.debits.map(debitLine), ...(balance ? [nachaRecord(ENTRY, balance)] : []), control]
}

/**
 * Writes a file: records of 94 characters, each ended by CR LF, filled up to a multiple of ten by records of nines. What does not fit into its place
 * was refused before: amounts over `AMOUNT_MAX`, accounts over `ACCOUNT_MAX`, more than `FILES_A_DAY` files.
 */
export function writeNacha(file: AchFile): string {
  const { destination, origin, batches, fileOfDay } = file
  const header = nachaHeader({
    destination: ` ${destination.routing}`,
    origin: origin.id.padStart(10, ' '),
    day: dayText(file.writtenOn),
    time: file.writtenAt.replace(':', ''),
    modifier: MODIFIERS[fileOfDay] ?? '',
    destinationName: achText(destination.name, 23),
    originName: achText(origin.name, 23),
  })
  const lines = [header, ...batches.flatMap((batch, index) => batchLines(file, batch, index))]
  const sums = batches.map((batch) => sumsOf(batch, file.offset)).reduce(added, NO_ENTRIES)
  return withFileEnd(lines, batches.length, sums)
    .map((line) => line + LINE_END)
    .join('')
}
