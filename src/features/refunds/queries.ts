import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { drawNonce } from '../gateways/references.ts'

export const REFUND_STATES = ['open', 'succeeded', 'failed'] as const
export type RefundState = (typeof REFUND_STATES)[number]

export interface PaymentRefund {
  id: Id
  /** Of its reference at the gateway; null of refunds of programs before. */
  nonce: string | null
  /** The gateway's name of it, null where none is kept. */
  gatewayReference: string | null
  /** Real time at which it was sent last; null: long ago. */
  sentAt: Instant | null
  paymentId: Id
  customerId: CustomerId
  /** It was made at the gateway's console, and is the change of its charge that `gatewayReference` names. */
  isFromGateway: boolean
  amountMinor: bigint
  currency: string
  state: RefundState
  /** The refund as a positive adjustment; null until it succeeded. */
  adjustmentId: Id | null
  /** Why it failed; null else. */
  message: string | null
  dated: IsoDate
  begunAt: Instant
  /** The last that the gateway answered while it was open; null where no answer is recorded. */
  lastAnswer: 'not_sent' | 'unknown' | 'pending' | null
  asks: number
  nextAskAt: Instant | null
}

const COLUMNS = fragment`
  refund_id as "id", payment_id as "paymentId", customer_id as "customerId", amount_minor as "amountMinor", currency, state,
  adjustment_id as "adjustmentId", message, dated, begun_at as "begunAt", last_answer as "lastAnswer", asks, next_ask_at as "nextAskAt",
  nonce, gateway_reference as "gatewayReference", is_from_gateway as "isFromGateway", sent_at as "sentAt"`

export const findPaymentRefund = (db: Queryable, account: AccountId, id: Id) =>
  db.first<PaymentRefund>(sql`
    select ${COLUMNS} from payment_refunds where account_id = ${account} and refund_id = ${id}`)

/** Lists the refunds of a payment, the oldest first; there are few. */
export const listRefundsOf = (db: Queryable, account: AccountId, paymentId: Id) =>
  db.rows<PaymentRefund>(
    sql`select ${COLUMNS} from payment_refunds where account_id = ${account} and payment_id = ${paymentId} order by refund_id`,
  )

/**
 * Returns how much of the charge of a payment has been received and not refunded: what its payments that stand came to, less the refunds that
 * are open or were made. One that failed later came back as a payment of the charge.
 */
export const getLeftOfCharge = (
  tx: Transaction,
  { gatewayId, chargeId }: { gatewayId: Id | null; chargeId: Id | null },
): Promise<bigint> =>
  tx.value<bigint>(sql`
    select coalesce(sum(p.amount_minor) filter (where p.settled_on is not null and p.failed_on is null), 0)::bigint
         - coalesce(sum(r.made), 0)::bigint as "left"
      from payments p
      left join lateral (select sum(amount_minor) as made from payment_refunds
            where account_id = ${tx.account} and payment_id = p.payment_id and (state = 'open' or adjustment_id is not null)) r on true
     where p.account_id = ${tx.account} and p.gateway_id = ${gatewayId} and p.charge_id = ${chargeId}`)

/**
 * Returns how much of a charge has been received and not given back: what its payments that stand came to, less the refunds that were made. Those that are
 * open count where the gateway is to be asked for more, and not beside what the gateway has done already.
 */
export const getReceivedOfCharge = (tx: Transaction, gatewayId: Id, chargeId: Id): Promise<bigint> =>
  tx.value<bigint>(sql`
    select coalesce(sum(p.amount_minor) filter (where p.settled_on is not null and p.failed_on is null), 0)::bigint
         - coalesce(sum(r.made), 0)::bigint as "left"
      from payments p
      left join lateral (select sum(amount_minor) as made from payment_refunds
            where account_id = ${tx.account} and payment_id = p.payment_id and adjustment_id is not null) r on true
     where p.account_id = ${tx.account} and p.gateway_id = ${gatewayId} and p.charge_id = ${chargeId}`)

/** Finds a refund of a charge by the name that its gateway has for it. */
export const findRefundByName = (tx: Transaction, gatewayId: Id, chargeId: Id, name: string) =>
  tx.first<PaymentRefund>(sql`
    select ${COLUMNS} from payment_refunds
     where account_id = ${tx.account} and gateway_reference = ${name}
       and payment_id in (select payment_id from payments
         where account_id = ${tx.account} and gateway_id = ${gatewayId} and charge_id = ${chargeId})`)

