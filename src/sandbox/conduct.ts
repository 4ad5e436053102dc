import { addDays, dateOf, firstOfNextMonth, type IsoDate } from '../kernel/calendar.ts'

/** The conduct of the sandbox: what becomes of a card and of a charge, by the number of the card and, of one card, by the amount. */

export type Conduct =
  | 'approved'
  | 'declined'
  | 'insufficient_funds'
  | 'expired_card'
  | 'returned'
  | 'returned_and_won'
  | 'half_returned'
  | 'refund_pending'
  | 'refund_fails'
  | 'refunded'
  | 'half_refunded'
  | 'removed'
  | 'renewed'
  | 'requires_action'
  | 'by_amount'

/** Refused already when it is to be stored. */
export const REFUSED_NUMBER = '4000000000000002'

/** By number; any other is approved. */
const CONDUCTS: Record<string, Conduct> = {
  '4000000000000341': 'declined',
  '4000000000009995': 'insufficient_funds',
  '4000000000000069': 'expired_card',
  '4000000000000259': 'returned',
  '4000000000001976': 'returned_and_won',
  '4000000000002685': 'half_returned',
  '4000000000007726': 'refund_pending',
  '4000000000005126': 'refund_fails',
  '4000000000003162': 'refunded',
  '4000000000005563': 'half_refunded',
  '4000000000006116': 'removed',
  '4000000000001232': 'renewed',
  '4000002500003155': 'requires_action',
  '4000000000000077': 'by_amount',
}

export const conductOf = (number: string): Conduct => CONDUCTS[number] ?? 'approved'

/** Days after the charge on which it is returned, or refunded at the console, and after that on which a return is won back. */
const RETURN_DAYS = 10
const WIN_DAYS = 20
/** How long nobody learns what became of a call without an answer. */
export const HIDDEN_MS = 60_000

/** Fate of a charge; code is null unless it is refused. */
export interface ChargeFate {
  state: 'succeeded' | 'declined' | 'requires_action' | 'lost'
  code: string | null
  /** No answer comes back, whatever is in the book. */
  isHidden: boolean
  returnedOn: IsoDate | null
  returnedMinor: bigint | null
  wonOn: IsoDate | null
  /** At the console of the sandbox. */
  refundedOn: IsoDate | null
  refundedMinor: bigint | null
}

const APPROVED: ChargeFate = {
  state: 'succeeded',
  code: null,
  isHidden: false,
  returnedOn: null,
  returnedMinor: null,
  wonOn: null,
  refundedOn: null,
  refundedMinor: null,
}
const declined = (code: string): ChargeFate => ({ ...APPROVED, state: 'declined', code })
const returned = (today: IsoDate, amountMinor: bigint): ChargeFate => ({
  ...APPROVED,
  returnedOn: addDays(today, RETURN_DAYS),
  returnedMinor: amountMinor,
})
const refunded = (today: IsoDate, amountMinor: bigint): ChargeFate => ({
  ...APPROVED,
  refundedOn: addDays(today, RETURN_DAYS),
  refundedMinor: amountMinor,
})
/** Returns half of an amount, in minor units. Rule: of one cent nothing can be halved, it goes back whole. */
const halfOf = (amountMinor: bigint): bigint => (amountMinor === 1n ? 1n : amountMinor / 2n)

/** Returns the day from which a card that is charged is no more there; null: it stays. */
export const removedFrom = (conduct: Conduct, today: IsoDate): IsoDate | null =>
  conduct === 'removed' ? addDays(today, RETURN_DAYS) : null

interface ChargeFacts {
  conduct: Conduct
  amountMinor: bigint
  today: IsoDate
  isCustomerPresent: boolean
  /** A charge of this card with the customer present asked for an action before. */
  hasAsked: boolean
}

