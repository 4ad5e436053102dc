import type { Instant } from '../../kernel/calendar.ts'
import type { CardBrand } from '../../kernel/bank-numbers.ts'
import type { CardNumber } from '../../kernel/card-number.ts'
import type { Id } from '../../kernel/ids.ts'

/** Cards that are to be stored at a gateway: for whom, and what a page needs for it. */

/** Who pays. */
export interface Payer {
  customerId: Id
  name: string
  email: string | null
  /** ISO 3166-1 alpha-2. */
  country: string | null
  postalCode: string | null
}

/** A card that was to be stored. */
export interface Storing {
  /** Random; what the gateway stores is found again by it. */
  reference: string
  /** The gateway's name of the storing, as it is kept; null: none is. */
  gatewayReference: string | null
  sentAt: Instant | null
}

/** A card that is to be entered into the gateway's own fields. */
export interface StoringToBegin extends Storing {
  /** Null where it is not known yet whose card it will be. */
  payer: Payer | null
  /** Token of a card that the payer has there; null: none is known. */
  besideToken: string | null
  /** It may be charged later without the payer. */
  isForLater: boolean
}

/** Facts with which the script of a page has the gateway's own script do something; they are kept and logged nowhere. */
export interface ClientFacts {
  publishableKey: string
  clientSecret: string
}

export interface CardToStore {
  /** Random; what the gateway stores is found again by it. */
  reference: string
  number: CardNumber
  cardType: CardBrand
  expiryMonth: number
  expiryYear: number
  nameOnCard: string
  lastNameOnCard: string
}
