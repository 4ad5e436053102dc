import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { writtenEntries } from '../ledger/group-by-facts-queries.ts'

// Records without any entry. Each should have one, unless its amount is 0.

export const listUnpostedPayments = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.payment_id as "id" from payments r
     where r.account_id = ${account} and r.payment_id > ${after} and not exists (select 1 from ${writtenEntries(account)} e
       where e.record_type = 'payment' and e.record_id = r.payment_id)
     order by r.payment_id limit ${limit}`)

export const listUnpostedNegatives = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.negative_adjustment_id as "id" from negative_adjustments r
     where r.account_id = ${account} and r.negative_adjustment_id > ${after} and not exists (select 1 from ${writtenEntries(account)} e
       where e.record_type = 'negative_adjustment' and e.record_id = r.negative_adjustment_id)
     order by r.negative_adjustment_id limit ${limit}`)

export const listUnpostedPositives = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.positive_adjustment_id as "id" from positive_adjustments r
     where r.account_id = ${account} and r.positive_adjustment_id > ${after} and not exists (select 1 from ${writtenEntries(account)} e
       where e.record_type = 'positive_adjustment' and e.record_id = r.positive_adjustment_id)
     order by r.positive_adjustment_id limit ${limit}`)

// An old settlement stands under its allocation, also where that is gone.
export const listUnpostedAllocations = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.allocation_id as "id" from (
        select allocation_id from allocations where account_id = ${account}
        union
        select s.old_allocation_id from settlements s
         where s.account_id = ${account} and exists (select 1 from settlement_taxes t
           where t.account_id = ${account} and t.settlement_id = s.settlement_id and t.amount_minor > 0)) r
     where r.allocation_id > ${after} and not exists (select 1 from ${writtenEntries(account)} e
       where e.record_type = 'allocation' and e.record_id = r.allocation_id)
     order by r.allocation_id limit ${limit}`)

export const listUnpostedSettlements = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.settlement_id as "id" from settlements r
     where r.account_id = ${account} and r.settlement_id > ${after} and not r.is_old
       and exists (select 1 from settlement_taxes t
         where t.account_id = ${account} and t.settlement_id = r.settlement_id and t.amount_minor > 0)
       and not exists (select 1 from ${writtenEntries(account)} e
         where e.record_type = 'settlement' and e.record_id = r.settlement_id)
     order by r.settlement_id limit ${limit}`)
