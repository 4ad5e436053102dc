import { sumMinor } from '../../kernel/money.ts'
import { addDays, type IsoDate, later } from '../../kernel/calendar.ts'
import { decimalText, type Decimal } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'

/**
 * The posting rules: what each money record stands for in the double-entry ledger, as a function of the record alone. A change posts the
 * difference between what the record stood for before and after it, so the ledger always equals the records, and `verify` can check it.
 */

export const LEDGER_ACCOUNTS = [
  'receivable',
  'unapplied',
  'clearing',
  'cash',
  'revenue',
  'tax',
  'bad_debt',
  'interest',
  'opening_balance',
] as const
export type LedgerAccount = (typeof LEDGER_ACCOUNTS)[number]

export const LEDGER_EVENTS = [
  'invoice_issued',
  'invoice_cancelled',
  'payment_recorded',
  'payment_begun',
  'payment_settled',
  'payment_failed',
  'payment_returned',
  'credit_note_made',
  'bad_debt_written_off',
  'refund_paid',
  'opening_balance_set',
  'interest_charged',
  'allocation_made',
  'allocation_ended',
  'tax_taken_back',
  'bad_debt_tax_relieved',
  'bad_debt_recovered',
] as const
export type LedgerEvent = (typeof LEDGER_EVENTS)[number]

/** Types of the record that an entry is about; allocations and settlements have entries of their own. */
export const LEDGER_RECORD_TYPES = [
  'invoice',
  'payment',
  'negative_adjustment',
  'positive_adjustment',
  'allocation',
  'settlement',
] as const
export type LedgerRecordType = (typeof LEDGER_RECORD_TYPES)[number]

/** A tax by what the tax report groups it by. */
export interface PostedTax {
  name: string
  rate: Decimal
  taxNumber: string | null
}

/** Posting of one amount over 0 from a debit to a credit account, on a calendar day. */
export interface Posting {
  event: LedgerEvent
  /** It takes an earlier entry of that event back; debit and credit are those of this entry, so the other way round. */
  isReversal: boolean
  recordType: LedgerRecordType
  recordId: Id
  debit: LedgerAccount
  credit: LedgerAccount
  /** Set when one side of the entry is a tax. */
  tax: PostedTax | null
  amountMinor: bigint
  dated: IsoDate
}

interface Sides {
  debit: LedgerAccount
  credit: LedgerAccount
}

/** The table of the rules. Taxes of an invoice and of a credit note stand beside their revenue. */
export const POSTING_RULES: Readonly<Record<LedgerEvent, Sides>> = {
  invoice_issued: { debit: 'receivable', credit: 'revenue' },
  invoice_cancelled: { debit: 'revenue', credit: 'receivable' },
  payment_recorded: { debit: 'cash', credit: 'unapplied' },
  payment_begun: { debit: 'clearing', credit: 'unapplied' },
  payment_settled: { debit: 'cash', credit: 'clearing' },
  payment_failed: { debit: 'unapplied', credit: 'clearing' },
  payment_returned: { debit: 'unapplied', credit: 'cash' },
  credit_note_made: { debit: 'revenue', credit: 'unapplied' },
  bad_debt_written_off: { debit: 'bad_debt', credit: 'unapplied' },
  refund_paid: { debit: 'receivable', credit: 'cash' },
  opening_balance_set: { debit: 'receivable', credit: 'opening_balance' },
  interest_charged: { debit: 'receivable', credit: 'interest' },
  allocation_made: { debit: 'unapplied', credit: 'receivable' },
  allocation_ended: { debit: 'receivable', credit: 'unapplied' },
  tax_taken_back: { debit: 'tax', credit: 'revenue' },
  bad_debt_tax_relieved: { debit: 'tax', credit: 'bad_debt' },
  bad_debt_recovered: { debit: 'unapplied', credit: 'bad_debt' },
}

interface About {
  recordType: LedgerRecordType
  recordId: Id
}

/** Makes an entry by its rule; none for 0. A negative amount turns its sides. */
function entry(
  event: LedgerEvent,
  about: About,
  amountMinor: bigint,
  dated: IsoDate,
  tax: { posted: PostedTax; side: 'debit' | 'credit' } | null = null,
): Posting[] {
  if (amountMinor === 0n) return []
  const rule = POSTING_RULES[event]
  const sides = tax === null ? rule : { ...rule, [tax.side]: 'tax' as const }
  const turned = amountMinor < 0n
  return [
    {
      event,
      isReversal: false,
      recordType: about.recordType,
      recordId: about.recordId,
      debit: turned ? sides.credit : sides.debit,
      credit: turned ? sides.debit : sides.credit,
      tax: tax === null ? null : tax.posted,
      amountMinor: turned ? -amountMinor : amountMinor,
      dated,
    },
  ]
}

export interface TaxAmount extends PostedTax {
  amountMinor: bigint
}

