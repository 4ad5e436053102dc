import { assert } from '../../kernel/assert.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { isHeld, isOver } from '../../platform/database/lease.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import type { AskedCharge, Refund } from '../gateways/contract.ts'
import { drawNonce, referenceFor } from '../gateways/references.ts'
import type { CaptureSession, SaleState } from './queries.ts'

/** Sales of the capture widget: the charges of sessions, and the refunds of those that nobody has taken over. */

/** Charge of a session at its gateway. */
export interface Sale {
  /** The gateway's key of the charge. */
  chargeId: Id
  /** Of its reference at the gateway; null of sales of programs before. */
  nonce: string | null
  /** Real time at which it was sent last; null: long ago. */
  sentAt: Instant | null
  sessionId: Id
  gatewayId: Id
  currency: string
  amountMinor: bigint
  /** The card, sealed, until it is kept in the session or removed. */
  method: Buffer | null
  begunAt: Instant
  state: SaleState
  chargedOn: IsoDate | null
  gatewayReference: string | null
  /** Of its card, until the outcome is known. */
  gatewayToken: string | null
  awaitsCustomer: boolean
  /** The time in which the customer may confirm the charge is over, by real time. */
  isConfirmingOver: boolean
  confirmUrl: string | null
  wasUnanswered: boolean
  /** Since when the gateway has not answered what became of the charge, or of its refund, by the account's clock. */
  silentSince: Instant
  isSilenceAnnounced: boolean
  /** A process asks the gateway right now. */
  isAsked: boolean
  /** The gateway's key of the refund. */
  refundId: Id | null
  refundNonce: string | null
  refundReference: string | null
  refundSentAt: Instant | null
  refundState: 'open' | 'made' | 'refused' | null
  asks: number
}

/** A call outlives this no more: it is given up after a minute. */
const LEASE = '2 minutes'
const UNTIL = fragment`moment('2 minutes')`

const COLUMNS = fragment`
  charge_id as "chargeId", capture_session_id as "sessionId", gateway_id as "gatewayId", currency, amount_minor as "amountMinor", method,
  gateway_token as "gatewayToken",
  begun_at as "begunAt", state, charged_on as "chargedOn", nullif(gateway_reference, 'by hand') as "gatewayReference", confirm_by is not null as "awaitsCustomer",
  confirm_by is not null and confirm_by <= moment() as "isConfirmingOver", confirm_url as "confirmUrl", was_unanswered as "wasUnanswered",
  silent_since as "silentSince", is_silence_announced as "isSilenceAnnounced", refund_id as "refundId", refund_state as "refundState", asks,
  nonce, sent_at as "sentAt", refund_nonce as "refundNonce", refund_gateway_reference as "refundReference", refund_sent_at as "refundSentAt",
  ${isHeld('leased_until', LEASE)} as "isAsked"`

/** Draws the identifier of a sale, which its card is sealed under. */
export const drawChargeId = (tx: Transaction): Promise<Id> =>
  tx.value<Id>(sql`select nextval('payments_payment_id_seq') as "id"`)

/** Writes the sale of a locked session, which is about to be charged by whoever begins it, and names it in the session. */
export async function insertSale(
  tx: Transaction,
  session: CaptureSession,
  sale: { chargeId: Id; method: Buffer; gatewayToken: string | null; begunAt: Instant },
): Promise<Sale> {
  await tx.rows(sql`
    insert into capture_sales (account_id, charge_id, capture_session_id, gateway_id, currency, amount_minor, method, gateway_token,
                               begun_at, silent_since, state,
                               leased_until, next_ask_at, nonce, sent_at)
    values (${tx.account}, ${sale.chargeId}, ${session.id}, ${session.gatewayId}, ${session.currency}, ${session.amountMinor},
            ${sale.method}, ${sale.gatewayToken}, ${sale.begunAt}, ${sale.begunAt}, 'open', ${UNTIL}, moment(),
            ${drawNonce()}, moment())`)
  await tx.rows(sql`
    update capture_sessions set charge_id = ${sale.chargeId} where account_id = ${tx.account} and capture_session_id = ${session.id}`)
  return getSale(tx, tx.account, sale.chargeId)
}

const saleOf = (account: AccountId, chargeId: Id) => sql`
  select ${COLUMNS} from capture_sales where account_id = ${account} and charge_id = ${chargeId}`

export const findSale = (db: Queryable, account: AccountId, chargeId: Id) => db.first<Sale>(saleOf(account, chargeId))

const getSale = (db: Queryable, account: AccountId, chargeId: Id) => db.one<Sale>(saleOf(account, chargeId))

export const lockSale = (tx: Transaction, chargeId: Id) =>
  tx.first<Sale>(sql`
    select ${COLUMNS} from capture_sales where account_id = ${tx.account} and charge_id = ${chargeId} for update`)

