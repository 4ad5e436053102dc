import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { bigintList, bigints, dates } from '../../platform/database/columns.ts'
import { arrayLiteral, column, fragment, type Fragment, sql } from '../../platform/database/sql.ts'
import type { CollectedPayment, KeptBooking, SentPayment } from './bookings.ts'
import type { ResultFile } from './queries.ts'
import type { SentBatch } from './rules.ts'

/** Statements that find what lines of files are about: payments and batches that left for their gateway. */

const LEFT = fragment`b.state in ('submitted', 'completed')`

/** Returns the statement of a booking that is kept of the payment of a line, which is looked up alone: the table may have grown since it was analyzed. */
const booking = (account: AccountId, isCredit: boolean): Fragment => fragment`
  select k.booked_on, k.result_file_id, k.has_changed from payment_bookings k
   where k.account_id = ${account} and k.payment_id = l.payment_id and k.is_credit = ${isCredit} offset 0`

type SentRow = Omit<SentPayment, 'credit' | 'return'> & {
  creditOn: IsoDate | null
  creditFileId: Id | null
  hasCreditChanged: boolean | null
  returnOn: IsoDate | null
  returnFileId: Id | null
  hasReturnChanged: boolean | null
}

const keptOf = (on: IsoDate | null, fileId: Id | null, hasChanged: boolean | null): KeptBooking | null =>
  on === null ? null : { on, fileId, hasChanged: hasChanged === true }

/** Lists payments in batches that left, of whichever gateway, with what has become of them. */
export const listSentPayments = async (tx: Transaction, ids: readonly Id[]): Promise<SentPayment[]> =>
  (
    await tx.rows<SentRow>(sql`
    select p.payment_id as "id", p.customer_id as "customerId", b.gateway_id as "gatewayId", b.token::text as "batchToken", p.amount_minor as "amountMinor", p.currency,
           b.action_date as "actionDate", l.result, p.failed_on as "failedOn",
           case when p.failed_on is null then null when l.result = 'failed' then l.result_source else l.returned_source end as "failedBy",
           c.booked_on as "creditOn", c.result_file_id as "creditFileId", c.has_changed as "hasCreditChanged",
           r.booked_on as "returnOn", r.result_file_id as "returnFileId", r.has_changed as "hasReturnChanged"
      from batch_lines l
      join payment_batches b on b.account_id = ${tx.account} and b.batch_id = l.batch_id
      join payments p on p.account_id = ${tx.account} and p.payment_id = l.payment_id
      left join lateral (${booking(tx.account, true)}) c on true
      left join lateral (${booking(tx.account, false)}) r on true
     where l.account_id = ${tx.account} and l.payment_id = any(${bigintList(ids)}::bigint[]) and ${LEFT}`)
  ).map(({ creditOn, creditFileId, hasCreditChanged, returnOn, returnFileId, hasReturnChanged, ...payment }) => ({
    ...payment,
    credit: keptOf(creditOn, creditFileId, hasCreditChanged),
    return: keptOf(returnOn, returnFileId, hasReturnChanged),
  }))

/** Debit that left for a gateway, by the trace of its entry. */
export interface TracedPayment {
  trace: string
  id: Id
  actionDate: IsoDate
}

/** Lists for each trace the newest debit of a gateway that has it: traces come round after 10,000 batches. */
export const listByTrace = (db: Queryable, account: AccountId, gatewayId: Id, traces: readonly string[]) =>
  db.rows<TracedPayment>(sql`
    select asked.trace, found.payment_id as "id", found.action_date as "actionDate"
      from unnest(${arrayLiteral(traces)}::text[]) as asked (trace)
     cross join lateral (
       select l.payment_id, b.action_date from batch_lines l
         join payment_batches b on b.account_id = ${account} and b.batch_id = l.batch_id and b.gateway_id = ${gatewayId} and ${LEFT}
        where l.account_id = ${account} and l.sent_trace = asked.trace
        order by b.batch_id desc limit 1) found`)

