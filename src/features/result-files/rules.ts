import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { BankAmount, BankReferences, EntryLine, StatusLine } from '../../platform/iso20022/result-lines.ts'

/** Rules of result files, as functions of facts: what a line is, which payment it is about, and whether it is applied by itself. */

export const LINE_KINDS = ['return', 'credit', 'other'] as const
export type LineKind = (typeof LINE_KINDS)[number]

export const LINE_STATES = ['open', 'applied', 'closed'] as const
export type LineState = (typeof LINE_STATES)[number]

/** Line of a file that is about money. */
export type MoneyLine = EntryLine | StatusLine

/** Payment in a batch that left for the gateway. */
export interface SentPayment {
  id: Id
  customerId: CustomerId
  gatewayId: Id
  batchToken: string
  amountMinor: bigint
  currency: string
  actionDate: IsoDate
  /** The day since which it has failed; null while it has not. */
  failedOn: IsoDate | null
}

/** Batch that left for the gateway. */
export interface SentBatch {
  id: Id
  gatewayId: Id
  token: string
  currency: string
  actionDate: IsoDate
  /** Of its lines that have not failed. */
  openMinor: bigint
}

/** Decision on one line. */
export type Decision =
  /** Changes nothing and is listed nowhere. `isMatched`: it found its payment. */
  | { kind: 'passed'; isMatched: boolean }
  /** A result of one payment. `beyondMinor`: by how much the entry is more or less than the payment, which is a fee of the bank. */
  | { kind: 'result'; payment: SentPayment; isSuccess: boolean; beyondMinor: bigint }
  /** A result of all payments of a batch that have none like it. */
  | { kind: 'results'; batch: SentBatch; isSuccess: boolean }
  /** Waits for a person; `proposed` is the payment that it may be about. */
  | { kind: 'listed'; as: LineKind; proposed: Id | null }

/** Payment or batch of the file's gateway that a line names. */
export interface KnownOfLine {
  payment: SentPayment | undefined
  batch: SentBatch | undefined
  /** It names one that left for another gateway. */
  isOfOtherGateway: boolean
}

/** Families of direct debits: those that an account issues and, at some banks, those that reach it. */
const ISSUED = 'IDDT'
const RECEIVED = 'RDDT'
/** Sub-families of direct debits that were taken back: unpaid, reversed, recalled. */
const TAKEN_BACK: ReadonlySet<string> = new Set(['UPDD', 'PRDD', 'RCDD'])

const isDirectDebit = ({ family }: EntryLine): boolean => family === ISSUED || family === RECEIVED

/** Returns what an entry is by what its bank states, whoever's it is. */
export function kindOfEntry(line: EntryLine): LineKind {
  const { isCredit, isReversal, isContrary, hasReturnInformation, family, subFamily } = line
  if (isContrary) return 'other'
  if (isCredit) return isReversal || hasReturnInformation || isDirectDebit(line) ? 'other' : 'credit'
  const isReturn =
    hasReturnInformation ||
    isReversal ||
    family === ISSUED ||
    (family === RECEIVED && subFamily !== null && TAKEN_BACK.has(subFamily))
  return isReturn ? 'return' : 'other'
}

const REFERENCE = /^P([1-9]\d{0,17})-([1-9]\d{0,17})$/

/** Returns the payment that a line names by our reference; null where it names none of this account. */
export function paymentIdOf(account: AccountId, { endToEnd, instruction }: BankReferences): Id | null {
  for (const reference of [endToEnd, instruction]) {
    const [, ofAccount, payment] = REFERENCE.exec(reference ?? '') ?? []
    if (payment !== undefined && ofAccount === String(account)) return BigInt(payment)
  }
  return null
}

const TOKEN = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(?:-\d{1,2})?$/i

const tokenIn = (reference: string | null): string | null => {
  const [, ...parts] = TOKEN.exec(reference ?? '') ?? []
  return parts.length === 0 ? null : parts.join('-').toLowerCase()
}

/** Returns the token of the batch that a line names: by its block of payments, or by its message. */
export const batchTokenOf = ({ paymentInformation, message }: BankReferences): string | null =>
  tokenIn(paymentInformation) ?? tokenIn(message)

/** Returns whether a line may be about all payments of a batch: it names one, and no payment. */
export const isAboutBatch = (account: AccountId, line: MoneyLine): boolean =>
  line.kind === 'status' && line.scope !== 'payment'
    ? true
    : paymentIdOf(account, line.references) === null && batchTokenOf(line.references) !== null

/** Decides on a line. Rule: only what names a payment or batch of the gateway, and has its amount and day, is applied by itself. */
export const decisionOn = (line: MoneyLine, known: KnownOfLine): Decision =>
  line.kind === 'status' ? decisionOnStatus(line, known) : decisionOnEntry(line, known)

const REJECTED = 'RJCT'

function decisionOnStatus(line: StatusLine, { payment, batch }: KnownOfLine): Decision {
  if (line.status !== REJECTED) return { kind: 'passed', isMatched: payment !== undefined }
  if (line.scope !== 'payment')
    return batch ? { kind: 'results', batch, isSuccess: false } : { kind: 'listed', as: 'other', proposed: null }
  if (!payment) return { kind: 'listed', as: 'return', proposed: null }
  if (line.original && !isAmountOf(line.original, payment))
    return { kind: 'listed', as: 'return', proposed: payment.id }
  return { kind: 'result', payment, isSuccess: false, beyondMinor: 0n }
}

