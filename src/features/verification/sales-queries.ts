import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A charge of a capture session, with the money that it became. */
export interface CheckedSale {
  id: Id
  currency: string
  amountMinor: bigint
  /** The session is a customer's, and its newest charge is this one. */
  isCompleted: boolean
  /** It was given back. */
  isRefunded: boolean
  /** The first payment of the charge; null where it is no payment. */
  customerId: CustomerId | null
  paidMinor: bigint | null
  paidCurrency: string | null
}

export const listSalePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedSale>(sql`
    select c.charge_id as "id", c.currency, c.amount_minor as "amountMinor", coalesce(c.refund_state = 'made', false) as "isRefunded",
           s.completed_at is not null and s.charge_id = c.charge_id as "isCompleted",
           p.customer_id as "customerId", p.amount_minor as "paidMinor", p.currency as "paidCurrency"
      from capture_sales c
      join capture_sessions s on s.account_id = ${account} and s.capture_session_id = c.capture_session_id
      left join lateral (select customer_id, amount_minor, currency from payments
            where account_id = ${account} and gateway_id = c.gateway_id and charge_id = c.charge_id order by payment_id limit 1) p on true
     where c.account_id = ${account} and c.state = 'charged' and c.charge_id > ${after} order by c.charge_id limit ${limit}`)
