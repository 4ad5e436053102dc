import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { CardBrand } from '../../kernel/bank-numbers.ts'
import type { CardNumber } from '../../kernel/card-number.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { BankKind, DeclineClass } from '../../kernel/rails.ts'
import type { GatewayFacts, GatewayType } from './facts.ts'

/**
 * The contract of gateways. An adapter translates between a gateway and these words; it knows no payment, invoice or customer.
 *
 * Every call is made outside of any transaction, after its intent was committed, and names the reference that it is made under. The same
 * reference is the same charge, refund or card however often it arrives. A call never throws for what a gateway answers or fails to
 * answer: `not_sent` where the request surely did not reach it, `unknown` where it may have. `ask…` and `find…` report the present truth.
 */

/** Facts of a call: whose gateway it is, and the clock of that account. */
export interface GatewayCall {
  accountId: AccountId
  gatewayId: bigint
  /** As they were accepted by `settings`, secrets included. */
  settings: Readonly<Record<string, unknown>>
  now: Instant
  today: IsoDate
  /** Aborted when the caller waits no longer: the call then answers `unknown`. */
  signal: AbortSignal
}

/** Nobody knows yet what happened: the gateway is asked again. */
export interface Unknown {
  kind: 'unknown'
}

/** The request surely did not reach the gateway. */
export interface NotSent {
  kind: 'not_sent'
}

/** The gateway is held: nothing was sent to it, and nothing is before somebody has released it. */
export interface Held {
  kind: 'held'
}

/** The gateway knows nothing under the reference. */
export interface None {
  kind: 'none'
}

export interface Declined {
  kind: 'declined'
  class: DeclineClass
  /** The gateway's own code, and its sentence for a person; neither holds a number of a card or account. */
  code: string
  message: string
  /** The day it is known. */
  on: IsoDate
}

export interface Succeeded {
  kind: 'succeeded'
  /** The gateway's name of it, which a person finds in its console. */
  gatewayReference: string
  /** The day the money counts as moved. */
  on: IsoDate
}

export interface Pending {
  kind: 'pending'
  gatewayReference: string
}

/** The customer has to confirm, at the url where there is one; one that begins with ./ lies below the page that shows it. */
export interface RequiresAction {
  kind: 'requires_action'
  gatewayReference: string
  url: string | null
}

export type Outcome = Succeeded | Pending | Declined | RequiresAction | Unknown | NotSent | Held

/** An event in the life of a charge after it had succeeded. The references are unique within the gateway. */
export interface ChargeChange {
  kind: 'returned' | 'disputed' | 'dispute_won'
  reference: string
  on: IsoDate
  /** May be less than the charge. */
  amountMinor: bigint
  class: DeclineClass
  code: string
  message: string
}

/** The present truth about a charge: its outcome, and what befell it since, oldest first. */
export interface ChargeState {
  outcome: Outcome | None
  changes: readonly ChargeChange[]
}

export interface ChargeToMake {
  /** The payment's identifier as text. */
  reference: string
  /** Of the stored card. */
  token: string
  /** In minor units of the currency, over 0. */
  amountMinor: bigint
  currency: string
  isCustomerPresent: boolean
  /** The page to which a present customer is sent back once they have confirmed; null where nobody knows its address. */
  returnUrl?: string | null
}

