import { addDays, addMonths, dateOf, daysInMonth, type IsoDate, later } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { isSepaReference } from '../../rails/sepa/characters.ts'
import type { Gateway } from '../gateways/queries.ts'
import { isReady, kindsOf, primaryGateway } from '../gateways/rules.ts'
import type { MandateUse, MethodState, StoredMethod } from './queries.ts'

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

/** Months after its last use, or its signature, when a mandate of SEPA lapses (EPC016-06). */
const MANDATE_MONTHS = 36

export interface MandateProblem {
  code: 'mandate_missing' | 'mandate_lapsed' | 'mandate_unfit'
  message: string
}

/**
 * Returns what keeps a mandate from serving a debit on a day, null where nothing does. Rule: reference and day of the signature are known, the bank
 * takes the reference, and the mandate was signed by then and used (or signed) not more than 36 months before.
 */
export function mandateProblem(
  { mandateReference, mandateDate }: Pick<StoredMethod, 'mandateReference' | 'mandateDate'>,
  lastUsedOn: IsoDate | null,
  actionDate: IsoDate,
): MandateProblem | null {
  if (mandateReference === null || mandateDate === null)
    return { code: 'mandate_missing', message: 'it has no MandateReference and MandateDate.' }
  if (!isSepaReference(mandateReference))
    return { code: 'mandate_unfit', message: 'its MandateReference has characters that SEPA does not carry.' }
  if (mandateDate > actionDate)
    return { code: 'mandate_unfit', message: `its mandate is signed on ${mandateDate}, after ${actionDate}.` }
  const usedOn = lastUsedOn === null ? mandateDate : later(lastUsedOn, mandateDate)
  if (addMonths(usedOn, MANDATE_MONTHS) < actionDate)
    return {
      code: 'mandate_lapsed',
      message: `its mandate was last used or signed on ${usedOn}, more than ${MANDATE_MONTHS} months before ${actionDate}.`,
    }
  return null
}

/** Returns whether a mandate goes on with another account than its bank knows: that of its last debit, else the one it was given for. */
export function hasAccountChanged(
  { numberHash, mandateNumberHash }: Pick<StoredMethod, 'numberHash' | 'mandateNumberHash'>,
  { sentNumberHash }: Pick<MandateUse, 'sentNumberHash'>,
): boolean {
  const known = sentNumberHash ?? mandateNumberHash
  return known !== null && !(numberHash && known.equals(numberHash))
}

/** Returns the state after an edit: another account is not verified any more, and a rejected one gets another chance. */
export const stateAfter = (present: MethodState, isOther: boolean): MethodState =>
  isOther || present === 'rejected' ? 'unverified' : present