export interface PostedInvoice {
  id: Id
  /** Null for a draft, which stands for nothing. */
  issuedOn: IsoDate | null
  /** The day it was cancelled, in the account's zone; null while it is not. */
  cancelledOn: IsoDate | null
  totalMinor: bigint
  taxes: readonly TaxAmount[]
}

/** Returns the entries of an invoice: what is owed for it, against revenue and each tax; if it was cancelled, the reverse on that day. */
export function postingsOfInvoice({ id, issuedOn, cancelledOn, totalMinor, taxes }: PostedInvoice): Posting[] {
  if (issuedOn === null) return []
  const about: About = { recordType: 'invoice', recordId: id }
  const taxMinor = sumMinor(taxes)
  const parts = (event: 'invoice_issued' | 'invoice_cancelled', side: 'debit' | 'credit', dated: IsoDate) => [
    ...entry(event, about, totalMinor - taxMinor, dated),
    ...taxes.flatMap((tax) => entry(event, about, tax.amountMinor, dated, { posted: postedTax(tax), side })),
  ]
  return [
    ...parts('invoice_issued', 'credit', issuedOn),
    ...(cancelledOn === null ? [] : parts('invoice_cancelled', 'debit', later(cancelledOn, issuedOn))),
  ]
}

const postedTax = ({ name, rate, taxNumber }: PostedTax): PostedTax => ({ name, rate, taxNumber })

export interface PostedPayment {
  id: Id
  dated: IsoDate
  amountMinor: bigint
  /** It was begun at a gateway or in a batch, so it waits until it is settled. */
  isBegun: boolean
  settledOn: IsoDate | null
  /** The day on which it is known to have failed: while it waited, or returned after success. */
  failedOn: IsoDate | null
}

/** Returns the entries of a payment: recorded or begun, settled, failed or returned; no entry is dated before the payment. */
export function postingsOfPayment(p: PostedPayment): Posting[] {
  const about: About = { recordType: 'payment', recordId: p.id }
  const isWaiting = p.isBegun && p.settledOn === null
  return [
    ...entry(p.isBegun ? 'payment_begun' : 'payment_recorded', about, p.amountMinor, p.dated),
    ...(p.settledOn === null ? [] : entry('payment_settled', about, p.amountMinor, later(p.settledOn, p.dated))),
    ...(p.failedOn === null
      ? []
      : entry(
          isWaiting ? 'payment_failed' : 'payment_returned',
          about,
          p.amountMinor,
          later(p.failedOn, later(p.dated, p.settledOn ?? p.dated)),
        )),
  ]
}

export const NEGATIVE_KINDS = ['credit_note', 'bad_debt'] as const
export type NegativeKind = (typeof NEGATIVE_KINDS)[number]

export interface PostedNegative {
  id: Id
  kind: NegativeKind
  dated: IsoDate
  amountMinor: bigint
  /** Taxes of a credit note that the service made; none for one of a caller, whose amount is gross. */
  taxes: readonly TaxAmount[]
  /** Parts of a bad debt that came in after its books were closed: its amount is what is left. */
  recovered?: readonly Recovery[]
}

/** Part of a bad debt that came in after its books were closed, on the day on which its amount was lowered. */
export interface Recovery {
  amountMinor: bigint
  dated: IsoDate
}

/**
 * Returns the entries of a negative adjustment: a credit note takes back revenue and its taxes, a bad debt is written off gross, and what of it
 * was recovered is taken back on its day.
 */
export function postingsOfNegative({ id, kind, dated, amountMinor, taxes, recovered = [] }: PostedNegative): Posting[] {
  const about: About = { recordType: 'negative_adjustment', recordId: id }
  if (kind === 'bad_debt')
    return [
      ...entry('bad_debt_written_off', about, amountMinor + sumMinor(recovered), dated),
      ...recovered.flatMap((part) => entry('bad_debt_recovered', about, part.amountMinor, later(part.dated, dated))),
    ]
  const taxMinor = sumMinor(taxes)
  return [
    ...entry('credit_note_made', about, amountMinor - taxMinor, dated),
    ...taxes.flatMap((tax) =>
      entry('credit_note_made', about, tax.amountMinor, dated, { posted: postedTax(tax), side: 'debit' }),
    ),
  ]
}

export const POSITIVE_KINDS = ['opening_balance', 'refund', 'interest'] as const
export type PositiveKind = (typeof POSITIVE_KINDS)[number]

export interface PostedPositive {
  id: Id
  kind: PositiveKind
  dated: IsoDate
  amountMinor: bigint
}

const POSITIVE_EVENTS = {
  refund: 'refund_paid',
  opening_balance: 'opening_balance_set',
  interest: 'interest_charged',
} as const

/** Returns the entries of a positive adjustment: owed, against cash, the opening balance or interest; never revenue or tax. */
export const postingsOfPositive = ({ id, kind, dated, amountMinor }: PostedPositive): Posting[] =>
  entry(POSITIVE_EVENTS[kind], { recordType: 'positive_adjustment', recordId: id }, amountMinor, dated)

