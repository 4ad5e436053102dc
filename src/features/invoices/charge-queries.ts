import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { sendKeptAsRows } from './template-line-queries.ts'

/** Marks days of charges of a locked customer as given back, with what came back for them. Their lines are rows from then on. */
export function addCredited(
  tx: Transaction,
  customerId: CustomerId,
  columns: { chargeIds: string; days: string; amountsMinor: string },
) {
  sendKeptAsRows(tx, customerId, columns.chargeIds)
  return tx.rows(sql`
    update charge_rows c set credited_minor = c.credited_minor + d.amount, credited_from = least(c.credited_from, d.day)
      from unnest(${columns.chargeIds}::bigint[], ${columns.days}::date[], ${columns.amountsMinor}::bigint[]) as d(charge, day, amount)
     where c.account_id = ${tx.account} and c.charge_id = d.charge`)
}

/** Returns the charges that are rows, as a relation: those that a credit note gives back are among them. */
export const writtenOutCharges = (account: AccountId): Fragment =>
  fragment`(select * from charge_rows where account_id = ${account})`

/**
 * Returns a relation of all charges of some subscriptions, with the columns of `charges`. Those that are kept with templates are found by the invoices of
 * their customers: no index leads from a subscription to them. `ids` is a bigint[]; whether an invoice is of one of many is found by hashing (`is true` keeps
 * the planner from making a join of it), and the lines of each are looked up on their own, which the planner leaves as it is however little it knows of the tables.
 */
export const chargesOfSubscriptions = (account: AccountId, ids: Fragment): Fragment => fragment`
  select * from charge_rows where account_id = ${account} and subscription_id = any(${ids})
  union all
  select c.* from (
    select i.invoice_id from invoices i
     where i.account_id = ${account} and i.template_id is not null and (i.subscription_id in (select unnest(${ids}))) is true and i.customer_id = any(array(
             select s.customer_id from subscriptions s where s.account_id = ${account} and s.subscription_id = any(${ids}))) offset 0) k
    cross join lateral (select * from charges where account_id = ${account} and invoice_id = k.invoice_id offset 0) c`
