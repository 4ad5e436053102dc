import type { OwedSums } from '../../engine/money/allocation-effects.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { bigintList, bigints } from '../../platform/database/columns.ts'
import type { OfMany, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { notingChanged } from '../events/queries.ts'
import { sendKeptAsRows } from './template-line-queries.ts'

/** Statements by which other rooms note at an issued invoice what happened to it: applied, tried, held, sent. */

/** Makes every link of an invoice that was made so far useless. */
export const raiseLinkCounter = (tx: Transaction, id: InvoiceId) =>
  tx.rows(
    sql`update invoices set link_counter = link_counter + 1 where account_id = ${tx.account} and invoice_id = ${id}`,
  )

/** Periods billed at zero stand on no invoice; they go with the subscriptions of a customer that never owed anything. */
export const deleteZeroCharges = (tx: Transaction, account: AccountId, customerId: Id) =>
  tx.rows(sql`
    delete from charge_rows c using subscriptions s
     where c.account_id = ${account} and s.account_id = ${account} and s.subscription_id = c.subscription_id and s.customer_id = ${customerId}
       and c.invoice_id is null`)

/** How much more, or less, is allocated to an invoice, by what it counts as. */
export interface AppliedDelta extends OwedSums {
  id: InvoiceId
}

/** Returns the parts of a statement, the last one behind the others, that move the sums of what is allocated to invoices, each named once. */
export const applied = (
  account: AccountId,
  rows: readonly (AppliedDelta & { at: Instant })[],
): { changed: Fragment; noted: Fragment } => ({
  changed: fragment`changed as (
      update invoices i
       set paid_minor = i.paid_minor + d.paid, pending_minor = i.pending_minor + d.pending, negative_minor = i.negative_minor + d.negative,
           written_off_minor = i.written_off_minor + d.written_off, last_updated = d.at
      from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'paidMinor')}::bigint[], ${bigints(rows, 'pendingMinor')}::bigint[],
        ${bigints(rows, 'negativeMinor')}::bigint[], ${bigints(rows, 'writtenOffMinor')}::bigint[], ${column(rows, 'at')}::timestamptz[])
        as d(id, paid, pending, negative, written_off, at)
     where i.account_id = ${account} and i.invoice_id = d.id returning i.invoice_id as id)`,
  noted: notingChanged(account, 'invoice'),
})

const applying: OfMany<AppliedDelta & { at: Instant }> = (account, rows) => {
  const { changed, noted } = applied(account, rows)
  return sql`with ${changed} ${noted}`
}

/** Moves the sums of what is allocated to invoices, each named once, without waiting. */
export const sendApplied = (tx: Transaction, rows: readonly AppliedDelta[], at: Instant): void =>
  tx.sendGrouped(
    applying,
    rows.map((row) => ({ ...row, at })),
  )

/** Moves the sums of what credit notes settle for invoices, each named once, without waiting. */
export const sendCredited = (
  tx: Transaction,
  rows: readonly { id: InvoiceId; amountMinor: bigint }[],
  at: Instant,
): void =>
  tx.send(sql`
    with changed as (
      update invoices i set credited_minor = i.credited_minor + d.amount, last_updated = ${at}
      from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'amountMinor')}::bigint[]) as d(id, amount)
     where i.account_id = ${tx.account} and i.invoice_id = d.id returning i.invoice_id as id)
    ${notingChanged(tx.account, 'invoice')}`)

/** Counts a try each of invoices that is made now, without waiting: while its outcome is not known there is no next one. */
export const sendTried = (tx: Transaction, ids: readonly InvoiceId[]): void =>
  tx.send(sql`
    with changed as (
      update invoices set tries = tries + 1, next_try_date = null, has_line = false
     where account_id = ${tx.account} and invoice_id = any(${bigintList(ids)}::bigint[]) returning invoice_id as id)
    ${notingChanged(tx.account, 'invoice')}`)

/** Counts tries that were made by hand, or takes back those that were never sent, without waiting: an invoice is named once for each. */
export const countTries = (tx: Transaction, ids: readonly InvoiceId[], by: 1 | -1): void =>
  tx.send(sql`
    with changed as (
      update invoices i set tries = i.tries + ${by} * t.count
      from (select id, count(*)::integer from unnest(${bigintList(ids)}::bigint[]) as id group by id) t
     where i.account_id = ${tx.account} and i.invoice_id = t.id returning i.invoice_id as id)
    ${notingChanged(tx.account, 'invoice')}`)

/** Writes the day of the next try, without waiting. With `hasLine` it is the day of a line that waits in a batch. */
export const updateNextTry = (tx: Transaction, id: InvoiceId, on: IsoDate | null, hasLine = false): void =>
  tx.send(sql`
    with changed as (
      update invoices set next_try_date = ${on}, has_line = ${hasLine} where account_id = ${tx.account} and invoice_id = ${id} returning invoice_id as id)
    ${notingChanged(tx.account, 'invoice')}`)

/** Keeps an invoice out of collection until a person has looked. */
export const holdInvoice = (tx: Transaction, id: InvoiceId, at: Instant) =>
  tx.rows(sql`
    with changed as (
      update invoices set is_collection_hold = true, last_updated = ${at} where account_id = ${tx.account} and invoice_id = ${id} returning invoice_id as id)
    ${notingChanged(tx.account, 'invoice')}`)

/** Marks invoices as sent, which is no edit: nothing that a PUT would replace changes, and LastUpdated stays. */
export const updateDatesSent = (tx: Transaction, ids: readonly InvoiceId[], at: Instant) =>
  tx.rows(sql`
    update invoices set date_sent = ${at} where account_id = ${tx.account} and invoice_id = any(${arrayLiteral(ids)}::bigint[])`)

/** Takes removed methods out of the invoices of a customer that are not paid: they are not tried any more. */
export const forgetMethodsOfInvoices = (tx: Transaction, customerId: CustomerId) =>
  tx.rows(sql`
    with changed as (
      update invoices set payment_method_id = null, is_method_requested = false, next_try_date = null
     where account_id = ${tx.account} and customer_id = ${customerId} and payment_method_id is not null and cancelled_at is null
       and total_minor > paid_minor + negative_minor returning invoice_id as id)
    ${notingChanged(tx.account, 'invoice')}`)

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
