import type { IsoDate } from '../../kernel/calendar.ts'

/** Lines of result files, whatever the message and its version. */

export interface BankAmount {
  amountMinor: bigint
  /** ISO 4217 code. */
  currency: string
}

/** References of one line; each null where the bank gives none. */
export interface BankReferences {
  endToEnd: string | null
  instruction: string | null
  paymentInformation: string | null
  message: string | null
  mandate: string | null
}

/** Beginning of a statement or notification: every entry until the next one is of its account. */
export interface StatementStart {
  kind: 'statement'
  /** IBAN, or the number that the bank gives in its place; null where it names none. */
  account: string | null
}

/** Booked entry of an account, or one detail of a batched one. */
export interface EntryLine {
  kind: 'entry'
  account: string | null
  on: IsoDate
  /** Null where a batched entry does not give the amount of its detail. */
  amount: BankAmount | null
  /** The amount before charges, where the bank gives it. */
  original: BankAmount | null
  isCredit: boolean
  /** The detail has the other direction than its entry. */
  isContrary: boolean
  /** Takes back an earlier booking. */
  isReversal: boolean
  hasReturnInformation: boolean
  /** Family and sub-family of a payment (domain PMNT), as 'IDDT' and 'UPDD'. */
  family: string | null
  subFamily: string | null
  /** Code of the reason of a return, as 'AC04'. */
  code: string | null
  references: BankReferences
  /** The bank's own reference, of the detail; of the entry with the detail's place in it, as 'REF#2', where the detail has none. */
  bankReference: string | null
  /** Other party: of a credit its payer, of a debit whom it was paid to or collected from. */
  name: string | null
  /** Remittance information, or else what the bank adds. */
  text: string | null
}

/** Status of a message, of one of its blocks of payments, or of one payment in it. */
export interface StatusLine {
  kind: 'status'
  scope: 'message' | 'payments' | 'payment'
  /** As 'RJCT'. */
  status: string
  code: string | null
  on: IsoDate
  original: BankAmount | null
  references: BankReferences
  name: string | null
}

export type ResultLine = StatementStart | EntryLine | StatusLine
