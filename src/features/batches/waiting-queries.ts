import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { bigints } from '../../platform/database/columns.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { column, type Fragment, fragment, sql } from '../../platform/database/sql.ts'

/** Statements of batches that the service makes. */

/** Finds the oldest open batch of the service for a day with a place left. */
export const findOpenOfService = (
  tx: Transaction,
  gatewayId: Id,
  { currency, actionDate }: { currency: string; actionDate: IsoDate },
  linesMax: number,
) =>
  tx.first<{ id: Id }>(sql`
    select b.batch_id as "id" from payment_batches b
     where b.account_id = ${tx.account} and b.gateway_id = ${gatewayId} and b.currency = ${currency} and b.action_date = ${actionDate}
       and b.state = 'open' and b.is_service_made
       and (select count(*) from batch_lines l where l.account_id = ${tx.account} and l.batch_id = b.batch_id) < ${linesMax}
     order by b.batch_id limit 1`)

/** Locks a gateway against other makers of its batches. */
export const lockBatchesOf = (tx: Transaction, gatewayId: Id) =>
  tx.rows(sql`select 1 from gateways where account_id = ${tx.account} and gateway_id = ${gatewayId} for no key update`)

/** A batch that was not submitted: open, or failed. */
export interface Unsubmitted {
  id: Id
  gatewayId: Id
  actionDate: IsoDate
  state: 'open' | 'failed'
  isServiceMade: boolean
  moves: number
  lastMomentAt: Instant | null
  /** The day of the debit whose passing has its event. */
  passedFor: IsoDate | null
  /** The day of the debit whose event was written because the batch waits for somebody. */
  warnedFor: IsoDate | null
  lineCount: number
}

export const listUnsubmitted = (db: Queryable, account: AccountId) =>
  db.rows<Unsubmitted>(sql`
    select b.batch_id as "id", b.gateway_id as "gatewayId", b.action_date as "actionDate", b.state, b.is_service_made as "isServiceMade",
           b.moves, b.last_moment_at as "lastMomentAt", b.passed_for as "passedFor", b.warned_for as "warnedFor",
           (select count(*)::integer from batch_lines l where l.account_id = ${account} and l.batch_id = b.batch_id) as "lineCount"
      from payment_batches b where b.account_id = ${account} and b.state in ('open', 'failed') order by b.batch_id`)

/** Lists the last moments of batches that were not submitted, of one gateway or of all. */
export const listMomentsOfUnsubmitted = (tx: Transaction, gatewayId: Id | null) =>
  tx.rows<Pick<Unsubmitted, 'id' | 'gatewayId' | 'actionDate' | 'lastMomentAt'>>(sql`
    select b.batch_id as "id", b.gateway_id as "gatewayId", b.action_date as "actionDate", b.last_moment_at as "lastMomentAt"
      from payment_batches b
     where b.account_id = ${tx.account} and b.state in ('open', 'failed') ${gatewayId === null ? fragment`` : fragment`and b.gateway_id = ${gatewayId}`}
     order by b.batch_id`)

export const updateLastMoments = (tx: Transaction, rows: readonly { id: Id; at: Instant }[]) =>
  tx.rows(sql`
    update payment_batches b set last_moment_at = r.at
      from unnest(${bigints(rows, 'id')}::bigint[], ${column(rows, 'at')}::timestamptz[]) as r (id, at)
     where b.account_id = ${tx.account} and b.batch_id = r.id`)

/** Lists the batches that the service made, that were not submitted, and in which no line is left. */
export const listWithoutLines = (db: Queryable, account: AccountId): Promise<Id[]> =>
  db.values<Id>(sql`
    select b.batch_id as "id" from payment_batches b
     where b.account_id = ${account} and b.is_service_made and b.state in ('open', 'failed')
       and not exists (select 1 from batch_lines l where l.account_id = ${account} and l.batch_id = b.batch_id) order by b.batch_id`)

export const updateWarned = (tx: Transaction, id: Id, actionDate: IsoDate) =>
  tx.rows(sql`
    update payment_batches set warned_for = ${actionDate} where account_id = ${tx.account} and batch_id = ${id}`)

export const updatePassed = (tx: Transaction, id: Id, actionDate: IsoDate) =>
  tx.rows(sql`
    update payment_batches set passed_for = ${actionDate} where account_id = ${tx.account} and batch_id = ${id}`)