/** Lists the companies, in capitals, under which files of a gateway have left. */
export const listSentCompanies = (db: Queryable, account: AccountId, gatewayId: Id) =>
  db.values<string>(sql`
    select distinct b.sent_company as "company" from payment_batches b
     where b.account_id = ${account} and b.gateway_id = ${gatewayId} and b.sent_company is not null`)

/** Lists the customers of payments, whose locks come before what is read of the payments. */
export const listCustomersOfPayments = (tx: Transaction, ids: readonly Id[]): Promise<CustomerId[]> =>
  tx.values<CustomerId>(sql`
    select distinct l.customer_id as "id" from batch_lines l
     where l.account_id = ${tx.account} and l.payment_id = any(${bigintList(ids)}::bigint[])`)

/** Lists batches that left, of whichever gateway, by their tokens, without their payments. */
export const listSentBatches = (tx: Transaction, tokens: readonly string[]) =>
  tx.rows<Omit<SentBatch, 'payments'>>(sql`
    select b.batch_id as "id", b.gateway_id as "gatewayId", b.token::text as "token", b.currency, b.action_date as "actionDate"
      from payment_batches b
     where b.account_id = ${tx.account} and b.token = any(${arrayLiteral(tokens)}::uuid[]) and ${LEFT}`)

/** Lists the payments of a batch, as a booking of all of them is compared with them. */
export const listCollected = async (tx: Transaction, batchId: Id): Promise<CollectedPayment[]> =>
  (
    await tx.rows<
      Pick<SentPayment, 'amountMinor' | 'failedOn'> & Pick<SentRow, 'creditOn' | 'creditFileId' | 'hasCreditChanged'>
    >(sql`
      select p.amount_minor as "amountMinor", p.failed_on as "failedOn", c.booked_on as "creditOn", c.result_file_id as "creditFileId",
             c.has_changed as "hasCreditChanged"
        from batch_lines l
        join payments p on p.account_id = ${tx.account} and p.payment_id = l.payment_id
        left join lateral (${booking(tx.account, true)}) c on true
       where l.account_id = ${tx.account} and l.batch_id = ${batchId}`)
  ).map(({ amountMinor, failedOn, creditOn, creditFileId, hasCreditChanged }) => ({
    amountMinor,
    failedOn,
    credit: keptOf(creditOn, creditFileId, hasCreditChanged),
  }))

/** Payment of a batch that a line about all of them concerns. */
export interface PaymentOfBatch {
  id: Id
  customerId: CustomerId
}

/** Lists payments of a batch that a booking of all of them is the credit of, from after one on: those not failed without a credit. */
export const listToCredit = (db: Queryable, account: AccountId, batchId: Id, after: Id, limit: number) =>
  db.rows<PaymentOfBatch>(sql`
    select l.payment_id as "id", l.customer_id as "customerId" from batch_lines l
      join payments p on p.account_id = ${account} and p.payment_id = l.payment_id
     where l.account_id = ${account} and l.batch_id = ${batchId} and l.payment_id > ${after} and p.failed_on is null
       and not exists (${booking(account, true)})
     order by l.payment_id limit ${limit}`)

/** Lists payments of a batch that its rejection ends, from after one on: those without a result, and those that counted as received. */
export const listToEnd = (db: Queryable, account: AccountId, batchId: Id, after: Id, limit: number) =>
  db.rows<PaymentOfBatch>(sql`
    select l.payment_id as "id", l.customer_id as "customerId" from batch_lines l
     where l.account_id = ${account} and l.batch_id = ${batchId} and l.payment_id > ${after}
       and (l.result is null or (l.result = 'success' and l.returned_on is null))
     order by l.payment_id limit ${limit}`)

/** Money line whose payment is looked for by the mandate that it was collected under. */
export interface MandateQuestion {
  place: bigint
  mandate: string
  amountMinor: bigint
  currency: string
  on: IsoDate
  /** Payments that other lines may take before. */
  more: bigint
}

/**
 * Lists for each question the payments under its mandate that have its amount, were due by its day, have not failed, and stand in no other line of
 * the file and in no open return; the newest first.
 */