/** Finds the sale whose refund a gateway knows under a key. */
export const findSaleOfRefund = (db: Queryable, account: AccountId, gatewayId: Id, refundId: Id) =>
  db.first<Sale>(sql`
    select ${COLUMNS} from capture_sales where account_id = ${account} and gateway_id = ${gatewayId} and refund_id = ${refundId}`)

/** Claims a sale of which something is to be asked; undefined where another is at it, or its wait is not over. With `isAll` waits do not count. */
export async function claimSale(tx: Transaction, chargeId: Id, isAll: boolean): Promise<Sale | undefined> {
  const claimed = await tx.first<object>(sql`
    update capture_sales set leased_until = ${UNTIL}
     where account_id = ${tx.account} and charge_id = ${chargeId} and next_ask_at is not null and ${isOver('leased_until', LEASE)}
       ${isAll ? fragment`` : fragment`and next_ask_at <= moment()`}
    returning charge_id`)
  return claimed && getSale(tx, tx.account, chargeId)
}

/** Lets go of a sale, or of its refund, whose outcome is not known yet. */
export const putOffSale = (
  tx: Transaction,
  { chargeId, asks }: Pick<Sale, 'chargeId' | 'asks'>,
  to: Pick<Sale, 'wasUnanswered' | 'silentSince'> & { waitSeconds: number },
) =>
  tx.rows(sql`
    update capture_sales set was_unanswered = ${to.wasUnanswered}, silent_since = ${to.silentSince}, asks = ${asks + 1}, leased_until = null,
      next_ask_at = moment(interval '1 second' * ${to.waitSeconds}::integer)
     where account_id = ${tx.account} and charge_id = ${chargeId}`)

/** Notes that a person was shown that the gateway of a sale has fallen silent. */
export const noteSilenceAnnounced = (tx: Transaction, chargeId: Id) =>
  tx.rows(
    sql`update capture_sales set is_silence_announced = true where account_id = ${tx.account} and charge_id = ${chargeId}`,
  )

/** Notes that the customer's bank waits for them. The time that they have is not made longer by asking. */
export const noteAwaited = (
  tx: Transaction,
  chargeId: Id,
  { url, seconds, now }: { url: string | null; seconds: number; now: Instant },
) =>
  tx.rows(sql`
    update capture_sales set confirm_by = least(confirm_by, moment(interval '1 second' * ${seconds}::integer)),
      confirm_url = ${url}, was_unanswered = false, silent_since = ${now}, leased_until = null,
      next_ask_at = least(confirm_by, moment(interval '1 second' * ${seconds}::integer))
     where account_id = ${tx.account} and charge_id = ${chargeId}`)

/** Writes the outcome of a sale: its card is the session's then, or nobody's. */
export const closeSale = (
  tx: Transaction,
  chargeId: Id,
  to: Pick<Sale, 'chargedOn' | 'gatewayReference'> & { state: Exclude<SaleState, 'open'> },
) =>
  tx.rows(sql`
    update capture_sales set state = ${to.state}, charged_on = ${to.chargedOn}, gateway_reference = coalesce(${to.gatewayReference}::text, nullif(gateway_reference, 'by hand')), method = null, gateway_token = null,
      confirm_by = null, confirm_url = null, leased_until = null, next_ask_at = null, asks = 0, was_unanswered = false
     where account_id = ${tx.account} and charge_id = ${chargeId}`)

/** Begins the refund of a charge: its identifier is the gateway's key, drawn from those of refunds. `now` is of the account's clock. */
export async function beginSaleRefund(tx: Transaction, chargeId: Id, now: Instant): Promise<void> {
  const refundId = await tx.value<Id>(sql`select nextval('payment_refunds_refund_id_seq') as "id"`)
  await tx.rows(sql`
    update capture_sales set refund_id = ${refundId}, refund_nonce = ${drawNonce()}, refund_state = 'open', next_ask_at = moment(),
      leased_until = null, asks = 0, was_unanswered = false, silent_since = ${now}, is_silence_announced = false
     where account_id = ${tx.account} and charge_id = ${chargeId} and refund_id is null`)
}

export const closeSaleRefund = (tx: Transaction, chargeId: Id, state: 'made' | 'refused') =>
  tx.rows(sql`
    update capture_sales set refund_state = ${state}, leased_until = null, next_ask_at = null
     where account_id = ${tx.account} and charge_id = ${chargeId}`)

/** Notes that the charge of a sale, or its refund, is about to be sent. */
export const noteSaleSending = (tx: Transaction, chargeId: Id, what: 'charge' | 'refund') =>
  tx.rows(sql`
    update capture_sales set ${what === 'charge' ? fragment`sent_at` : fragment`refund_sent_at`} = moment()
     where account_id = ${tx.account} and charge_id = ${chargeId}`)

