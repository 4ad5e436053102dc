import type { IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { BankAmount, OverLine, PartLine, StatusLine } from '../../platform/iso20022/result-lines.ts'
import type { SentPayment } from './bookings.ts'
import { entryKeyOf, type Likeness, likenessOf, numbersIn, referenceOf, type Remainder } from './references.ts'
import type { LineKind } from './kinds.ts'
import type { Listed } from './rules.ts'

/**
 * Lines that wait for a person, as they are written: what a decision leaves open, with all that later lines are compared by. Files have many thousands of them:
 * spreads among the properties of an object of that size would cost more than all else here.
 */

export interface LineToList {
  kind: LineKind
  /** Null where the file has no day that can be used. */
  dated: IsoDate | null
  amount: BankAmount | null
  isCredit: boolean | null
  code: string | null
  reference: string | null
  name: string | null
  /** The payment that it names. */
  named: Id | null
  /** By what a payment or an invoice may be proposed; null if nothing may. */
  proposal: Proposal | null
  likeness: Likeness
  hasBankReference: boolean
  /** The text of its entry with its bank reference, which a sum and its parts have in common. */
  entryKey: string | null
  /** It is an entry as a whole. */
  isSum: boolean
  /** Of the entry that it is a part of. */
  entryMinor: bigint | null
  isStatus: boolean
  /** The batch that a status is about. */
  batchId: Id | null
}

export type Proposal =
  | { kind: 'payment'; mandate: string; amount: BankAmount; on: IsoDate }
  | { kind: 'invoice'; numbers: readonly bigint[]; amount: BankAmount }

export interface ListingFacts {
  gatewayId: Id
  /** The batch that a status names. */
  batchId: Id | null
}

/** Returns a line as it waits for a person. */
export const lineToList = (line: PartLine | StatusLine, decision: Listed, facts: ListingFacts): LineToList =>
  line.kind === 'part' ? partToList(line, decision, facts) : statusToList(line, decision, facts)

function partToList(line: PartLine, { as: kind, code, named }: Listed, { gatewayId }: ListingFacts): LineToList {
  const { entry, amount, isCredit } = line
  return {
    reference: referenceOf(line, kind),
    name: line.name,
    kind,
    dated: entry.on,
    amount: line.isUnreadable ? null : amount,
    isCredit,
    code,
    named: named?.id ?? null,
    proposal: named === null && !line.isUnreadable ? proposalOf(line, kind) : null,
    likeness: likenessOf(line, kind, null),
    hasBankReference: line.bankReference !== null,
    entryKey: entryKeyOf(line, gatewayId),
    isSum: entry.isWhole,
    entryMinor: entry.isWhole ? null : (entry.amount?.amountMinor ?? null),
    isStatus: false,
    batchId: null,
  }
}

function statusToList(line: StatusLine, { as: kind, code, named }: Listed, { batchId }: ListingFacts): LineToList {
  const { original, on } = line
  return {
    reference: referenceOf(line, kind),
    name: line.name,
    entryKey: null,
    isSum: false,
    entryMinor: null,
    kind,
    dated: on,
    amount: original,
    isCredit: null,
    code,
    named: named?.id ?? null,
    proposal: named === null && kind === 'return' ? byMandate(line.references.mandate, original, on) : null,
    likeness: likenessOf(line, kind, null),
    hasBankReference: false,
    isStatus: true,
    // What a payment's status leaves open keeps that payment alone from being settled.
    batchId: line.scope === 'payment' ? null : batchId,
  }
}

/** Returns a piece of an entry that is listed for itself: the difference of a part from its payment, or what is over. */
export function remainderToList(
  line: PartLine | OverLine,
  remainder: Remainder,
  payment: Pick<SentPayment, 'id'> | null,
): LineToList {
  return {
    reference: referenceOf(line, 'other'),
    name: line.kind === 'part' ? line.name : null,
    entryKey: null,
    isSum: false,
    entryMinor: null,
    isStatus: false,
    batchId: null,
    kind: 'other',
    dated: line.entry.on,
    amount: remainder.amount,
    isCredit: remainder.isCredit,
    code: remainder.code,
    named: payment?.id ?? null,
    proposal: null,
    likeness: likenessOf(line, 'other', remainder),
    hasBankReference: line.bankReference !== null,
  }
}

/** Rule: a return is proposed a payment by its mandate, a credit an invoice by a number in its text. */
function proposalOf(line: PartLine, kind: LineKind): Proposal | null {
  if (kind === 'return') return byMandate(line.references.mandate, line.original ?? line.amount, line.entry.on)
  if (kind !== 'credit' || line.amount === null) return null
  const numbers = numbersIn(line.text)
  return numbers.length === 0 ? null : { kind: 'invoice', numbers, amount: line.amount }
}

const byMandate = (mandate: string | null, amount: BankAmount | null, on: IsoDate | null): Proposal | null =>
  mandate === null || amount === null || on === null ? null : { kind: 'payment', mandate, amount, on }