export interface Refund {
  /** The refund's identifier as text; references of refunds are a sequence of their own. */
  reference: string
  chargeReference: string
  amountMinor: bigint
  currency: string
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

export interface StoredCard {
  /** The gateway's name of the card, which charges it. */
  token: string
  /** Equal for the same card number, as the gateway knows it; null where it compares none. */
  fingerprint: string | null
  cardType: CardBrand
  lastFour: string
  expiryMonth: number
  expiryYear: number
}

export type StoreOutcome = ({ kind: 'stored' } & StoredCard) | Declined | Unknown | NotSent

export interface AccountToVerify {
  kind: BankKind
  accountType: string
  accountHolder: string
  bank: string
  accountNumber: string | null
  branchCode: string | null
  routingNumber: string | null
  iban: string | null
  bic: string | null
}

export type AccountAnswer = { kind: 'accepted' } | { kind: 'refused'; reason: string } | Unknown | NotSent

/** A structured address. */
export interface PayerAddress {
  street: string | null
  postalCode: string | null
  town: string
  /** ISO 3166-1 alpha-2. */
  country: string
}

/** A debit of a bank account, as a batch carries it. */
export interface LineToBuild extends AccountToVerify {
  paymentId: Id
  /** Unique in the installation: `P<account>-<paymentID>`. */
  reference: string
  /** In minor units of the batch's currency, over 0. */
  amountMinor: bigint
  mandateReference: string | null
  mandateDate: IsoDate | null
  /** The account is another than at the last debit under this mandate. */
  hasAccountChanged: boolean
  /** Of the invoices that it pays, for the payer to read; may be empty. */
  invoiceNumbers: readonly string[]
  /** The address of the payer, as far as town and country are known. */
  address?: PayerAddress | null
  isCompany?: boolean
  /** How often the eMandate may debit that the payer signed on a page of this service; null or left out: there is none. */
  signedHere?: 'once' | 'recurring' | null
  /** Repeats a debit of the same amount that came back for want of funds. */
  isRepeat?: boolean
}

export interface BatchToBuild {
  token: string
  batchId: Id
  currency: string
  actionDate: IsoDate
  submittedAt: Instant
  /** The account's time zone. */
  zone: string
  /** Which file of its gateway it is on the day of its submission, from 0; of a gateway that counts files. */
  fileOfDay: number | null
  lines: readonly LineToBuild[]
}

/** The file of a batch; the bytes are kept as they are. */
export interface BatchFile {
  name: string
  mediaType: string
  bytes: Buffer
}

/** A line that a batch cannot carry, with the reason as a sentence. */
export interface RefusedLine {
  paymentId: Id
  reason: string
}

/** By which the gateway's bank names the debits of payments, unique in the gateway for a long time. */
export type Traces = ReadonlyMap<Id, string>

/**
 * The file that a batch was built into, null where the gateway takes none; or the lines that cannot be built, and the reason where nothing can
 * be built whatever the lines are.
 */
export type Built =
  | { kind: 'built'; file: BatchFile | null; traces?: Traces }
  | { kind: 'refused'; lines: readonly RefusedLine[]; reason?: string }

/** A report of a gateway: nothing but a reason to ask it. */
export interface GatewayReport {
  /** Unique within the gateway: a repeated report has the same. */
  id: string
  about: 'charge' | 'refund' | 'stored'
  /** The charge's or refund's reference; of a stored card its token. */
  reference: string
}

export interface GatewayAdapter extends GatewayFacts {
  /** Tries whether the gateway answers and accepts the Settings. */
  check(call: GatewayCall): Promise<AccountAnswer>

  storeCard?(call: GatewayCall, card: CardToStore): Promise<StoreOutcome>
  /** Reports what is stored under the reference of `storeCard`; none: it never arrived, and never will. */
  findStored?(call: GatewayCall, reference: string): Promise<StoreOutcome | None>
  /** Reports a stored card by its token, as the gateway has it now. */
  askStored?(call: GatewayCall, token: string): Promise<({ kind: 'stored' } & StoredCard) | None | Unknown | NotSent>
  /** Removes a stored card; one that is not there is removed. */
  removeStored?(call: GatewayCall, token: string): Promise<{ kind: 'removed' } | Unknown | NotSent>

  /** Asks the bank about an account; left out: there is no online check. */
  verifyAccount?(call: GatewayCall, account: AccountToVerify): Promise<AccountAnswer>

  charge?(call: GatewayCall, charge: ChargeToMake): Promise<Outcome>
  askCharge?(call: GatewayCall, reference: string): Promise<ChargeState | Unknown | NotSent>
  /** Ends a charge that waits for its customer; answers what it is then. */
  cancelCharge?(call: GatewayCall, reference: string): Promise<Outcome | None>

  /** Answers a charge that waits for its customer in place of their bank; of a gateway that plays the bank itself. */
  playBank?(call: GatewayCall, reference: string, isConfirmed: boolean): Promise<Outcome | None>

  refund?(call: GatewayCall, refund: Refund): Promise<Outcome>
  askRefund?(call: GatewayCall, reference: string): Promise<Outcome | None>

  /** Builds a batch: the same lines give the same file. A gateway that takes batches has it. */
  buildBatch?(call: GatewayCall, batch: BatchToBuild): Promise<Built | Held>
  /**
   * Hands a built batch over; left out: a person does, with the file. The same token is the same batch however often it arrives. Its debits
   * are asked about by `askCharge`, with the payment's identifier as reference.
   */
  submitBatch?(call: GatewayCall, batch: BatchToBuild): Promise<{ kind: 'submitted' } | Unknown | NotSent | Held>

  /** Reads a signed report from its raw bytes; undefined: the signature is wrong or its time, compared with real time, too far away. */
  readReport?(
    whose: Pick<GatewayCall, 'accountId' | 'gatewayId' | 'settings'>,
    raw: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    realNow: Instant,
  ): GatewayReport | undefined
}

/** The gateways that this version has, by their type. */
export type Adapters = ReadonlyMap<GatewayType, GatewayAdapter>