export interface PostedAllocation {
  id: Id
  /** The later of the two documents' days, unless that was locked. */
  dated: IsoDate
  amountMinor: bigint
  /** The day on which a failure or return of the payment took it away; null while it stands. */
  endedOn: IsoDate | null
}

/** Returns the entries of an allocation: money given meets money owed. */
export function postingsOfAllocation({ id, dated, amountMinor, endedOn }: PostedAllocation): Posting[] {
  const about: About = { recordType: 'allocation', recordId: id }
  return [
    ...entry('allocation_made', about, amountMinor, dated),
    ...(endedOn === null ? [] : entry('allocation_ended', about, amountMinor, later(endedOn, dated))),
  ]
}

/** Basis from which a settlement follows: a gross amount of a note, lines of the invoice, the net that the service gives back, or a gross amount of bad debt. */
export type SettlementBasis = 'amount' | 'lines' | 'given_back' | 'relief'

export interface PostedSettlement {
  id: Id
  basis: SettlementBasis
  /** The allocation whose share it was before there were settlements, under which its entries stand; null for any other. */
  oldAllocationId: Id | null
  /** Amounts that it takes back of each tax; the shares of an old one may stand on different days. */
  taxes: readonly (TaxAmount & { dated: IsoDate })[]
}

/**
 * Returns the entries of a settlement: the taxes that it takes back of the invoice. Of a caller's note the gross amount was posted to revenue, of a
 * bad debt to bad_debt.
 */
export const postingsOfSettlement = ({ id, basis, oldAllocationId, taxes }: PostedSettlement): Posting[] =>
  taxes.flatMap((tax) =>
    entry(
      basis === 'relief' ? 'bad_debt_tax_relieved' : 'tax_taken_back',
      oldAllocationId === null
        ? { recordType: 'settlement', recordId: id }
        : { recordType: 'allocation', recordId: oldAllocationId },
      tax.amountMinor,
      tax.dated,
      { posted: postedTax(tax), side: 'debit' },
    ),
  )

/** Returns the key of an entry: two entries with equal keys mean the same. */
const keyOf = (p: Posting): string =>
  [
    p.event,
    p.isReversal,
    p.recordType,
    p.recordId,
    p.debit,
    p.credit,
    p.tax?.name,
    p.tax && decimalText(p.tax.rate),
    p.tax?.taxNumber,
    p.amountMinor,
    p.dated,
  ].join('|')

/**
 * Returns the entries that turn a ledger that holds `before` into one that holds `after`: the reverse of each entry that no longer holds,
 * with the date of the entry it reverses, then the new entries. An entry that did not change posts nothing. Rule: an allocation or a settlement
 * whose day is locked is taken away, as it is made, on the day after the lock; so is a pending payment that moves.
 */
export function postingsOfChange(
  before: readonly Posting[],
  after: readonly Posting[],
  lockDate: IsoDate | null,
): Posting[] {
  const left = new Map<string, number>()
  for (const posting of after) left.set(keyOf(posting), (left.get(keyOf(posting)) ?? 0) + 1)
  const gone: Posting[] = []
  for (const posting of before) {
    const key = keyOf(posting)
    const count = left.get(key) ?? 0
    if (count > 0) left.set(key, count - 1)
    else gone.push(reverseOf(posting, lockDate))
  }
  const made: Posting[] = []
  for (const posting of after.toReversed()) {
    const key = keyOf(posting)
    const count = left.get(key) ?? 0
    if (count === 0) continue
    left.set(key, count - 1)
    made.push({ ...posting, dated: dayOf(posting, lockDate) })
  }
  return [...gone, ...made.toReversed()]
}

const reverseOf = (p: Posting, lockDate: IsoDate | null): Posting => ({
  ...p,
  isReversal: true,
  debit: p.credit,
  credit: p.debit,
  dated: dayOf(p, lockDate),
})

/** Returns the reverse of entries that something ends which happens on a day: no entry is dated before the one that it reverses. */
export const postingsOfEnd = (ended: readonly Posting[], day: IsoDate): Posting[] =>
  ended.map((posting) => ({ ...reverseOf(posting, null), dated: later(day, posting.dated) }))

const dayOf = (posting: Posting, lockDate: IsoDate | null): IsoDate =>
  movesWithLock(posting) ? afterLock(posting.dated, lockDate) : posting.dated

/** Returns whether an entry whose day is locked is made and taken back on the day after the lock; any other is refused before it is posted. */
export const movesWithLock = ({ recordType, event }: { recordType: string; event: string }): boolean =>
  recordType === 'allocation' || recordType === 'settlement' || event === 'payment_begun'

/** Returns the day itself, or the day after the lock where the books of that day are closed. */
export const afterLock = (day: IsoDate, lockDate: IsoDate | null): IsoDate =>
  lockDate !== null && day <= lockDate ? addDays(lockDate, 1) : day