/** Builds the SQL of whether a line waits: the service made it, nobody changed it, and its batch was not submitted. So it gives way. */
const waiting = (account: AccountId): Fragment =>
  fragment`exists (select 1 from payments w where w.account_id = ${account} and w.payment_id = l.payment_id and w.gives_way)`

/** A line of the service that waits for its batch to be submitted. */
export interface WaitingLine {
  paymentId: Id
  batchId: Id
  announcedOn: IsoDate | null
}

export const listWaitingLines = (tx: Transaction, customerId: CustomerId) =>
  tx.rows<WaitingLine>(sql`
    select l.payment_id as "paymentId", l.batch_id as "batchId", l.announced_on as "announcedOn"
      from batch_lines l join payment_batches b on b.account_id = ${tx.account} and b.batch_id = l.batch_id
     where l.account_id = ${tx.account} and l.customer_id = ${customerId} and ${waiting(tx.account)} order by l.payment_id`)

export const findWaitingLine = (tx: Transaction, paymentId: Id) =>
  tx.first<WaitingLine>(sql`
    select l.payment_id as "paymentId", l.batch_id as "batchId", l.announced_on as "announcedOn"
      from batch_lines l join payment_batches b on b.account_id = ${tx.account} and b.batch_id = l.batch_id
     where l.account_id = ${tx.account} and l.payment_id = ${paymentId} and ${waiting(tx.account)}`)

/** Lists invoices, and their customers, with a line that waits and with unallocated money of the customer in the invoice's currency. */
export const listPayable = (db: Queryable, account: AccountId) =>
  db.rows<{ customerId: CustomerId; invoiceId: InvoiceId; currency: string }>(sql`
    select distinct l.customer_id as "customerId", i.invoice_id as "invoiceId", i.currency
      from payment_batches b
      join batch_lines l on l.account_id = ${account} and l.batch_id = b.batch_id
      join collection_tries t on t.account_id = ${account} and t.payment_id = l.payment_id
      join invoices i on i.account_id = ${account} and i.invoice_id = t.invoice_id
     where b.account_id = ${account} and b.state in ('open', 'failed') and ${waiting(account)}
       and (exists (select 1 from payments p where p.account_id = ${account} and p.customer_id = l.customer_id and p.currency = i.currency
                     and p.failed_on is null and p.amount_minor > p.applied_minor + p.held_minor)
         or exists (select 1 from negative_adjustments n where n.account_id = ${account} and n.customer_id = l.customer_id
                     and n.currency = i.currency and n.kind = 'credit_note' and n.amount_minor > n.applied_minor))
     order by 1, 2`)

/** Lists customers with a line that waits and that what is known of invoice, customer, method and gateway lets no longer be. */
export const listWithUnwanted = (db: Queryable, account: AccountId): Promise<CustomerId[]> =>
  db.values<CustomerId>(sql`
    select distinct l.customer_id as "id"
      from payment_batches b
      join batch_lines l on l.account_id = ${account} and l.batch_id = b.batch_id
      join gateways g on g.account_id = ${account} and g.gateway_id = b.gateway_id
      join customers c on c.account_id = ${account} and c.customer_id = l.customer_id
      join payment_methods m on m.account_id = ${account} and m.payment_method_id = l.payment_method_id
      join collection_tries t on t.account_id = ${account} and t.payment_id = l.payment_id
      join invoices i on i.account_id = ${account} and i.invoice_id = t.invoice_id
     where b.account_id = ${account} and b.state in ('open', 'failed') and ${waiting(account)}
       and (not g.is_active or m.state = 'rejected' or i.is_collection_hold or c.is_collection_hold or c.archived_at is not null
         or i.collection_method <> 'debit_order' or (not i.is_method_requested and not m.is_primary)
         or (c.suspended_at is not null and not t.is_by_hand and not (t.is_extra and c.is_suspended_by_rule)))
     order by 1`)

export const deleteServiceLine = (tx: Transaction, paymentId: Id) =>
  tx.rows(sql`delete from batch_lines where account_id = ${tx.account} and payment_id = ${paymentId}`)

/** Notes the day of the debit that was announced to the payers of lines. */
export const updateAnnounced = (tx: Transaction, paymentIds: readonly Id[], day: IsoDate) =>
  tx.rows(sql`
    update batch_lines set announced_on = ${day}
     where account_id = ${tx.account} and payment_id = any(${`{${paymentIds.join(',')}}`}::bigint[])`)