function decisionOnEntry(line: EntryLine, { payment, batch, isOfOtherGateway }: KnownOfLine): Decision {
  const kind = kindOfEntry(line)
  if (payment) return decisionOnNamed(line, kind, payment)
  if (batch && isBookingOf(line, batch)) return { kind: 'results', batch, isSuccess: true }
  // What settles a debit of another gateway is no new money of a customer: a file of that gateway settles it.
  return { kind: 'listed', as: isOfOtherGateway && kind === 'credit' ? 'other' : kind, proposed: null }
}

/** Decides on an entry that names a payment. Our reference stands in no other money, so a bank that states no family is believed. */
function decisionOnNamed(line: EntryLine, kind: LineKind, payment: SentPayment): Decision {
  const isPlain = !line.isContrary && !line.isReversal && !line.hasReturnInformation
  const mayBeDebit = line.family === null || isDirectDebit(line)
  const isSettled = line.isCredit && isPlain && mayBeDebit
  const isReturned = kind === 'return' || (!line.isCredit && isPlain && line.family === null)
  const amount = line.original ?? line.amount
  const fits = amount !== null && isAmountOf(amount, payment) && line.on >= payment.actionDate
  if (!(isSettled || isReturned) || !fits)
    return { kind: 'listed', as: isReturned ? 'return' : kind, proposed: payment.id }
  // A statement may come after the notification of what befell the money later.
  if (isSettled && payment.failedOn !== null)
    return line.on <= payment.failedOn
      ? { kind: 'passed', isMatched: true }
      : { kind: 'listed', as: 'credit', proposed: payment.id }
  return { kind: 'result', payment, isSuccess: isSettled, beyondMinor: beyond(line.amount, payment) }
}

const isAmountOf = (amount: BankAmount, payment: SentPayment): boolean =>
  amount.amountMinor === payment.amountMinor && amount.currency === payment.currency

/** Returns by how much an entry differs from its payment; charges in another currency cannot be compared. */
function beyond(amount: BankAmount | null, payment: SentPayment): bigint {
  if (amount === null || amount.currency !== payment.currency) return 0n
  const difference = amount.amountMinor - payment.amountMinor
  return difference < 0n ? -difference : difference
}

const isBookingOf = (line: EntryLine, batch: SentBatch): boolean =>
  line.isCredit &&
  !line.isContrary &&
  !line.isReversal &&
  !line.hasReturnInformation &&
  (line.family === null || isDirectDebit(line)) &&
  line.references.endToEnd === null &&
  line.amount?.amountMinor === batch.openMinor &&
  line.amount.currency === batch.currency &&
  line.on >= batch.actionDate

/** Returns the text by which a person recognises a line: of a return the reference of its payment, of anything else its own text. */
export function referenceOf(line: MoneyLine, kind: LineKind): string | null {
  const { endToEnd, instruction, paymentInformation, message } = line.references
  const named = endToEnd ?? instruction ?? paymentInformation ?? message
  const text = line.kind === 'entry' ? line.text : null
  return (kind === 'return' ? (named ?? text) : (text ?? named)) ?? bankReferenceOf(line)
}

/** Returns the account that a line is of in one spelling, whatever its bank spells; a status has none. */
export const accountOf = (line: MoneyLine): string | null => (line.kind === 'entry' ? plainAccount(line.account) : null)

/** Returns an account's number without its spaces and in capitals. */
export const plainAccount = (account: string | null): string | null =>
  account?.replaceAll(' ', '').toUpperCase() ?? null

/** Returns the bank's own reference of a line; a status has none. */
export const bankReferenceOf = (line: MoneyLine): string | null => (line.kind === 'entry' ? line.bankReference : null)

/**
 * Returns the day of a result that a line brings: its own, but none that is still to come. A bank may book on a later day than the account's, and a
 * result before the day of the debit is one of that day.
 */
export const dayOfResult = (on: IsoDate, { actionDate, today }: { actionDate: IsoDate; today: IsoDate }): IsoDate => {
  const last = today < actionDate ? actionDate : today
  return on < last ? on : last
}

/** Digits of an invoice's number; longer ones are accounts and references. */
const NUMBER = /(?<![\d])0*([1-9]\d{0,14})(?![\d])/g
const NUMBERS_MAX = 20

/** Returns the numbers in a text that may be those of invoices. */
export const numbersIn = (text: string | null): bigint[] =>
  [...new Set(Array.from((text ?? '').matchAll(NUMBER), ([, digits = '']) => digits))].slice(0, NUMBERS_MAX).map(BigInt)

/** Returns the text of which two lines that may be one have the same: account, day, direction, amount, reference and name. */
export function likenessOf(line: MoneyLine, kind: LineKind): string {
  const amount = line.kind === 'entry' ? line.amount : line.original
  const direction = line.kind === 'entry' ? [line.account, line.isCredit] : [line.status, line.scope]
  const money = [amount?.currency ?? null, amount?.amountMinor.toString() ?? null]
  return JSON.stringify([...direction, line.on, ...money, referenceOf(line, kind), line.name])
}
