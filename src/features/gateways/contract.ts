import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { CardBrand } from '../../kernel/bank-numbers.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { BankKind, DeclineClass } from '../../kernel/rails.ts'
import type { GatewayFacts, GatewayType } from './facts.ts'
import type { CardToStore, ClientFacts, Payer, Storing, StoringToBegin } from './storing.ts'

/**
 * The contract of gateways. An adapter translates between a gateway and these words; it knows no payment, invoice or customer.
 *
 * Every call is made outside of any transaction, after its intent was committed, and names the reference that it is made under: the identifier
 * of the record and the nonce of its intent, `9.Qm3kz0aXw1Yb`, so that neither another installation nor a copy of this one draws the same. Records
 * of earlier versions have no nonce, and their reference is the identifier alone. The same reference is the same charge, refund or card
 * however often it arrives; beside the call's `scope` it names it among all that is at the gateway. A call never throws for what a gateway
 * answers or fails to answer: `not_sent` where the request surely did not reach it, `unknown` where it may have. `ask…` and `find…` report the
 * present truth, and get all facts that the call itself had.
 */

/** Facts of a call: whose gateway it is, and the clock of that account. */
export interface GatewayCall {
  accountId: AccountId
  gatewayId: bigint
  /** The GatewayToken: what stands at the gateway under another scope belongs to somebody else. */
  scope: string
  /** The account is live: whatever the gateway holds for tests is not of it. */
  isLive: boolean
  /** The zone that the gateway's days are written in. */
  timeZone: string
  /** Somebody waits at a page for the answer: of calls that wait for a place these go first. */
  isCustomerPresent: boolean
  /** As they were accepted by `settings`, secrets included. */
  settings: Readonly<Record<string, unknown>>
  now: Instant
  today: IsoDate
  /** Aborted when the caller waits no longer: the call then answers `unknown`. */
  signal: AbortSignal
}

/** Call that makes a charge. */
export interface ChargingCall extends GatewayCall {
  /**
   * Keeps the gateway's name of the charge, committed, before the request that can move money: no name kept, no money moved. It takes the place of
   * the name that the call was given. False: the charge is another's now, and nothing more may be sent for it.
   */
  keep(gatewayReference: string): Promise<boolean>
}

/** Nobody knows yet what happened: the gateway is asked again. */
export interface Unknown {
  kind: 'unknown'
  /** A sentence: the answer was about another charge, by its name, amount, currency or card. */
  mismatch?: string
}

/** The request surely did not reach the gateway, or surely did nothing there. */
export interface NotSent {
  kind: 'not_sent'
  refused?: GatewayRefusal
}

/** The gateway answered, and took nothing: our key, a right that it lacks, or a request that this version of the gateway does not understand. */
export interface GatewayRefusal {
  by: 'key' | 'permission' | 'request'
  /** The gateway's own word for it. */
  code: string
}

/** The gateway is held: nothing was sent to it, and nothing is before somebody has released it. A question whose row keeps no name waits, too: a restore may have lost that. */
export interface Held {
  kind: 'held'
}

/** Nothing was made under the reference, and nothing will be. */
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
  /** The gateway seems to keep the card no more: it is asked about the card itself. */
  isCardGone?: true
}

export interface Succeeded {
  kind: 'succeeded'
  /** The gateway's name of it, which a person finds in its console; null of an outcome by hand. */
  gatewayReference: string | null
  /** The day the money counts as moved. */
  on: IsoDate
}

export interface Pending {
  kind: 'pending'
  gatewayReference: string
  /** Of a debit: the day for which the gateway has it; left out: the day that was asked for. */
  debitOn?: IsoDate
}

/** The customer has to confirm, at the url where there is one; one that begins with ./ lies below the page that shows it. */
export interface RequiresAction {
  kind: 'requires_action'
  gatewayReference: string
  url: string | null
  /** The script of the page does it, with the answer of `clientStep`. */
  step?: 'client'
}

export type Outcome = Succeeded | Pending | Declined | RequiresAction | Unknown | NotSent | Held

