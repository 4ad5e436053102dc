import type { IsoDate } from '../../kernel/calendar.ts'

/**
 * Lines of result files, whatever the message and its version. Everything that follows from the file alone is resolved here: amounts and directions of
 * parts, statuses and reasons that a payment has from its block or file, placeholders. What needs the books is decided by who reads the lines.
 */

export interface BankAmount {
  amountMinor: bigint
  /** ISO 4217 code. */
  currency: string
}

/** References of one line; each null if the bank gives none, or a placeholder in its place. */
export interface BankReferences {
  endToEnd: string | null
  instruction: string | null
  /** Of the part, else of the batch that the bank booked it in. */
  paymentInformation: string | null
  message: string | null
  mandate: string | null
}

/** A bank's own reference as it stands in a file. */
export interface WrittenReference {
  /** Of a part; of its entry with the part's place, as 'NONREF#2', if the part has none. */
  text: string
  isPlaceholder: boolean
}

/** Booked entry (Ntry) of an account. Its parts refer to it; it is complete as soon as the first of them is handed over. */
export interface BankEntry {
  /** IBAN, or the number that the bank gives in its place, as it spells it; null if its statement names none. */
  account: string | null
  /** The day it was booked, else its value day, else that of its statement; null only if nothing of these can be used. */
  on: IsoDate | null
  /** Null of an unreadable entry whose amount cannot be used. */
  amount: BankAmount | null
  /** Null of an unreadable entry whose direction cannot be used. */
  isCredit: boolean | null
  /** Its amount, direction or day cannot be used: it has one part, which is itself, of which nothing may be applied. */
  isUnreadable: boolean
  /** The bank's own reference (AcctSvcrRef) of the entry; null if it is a placeholder. */
  bankReference: string | null
  /** Parts (TxDtls) that stand in the file; 0 of an entry without details. */
  details: number
  /**
   * Its lines are one part that is the entry itself: it has no details, or cannot be read, or none of its details names a payment of ours and the
   * amount of one of them is not known.
   */
  isWhole: boolean
  /** Sum of the amounts of its parts that are known, those of the other direction negative. */
  knownMinor: bigint
  /** Parts whose amount is not known, unreadable ones included. */
  unknownParts: number
}

/** A part of an entry, or an entry that is worked on as a whole. */
export interface PartLine {
  kind: 'part'
  entry: BankEntry
  /** Its place in its entry, from 1 on. */
  index: number
  /** In the entry's currency; null if it is not known, or cannot be read. */
  amount: BankAmount | null
  /** The amount before charges or exchange, if the bank gives one that can be used. */
  original: BankAmount | null
  /** Its own direction, else its entry's; null if that cannot be read. */
  isCredit: boolean | null
  /** It has the other direction than its entry: its family is its own alone, and it is listed, never applied. */
  isContrary: boolean
  /** The entry, or the amount or direction of this part alone, cannot be used: listed as `unreadable` without an amount. */
  isUnreadable: boolean
  /** The entry takes back an earlier booking. */
  isReversal: boolean
  hasReturnInformation: boolean
  /** Family and sub-family of a payment (domain PMNT), as 'IDDT' and 'UPDD'. */
  family: string | null
  subFamily: string | null
  /** Code of the reason of a return, as 'AC04'. */
  code: string | null
  references: BankReferences
  /** The bank's own reference, of the part; of the entry with the part's place in it, as 'REF#2', if the part has none. */
  bankReference: string | null
  /** The same as it is written, a placeholder too; null if there is none. Programs before 0.1.0 compared lines by it. */
  written: WrittenReference | null
  /** Other party: of a credit its payer, of a debit whom it was paid to or collected from. */
  name: string | null
  /** Remittance information, or else what the bank adds. */
  text: string | null
  /** Its bank's reference names this one booking for good, whatever the day of the file that has it. */
  isReferenceUnique?: true
}

/**
 * Comes after the last part of an entry if its parts do not come to its amount, or if the amount of one of them is not given (never if one cannot be
 * read). What is over is entry.amount − entry.knownMinor, less what was applied for parts of unknown amount; its reference is 'REF#over'.
 */
export interface OverLine {
  kind: 'over'
  entry: BankEntry
  bankReference: string | null
}

/**
 * Status of a file, of one of its blocks, or of one payment in it. Those of payments come before that of their block, and all of these before that
 * of the file. A payment or block without a status of its own gives a line too if what it has from above ends it (RJCT, CANC), or if it is a payment
 * with a reason in something PART, or in something without a status; BLCK and unknown words are given again only if what they stand in names no batch.
 */
export interface StatusLine {
  kind: 'status'
  scope: 'message' | 'payments' | 'payment'
  /** As 'RJCT': its own, else its block's, else the file's. 'PART' of a payment means that it has a reason and no status. */
  status: string
  /** It has its status from above: what it changes counts for the line of that block or file (Matched, Applied), which comes later. */
  isInherited: boolean
  /** Code of the reason: its own, else its block's, else the file's. */
  code: string | null
  /** Day of the report; null if it cannot be used. */
  on: IsoDate | null
  original: BankAmount | null
  references: BankReferences
  name: string | null
  /** Of a block or file, its payments that have a status of their own which ends nothing: its own status is not theirs. */
  apart: readonly BankReferences[]
}

export type ResultLine = PartLine | OverLine | StatusLine

/** Purpose that a file is read for. */
export interface ReadingFor {
  /** The account, without spaces and in capitals: statements of others are passed over. Null takes all. */
  iban: string | null
  /** Whether references name a payment in our form, of this account (the books are not asked). */
  namesPayment(references: BankReferences): boolean
  /** Whether references name a batch in our form. */
  namesBatch(references: BankReferences): boolean
}

/** A file that has been read as a whole, and so can be worked on. */
export interface CheckedResultFile {
  /** As 'camt.053.001.08'. */
  format: string
  /** Statements of other accounts, which were passed over. */
  otherAccounts: number
  /** All statements are of other accounts: 409. */
  isOfOthersOnly: boolean
  /** Entries of the account without a status, which were passed over. */
  statusMissing: number
  /** Yields its lines, in the order of the file and the same each time; between two yields it computes for a few milliseconds. */
  lines(): Generator<readonly ResultLine[], void, undefined>
}
