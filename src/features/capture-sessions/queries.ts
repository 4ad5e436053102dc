import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import type { GatewayType } from '../gateways/facts.ts'

/** Sessions of the capture widget. Instants are of the account's clock; that they end by real time too is asked of the clock of the database. */

export interface CaptureSession {
  id: Id
  currency: string
  gatewayId: Id
  gatewayToken: string
  gatewayType: GatewayType
  /** The one origin whose pages may show the frame. */
  authOrigin: string
  description: string | null
  saleType: SaleType
  /** A card whose sale is declined is not kept. */
  isVaultOnlyOnSuccess: boolean
  /** In minor units; 0 without a sale. */
  amountMinor: bigint
  /** The newest sale; null where none was begun. */
  sale: SessionSale | null
  createdAt: Instant
  expiresAt: Instant
  /** Its time is over by real time, however the clock of the account stands. */
  isReallyOver: boolean
  /** The end by real time of what it is in: of capturing, then of the time in which a customer can have it. Null of one made before that was kept. */
  reallyEndsAt: Instant | null
  /** Tries that the gateway, or its bank, has refused. */
  refusedTries: number
  /** The try that is at the gateway, or was last. */
  cardIntentId: Id | null
  /** Drawn when it was captured: the identifier and our own name of the method that a customer gets. */
  methodId: Id | null
  methodToken: string | null
  /** The captured method, sealed, until a customer has it or it is given back. */
  method: Buffer | null
  capturedAt: Instant | null
  /** The end of the time in which a customer can have it. */
  giveBackAt: Instant | null
  completedAt: Instant | null
  givenBackAt: Instant | null
  /** Since when a person has to look, because the gateway refused for good to give the charge back. */
  giveBackRefusedAt: Instant | null
}

/** Ways in which a session captures: with a sale or without, and keeping the method or not. */
export const SALE_TYPES = ['VaultOnly', 'VaultSale', 'SaleOnly'] as const
export type SaleType = (typeof SALE_TYPES)[number]

/** The newest sale of a session, as far as its pages and answers show it. */
export interface SessionSale {
  /** The gateway's key of the charge. */
  chargeId: Id
  state: SaleState
  /** State of its refund; null where nobody began that. */
  refundState: 'open' | 'made' | 'refused' | null
  /** The gateway's name of a charge that was made. */
  gatewayReference: string | null
  /** The customer's bank waits for their confirmation. */
  awaitsCustomer: boolean
  confirmUrl: string | null
}

export const SALE_STATES = ['open', 'charged', 'declined', 'not_made'] as const
export type SaleState = (typeof SALE_STATES)[number]

type Row = Omit<CaptureSession, 'sale'> & { chargeId: Id | null; saleState: SaleState } & Omit<
    SessionSale,
    'chargeId' | 'state'
  >

function sessionOf(row: Row | undefined): CaptureSession | undefined {
  if (!row) return undefined
  const { chargeId, saleState: state, refundState, gatewayReference, awaitsCustomer, confirmUrl, ...session } = row
  const facts = { state, refundState, gatewayReference, awaitsCustomer, confirmUrl }
  return { ...session, sale: chargeId === null ? null : { chargeId, ...facts } }
}

const COLUMNS = fragment`
  s.capture_session_id as "id", s.currency, s.gateway_id as "gatewayId", g.token as "gatewayToken", g.type as "gatewayType", s.auth_origin as "authOrigin", s.description,
  s.sale_type as "saleType", s.is_vault_only_on_success as "isVaultOnlyOnSuccess", s.amount_minor as "amountMinor", s.charge_id as "chargeId",
  c.state as "saleState", c.refund_state as "refundState", nullif(c.gateway_reference, 'by hand') as "gatewayReference", c.confirm_by is not null as "awaitsCustomer", c.confirm_url as "confirmUrl",
  s.created_at as "createdAt", s.expires_at as "expiresAt", s.really_ends_at is not null and s.really_ends_at <= moment() as "isReallyOver", s.really_ends_at as "reallyEndsAt", s.refused_tries as "refusedTries", s.card_intent_id as "cardIntentId",
  s.payment_method_id as "methodId", s.payment_method_token as "methodToken", s.method, s.captured_at as "capturedAt",
  s.give_back_at as "giveBackAt", s.completed_at as "completedAt", s.given_back_at as "givenBackAt",
  s.give_back_refused_at as "giveBackRefusedAt"`

const session = (account: AccountId) => fragment`
  select ${COLUMNS} from capture_sessions s
    join gateways g on g.account_id = ${account} and g.gateway_id = s.gateway_id
    left join capture_sales c on c.account_id = ${account} and c.charge_id = s.charge_id
   where s.account_id = ${account}`

export const findSession = async (db: Queryable, account: AccountId, id: Id) =>
  sessionOf(await db.first<Row>(sql`${session(account)} and s.capture_session_id = ${id}`))

/** Finds a session by the SHA-256 of its SessionToken. */
export const findSessionByToken = async (db: Queryable, account: AccountId, hash: Buffer) =>
  sessionOf(await db.first<Row>(sql`${session(account)} and s.token_hash = ${hash}`))

/** Locks a session and reads it then: the sale that it joins may be another than before the wait. */
async function locked(tx: Transaction, where: Fragment): Promise<CaptureSession | undefined> {
  const found = await tx.first<{ id: Id }>(sql`
    select capture_session_id as "id" from capture_sessions where account_id = ${tx.account} and ${where} for update`)
  return found && findSession(tx, tx.account, found.id)
}