export function chargeFateOf(facts: ChargeFacts): ChargeFate {
  const { conduct, amountMinor, today } = facts
  switch (conduct) {
    case 'declined':
      return declined('card_declined')
    case 'insufficient_funds':
    case 'expired_card':
      return declined(conduct)
    case 'returned':
      return returned(today, amountMinor)
    case 'returned_and_won':
      return { ...returned(today, amountMinor), wonOn: addDays(today, RETURN_DAYS + WIN_DAYS) }
    case 'half_returned':
      return returned(today, halfOf(amountMinor))
    case 'refunded':
      return refunded(today, amountMinor)
    case 'half_refunded':
      return refunded(today, halfOf(amountMinor))
    case 'requires_action':
      return facts.isCustomerPresent && facts.hasAsked ? APPROVED : { ...APPROVED, state: 'requires_action' }
    case 'by_amount':
      return fateByAmount(today, amountMinor)
    default:
      return APPROVED
  }
}

function fateByAmount(today: IsoDate, amountMinor: bigint): ChargeFate {
  switch (amountMinor % 100n) {
    case 5n:
      return declined('card_declined')
    case 51n:
      return declined('insufficient_funds')
    case 54n:
      return declined('expired_card')
    case 68n:
      return returned(today, amountMinor)
    case 91n:
      return { ...APPROVED, isHidden: true }
    case 92n:
      return { ...APPROVED, state: 'lost', isHidden: true }
    default:
      return APPROVED
  }
}

/** Days after the day of a debit on which its result is known. */
export const DEBIT_RESULT_DAYS = 1

const REFUSED_DEBITS: Record<string, string> = {
  '9995': 'debit_insufficient_funds',
  '9912': 'debit_account_closed',
  '9930': 'debit_no_mandate',
}

/** Returns the fate of a debit by the last four places of its account; `settlesOn` is the day of its result, and returns count from it. */
export function debitFateOf(number: string, amountMinor: bigint, settlesOn: IsoDate): ChargeFate {
  const lastFour = number.slice(-4)
  const code = REFUSED_DEBITS[lastFour]
  if (code !== undefined) return declined(code)
  return lastFour === '9968' ? returned(settlesOn, amountMinor) : APPROVED
}

/** Fate of a refund: refused, at once, pending until a day, or taken back on a day. */
export interface RefundFate {
  state: 'succeeded' | 'declined'
  code: string | null
  settlesOn: IsoDate | null
  failsOn: IsoDate | null
}

export function refundFateOf(conduct: Conduct, amountMinor: bigint, today: IsoDate): RefundFate {
  const at = { state: 'succeeded', code: null, settlesOn: null, failsOn: null } as const
  if (conduct === 'by_amount' && amountMinor % 100n === 5n) return { ...at, state: 'declined', code: 'refund_refused' }
  if (conduct === 'refund_pending') return { ...at, settlesOn: addDays(today, 1) }
  if (conduct === 'refund_fails') return { ...at, failsOn: addDays(today, 1) }
  return at
}

const RENEWED_YEARS = 3

/** Returns the first day on which a card that is renewed has its next expiry. */
export const renewedFrom = (year: number, month: number): IsoDate => firstOfNextMonth(dateOf(year, month, 1))

/** Returns the expiry of a card on a day, and how often it has been renewed by then: cards that are renewed live three years longer each time. */
export function expiryOn(
  card: { conduct: Conduct; expiryYear: number; expiryMonth: number },
  today: IsoDate,
): { year: number; month: number; renewals: number } {
  let renewals = 0
  if (card.conduct === 'renewed')
    while (renewedFrom(card.expiryYear + renewals * RENEWED_YEARS, card.expiryMonth) <= today) renewals += 1
  return { year: card.expiryYear + renewals * RENEWED_YEARS, month: card.expiryMonth, renewals }
}

/** Returns the reason why a bank account is refused at its validation, by the last four places of its number; null: it is accepted. */
export const accountRefusalOf = (number: string): string | null => (number.endsWith('9926') ? 'account_refused' : null)
