import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type {
  BankAmount,
  BankEntry,
  BankReferences,
  PartLine,
  ResultLine,
} from '../../platform/iso20022/result-lines.ts'
import { plainAccount } from '../../platform/iso20022/statement.ts'
import type { LineKind } from './kinds.ts'

/** Names in lines, the texts by which people recognise them, and the texts that two readings of one booking have in common. */

const REFERENCE = /^P([1-9]\d{0,17})-([1-9]\d{0,17})$/

/** Returns the payment that a line names by our reference; null if it names none of this account. */
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

/** Returns whether a line may be about all payments of a batch: a status of a block or file, or a credit that names a batch and no payment. */
export function isAboutBatch(account: AccountId, line: ResultLine): boolean {
  if (line.kind === 'over') return false
  if (line.kind === 'status') return line.scope !== 'payment'
  return (
    line.isCredit === true && paymentIdOf(account, line.references) === null && batchTokenOf(line.references) !== null
  )
}

/** Returns the text by which a person recognises a line: of a return the reference of its payment, of anything else its own text. */
export function referenceOf(line: ResultLine, kind: LineKind): string | null {
  if (line.kind === 'over') return line.bankReference
  const bankReference = line.kind === 'part' ? line.bankReference : null
  return ownReferenceOf(line, kind) ?? bankReference
}

function ownReferenceOf(line: Exclude<ResultLine, { kind: 'over' }>, kind: LineKind): string | null {
  const { endToEnd, instruction, paymentInformation, message } = line.references
  const named = endToEnd ?? instruction ?? paymentInformation ?? message
  const text = line.kind === 'part' ? line.text : null
  // Of a bank that names debits by its own traces, the text has our reference as it is written, and the trace.
  const isByText = kind !== 'return' || (line.kind === 'part' && line.isReferenceUnique)
  return isByText ? (text ?? named) : (named ?? text)
}

/** Digits of an invoice's number; longer ones are accounts and references. */
const NUMBER = /(?<![\d])0*([1-9]\d{0,14})(?![\d])/g
const NUMBERS_MAX = 20

/** Returns the numbers in a text that may be those of invoices. */
export const numbersIn = (text: string | null): bigint[] =>
  [...new Set(Array.from((text ?? '').matchAll(NUMBER), ([, digits = '']) => digits))].slice(0, NUMBERS_MAX).map(BigInt)

/** Piece of an entry that is listed for itself: the difference of a part from its original amount, or what is over. */
export interface Remainder {
  amount: BankAmount
  isCredit: boolean
  code: string
}

/** Texts of which two lines have one in common if they may be the same money. */
export interface Likeness {
  /** Equal in account, direction, amount, day, reference and name. */
  own: string
  /** The text that lines had which were read before bank references stood apart from texts; null if it is the same. */
  ofBefore: string | null
  /** Equal in all these but the day, and in the bank's reference; null for a line without one. */
  byReference: string | null
}

const moneyOf = (amount: BankAmount | null) => [amount?.currency ?? null, amount?.amountMinor.toString() ?? null]

/** Returns the likeness of a line. A remainder is like other remainders, not like the rest of its entry. */
export function likenessOf(line: ResultLine, kind: LineKind, remainder: Remainder | null): Likeness {
  if (line.kind === 'status') {
    const about = [line.status, line.scope, line.on, ...moneyOf(line.original), ownReferenceOf(line, kind), line.name]
    return { own: JSON.stringify(about), ofBefore: null, byReference: null }
  }
  const { entry, bankReference } = line
  const [isCredit, amount] =
    line.kind === 'part' ? [line.isCredit, line.amount] : [remainder?.isCredit ?? null, remainder?.amount ?? null]
  const [reference, name] = line.kind === 'part' ? [ownReferenceOf(line, kind), line.name] : [null, null]
  const suffix = remainder === null ? '' : `\n${remainder.code}`
  const text = (on: IsoDate | null, own: string | null) =>
    `${JSON.stringify([plainAccount(entry.account), isCredit, on, ...moneyOf(amount), own, name])}${suffix}`
  return {
    own: text(entry.on, reference),
    ofBefore: reference === null && bankReference !== null ? text(entry.on, bankReference) : null,
    byReference: bankReference === null ? null : JSON.stringify([bankReference, text(null, reference)]),
  }
}

/** Returns the account that references of banks are kept for: if a statement names none, it is that of its gateway. */
const accountOf = (entry: BankEntry, gatewayId: Id): string => plainAccount(entry.account) ?? `gateway ${gatewayId}`

/**
 * Returns the text of one booking by its real reference, direction, amount, currency and, unless it is unique, day; null if its bank gives no reference. `named` is
 * the payment or batch that it names: it is another booking of the same money for one that names nothing.
 */
export function bookingKeyOf(
  line: ResultLine,
  { gatewayId, remainder, named }: { gatewayId: Id; remainder: Remainder | null; named: string | null },
): string | null {
  if (line.kind === 'status' || line.bankReference === null) return null
  const isCredit = remainder?.isCredit ?? (line.kind === 'part' ? line.isCredit : null)
  const amount = remainder?.amount ?? (line.kind === 'part' ? line.amount : null)
  const { entry, bankReference } = line
  return JSON.stringify([
    'booking',
    accountOf(entry, gatewayId),
    bankReference,
    isCredit,
    ...moneyOf(amount),
    line.kind === 'part' && line.isReferenceUnique ? null : entry.on,
    named,
  ])
}

/** Returns the text of an entry by its own reference, which a sum and its parts have in common; null if it has none, or cannot be read. */
export function entryKeyOf(line: PartLine, gatewayId: Id): string | null {
  const { entry } = line
  if (entry.bankReference === null || entry.amount === null || entry.on === null || entry.isUnreadable) return null
  return JSON.stringify([
    'entry',
    accountOf(entry, gatewayId),
    entry.bankReference,
    entry.isCredit,
    ...moneyOf(entry.amount),
    entry.on,
  ])
}