/**
 * A movement of money of a charge after it had succeeded. The references are unique within the gateway. `refunded`: given back at the gateway's
 * console, not by us; `refund_failed`: such a refund came back.
 */
export interface ChargeChange {
  kind: 'returned' | 'disputed' | 'dispute_won' | 'refunded' | 'refund_failed'
  reference: string
  /** Of `refund_failed` and `dispute_won`: the reference of the change whose money comes back. */
  undoes?: string
  on: IsoDate
  /** May be less than the charge. */
  amountMinor: bigint
  class: DeclineClass
  code: string
  message: string
  /** Why a person has to book it, as a sentence: its amount is not one of the charge. */
  unbookable?: string
}

/** The present truth about a charge: its outcome, and what befell it since, oldest first. */
export interface ChargeState {
  outcome: Outcome | None
  changes: readonly ChargeChange[]
}

/** A charge as it was or is asked for. */
export interface AskedCharge {
  reference: string
  /** Of the stored card or account; null of a debit that no token stands for, and where the card is known no more. */
  token: string | null
  /** In minor units of the currency, over 0. */
  amountMinor: bigint
  currency: string
  /** The gateway's name of it, as it is kept; null: none is. */
  gatewayReference: string | null
  /** Real time at which it was sent last; null: long ago, or never. */
  sentAt: Instant | null
}

export interface ChargeToMake extends AskedCharge {
  token: string
  isCustomerPresent: boolean
  /** The page to which a present customer is sent back once they have confirmed; null where nobody knows its address. */
  returnUrl: string | null
  /** Words for what is paid, as the customer reads them. */
  description: string
  /** Of the invoices that it pays; may be empty. */
  invoiceNumbers: readonly string[]
  /** Null where it is not known yet who pays. */
  payer: Payer | null
}

export interface Refund {
  /** The refund's own; references of refunds are a sequence of their own. */
  reference: string
  /** The charge that it gives back from. */
  charge: AskedCharge
  amountMinor: bigint
  currency: string
  /** The gateway's name of the refund, as it is kept; null: none is. */
  gatewayReference: string | null
  /** Real time at which it was sent last; null: long ago, or never. */
  sentAt: Instant | null
}

/** A bank account that a gateway keeps with the mandate to debit it. */
export interface StoredAccount {
  /** The gateway's name of the mandate, which debits the account. */
  token: string
  method: BankKind
  currency: string
  accountHolder: string
  bank: string
  lastFour: string
  mandateReference: string | null
  mandateDate: IsoDate
}

/** A card, or an account with its mandate, as the gateway keeps it. */
export type MethodAtGateway = ({ kind: 'stored' } & StoredCard) | ({ kind: 'account' } & StoredAccount)

/** A payer as far as the gateway's own page begins with what is known of them. */
export interface MandatePayer {
  company: string | null
  firstName: string | null
  lastName: string | null
  email: string | null
  street: string | null
  city: string | null
  postalCode: string | null
  /** ISO 3166-1 alpha-2. */
  country: string | null
  /** Two letters. */
  language: string
}

/** A mandate that a payer is to give on a page of the gateway. */
export interface MandateToBegin extends Storing {
  currency: string
  payer: MandatePayer
  /** The page to which they are sent back, however it ends. */
  returnUrl: string
}

/** The page of the gateway on which the mandate is given. */
export interface MandateBegun {
  kind: 'begun'
  gatewayReference: string
  url: string
}

/** `open`: it is not given yet; `signed`: given, and not yet confirmed by the gateway. */
export type MandateFound =
  | ({ kind: 'account' } & StoredAccount)
  | { kind: 'open' }
  | { kind: 'signed' }
  | Declined
  | None
  | Unknown
  | NotSent

