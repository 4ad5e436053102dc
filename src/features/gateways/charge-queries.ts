import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import type { AskedCharge } from './contract.ts'
import { referenceFor } from './references.ts'

/** Charges of this service at gateways, wherever their intents are kept: as tries, as lines of batches, or as sales of capture sessions. */

export interface KnownCharge {
  /** Of the payment that it is, or of the sale. */
  id: Id
  /** `payment`: no intent of it is kept, and its identifier is its reference. */
  kind: 'try' | 'line' | 'sale' | 'payment'
  gatewayId: Id
  nonce: string | null
  /** Of the stored card or account, where it is known. */
  token: string | null
  amountMinor: bigint
  currency: string
  gatewayReference: string | null
  sentAt: Instant | null
}

/** Finds a charge of a gateway by its identifier. */
export const findKnownCharge = (db: Queryable, account: AccountId, gatewayId: Id, id: Id) =>
  db.first<KnownCharge>(sql`
    select t.payment_id as "id", 'try' as "kind", t.gateway_id as "gatewayId", t.nonce, m.gateway_token as "token",
           t.amount_minor as "amountMinor", t.currency, t.gateway_reference as "gatewayReference", t.sent_at as "sentAt"
      from collection_tries t
      left join payment_methods m on m.account_id = ${account} and m.payment_method_id = t.payment_method_id
     where t.account_id = ${account} and t.payment_id = ${id} and t.gateway_id = ${gatewayId} and not t.is_line
     union all
    select l.payment_id, 'line', p.gateway_id, l.nonce, m.gateway_token, p.amount_minor, p.currency, l.gateway_reference, l.sent_at
      from batch_lines l join payments p on p.account_id = ${account} and p.payment_id = l.payment_id
      left join payment_methods m on m.account_id = ${account} and m.payment_method_id = l.payment_method_id
     where l.account_id = ${account} and l.payment_id = ${id} and p.gateway_id = ${gatewayId}
     union all
    select s.charge_id, 'sale', s.gateway_id, s.nonce, s.gateway_token, s.amount_minor, s.currency,
           nullif(s.gateway_reference, 'by hand'), s.sent_at
      from capture_sales s
     where s.account_id = ${account} and s.charge_id = ${id} and s.gateway_id = ${gatewayId}
     union all
    select p.payment_id, 'payment', p.gateway_id, null, null, p.amount_minor, p.currency, p.transaction_id, null
      from payments p
     where p.account_id = ${account} and p.payment_id = ${id} and p.charge_id = ${id} and p.gateway_id = ${gatewayId}
       and not exists (select 1 from collection_tries t where t.account_id = ${account} and t.payment_id = ${id})
       and not exists (select 1 from batch_lines l where l.account_id = ${account} and l.payment_id = ${id})`)

/** Returns the facts of a charge that its gateway is asked with. */
export const factsOfCharge = ({
  id,
  nonce,
  token,
  amountMinor,
  currency,
  gatewayReference,
  sentAt,
}: KnownCharge): AskedCharge => ({
  reference: referenceFor({ id, nonce }),
  token,
  amountMinor,
  currency,
  gatewayReference,
  sentAt,
})
