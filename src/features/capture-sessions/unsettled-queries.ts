import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { SaleWaiting } from './rules.ts'
import type { Sale } from './sale-queries.ts'

/** Sales on which a person has to decide. */

export interface UnsettledSale extends Pick<
  Sale,
  'chargeId' | 'sessionId' | 'gatewayId' | 'currency' | 'amountMinor' | 'begunAt' | 'silentSince' | 'gatewayReference'
> {
  description: string | null
  waiting: SaleWaiting
}

/** Returns the rows of these, as `waitingOf` and `isSilent` of the rules have it: silent for 24 hours, or refused while nobody has the money. */
const unsettled = (account: AccountId) => fragment`
  from capture_sales c
  join accounts a on a.account_id = ${account}
  join capture_sessions s on s.account_id = ${account} and s.capture_session_id = c.capture_session_id
 where c.account_id = ${account} and ((c.state = 'open' or c.refund_state = 'open') and c.silent_since <= coalesce(a.clock_at, clock_timestamp()) - interval '24 hours'
    or c.refund_state = 'refused' and (s.charge_id is distinct from c.charge_id or s.completed_at is null))`

export const listUnsettledSales = (db: Queryable, account: AccountId, _all: object, start: PageStart, limit: number) =>
  db.rows<UnsettledSale>(sql`
    select c.charge_id as "chargeId", c.capture_session_id as "sessionId", c.gateway_id as "gatewayId", c.currency, c.amount_minor as "amountMinor",
           c.begun_at as "begunAt", c.silent_since as "silentSince", nullif(c.gateway_reference, 'by hand') as "gatewayReference", s.description,
           case when c.state = 'open' then 'charge' when c.refund_state = 'open' then 'refund' else 'refused' end as "waiting"
    ${unsettled(account)} order by c.charge_id ${inPage(start, limit)}`)

export const countUnsettledSales = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" ${unsettled(account)}`)
