/** The conduct of cards by their numbers: those that Stripe publishes for tests. Any other number that checks is charged. */

export interface Card {
  number: string
  brand: string
  /** A word of Stripe's `decline_code` by which it is refused; if it is refused already when it is stored, `isRefusedAtOnce`. */
  declines?: string
  isRefusedAtOnce?: boolean
  advice?: 'confirm_card_data' | 'do_not_try_again' | 'try_again_later'
  /** The bank wants to see the customer: always, or only until the card was stored with the customer there. */
  challenge?: 'always' | 'until stored'
  /** Charges are disputed as soon as they are made; an enquiry moves no money. */
  dispute?: { reason: string; isEnquiry: boolean }
  /** Refunds of its charges are pending first, or fail after they succeeded; the simulator's clock or its console brings that. */
  refunds?: 'later' | 'fail'
  /** Ten days after a charge its money is given back at the console, or half of it, or the card is removed there. */
  later?: 'refunded' | 'half refunded' | 'removed'
  /** Charges are `processing` until the console settles them. */
  settlesLater?: boolean
}

const REFUSED: [number: string, code: string][] = [
  ['4000000000000002', 'generic_decline'],
  ['4000000000009995', 'insufficient_funds'],
  ['4000000000009987', 'lost_card'],
  ['4000000000009979', 'stolen_card'],
  ['4000000000000069', 'expired_card'],
  ['4000000000000127', 'incorrect_cvc'],
  ['4000000000000119', 'processing_error'],
  ['4000000000006975', 'card_velocity_exceeded'],
  ['4100000000000019', 'fraudulent'],
]

const OTHERS: Record<string, Omit<Card, 'number' | 'brand'>> = {
  '4000000000000341': { declines: 'generic_decline' },
  '4000002500003155': { challenge: 'until stored' },
  '4000002760003184': { challenge: 'always' },
  '4000008260003178': { challenge: 'until stored', declines: 'insufficient_funds' },
  '4000000000003220': { challenge: 'always' },
  '4000000000000259': { dispute: { reason: 'fraudulent', isEnquiry: false } },
  '4000000000002685': { dispute: { reason: 'product_not_received', isEnquiry: false } },
  '4000000000001976': { dispute: { reason: 'fraudulent', isEnquiry: true } },
  '4000000000007726': { refunds: 'later' },
  '4000000000005126': { refunds: 'fail' },
  // Stripe has no numbers for these; they are those of this project's sandbox.
  '4000000000003162': { later: 'refunded' },
  '4000000000005563': { later: 'half refunded' },
  '4000000000006116': { later: 'removed' },
}

/** Names of Stripe's test payment methods, which an API call may use in place of a number. */
const TOKENS: Record<string, string> = {
  pm_card_visa: '4242424242424242',
  pm_card_mastercard: '5555555555554444',
  pm_card_amex: '378282246310005',
  pm_card_chargeDeclined: '4000000000000002',
  pm_card_chargeDeclinedInsufficientFunds: '4000000000009995',
  pm_card_chargeDeclinedLostCard: '4000000000009987',
  pm_card_chargeDeclinedStolenCard: '4000000000009979',
  pm_card_chargeDeclinedExpiredCard: '4000000000000069',
  pm_card_chargeDeclinedProcessingError: '4000000000000119',
  pm_card_chargeCustomerFail: '4000000000000341',
  pm_card_authenticationRequired: '4000002760003184',
  pm_card_authenticationRequiredOnSetup: '4000002500003155',
  pm_card_createDispute: '4000000000000259',
  pm_card_createDisputeProductNotReceived: '4000000000002685',
  pm_card_createDisputeInquiry: '4000000000001976',
  pm_card_pendingRefund: '4000000000007726',
  pm_card_refundFail: '4000000000005126',
}

const BRANDS: [start: RegExp, brand: string][] = [
  [/^4/, 'visa'],
  [/^(?:5[1-5]|2[2-7])/, 'mastercard'],
  [/^3[47]/, 'amex'],
  [/^6/, 'discover'],
]

/** Returns the card of a number. Its conduct may be given anew, as of a card that Stripe has no number for. */
export function cardOf(number: string, conduct: Partial<Omit<Card, 'number'>> = {}): Card {
  const refused = REFUSED.find(([known]) => known === number)?.[1]
  const brand = BRANDS.find(([start]) => start.test(number))?.[1] ?? 'unknown'
  const known = refused === undefined ? OTHERS[number] : { declines: refused, isRefusedAtOnce: true }
  return { number, brand, ...known, ...conduct }
}

/** Returns the card of a name such as `pm_card_visa`; undefined for any other. */
export const cardOfToken = (token: string) => (TOKENS[token] === undefined ? undefined : cardOf(TOKENS[token]))

/** Whether the last digit checks (Luhn). */
export function isNumber(number: string): boolean {
  const sum = [...number].toReversed().reduce((sum, digit, at) => {
    const value = Number(digit) * (at % 2 === 1 ? 2 : 1)
    return sum + (value > 9 ? value - 9 : value)
  }, 0)
  return /^\d{12,19}$/.test(number) && sum % 10 === 0
}

/** The codes of card errors that are words of their own; all other refusals are `card_declined`. */
const OWN_CODES = new Set([
  ...[
    'expired_card',
    'incorrect_cvc',
    'incorrect_number',
    'invalid_cvc',
    'invalid_expiry_month',
    'invalid_expiry_year',
  ],
  ...['processing_error', 'authentication_required', 'incorrect_zip'],
])

/** Returns the `code` that goes with a `decline_code`. */
export const codeOf = (decline: string) => (OWN_CODES.has(decline) ? decline : 'card_declined')
