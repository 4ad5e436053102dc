import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../database/database.ts'
import { type CheckReading, eachPage } from './pages.ts'

/** Differences that a verification finds: places where the books do not follow from their own facts. */

export type RecordType =
  | 'account'
  | 'allocation'
  | 'bad_debt'
  | 'batch'
  | 'charge'
  | 'credit_note'
  | 'customer'
  | 'emandate'
  | 'event_seal'
  | 'invoice'
  | 'ledger_batch'
  | 'ledger_entry'
  | 'ledger_seal'
  | 'list'
  | 'negative_adjustment'
  | 'payment'
  | 'positive_adjustment'
  | 'result_file'
  | 'result_line'
  | 'settlement'
  | 'shape'
  | 'subscription'
  | 'usage_batch'
  | 'webhook_delivery'

/** Something that is stored and should be something else. Texts are for people: amounts with the decimals of their currency. */
export interface Difference {
  account: AccountId
  /** The check that found it. */
  check: string
  /** Null where it is about no customer. */
  customerId: Id | null
  recordType: RecordType
  recordId: Id
  /** Which fact of the record: "total", "tax VAT", "number". */
  what: string
  stored: string
  expected: string
}

/** Takes a difference at once, so that none has to be kept. One without a customer is about none. */
export type Report = (
  difference: Omit<Difference, 'account' | 'check' | 'customerId'> & { customerId?: Difference['customerId'] },
) => void

/**
 * Check of a rule that must hold for every account. It reads in pages within the transaction, whose snapshot all checks share, and returns
 * the number of records that it read.
 */
export interface Check {
  name: string
  /** It cannot be done for a portion of the account. Where a night verifies portions, such checks take turns. */
  isAtOnce?: true
  /** A seal covers what it compares: while it finds a difference, nothing is sealed. */
  isOfSeals?: true
  run(tx: Transaction, report: Report, reading: CheckReading): Promise<number>
}

/** Makes what a check does that looks at each record of a list on its own. */
export const eachRecord =
  <Row extends { id: Id }>(
    list: (tx: Transaction, account: AccountId, after: Id, limit: number) => Promise<readonly Row[]>,
    look: (row: Row, report: Report) => void,
  ): Check['run'] =>
  (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => list(tx, tx.account, after, limit),
      (rows) => rows.forEach((row) => look(row, report)),
    )

/** Returns the text of a difference: "invoice 12 of customer 5: total says 31.00 USD, should say 32.00 USD" */
export function differenceText({ recordType, recordId, customerId, what, stored, expected }: Difference): string {
  const customer = customerId === null || recordType === 'customer' ? '' : ` of customer ${customerId}`
  return `${recordType.replace('_', ' ')} ${recordId}${customer}: ${what} says ${stored}, should say ${expected}`
}