export interface StoredCard {
  /** The gateway's name of the card, which charges it. */
  token: string
  /** Equal for the same card number, as the gateway knows it; null where it compares none. */
  fingerprint: string | null
  cardType: CardBrand
  lastFour: string
  expiryMonth: number
  expiryYear: number
  /** Of the card, as the gateway has it; left out: it has none. */
  holderName?: string | null
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

export type AccountAnswer =
  | { kind: 'accepted'; account?: string }
  | { kind: 'refused'; reason: string }
  | Unknown
  | NotSent

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
  /** Its reference as a charge, by which it is asked about. */
  chargeReference: string
  /** In minor units of the batch's currency, over 0. */
  amountMinor: bigint
  mandateReference: string | null
  mandateDate: IsoDate | null
  /** The account is another than at the last debit under this mandate. */
  hasAccountChanged: boolean
  /** Of the invoices that it pays, for the payer to read; may be empty. */
  invoiceNumbers: readonly string[]
  /** Of a gateway that keeps accounts: its name of the mandate. */
  token?: string | null
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

/** Outcome of one line. */
export type LineOutcome = Pending | Declined | Unknown | NotSent

/** Outcomes of lines, by their payments. */
export interface LinesAnswered {
  kind: 'answered'
  outcomes: ReadonlyMap<Id, LineOutcome>
  /** Of one of those that were refused. */
  refused?: GatewayRefusal
}

/** A report of a gateway: nothing but a reason to ask it. It has a reference, a name, or both. */
export interface GatewayReport {
  /** Unique within the gateway: a repeated report has the same, however it comes. */
  id: string
  /** `stored`: a card or account that is kept; `storing`: one that the gateway's own fields or page are to store. Debits are charges. */
  about: 'charge' | 'refund' | 'stored' | 'storing'
  /** Of the charge, refund or storing; of a stored card or account its token. Only what bears the scope of the call is reported with one. */
  reference?: string
  /** The gateway's name of it. */
  gatewayReference?: string
}

/** Reports of one request. Those of another scope, and of tests where the account is live or the reverse, are left out. */
export type ReportsRead = { kind: 'refused' } | { kind: 'read'; reports: readonly GatewayReport[] }

/** Place at which a look at a gateway's reports begins: behind the cursor of the look before, or at an instant of real time. */
export interface ReportsFrom {
  cursor: string | null
  since: Instant
}

export interface ReportsListed {
  kind: 'listed'
  reports: readonly GatewayReport[]
  /** The adapter's own text, with which the next look goes on. */
  cursor: string
  /** There are more than a look reads. */
  isMore: boolean
}

/** Step of a trial. */
export interface TriedStep {
  what: string
  isRight: boolean
  /** The gateway's own names of the requests, for its console. */
  requests: readonly string[]
}

export interface GatewayAdapter extends GatewayFacts {
  /** Asks whether the gateway answers and takes the Settings; `account`: the account there that they open, where it is answered. */
  check(call: GatewayCall): Promise<AccountAnswer>

  storeCard?(call: GatewayCall, card: CardToStore): Promise<StoreOutcome>
  /**
   * Has the gateway's own fields store a card, or takes up a storing that was begun; one that is over there is begun anew, by another name. The name is kept
   * before a page gets what this answers.
   */
  beginStore?(
    call: GatewayCall,
    storing: StoringToBegin,
  ): Promise<
    | { kind: 'begun'; gatewayReference: string; client: ClientFacts }
    | ({ kind: 'stored' } & StoredCard)
    | Unknown
    | NotSent
  >
  /** Reports what is stored under the reference; none: it never arrived, and never will. Declined: the same storing takes another card. */
  findStored?(call: GatewayCall, storing: Storing): Promise<StoreOutcome | None>
  /** Ends a storing that nobody comes back to: none; or the card that it has stored meanwhile. */
  endStore?(call: GatewayCall, storing: Storing): Promise<({ kind: 'stored' } & StoredCard) | None | Unknown | NotSent>
  /** Reports a stored card or account by its token, as the gateway has it now. */
  askStored?(call: GatewayCall, token: string): Promise<MethodAtGateway | None | Unknown | NotSent>
  /** Finds a card that others stored, by a name of the gateway's for it. Ambiguous: the name leads to several cards. */
  findToken?(
    call: GatewayCall,
    token: string,
  ): Promise<MethodAtGateway | { kind: 'ambiguous' } | None | Unknown | NotSent>
  /** Removes a stored card; one that is not there is removed. */
  removeStored?(call: GatewayCall, token: string): Promise<{ kind: 'removed' } | Unknown | NotSent>