export const listByMandate = (
  tx: Transaction,
  { gatewayId, id: fileId }: FileOfLines,
  questions: readonly MandateQuestion[],
) =>
  tx.rows<{ place: bigint; id: Id }>(sql`
    select asked.place as "place", found.payment_id as "id"
      from unnest(${bigints(questions, 'place')}::bigint[], ${column(questions, 'mandate')}::text[], ${bigints(questions, 'amountMinor')}::bigint[],
                  ${column(questions, 'currency')}::text[], ${dates(questions, 'on')}::date[], ${bigints(questions, 'more')}::bigint[])
             as asked (place, mandate, amount_minor, currency, due_by, more)
     cross join lateral (
       select l.payment_id from batch_lines l
         join payment_batches b on b.account_id = ${tx.account} and b.batch_id = l.batch_id and b.gateway_id = ${gatewayId} and ${LEFT}
           and b.action_date <= asked.due_by
         join payments p on p.account_id = ${tx.account} and p.payment_id = l.payment_id and p.amount_minor = asked.amount_minor
           and p.currency = asked.currency and p.failed_on is null
        where l.account_id = ${tx.account} and l.sent_mandate = asked.mandate
          and not exists (select 1 from result_lines r where r.account_id = ${tx.account} and r.payment_id = l.payment_id and r.kind = 'return'
            and (r.state = 'open' or r.result_file_id = ${fileId}))
        order by l.payment_id desc limit 1 + asked.more) found
     order by asked.place, found.payment_id desc`)

/** File whose lines are listed. */
export type FileOfLines = Pick<ResultFile, 'id' | 'gatewayId'>

/** Lists which of some invoices stand in a credit of the file, or in an open one of any. */
export const listProposedInvoices = async (tx: Transaction, fileId: Id, ids: readonly Id[]): Promise<Set<Id>> =>
  new Set(
    await tx.values<Id>(sql`
      select distinct r.invoice_id as "id" from result_lines r
       where r.account_id = ${tx.account} and r.invoice_id = any(${bigintList(ids)}::bigint[]) and r.kind = 'credit'
         and (r.state = 'open' or r.result_file_id = ${fileId})`),
  )

/** Returns the condition that the payment of a line waits for no person: no open line names or proposes it as a return, or has an unclear status for it or for its batch. */
const isClear = (account: AccountId): Fragment => fragment`
  not exists (select 1 from result_lines r where r.account_id = ${account} and r.payment_id = l.payment_id and r.state = 'open'
    and (r.kind = 'return' or r.is_status))
  and not exists (select 1 from result_lines r where r.account_id = ${account} and r.batch_id = l.batch_id and r.state = 'open' and r.is_status)`

/** Batch whose file was downloaded, and of which some lines have no result and wait for no person. */
export interface BatchToSettle {
  id: Id
  gatewayId: Id
  actionDate: IsoDate
}

export const listBatchesToSettle = (db: Queryable, account: AccountId) =>
  db.rows<BatchToSettle>(sql`
    select b.batch_id as "id", b.gateway_id as "gatewayId", b.action_date as "actionDate" from payment_batches b
     where b.account_id = ${account} and b.state = 'submitted' and b.downloaded_on is not null
       and exists (select 1 from batch_lines l where l.account_id = ${account} and l.batch_id = b.batch_id and l.result is null and ${isClear(account)})
     order by b.action_date, b.batch_id`)

/** Lists payments of a batch that days settle, from after one on: those without a result that wait for no person. */
export const listDebitsToSettle = (db: Queryable, account: AccountId, batchId: Id, after: Id, limit: number) =>
  db.rows<PaymentOfBatch>(sql`
    select l.payment_id as "id", l.customer_id as "customerId" from batch_lines l
     where l.account_id = ${account} and l.batch_id = ${batchId} and l.payment_id > ${after} and l.result is null and ${isClear(account)}
     order by l.payment_id limit ${limit}`)

/** Lists accounts on real time with debits of days that are over and have no result. */
export const listAccountsToSettle = (db: Pick<Queryable, 'rows'>, now: Instant) =>
  db.rows<{ account: AccountId }>(sql`select account_id as "account" from list_accounts_to_settle(${now}::timestamptz)`)
