/**
 * The records of NACHA files: 94 characters each, a digit first that names their kind, every field at its place. Places are counted from 1, both
 * ends included, as banks name them. The order and size of records follow from these tables alone.
 */

export const RECORD_LENGTH = 94
/** Records of a file are filled up to blocks of so many. */
export const BLOCK_RECORDS = 10
export const FILLER = '9'.repeat(RECORD_LENGTH)
export const LINE_END = '\r\n'

/** The place of a field in its record. */
export type FieldPlace = readonly [from: number, to: number]

export const FILE_HEADER = {
  recordType: [1, 1],
  priority: [2, 3],
  destination: [4, 13],
  origin: [14, 23],
  day: [24, 29],
  time: [30, 33],
  modifier: [34, 34],
  recordSize: [35, 37],
  blocking: [38, 39],
  format: [40, 40],
  destinationName: [41, 63],
  originName: [64, 86],
} as const satisfies Record<string, FieldPlace>

export const BATCH_HEADER = {
  recordType: [1, 1],
  serviceClass: [2, 4],
  companyName: [5, 20],
  companyId: [41, 50],
  entryClass: [51, 53],
  description: [54, 63],
  effectiveDay: [70, 75],
  status: [79, 79],
  odfi: [80, 87],
  batchNumber: [88, 94],
} as const satisfies Record<string, FieldPlace>

export const ENTRY = {
  recordType: [1, 1],
  transactionCode: [2, 3],
  routing: [4, 12],
  account: [13, 29],
  amount: [30, 39],
  reference: [40, 54],
  name: [55, 76],
  discretionary: [77, 78],
  hasAddenda: [79, 79],
  trace: [80, 94],
} as const satisfies Record<string, FieldPlace>

/** An addendum by which a bank returns an entry (type 99). */
export const RETURN_ADDENDUM = {
  recordType: [1, 1],
  addendaType: [2, 3],
  code: [4, 6],
  originalTrace: [7, 21],
  originalRdfi: [28, 35],
  text: [36, 79],
  trace: [80, 94],
} as const satisfies Record<string, FieldPlace>

/** An addendum by which a bank corrects an account (type 98). */
export const CHANGE_ADDENDUM = {
  recordType: [1, 1],
  addendaType: [2, 3],
  code: [4, 6],
  originalTrace: [7, 21],
  originalRdfi: [28, 35],
  corrected: [36, 64],
  trace: [80, 94],
} as const satisfies Record<string, FieldPlace>

export const BATCH_CONTROL = {
  recordType: [1, 1],
  serviceClass: [2, 4],
  entries: [5, 10],
  hash: [11, 20],
  debits: [21, 32],
  credits: [33, 44],
  companyId: [45, 54],
  odfi: [80, 87],
  batchNumber: [88, 94],
} as const satisfies Record<string, FieldPlace>

export const FILE_CONTROL = {
  recordType: [1, 1],
  batches: [2, 7],
  blocks: [8, 13],
  entries: [14, 21],
  hash: [22, 31],
  debits: [32, 43],
  credits: [44, 55],
} as const satisfies Record<string, FieldPlace>

/** Transaction codes of debits that this service writes, and of the credit that balances them. */
export const DEBIT_OF_CHECKING = '27'
export const DEBIT_OF_SAVINGS = '37'
export const CREDIT_OF_CHECKING = '22'

/** Service classes: debits alone, and debits with the credits that balance them. */
export const DEBITS_ALONE = '225'
export const DEBITS_AND_CREDITS = '200'

/** The description over debits that were returned for want of funds and are made again. */
export const RETRY_DESCRIPTION = 'RETRY PYMT'

/** Returns the hash of entries from the sum of the first eight digits of their routing numbers: its last ten places. */
export const entryHash = (sum: bigint): bigint => sum % 10_000_000_000n

/** Returns the first eight digits of a routing number, by which banks name a bank. */
export const bankOf = (routing: string): string => routing.slice(0, 8)

/**
 * Returns the trace of an entry: the bank that sends it, and a number that is its own in the files of a gateway for as long as batches do not come
 * round again, which takes 10,000. `place` is from 1 to 999.
 */
export const traceOf = (odfi: string, batchId: bigint, place: number): string =>
  bankOf(odfi) + ((batchId * 1000n + BigInt(place)) % 10_000_000n).toString().padStart(7, '0')
