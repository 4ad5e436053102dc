import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { bigintList, bigints, dates } from '../../platform/database/columns.ts'
import { arrayLiteral, column, fragment, sql } from '../../platform/database/sql.ts'
import type { SentBatch, SentPayment } from './rules.ts'

/** Statements that find what lines of files are about: payments and batches that left for their gateway. */

const LEFT = fragment`b.state in ('submitted', 'completed')`

/** Lists payments in batches that left, of whichever gateway, as lines of files are compared with them. */
export const listSentPayments = (tx: Transaction, ids: readonly Id[]) =>
  tx.rows<SentPayment>(sql`
    select p.payment_id as "id", p.customer_id as "customerId", b.gateway_id as "gatewayId", b.token::text as "batchToken", p.amount_minor as "amountMinor", p.currency,
           b.action_date as "actionDate", p.failed_on as "failedOn"
      from batch_lines l
      join payment_batches b on b.account_id = ${tx.account} and b.batch_id = l.batch_id
      join payments p on p.account_id = ${tx.account} and p.payment_id = l.payment_id
     where l.account_id = ${tx.account} and l.payment_id = any(${bigintList(ids)}::bigint[]) and ${LEFT}`)

/** Lists batches that left, of whichever gateway, by their tokens. */
export const listSentBatches = (tx: Transaction, tokens: readonly string[]) =>
  tx.rows<SentBatch>(sql`
    select b.batch_id as "id", b.gateway_id as "gatewayId", b.token::text as "token", b.currency, b.action_date as "actionDate",
           (select coalesce(sum(p.amount_minor), 0)::bigint
              from batch_lines l join payments p on p.account_id = ${tx.account} and p.payment_id = l.payment_id
             where l.account_id = ${tx.account} and l.batch_id = b.batch_id and p.failed_on is null) as "openMinor"
      from payment_batches b
     where b.account_id = ${tx.account} and b.token = any(${arrayLiteral(tokens)}::uuid[]) and ${LEFT}`)

/**
 * Lists payments of a batch that a result of the whole batch changes, from after one on: those without a result, and where it is a rejection
 * those that counted as received too.
 */
export const listPaymentsOfBatch = (
  db: Queryable,
  account: AccountId,
  batchId: Id,
  { isSuccess, after, limit }: { isSuccess: boolean; after: Id; limit: number },
) =>
  db.rows<{ id: Id; customerId: CustomerId }>(sql`
    select l.payment_id as "id", l.customer_id as "customerId" from batch_lines l
     where l.account_id = ${account} and l.batch_id = ${batchId} and l.payment_id > ${after}
       and (l.result is null or (${!isSuccess} and l.result = 'success' and l.returned_on is null))
     order by l.payment_id limit ${limit}`)

/** Money line whose payment is looked for by the mandate that it was collected under. */
export interface MandateQuestion {
  place: bigint
  mandate: string
  amountMinor: bigint
  currency: string
  on: IsoDate
}

/** Finds for each question the newest payment under its mandate that has its amount, was due by its day and has not failed. */
export const listByMandate = (tx: Transaction, gatewayId: Id, questions: readonly MandateQuestion[]) =>
  tx.rows<{ place: bigint; id: Id }>(sql`
    select asked.place as "place", max(p.payment_id) as "id"
      from unnest(${bigints(questions, 'place')}::bigint[], ${column(questions, 'mandate')}::text[], ${bigints(questions, 'amountMinor')}::bigint[],
                  ${column(questions, 'currency')}::text[], ${dates(questions, 'on')}::date[]) as asked (place, mandate, amount_minor, currency, due_by)
      join batch_lines l on l.account_id = ${tx.account} and l.sent_mandate = asked.mandate
      join payment_batches b on b.account_id = ${tx.account} and b.batch_id = l.batch_id and b.gateway_id = ${gatewayId} and ${LEFT}
        and b.action_date <= asked.due_by
      join payments p on p.account_id = ${tx.account} and p.payment_id = l.payment_id and p.amount_minor = asked.amount_minor
        and p.currency = asked.currency and p.failed_on is null
     group by asked.place`)

/** Batch whose file was downloaded, and of which some lines have no result. */
export interface BatchToSettle {
  id: Id
  gatewayId: Id
  actionDate: IsoDate
}

export const listBatchesToSettle = (db: Queryable, account: AccountId) =>
  db.rows<BatchToSettle>(sql`
    select b.batch_id as "id", b.gateway_id as "gatewayId", b.action_date as "actionDate" from payment_batches b
     where b.account_id = ${account} and b.state = 'submitted' and b.downloaded_on is not null order by b.action_date, b.batch_id`)

/** Lists accounts on real time with debits of days that are over and have no result. */
export const listAccountsToSettle = (db: Pick<Queryable, 'rows'>, now: Instant) =>
  db.rows<{ account: AccountId }>(sql`select account_id as "account" from list_accounts_to_settle(${now}::timestamptz)`)
