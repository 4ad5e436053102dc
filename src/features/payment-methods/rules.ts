import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { dateOf, daysInMonth } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Gateway } from '../gateways/queries.ts'
import { isReady, kindsOf, primaryGateway } from '../gateways/rules.ts'
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

/** Returns the gateway that a new card goes to: the customer's own if it takes cards, else the account's first choice. */
export function cardGateway(
  gateways: readonly Gateway[],
  customer: { primaryGatewayId: Id | null; currency: string },
): Gateway | undefined {
  const own = gateways.find(({ id }) => id === customer.primaryGatewayId)
  return own && isReady(own) && kindsOf(own).includes('credit_card')
    ? own
    : primaryGateway(gateways, 'credit_card', customer.currency)
}

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

type Mandated = Pick<StoredMethod, 'mandateReference' | 'mandateDate' | 'mandateToken'>

/** The mandate of an edit: a value that was sent, null where it was cleared, undefined where nothing was sent. */
export type SentMandate = { [Name in 'mandateReference' | 'mandateDate']?: StoredMethod[Name] | undefined }

/**
 * Returns the mandate after an edit. Rule: another account ends the link and clears reference and date, unless both are sent; the same account
 * keeps what is not sent.
 */
export function mandateAfter(present: Mandated, sent: SentMandate, isOther: boolean): Mandated {
  const { mandateReference: reference, mandateDate: date } = sent
  if (isOther) {
    const isWhole = reference != null && date != null
    return {
      mandateReference: isWhole ? reference : null,
      mandateDate: isWhole ? date : null,
      mandateToken: null,
    }
  }
  return {
    mandateReference: reference === undefined ? present.mandateReference : reference,
    mandateDate: date === undefined ? present.mandateDate : date,
    mandateToken: present.mandateToken,
  }
}

/** Returns the state after an edit: another account is not verified any more, and a rejected one gets another chance. */
export const stateAfter = (present: MethodState, isOther: boolean): MethodState =>
  isOther || present === 'rejected' ? 'unverified' : present