/** Writes a refund that a gateway's console has made. */
export const insertConsoleRefund = (
  tx: Transaction,
  row: Omit<NewRefund, 'nextAskAt'> & Pick<PaymentRefund, 'gatewayReference' | 'adjustmentId'>,
) =>
  tx.one<PaymentRefund>(sql`
    insert into payment_refunds (account_id, payment_id, customer_id, amount_minor, currency, state, dated, begun_at, adjustment_id, gateway_reference,
      is_from_gateway)
    values (${tx.account}, ${row.paymentId}, ${row.customerId}, ${row.amountMinor}, ${row.currency}, 'succeeded', ${row.dated}, ${row.begunAt},
      ${row.adjustmentId}, ${row.gatewayReference}, true) returning ${COLUMNS}`)

export type NewRefund = Pick<
  PaymentRefund,
  'paymentId' | 'customerId' | 'amountMinor' | 'currency' | 'dated' | 'begunAt' | 'nextAskAt'
>

export const insertPaymentRefund = (tx: Transaction, row: NewRefund) =>
  tx.one<PaymentRefund>(sql`
    insert into payment_refunds (account_id, payment_id, customer_id, amount_minor, currency, state, dated, begun_at, next_ask_at, nonce, sent_at)
    values (${tx.account}, ${row.paymentId}, ${row.customerId}, ${row.amountMinor}, ${row.currency}, 'open', ${row.dated},
            ${row.begunAt}, ${row.nextAskAt}, ${drawNonce()}, moment()) returning ${COLUMNS}`)

/** Notes that a refund is about to be sent once more: until its answer is written it may have arrived. */
export const noteRefundSending = (tx: Transaction, id: Id) =>
  tx.rows(
    sql`update payment_refunds set sent_at = moment(), last_answer = null where account_id = ${tx.account} and refund_id = ${id}`,
  )

/** Gives a refund that bears no name the one by which its gateway has answered, unless another bears it. Returns the name that it has then. */
export const nameRefund = async (tx: Transaction, id: Id, name: string): Promise<string | null> => {
  await tx.rows(sql`
    update payment_refunds set gateway_reference = ${name}
     where account_id = ${tx.account} and refund_id = ${id} and gateway_reference is null
       and not exists (select 1 from payment_refunds o where o.account_id = ${tx.account} and o.gateway_reference = ${name})`)
  return (await findPaymentRefund(tx, tx.account, id))?.gatewayReference ?? null
}

export const updatePaymentRefund = (tx: Transaction, row: PaymentRefund) =>
  tx.rows(sql`
    update payment_refunds set state = ${row.state}, adjustment_id = ${row.adjustmentId}, message = ${row.message}, dated = ${row.dated},
           last_answer = ${row.lastAnswer}, asks = ${row.asks}, next_ask_at = ${row.nextAskAt}
     where account_id = ${tx.account} and refund_id = ${row.id}`)

/** Lists open refunds of an account whose gateway is to be asked by an instant, the longest waiting first. */
export const listRefundsToAsk = (db: Queryable, account: AccountId, by: Instant, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select refund_id as "id" from payment_refunds
     where account_id = ${account} and next_ask_at <= ${by} order by next_ask_at limit ${limit}`)

/** Lists accounts that follow real time and have an open refund to ask about by an instant. */
export const listAccountsToAsk = (db: Queryable, by: Instant) =>
  db.rows<{ account: AccountId }>(
    sql`select account_id as "account" from list_accounts_with_refunds_to_ask(${by}::timestamptz)`,
  )

/** Finds the first day after another, in the account's zone, on which an open refund is to be asked about. */
export const findAskDay = (db: Queryable, account: AccountId, after: IsoDate): Promise<IsoDate | null> =>
  db.value<IsoDate | null>(sql`
    select min((r.next_ask_at at time zone a.time_zone)::date) as "day"
      from payment_refunds r join accounts a on a.account_id = ${account}
     where r.account_id = ${account} and r.next_ask_at is not null and (r.next_ask_at at time zone a.time_zone)::date > ${after}`)

export const hasOpenRefund = async (db: Transaction, customerId: CustomerId): Promise<boolean> =>
  (
    await db.rows(
      sql`select 1 from payment_refunds where account_id = ${db.account} and customer_id = ${customerId} and state = 'open' limit 1`,
    )
  ).length > 0