export const lockSession = (tx: Transaction, id: Id) => locked(tx, fragment`capture_session_id = ${id}`)

export const lockSessionByToken = (tx: Transaction, hash: Buffer) => locked(tx, fragment`token_hash = ${hash}`)

type NewSession = Pick<
  CaptureSession,
  | 'currency'
  | 'gatewayId'
  | 'authOrigin'
  | 'description'
  | 'saleType'
  | 'isVaultOnlyOnSuccess'
  | 'amountMinor'
  | 'createdAt'
> & { spanMs: number }

const span = (ms: number): Fragment => fragment`${ms}::bigint * interval '1 millisecond'`

export const insertSession = (tx: Transaction, tokenHash: Buffer, s: NewSession): Promise<Id> =>
  tx.value<Id>(sql`
    insert into capture_sessions (account_id, token_hash, currency, gateway_id, auth_origin, description, sale_type,
                                  is_vault_only_on_success, amount_minor, created_at, expires_at, really_ends_at)
    values (${tx.account}, ${tokenHash}, ${s.currency}, ${s.gatewayId}, ${s.authOrigin}, ${s.description}, ${s.saleType},
            ${s.isVaultOnlyOnSuccess}, ${s.amountMinor}, ${s.createdAt}, ${s.createdAt}::timestamptz + ${span(s.spanMs)}, moment(${span(s.spanMs)}))
    returning capture_session_id as "id"`)

/** Notes the try of a locked session that is about to go to the gateway. */
export const noteTry = (tx: Transaction, id: Id, intent: Id) =>
  tx.rows(sql`
    update capture_sessions set card_intent_id = ${intent} where account_id = ${tx.account} and capture_session_id = ${id}`)

export const countRefusal = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update capture_sessions set refused_tries = refused_tries + 1
     where account_id = ${tx.account} and capture_session_id = ${id}`)

/** Notes what a session has captured; by real time, too, there are so many hours for a customer to have it. */
export const noteCapture = (
  tx: Transaction,
  s: Pick<
    CaptureSession,
    'id' | 'methodId' | 'methodToken' | 'method' | 'capturedAt' | 'giveBackAt' | 'reallyEndsAt'
  > & {
    gatewayToken: string | null
    completionHours: number
  },
) => {
  const hours = fragment`${s.completionHours}::int * interval '1 hour'`
  return tx.rows(sql`
    update capture_sessions set payment_method_id = ${s.methodId}, payment_method_token = ${s.methodToken}, method = ${s.method},
      gateway_token = ${s.gatewayToken}, captured_at = ${s.capturedAt}, give_back_at = ${s.giveBackAt},
      really_ends_at = ${s.reallyEndsAt === null ? fragment`null` : fragment`greatest(${s.reallyEndsAt}::timestamptz + ${hours}, moment(${hours}))`}
    where account_id = ${tx.account} and capture_session_id = ${s.id}`)
}

/** Ends a captured session, which is its customer's from now on, and forgets here what it captured. */
export const noteCompletion = (tx: Transaction, id: Id, customer: CustomerId, completedAt: Instant) =>
  tx.rows(sql`
    update capture_sessions set completed_at = ${completedAt}, customer_id = ${customer}, method = null, gateway_token = null
     where account_id = ${tx.account} and capture_session_id = ${id}`)

/** Notes that what a session captured was given back, and forgets it here. */
export const noteGivenBack = (tx: Transaction, id: Id, givenBackAt: Instant) =>
  tx.rows(sql`
    update capture_sessions set given_back_at = ${givenBackAt}, method = null, gateway_token = null
     where account_id = ${tx.account} and capture_session_id = ${id}`)

/** Takes a captured session as one whose charge could not be given back, though it seemed so: its method was removed meanwhile. */
export const noteGiveBackFailed = (tx: Transaction, id: Id, at: Instant) =>
  tx.rows(sql`
    update capture_sessions set given_back_at = null, give_back_refused_at = ${at}, payment_method_id = null, payment_method_token = null
     where account_id = ${tx.account} and capture_session_id = ${id}`)

/** Parts a session from a charge that it went on without. */
export const forgetCharge = (tx: Transaction, id: Id, chargeId: Id) =>
  tx.rows(sql`
    update capture_sessions set charge_id = null
     where account_id = ${tx.account} and capture_session_id = ${id} and charge_id = ${chargeId}`)

/** Notes that a charge could not be given back: the session stays captured, until somebody completes it. */
export const noteGiveBackRefused = (tx: Transaction, id: Id, at: Instant) =>
  tx.rows(sql`
    update capture_sessions set give_back_refused_at = ${at}
     where account_id = ${tx.account} and capture_session_id = ${id}`)

/** Lists captured sessions of all accounts that no customer has taken over in time, at most 100. */
export const listSessionsToGiveBack = (db: Queryable, realNow: Instant) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", capture_session_id as "id" from list_capture_sessions_to_give_back(${realNow}::timestamptz)`,
  )

/** Removes the descriptions of the sessions that a customer has completed. */
export const anonymiseSessions = (tx: Transaction, customer: CustomerId) =>
  tx.rows(
    sql`update capture_sessions set description = null where account_id = ${tx.account} and customer_id = ${customer}`,
  )

/** Forgets sessions that ended long ago. */
export const deleteOldSessions = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_capture_sessions(${before}::timestamptz) as "n"`)
