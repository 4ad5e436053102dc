import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import type { Evidence, Mandate } from './types.ts'

/** A mandate beside the steps of its evidence. */
export interface CheckedMandate extends Pick<Mandate, 'id' | 'signee' | 'terms' | 'kind' | 'lastFour'> {
  customerId: CustomerId | null
  isSigned: boolean
  steps: Evidence[]
}

export const listMandatePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedMandate>(sql`
    select e.emandate_id as "id", e.signee, e.terms, e.kind, e.last_four as "lastFour", e.signed_at is not null as "isSigned",
           (select m.customer_id from payment_methods m where m.account_id = ${account} and m.emandate_id = e.emandate_id) as "customerId",
           coalesce((select jsonb_agg(jsonb_build_object('kind', s.kind, 'details', s.details, 'hash', s.hash,
               'at', to_char(s.happened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by s.step)
             from emandate_evidence s where s.account_id = ${account} and s.emandate_id = e.emandate_id), '[]') as "steps"
      from emandates e
     where e.account_id = ${account} and e.emandate_id > ${after} order by e.emandate_id limit ${limit}`)