/** Builds the condition that no other sale of the gateway bears a name. */
const isFree = (account: AccountId, name: string) => fragment`
  not exists (select 1 from capture_sales o where o.account_id = ${account} and o.gateway_id = s.gateway_id
    and o.gateway_reference = ${name} and o.charge_id <> s.charge_id)`

/** Keeps the gateway's name of an open sale in place of the one that it has. Returns false where it has another, its outcome, or another bears the name. */
export const keepSaleName = async (
  tx: Transaction,
  { chargeId, present, name }: { chargeId: Id; present: string | null; name: string },
): Promise<boolean> =>
  (
    await tx.rows(sql`
      update capture_sales s set gateway_reference = ${name}
       where s.account_id = ${tx.account} and s.charge_id = ${chargeId} and s.state = 'open'
         and s.gateway_reference is not distinct from ${present}::text and ${isFree(tx.account, name)} returning 1 as "kept"`)
  ).length > 0

/** Gives a sale that bears no name the one by which its gateway has answered, unless another bears it. Returns the name that it has then. */
export const nameSale = async (tx: Transaction, chargeId: Id, name: string): Promise<string | null> => {
  await tx.rows(sql`
    update capture_sales s set gateway_reference = ${name}
     where s.account_id = ${tx.account} and s.charge_id = ${chargeId} and s.gateway_reference is null and ${isFree(tx.account, name)}`)
  return (await getSale(tx, tx.account, chargeId)).gatewayReference
}

/** Gives the refund of a sale that bears no name the one by which its gateway has answered. Returns the name that it has then. */
export const nameSaleRefund = async (tx: Transaction, chargeId: Id, name: string): Promise<string | null> => {
  await tx.rows(sql`
    update capture_sales set refund_gateway_reference = ${name}
     where account_id = ${tx.account} and charge_id = ${chargeId} and refund_gateway_reference is null`)
  return (await getSale(tx, tx.account, chargeId)).refundReference
}

/** Returns the facts that the gateway of a sale is asked with. */
export const chargeOfSale = (sale: Sale): AskedCharge => ({
  reference: referenceFor({ id: sale.chargeId, nonce: sale.nonce }),
  token: sale.gatewayToken,
  amountMinor: sale.amountMinor,
  currency: sale.currency,
  gatewayReference: sale.gatewayReference,
  sentAt: sale.sentAt,
})

/** Returns the refund of a sale as its gateway is asked for it. */
export const refundOfSale = (sale: Sale): Refund => {
  assert(sale.refundId !== null, `sale ${sale.chargeId} is being given back`)
  return {
    reference: referenceFor({ id: sale.refundId, nonce: sale.refundNonce }),
    charge: chargeOfSale(sale),
    amountMinor: sale.amountMinor,
    currency: sale.currency,
    gatewayReference: sale.refundReference,
    sentAt: sale.refundSentAt,
  }
}

/** Lists sales of all accounts of which something is to be asked, at most 100. */
export const listSalesToAsk = (db: Queryable) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", charge_id as "id" from list_capture_sales_to_ask()`,
  )

/** Lists the sales of an account whose gateway owes an answer, whether or not their wait is over, from after one on. */
export const listSalesAtWork = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select charge_id as "id" from capture_sales
     where account_id = ${account} and next_ask_at is not null and charge_id > ${after} order by charge_id limit ${limit}`)

/** Lists the sessions of an account that nobody has taken over in time and that are not being given back, at most `limit`. */
export const listOverdueSessions = (db: Queryable, account: AccountId, now: Instant, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select capture_session_id as "id" from capture_sessions s
     where account_id = ${account} and captured_at is not null and completed_at is null and given_back_at is null
       and give_back_refused_at is null and (give_back_at <= ${now} or really_ends_at <= now())
       and not exists (select 1 from capture_sales c where c.account_id = ${account} and c.charge_id = s.charge_id and c.refund_state = 'open')
     order by give_back_at limit ${limit}`)

/** Finds the first day after another, in the account's zone, at whose beginning something is to be given back. */
export const findGiveBackDay = (db: Queryable, account: AccountId, after: IsoDate): Promise<IsoDate | null> =>
  db.value<IsoDate | null>(sql`
    select min(greatest(((s.give_back_at - interval '1 microsecond') at time zone a.time_zone)::date + 1, ${after}::date + 1)) as "day"
      from capture_sessions s join accounts a on a.account_id = ${account}
     where s.account_id = ${account} and s.captured_at is not null and s.completed_at is null and s.given_back_at is null
       and s.give_back_refused_at is null`)
