import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { RealClock } from '../../kernel/context.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Links } from '../../platform/page/links.ts'
import type { BankKind } from '../../kernel/rails.ts'
import type { Json } from '../../platform/wire/json.ts'

/** Mandates, their terms and the evidence of their steps. */

export const FREQUENCIES = ['Daily', 'Weekly', 'Monthly', 'Quarterly', 'Yearly', 'Once'] as const

export type Frequency = (typeof FREQUENCIES)[number]

/** The flow in which a mandate is signed: in a frame of the account's own page, or on a page of this service. */
export type Channel = 'embedded' | 'redirect'

/** Person who is to sign, or who signed: the basics of a mandate, which alone a signee may correct. */
export interface Signee {
  name: string
  lastName: string
  company: string | null
  tradingAs: string | null
  tel: string | null
  email: string | null
  address1: string | null
  address2: string | null
  city: string | null
  state: string | null
  /** ISO 3166-1 alpha-3. */
  country: string | null
  postalCode: string | null
}

/** Creditor of a mandate, as it was when the mandate was made. */
export interface Beneficiary {
  name: string
  address: string[]
  tel: string | null
  email: string | null
  webPage: string | null
  /** SEPA's; null where the account has no gateway of SEPA, and for other kinds. */
  creditorIdentifier: string | null
  /** Days of notice before a debit. */
  noticeDays: number
}

/** Terms of a mandate, frozen when it is made. Amounts are decimals in digits. */
export interface Terms {
  bank: { name: string; branchCode: string | null; accountHolder: string; accountType: string }
  frequency: Frequency
  actionDay: number
  startDate: IsoDate
  endDate: IsoDate | null
  nameOnStatement: string
  contractRef: string
  currency: string
  amount: string
  maxAmount: string | null
  escalation: string | null
  isVariable: boolean | null
  beneficiary: Beneficiary
}

export interface NewMandate {
  id: Id
  /** The stored method that it is to be signed for. */
  methodId: Id | null
  channel: Channel
  redirectUrl: string | null
  /** The origin whose pages may show it in a frame; null: any https page that has its token. */
  authOrigin: string | null
  isCustomerEditable: boolean
  isCompanySignee: boolean
  signee: Signee
  terms: Terms
  kind: BankKind
  /** Sealed. */
  number: Buffer
  numberHash: Buffer
  lastFour: string
  /** By the account's clock. */
  createdAt: Instant
  /** In real time. */
  madeAt: Instant
}

export interface Mandate extends NewMandate {
  signedAt: Instant | null
  /** In real time. */
  signedReallyAt: Instant | null
  endedAt: Instant | null
  /** The stored method that it is linked to, or made for. */
  linkedMethodId: Id | null
}

export const EVIDENCE_KINDS = ['created', 'opened', 'declined', 'signed'] as const

export type EvidenceKind = (typeof EVIDENCE_KINDS)[number]

export interface Evidence {
  kind: EvidenceKind
  /** In real time, whatever the account's clock shows. */
  at: Instant
  details: { [name: string]: Json }
  /** SHA-256 in hex of this step and of the hash of the one before. */
  hash: string
}

export interface MandateDeps {
  envelope: Envelope
  links: Links
  realClock: RealClock
}
