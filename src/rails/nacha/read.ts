import { isRoutingNumber } from '../../kernel/bank-numbers.ts'
import { isDate, type IsoDate } from '../../kernel/calendar.ts'
import {
  bankOf,
  BATCH_CONTROL,
  BATCH_HEADER,
  BLOCK_RECORDS,
  CHANGE_ADDENDUM,
  ENTRY,
  FILE_CONTROL,
  FILE_HEADER,
  FILLER,
  entryHash,
  type FieldPlace,
  RECORD_LENGTH,
  RETURN_ADDENDUM,
} from './layout.ts'

/** Reads NACHA files, of this service and of banks: whole files that add up, or a refusal that names line and field. */

/** A return of an entry that was sent: its code, and the trace that the entry had. */
export interface AchReturn {
  kind: 'return'
  code: string
  originalTrace: string
  originalRdfi: string
  text: string
}

/** A correction of an account, as the receiving bank knows it. */
export interface AchChange {
  kind: 'change'
  code: string
  originalTrace: string
  originalRdfi: string
  /** As it stands in the file, without blanks at its end. */
  corrected: string
}

/** An entry, texts without blanks at their ends. */
export interface AchEntry {
  /** From 1. */
  line: number
  transactionCode: string
  routing: string
  account: string
  /** In cents. */
  amountMinor: bigint
  reference: string
  name: string
  trace: string
  /** The return or change that its addendum stands for; undefined where it has none of these. */
  about: AchReturn | AchChange | undefined
}

export interface AchBatchRead {
  line: number
  serviceClass: string
  companyName: string
  companyId: string
  entryClass: string
  description: string
  /** YYMMDD, as it stands in the file. */
  effectiveDay: string
  odfi: string
  /** As it stands in the file. */
  batchNumber: string
  entries: AchEntry[]
}

export interface AchFileRead {
  destination: string
  origin: string
  on: IsoDate
  /** hhmm, as it stands in the file. */
  time: string
  modifier: string
  batches: AchBatchRead[]
  /** Lines whose blanks at the end were cut off, and that were filled up again. */
  paddedCount: number
}

/** Why a file cannot be read: its line, from 1, the field of that line where it is one, and a sentence about it. */
export interface AchRefusal {
  line: number
  field: string | null
  message: string
}

export type AchReading = ({ kind: 'read' } & AchFileRead) | ({ kind: 'refused' } & AchRefusal)

class Refused extends Error {
  readonly facts: AchRefusal
  constructor(facts: AchRefusal) {
    super(facts.message)
    this.facts = facts
  }
}

function refuse(line: number, field: string | null, message: string): never {
  throw new Refused({ line, field, message: `Line ${line}${field === null ? '' : `, ${field}`}: ${message}.` })
}

const cut = (line: string, [from, to]: FieldPlace): string => line.slice(from - 1, to)
const text = (line: string, place: FieldPlace): string => cut(line, place).trim()

function number(line: string, at: number, field: string, place: FieldPlace): bigint {
  const digits = cut(line, place)
  if (!/^\d+$/.test(digits)) refuse(at, field, 'it is not a number')
  return BigInt(digits)
}

const LONGEST_SHOWN = 1_000_000

/** Returns the records of a file. Rule: lines end by CR LF or LF, or nothing ends them and all have 94 characters. */
function recordsOf(file: string): string[] {
  const whole = file.replace(/(\r?\n)+$/, '')
  if (!whole.includes('\n') && whole.length > RECORD_LENGTH && whole.length % RECORD_LENGTH === 0)
    return Array.from({ length: whole.length / RECORD_LENGTH }, (_, index) =>
      whole.slice(index * RECORD_LENGTH, (index + 1) * RECORD_LENGTH),
    )
  return whole.split(/\r?\n/)
}

// oxlint-disable-next-line no-control-regex -- these are the bytes that no file may have
const FOREIGN = /[^\x20-\x7e]/

/** Sums of entries as they are read, to be compared with control records. */
interface Sums {
  entries: bigint
  hash: bigint
  debits: bigint
  credits: bigint
}

const nothing = (): Sums => ({ entries: 0n, hash: 0n, debits: 0n, credits: 0n })

const SUM_WORDS = {
  entries: 'entry and addenda count',
  hash: 'entry hash',
  debits: 'total debits',
  credits: 'total credits',
}

