import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { firstRow, oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'

/** Sessions of the capture widget. Instants are of the account's clock. */

export interface CaptureSession {
  id: Id
  currency: string
  gatewayId: Id
  gatewayToken: string
  /** The one origin whose pages may show the frame. */
  authOrigin: string
  description: string | null
  createdAt: Instant
  expiresAt: Instant
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
}

const COLUMNS = fragment`
  s.capture_session_id as "id", s.currency, s.gateway_id as "gatewayId", g.token as "gatewayToken", s.auth_origin as "authOrigin", s.description,
  s.created_at as "createdAt", s.expires_at as "expiresAt", s.refused_tries as "refusedTries", s.card_intent_id as "cardIntentId",
  s.payment_method_id as "methodId", s.payment_method_token as "methodToken", s.method, s.captured_at as "capturedAt",
  s.give_back_at as "giveBackAt", s.completed_at as "completedAt", s.given_back_at as "givenBackAt"`

const session = (account: AccountId) => fragment`
  select ${COLUMNS} from capture_sessions s
    join gateways g on g.account_id = ${account} and g.gateway_id = s.gateway_id
   where s.account_id = ${account}`

export const findSession = (db: Queryable, account: AccountId, id: Id) =>
  firstRow<CaptureSession>(db, sql`${session(account)} and s.capture_session_id = ${id}`)

/** Finds a session by the SHA-256 of its SessionToken. */
export const findSessionByToken = (db: Queryable, account: AccountId, hash: Buffer) =>
  firstRow<CaptureSession>(db, sql`${session(account)} and s.token_hash = ${hash}`)

export const lockSession = (tx: Transaction, id: Id) =>
  firstRow<CaptureSession>(tx, sql`${session(tx.account)} and s.capture_session_id = ${id} for update of s`)

export const lockSessionByToken = (tx: Transaction, hash: Buffer) =>
  firstRow<CaptureSession>(tx, sql`${session(tx.account)} and s.token_hash = ${hash} for update of s`)

type NewSession = Pick<
  CaptureSession,
  'currency' | 'gatewayId' | 'authOrigin' | 'description' | 'createdAt' | 'expiresAt'
>

export const insertSession = async (tx: Transaction, tokenHash: Buffer, s: NewSession): Promise<Id> =>
  (
    await oneRow<{ id: Id }>(
      tx,
      sql`insert into capture_sessions (account_id, token_hash, currency, gateway_id, auth_origin, description, created_at, expires_at)
          values (${tx.account}, ${tokenHash}, ${s.currency}, ${s.gatewayId}, ${s.authOrigin}, ${s.description}, ${s.createdAt}, ${s.expiresAt})
          returning capture_session_id as "id"`,
    )
  ).id

/** Notes the try of a locked session that is about to go to the gateway. */
export const noteTry = (tx: Transaction, id: Id, intent: Id) =>
  tx.rows(sql`
    update capture_sessions set card_intent_id = ${intent} where account_id = ${tx.account} and capture_session_id = ${id}`)

export const countRefusal = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update capture_sessions set refused_tries = refused_tries + 1
     where account_id = ${tx.account} and capture_session_id = ${id}`)

export const noteCapture = (
  tx: Transaction,
  s: Pick<CaptureSession, 'id' | 'methodId' | 'methodToken' | 'method' | 'capturedAt' | 'giveBackAt'>,
) =>
  tx.rows(sql`
    update capture_sessions set payment_method_id = ${s.methodId}, payment_method_token = ${s.methodToken}, method = ${s.method},
      captured_at = ${s.capturedAt}, give_back_at = ${s.giveBackAt}
    where account_id = ${tx.account} and capture_session_id = ${s.id}`)

/** Ends a captured session, and forgets here what it captured. */
export const noteCompletion = (tx: Transaction, id: Id, completedAt: Instant) =>
  tx.rows(sql`
    update capture_sessions set completed_at = ${completedAt}, method = null
     where account_id = ${tx.account} and capture_session_id = ${id}`)

/** Notes that what a session captured was given back, and forgets it here. */
export const noteGivenBack = (tx: Transaction, id: Id, givenBackAt: Instant) =>
  tx.rows(sql`
    update capture_sessions set given_back_at = ${givenBackAt}, method = null
     where account_id = ${tx.account} and capture_session_id = ${id}`)

/** Lists captured sessions of all accounts that no customer has taken over in time, at most 100. */
export const listSessionsToGiveBack = (db: Queryable, realNow: Instant) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", capture_session_id as "id" from list_capture_sessions_to_give_back(${realNow}::timestamptz)`,
  )

/** Removes the descriptions of the sessions by which methods of a customer were captured. */
export const anonymiseSessions = (tx: Transaction, customer: CustomerId) =>
  tx.rows(sql`
    update capture_sessions s set description = null
      from payment_methods m
     where s.account_id = ${tx.account} and m.account_id = ${tx.account} and m.customer_id = ${customer}
       and m.payment_method_id = s.payment_method_id`)

/** Forgets sessions that ended long ago. */
export const deleteOldSessions = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_capture_sessions(${before}::timestamptz) as "n"`)
