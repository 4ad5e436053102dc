import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { BankAmount, OverLine, PartLine, StatusLine } from '../../platform/iso20022/result-lines.ts'
import { changesNothing } from '../../platform/iso20022/statuses.ts'
import { type CollectedPayment, type SentPayment, verdictOn, verdictOnCollection } from './bookings.ts'
import type { LineKind } from './kinds.ts'
import type { Remainder } from './references.ts'

/** Rules of result files, as functions of facts: what a line is, and what becomes of it. */

/** Batch that left for the gateway. */
export interface SentBatch {
  id: Id
  gatewayId: Id
  token: string
  currency: string
  actionDate: IsoDate
  payments: readonly CollectedPayment[]
}

/** Payment or batch that a line names. */
export interface NamedByLine {
  /** Of the file's gateway. */
  payment: SentPayment | undefined
  batch: SentBatch | undefined
  /** The payment that it names of another gateway. */
  otherPayment: SentPayment | undefined
  isOtherBatch: boolean
}

/** Why a payment ends without money. */
export type Ending = 'rejected' | 'cancelled'

/** Decision on one line. */
export type Decision =
  /** Changes nothing and is listed nowhere. `isMatched`: it found its payment. */
  | { kind: 'passed'; isMatched: boolean }
  /** Booking of one payment. It is kept, and changes the payment if the ledger does not have it. */
  | { kind: 'booking'; payment: SentPayment; isCredit: boolean; hasChanged: boolean; difference: Remainder | null }
  /** The booking that is kept of its payment or payments, once more. */
  | { kind: 'again'; payment: SentPayment | null }
  /** Status that ends one payment. */
  | { kind: 'ended'; payment: SentPayment; ending: Ending }
  /** Booking of all payments of a batch that have not failed. */
  | { kind: 'collected'; batch: SentBatch }
  /** Status that ends all payments of a batch. */
  | { kind: 'batch_ended'; batch: SentBatch; ending: Ending }
  | Listed

/** Waits for a person. */
export interface Listed {
  kind: 'listed'
  as: LineKind
  code: string | null
  named: SentPayment | null
}

const listed = (as: LineKind, named: SentPayment | null | undefined, code: string | null): Listed => ({
  kind: 'listed',
  as,
  code,
  named: named ?? null,
})

/** Families of direct debits: those that an account issues and, at some banks, those that reach it. */
const ISSUED = 'IDDT'
const RECEIVED = 'RDDT'
/** Sub-families of direct debits that were taken back: unpaid, reversed, recalled. */
const TAKEN_BACK: ReadonlySet<string> = new Set(['UPDD', 'PRDD', 'RCDD'])

const isDirectDebit = ({ family }: PartLine): boolean => family === ISSUED || family === RECEIVED

/** Returns the kind of a part by what its bank states. Without a family, a debit that names a payment of ours returns it. */
export function kindOf(line: PartLine, namesPayment: boolean): LineKind {
  const { isCredit, isReversal, hasReturnInformation, family, subFamily } = line
  if (isCredit === null) return 'other'
  if (isCredit) return isReversal || hasReturnInformation || isDirectDebit(line) ? 'other' : 'credit'
  const isReturn =
    hasReturnInformation ||
    isReversal ||
    family === ISSUED ||
    (family === RECEIVED && subFamily !== null && TAKEN_BACK.has(subFamily)) ||
    (family === null && namesPayment)
  return isReturn ? 'return' : 'other'
}

/** Returns whether a part may book what it names: a credit that takes nothing back, of direct debits or without a family. */
const isSettlement = (line: PartLine): boolean =>
  line.isCredit === true &&
  !line.isReversal &&
  !line.hasReturnInformation &&
  (line.family === null || isDirectDebit(line))

/** Decides on a part of an entry, or an entry as a whole. Rule: only what names a payment or batch of the gateway, with its amount and day, is applied. */
export function decisionOnPart(line: PartLine, named: NamedByLine, fileId: Id): Decision {
  const { payment, batch, otherPayment } = named
  const kind = kindOf(line, (payment ?? otherPayment) !== undefined)
  if (line.isUnreadable) return listed('other', payment ?? otherPayment, UNREADABLE)
  if (line.isContrary) return listed(kind, payment ?? otherPayment, line.code)
  if (payment) return decisionOnNamed(line, kind, payment, fileId)
  if (batch) return decisionOnCollection(line, kind, batch, fileId)
  // What settles a debit of another gateway is no new money of a customer: a file of that gateway settles it.
  const isOther = otherPayment !== undefined || named.isOtherBatch
  return listed(isOther && kind === 'credit' ? 'other' : kind, otherPayment, line.code)
}

/**
 * Returns what becomes of a part whose entry a person has answered by a line of another file. Rule: that answer is the booking of the bank's money, so what
 * would book it once more waits beside it.
 */
export function decisionBehindAnswer(decision: Decision, line: PartLine, { payment }: NamedByLine): Decision {
  if (decision.kind !== 'collected' && decision.kind !== 'booking') return decision
  return listed(kindOf(line, payment !== undefined), payment, line.code)
}

/** Code of a line whose amount, direction or day cannot be used. */
const UNREADABLE = 'unreadable'

function decisionOnNamed(line: PartLine, kind: LineKind, payment: SentPayment, fileId: Id): Decision {
  const isCredit = isSettlement(line)
  if (!isCredit && kind !== 'return') return listed(kind, payment, line.code)
  const amount = line.original ?? line.amount
  const { on } = line.entry
  const fits = (amount === null || isAmountOf(amount, payment)) && on !== null && on >= payment.actionDate
  if (!fits) return listed(kind, payment, line.code)
  // One that its reference makes known never comes here.
  const verdict = verdictOn(payment, { isCredit, on, fileId, isOther: line.isReferenceUnique === true })
  if (verdict === 'listed') return listed(isCredit ? 'credit' : 'return', payment, line.code)
  if (verdict === 'again') return { kind: 'again', payment }
  const difference = differenceOf(line.amount, payment, isCredit)
  return { kind: 'booking', payment, isCredit, hasChanged: verdict === 'changes', difference }
}