function compare(
  line: string,
  at: number,
  sums: Sums,
  places: Readonly<Record<keyof Sums, FieldPlace>>,
  whose: string,
): void {
  for (const name of ['entries', 'hash', 'debits', 'credits'] as const) {
    const field = SUM_WORDS[name]
    const stated = number(line, at, field, places[name])
    const found = name === 'hash' ? entryHash(sums.hash) : sums[name]
    if (stated !== found) refuse(at, field, `it is ${stated}, and ${whose} has ${found}`)
  }
}

const NAME_WORDS = { companyId: 'company identification', odfi: 'ODFI', batchNumber: 'batch number' }

/** Refuses a batch control that names another batch than its header. */
function refuseOthers(line: string, at: number, batch: AchBatchRead): void {
  for (const name of ['companyId', 'odfi', 'batchNumber'] as const)
    if (text(line, BATCH_CONTROL[name]) !== batch[name])
      refuse(at, NAME_WORDS[name], `it is not that of the batch header, line ${batch.line}`)
}

/** Returns whether a transaction code takes money from the account that it names: the second digit of debits is 5 to 9. */
export const takesMoney = (transactionCode: string): boolean => transactionCode.slice(1) >= '5'

function aboutOf(line: string): AchReturn | AchChange | undefined {
  const type = cut(line, RETURN_ADDENDUM.addendaType)
  const read = {
    code: cut(line, RETURN_ADDENDUM.code),
    originalTrace: text(line, RETURN_ADDENDUM.originalTrace),
    originalRdfi: text(line, RETURN_ADDENDUM.originalRdfi),
  }
  if (type === '99') return { kind: 'return', ...read, text: text(line, RETURN_ADDENDUM.text) }
  if (type === '98') return { kind: 'change', ...read, corrected: cut(line, CHANGE_ADDENDUM.corrected).trimEnd() }
  return undefined
}

/** The reader of one file: what it is in, and what it has counted. */
class Reader {
  private readonly batches: AchBatchRead[] = []
  private readonly all = nothing()
  private batch: AchBatchRead | undefined
  private own = nothing()
  private entry: AchEntry | undefined

  take(line: string, at: number): void {
    switch (line[0]) {
      case '5':
        return this.open(line, at)
      case '6':
        return this.enter(line, at)
      case '7':
        return this.addTo(line, at)
      case '8':
        return this.close(line, at)
      default:
        refuse(at, 'record type', `"${line[0]}" is no record of a batch`)
    }
  }

  private open(line: string, at: number): void {
    if (this.batch) refuse(at, 'record type', `a batch begins before that of line ${this.batch.line} has its control`)
    this.own = nothing()
    this.entry = undefined
    this.batch = {
      line: at,
      serviceClass: cut(line, BATCH_HEADER.serviceClass),
      companyName: text(line, BATCH_HEADER.companyName),
      companyId: text(line, BATCH_HEADER.companyId),
      entryClass: text(line, BATCH_HEADER.entryClass),
      description: text(line, BATCH_HEADER.description),
      effectiveDay: text(line, BATCH_HEADER.effectiveDay),
      odfi: text(line, BATCH_HEADER.odfi),
      batchNumber: text(line, BATCH_HEADER.batchNumber),
      entries: [],
    }
  }

  private enter(line: string, at: number): void {
    if (!this.batch) refuse(at, 'record type', 'an entry stands outside of any batch')
    const routing = cut(line, ENTRY.routing)
    const amountMinor = number(line, at, 'amount', ENTRY.amount)
    const transactionCode = cut(line, ENTRY.transactionCode)
    if (!/^\d\d$/.test(transactionCode)) refuse(at, 'transaction code', 'it is not a number')
    if (!/^\d{8}[\d ]$/.test(routing)) refuse(at, 'routing number', 'it is not a number')
    this.own.entries++
    this.own.hash += BigInt(bankOf(routing))
    this.own[takesMoney(transactionCode) ? 'debits' : 'credits'] += amountMinor
    this.entry = {
      line: at,
      transactionCode,
      routing: routing.trim(),
      account: text(line, ENTRY.account),
      amountMinor,
      reference: text(line, ENTRY.reference),
      name: text(line, ENTRY.name),
      trace: text(line, ENTRY.trace),
      about: undefined,
    }
    this.batch.entries.push(this.entry)
  }

  private addTo(line: string, at: number): void {
    if (!this.entry) refuse(at, 'record type', 'an addendum stands after no entry')
    this.own.entries++
    // The last one counts: a return that banks dispute has that of the return before it.
    this.entry.about = aboutOf(line) ?? this.entry.about
  }

