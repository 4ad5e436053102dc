import { addDays, dateOf, daysInMonth, type IsoDate } from '../../kernel/calendar.ts'
import type { MethodState, StoredMethod } from './queries.ts'

/** Which methods are valid, usable and primary, and where a card is kept. */

/** Returns the last day on which a card is valid: the last of its month. */
export const lastDayOf = (expiryYear: number, expiryMonth: number): IsoDate =>
  dateOf(expiryYear, expiryMonth, daysInMonth(expiryYear, expiryMonth))

type Dated = Pick<StoredMethod, 'state' | 'expiryYear' | 'expiryMonth'>

/** Returns whether a method is verified; of a card through the last day of its month. */
export const isValidOn = ({ state, expiryYear, expiryMonth }: Dated, today: IsoDate): boolean =>
  state === 'verified' &&
  (expiryYear === null || expiryMonth === null || today < addDays(lastDayOf(expiryYear, expiryMonth), 1))

interface Account {
  kind: StoredMethod['kind']
  numberHash: Buffer | null
  branchCode: string | null
  routingNumber: string | null
}

/** Returns whether an edit names another bank account: another kind, number, branch or routing number. */
export const isOtherAccount = (edited: Account, present: Account): boolean =>
  edited.kind !== present.kind ||
  edited.branchCode !== present.branchCode ||
  edited.routingNumber !== present.routingNumber ||
  !(edited.numberHash && present.numberHash?.equals(edited.numberHash))

type Mandated = Pick<StoredMethod, 'mandateReference' | 'mandateDate' | 'emandateId' | 'mandateNumberHash'>

/** The mandate of an edit: a value that was sent, null where it was cleared, undefined where nothing was sent. */
export type SentMandate = { [Name in 'mandateReference' | 'mandateDate']?: StoredMethod[Name] | undefined }

/**
 * Returns the mandate after an edit. Rule: another account ends the link and clears reference and date, unless both are sent; the same account
 * keeps what is not sent. A mandate of the same reference goes on, also with another account, and keeps the hash of the one it was given for.
 */
export function mandateAfter(
  present: Mandated & Pick<StoredMethod, 'kind'>,
  sent: SentMandate,
  edited: Pick<StoredMethod, 'kind' | 'numberHash'>,
  isOther: boolean,
): Mandated {
  const isWhole = sent.mandateReference != null && sent.mandateDate != null
  const isKept = !isOther || isWhole
  const mandateReference = isKept ? valueAfter(sent.mandateReference, present.mandateReference) : null
  const goesOn = mandateReference === present.mandateReference && edited.kind === present.kind
  return {
    mandateReference,
    mandateDate: isKept ? valueAfter(sent.mandateDate, present.mandateDate) : null,
    emandateId: isOther ? null : present.emandateId,
    mandateNumberHash:
      mandateReference === null ? null : ((goesOn ? present.mandateNumberHash : null) ?? edited.numberHash),
  }
}

const valueAfter = <T>(sent: T | undefined, present: T): T => (sent === undefined ? present : sent)

/** Returns the state after an edit: another account is not verified any more, and a rejected one gets another chance. */
export const stateAfter = (present: MethodState, isOther: boolean): MethodState =>
  isOther || present === 'rejected' ? 'unverified' : present