  /** Begins a mandate, or a fresh page for the one that was begun under the reference. */
  beginMandate?(call: GatewayCall, mandate: MandateToBegin): Promise<MandateBegun | Unknown | NotSent>
  /** Origins of the pages on which mandates are given. */
  mandateOrigins?: Readonly<Record<'live' | 'test', string>>
  /** Reports what has become of a mandate. */
  findMandate?(call: GatewayCall, storing: Storing): Promise<MandateFound>

  /** Asks the bank about an account; left out: there is no online check. */
  verifyAccount?(call: GatewayCall, account: AccountToVerify): Promise<AccountAnswer>

  charge?(call: ChargingCall, charge: ChargeToMake): Promise<Outcome>
  askCharge?(call: GatewayCall, charge: AskedCharge): Promise<ChargeState | Unknown | NotSent | Held>
  /** Ends a charge that waits for its customer; answers what it is then. */
  cancelCharge?(call: GatewayCall, charge: AskedCharge): Promise<Outcome | None>
  /** Returns what the script of a page needs to have a charge confirmed whose step is `client`. */
  clientStep?(
    call: GatewayCall,
    charge: AskedCharge,
  ): Promise<{ kind: 'client'; client: ClientFacts } | None | Unknown | NotSent>

  /** Answers a charge that waits for its customer in place of their bank; of a gateway that plays the bank itself. */
  playBank?(call: GatewayCall, charge: AskedCharge, isConfirmed: boolean): Promise<Outcome | None>

  refund?(call: GatewayCall, refund: Refund): Promise<Outcome>
  /**
   * A refund whose outcome is not known and that is found not made is sent again under its key, which the gateway keeps with its answer, also an error, for a
   * while. Left out: it counts as not made.
   */
  repeatsRefunds?: true
  askRefund?(call: GatewayCall, refund: Refund): Promise<Outcome | None>

  /** Builds a batch: the same lines give the same file. A gateway that takes batches has it. */
  buildBatch?(call: GatewayCall, batch: BatchToBuild): Promise<Built | Held>
  /**
   * Hands a built batch over; left out: a person does, with the file. The same token is the same batch however often it arrives. Its debits
   * are asked about by `askCharge`.
   */
  submitBatch?(call: GatewayCall, batch: BatchToBuild): Promise<{ kind: 'submitted' } | Unknown | NotSent | Held>

  /**
   * Hands some lines of a batch over, each under its own reference, in place of `submitBatch`. Those that were not answered for are asked about by
   * `askCharge` before they are handed over again.
   */
  submitLines?(call: GatewayCall, batch: BatchToBuild): Promise<LinesAnswered | Unknown | NotSent | Held>

  /** Reads a signed request from its raw bytes; refused: the signature is wrong, or its time, compared with real time, too far away. */
  readReport?(
    whose: Pick<GatewayCall, 'accountId' | 'gatewayId' | 'scope' | 'isLive' | 'settings'>,
    raw: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    realNow: Instant,
  ): ReportsRead
  /** Has the gateway report to an address of this service; its secret signs what comes there. Made anew each time. */
  connect?(
    call: GatewayCall,
    url: string,
  ): Promise<{ kind: 'connected'; name: string; secret: string } | Unknown | NotSent>
  /** Deletes the addresses of this scope to which the gateway reports, but the one of a name; null: all. */
  disconnect?(call: GatewayCall, but: string | null): Promise<{ kind: 'disconnected' } | Unknown | NotSent>

  /**
   * Charges a card of the gateway's own for tests, refunds it and waits for its report, under a scope that is nobody's. Each step is passed on as soon as it is
   * done.
   */
  tryOut?(
    call: GatewayCall,
    wish: { currency: string; onStep: (step: TriedStep) => void },
  ): Promise<{ kind: 'tried'; isRight: boolean }>

  /** Lists what the gateway has to report, oldest first, so that nothing is missed where no request of it arrives. */
  listReports?(call: GatewayCall, from: ReportsFrom): Promise<ReportsListed | Unknown | NotSent>
}

/** The gateways that this version has, by their type. */
export type Adapters = ReadonlyMap<GatewayType, GatewayAdapter>