  private close(line: string, at: number): void {
    if (!this.batch) refuse(at, 'record type', 'a batch control stands after no batch')
    const { entries, hash, debits, credits } = BATCH_CONTROL
    compare(line, at, this.own, { entries, hash, debits, credits }, 'the batch')
    refuseOthers(line, at, this.batch)
    for (const name of ['entries', 'hash', 'debits', 'credits'] as const) this.all[name] += this.own[name]
    this.batches.push(this.batch)
    this.batch = undefined
    this.entry = undefined
  }

  end(line: string, at: number): AchBatchRead[] {
    if (this.batch) refuse(at, 'record type', `the batch of line ${this.batch.line} has no control`)
    const batches = number(line, at, 'batch count', FILE_CONTROL.batches)
    if (batches !== BigInt(this.batches.length))
      refuse(at, 'batch count', `it is ${batches}, and the file has ${this.batches.length}`)
    const blocks = number(line, at, 'block count', FILE_CONTROL.blocks)
    const found = BigInt(Math.ceil(at / BLOCK_RECORDS))
    if (blocks !== found) refuse(at, 'block count', `it is ${blocks}, and the file has ${found}`)
    const { entries, hash, debits, credits } = FILE_CONTROL
    compare(line, at, this.all, { entries, hash, debits, credits }, 'the file')
    return this.batches
  }
}

/** Lines between two moments at which others may come to their turn. */
const LINES_A_TURN = 2_000

function* readLines(lines: readonly string[]): Generator<undefined, AchFileRead, undefined> {
  let paddedCount = 0
  const lineAt = (index: number): string => {
    const line = lines[index] as string
    const at = index + 1
    if (line.length > RECORD_LENGTH)
      refuse(at, null, `it has ${Math.min(line.length, LONGEST_SHOWN)} characters instead of ${RECORD_LENGTH}`)
    if (FOREIGN.test(line)) refuse(at, null, 'it has characters that are not of ASCII, or none that can be written')
    if (line.length < RECORD_LENGTH) paddedCount++
    return line.padEnd(RECORD_LENGTH)
  }
  const header = lineAt(0)
  if (header[0] !== '1') refuse(1, 'record type', 'the file has no file header')
  if (cut(header, FILE_HEADER.recordSize) !== String(RECORD_LENGTH).padStart(3, '0'))
    refuse(1, 'record size', `it is not ${RECORD_LENGTH}`)
  const reader = new Reader()
  let batches: AchBatchRead[] | undefined
  for (let index = 1; index < lines.length; index++) {
    if (index % LINES_A_TURN === 0) yield
    const line = lineAt(index)
    if (batches) {
      if (line === FILLER) continue
      if (/^9+$/.test(line.trimEnd()))
        refuse(index + 1, null, 'the file is cut off in the nines that fill its last block')
      refuse(index + 1, 'record type', 'a record stands after the file control')
    } else if (line[0] === '9' && line !== FILLER) batches = reader.end(line, index + 1)
    else if (line === FILLER) break
    else reader.take(line, index + 1)
  }
  if (!batches) refuse(lines.length, 'record type', 'the file has no file control')
  return {
    destination: text(header, FILE_HEADER.destination),
    origin: text(header, FILE_HEADER.origin),
    on: dayIn(header),
    time: text(header, FILE_HEADER.time),
    modifier: text(header, FILE_HEADER.modifier),
    batches,
    paddedCount,
  }
}

/** Returns the day of a file, whose year has two digits. */
function dayIn(header: string): IsoDate {
  const [, year, month, day] = /^(\d\d)(\d\d)(\d\d)$/.exec(cut(header, FILE_HEADER.day)) ?? []
  const on = `20${year}-${month}-${day}`
  return isDate(on) ? on : refuse(1, 'file creation date', 'it is no day')
}

/**
 * Reads a file from its bytes, as it is iterated over. Rule: each byte counts; what is not of ASCII, too long, without header or control, or does not
 * add up is refused.
 */
export function* nachaReading(bytes: Buffer): Generator<undefined, AchReading, undefined> {
  try {
    return { kind: 'read', ...(yield* readLines(recordsOf(bytes.toString('latin1')))) }
  } catch (error) {
    if (error instanceof Refused) return { kind: 'refused', ...error.facts }
    throw error
  }
}

/** Reads a file from its bytes at once, see `nachaReading`. */
export function readNacha(bytes: Buffer): AchReading {
  const reading = nachaReading(bytes)
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
  }
}

/** Returns what is strange in an entry that adds up all the same: a routing number that does not check; undefined where nothing is. */
export const strangeIn = ({ routing }: Pick<AchEntry, 'routing'>): string | undefined =>
  isRoutingNumber(routing) ? undefined : 'The check digit of its routing number is wrong.'