function decisionOnCollection(line: PartLine, kind: LineKind, batch: SentBatch, fileId: Id): Decision {
  const { amount, references } = line
  const { on } = line.entry
  const books =
    isSettlement(line) &&
    references.endToEnd === null &&
    amount?.currency === batch.currency &&
    on !== null &&
    on >= batch.actionDate
  if (books) {
    const verdict = verdictOnCollection(batch.payments, { amountMinor: amount.amountMinor, on, fileId })
    if (verdict === 'again') return { kind: 'again', payment: null }
    if (verdict === 'changes') return { kind: 'collected', batch }
  }
  return listed(kind === 'credit' ? 'other' : kind, null, line.code)
}

const isAmountOf = (amount: BankAmount, payment: SentPayment): boolean =>
  amount.amountMinor === payment.amountMinor && amount.currency === payment.currency

/** Code of a bank's charge, as entries have it. */
export const CHARGE = 'CHRG'
/** Code of what is over an entry otherwise. */
const DIFFERENCE = 'difference'

/** Returns by how much a part differs from its payment; between two currencies it cannot be compared. */
function differenceOf(amount: BankAmount | null, payment: SentPayment, isCredit: boolean): Remainder | null {
  if (amount === null || amount.currency !== payment.currency) return null
  return remainderOf(amount.amountMinor - payment.amountMinor, payment.currency, { isCredit, isCharge: true })
}

/** Makes a line's worth of what is over, where there is any: in the direction of the entry, or against it if it is negative. */
function remainderOf(
  overMinor: bigint,
  currency: string,
  { isCredit, isCharge }: { isCredit: boolean; isCharge: boolean },
): Remainder | null {
  if (overMinor === 0n) return null
  const amount = { amountMinor: overMinor < 0n ? -overMinor : overMinor, currency }
  return { amount, isCredit: overMinor > 0n === isCredit, code: isCharge ? CHARGE : DIFFERENCE }
}

/** How far an entry has been worked on when what is over it is decided. */
export interface EntryProgress {
  /** Sum that its parts of unknown amount were applied with. */
  countedMinor: bigint
  /** A part of unknown amount was not applied. */
  hasUnknownPart: boolean
  /** All its parts so far are known, or there again. */
  isKnown: boolean
}

export const ENTRY_BEGUN: EntryProgress = { countedMinor: 0n, hasUnknownPart: false, isKnown: true }

/** Returns an entry's progress behind one more of its parts. */
export function progressBehind(
  progress: EntryProgress,
  line: PartLine,
  decision: Decision | { kind: 'known' },
): EntryProgress {
  const payment = decision.kind === 'booking' || decision.kind === 'again' ? decision.payment : null
  const isUnknown = line.amount === null && payment === null
  return {
    countedMinor: progress.countedMinor + (line.amount === null ? (payment?.amountMinor ?? 0n) : 0n),
    hasUnknownPart: progress.hasUnknownPart || isUnknown,
    isKnown: progress.isKnown && (decision.kind === 'known' || decision.kind === 'again'),
  }
}

/** Returns what is over an entry, less its parts: a charge if the bank kept it. Null if nothing is, or the amount of a part is not known. */
export function overOf({ entry }: OverLine, { countedMinor, hasUnknownPart }: EntryProgress): Remainder | null {
  if (hasUnknownPart || entry.amount === null || entry.isCredit === null) return null
  const overMinor = entry.amount.amountMinor - entry.knownMinor - countedMinor
  const isCharge = entry.isCredit ? overMinor < 0n : overMinor > 0n
  return remainderOf(overMinor, entry.amount.currency, { isCredit: entry.isCredit, isCharge })
}

const ENDINGS: ReadonlyMap<string, Ending> = new Map([
  ['RJCT', 'rejected'],
  ['CANC', 'cancelled'],
])
/** The bank keeps the money: a new debit would take it twice. */
const BLOCKED = 'BLCK'
const PARTLY = 'PART'

/** Decides on a status. Rule: what ends a debit ends its payments; what leaves the money open, or is no word of ours, waits for a person. */
export function decisionOnStatus(line: StatusLine, { payment, batch, otherPayment }: NamedByLine): Decision {
  const { status, scope, code } = line
  const about = payment ?? otherPayment
  const ending = ENDINGS.get(status)
  if (ending !== undefined && scope !== 'payment')
    return batch ? { kind: 'batch_ended', batch, ending } : listed('other', null, code)
  if (ending !== undefined) {
    if (!payment || (line.original && !isAmountOf(line.original, payment))) return listed('return', about, code)
    return payment.failedOn === null ? { kind: 'ended', payment, ending } : { kind: 'passed', isMatched: true }
  }
  if (status === BLOCKED) return listed('return', about, status)
  // A payment in something that was accepted in part has a reason, and no status.
  if (status === PARTLY && line.isInherited) return listed('return', about, code)
  return changesNothing(status) ? { kind: 'passed', isMatched: payment !== undefined } : listed('other', about, status)
}

/**
 * Returns the day of a result that a line brings: its own, but none that is still to come. A bank may book on a later day than the account's, and a
 * result before the day of the debit is one of that day.
 */
export function dayOfResult(
  on: IsoDate | null,
  { actionDate, today }: { actionDate: IsoDate; today: IsoDate },
): IsoDate {
  const last = later(today, actionDate)
  return on !== null && on < last ? on : last
}
