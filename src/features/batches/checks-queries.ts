import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A batch beside the sums of its lines. */
export interface CheckedBatch {
  id: Id
  state: string
  currency: string
  /** Lines and amount that went to the gateway; null while nothing did. */
  sentCount: number | null
  sentMinor: bigint | null
  lineCount: number
  totalMinor: bigint
  withoutResult: number
}

export const listBatchPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedBatch>(sql`
    select b.batch_id as "id", b.state, b.currency, b.sent_count as "sentCount", b.sent_minor as "sentMinor",
           count(l.payment_id)::integer as "lineCount", coalesce(sum(p.amount_minor), 0)::bigint as "totalMinor",
           (count(l.payment_id) filter (where l.result is null))::integer as "withoutResult"
      from payment_batches b
      left join batch_lines l on l.account_id = ${account} and l.batch_id = b.batch_id
      left join payments p on p.account_id = ${account} and p.payment_id = l.payment_id
     where b.account_id = ${account} and b.batch_id > ${after}
     group by b.batch_id, b.state, b.currency, b.sent_count, b.sent_minor order by b.batch_id limit ${limit}`)

/** A line beside its payment and its batch. */
export interface CheckedLine {
  id: Id
  customerId: CustomerId
  state: string
  result: 'success' | 'failed' | null
  isReturned: boolean
  wasSettled: boolean
  hasFailed: boolean
  isOfBatch: boolean
  /** It was handed over by a call of its own, and its gateway has named or refused it. */
  isCalled: boolean
  isAnswered: boolean
  isServiceMade: boolean
  givesWay: boolean
}

export const listLinePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedLine>(sql`
    select l.payment_id as "id", l.customer_id as "customerId", b.state, l.result, l.returned_on is not null as "isReturned",
           p.settled_on is not null as "wasSettled", p.failed_on is not null as "hasFailed",
           l.is_service_made as "isServiceMade", p.gives_way as "givesWay",
           l.sent_at is not null as "isCalled", l.gateway_reference is not null or l.result is not null as "isAnswered",
           p.origin = 'batch' and p.customer_id = l.customer_id and p.currency = b.currency as "isOfBatch"
      from batch_lines l
      join payments p on p.account_id = ${account} and p.payment_id = l.payment_id
      join payment_batches b on b.account_id = ${account} and b.batch_id = l.batch_id
     where l.account_id = ${account} and l.payment_id > ${after} order by l.payment_id limit ${limit}`)

/** Lists payments that give way and are no lines of batches. */
export const listWaitingPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id; customerId: CustomerId }>(sql`
    select p.payment_id as "id", p.customer_id as "customerId" from payments p
     where p.account_id = ${account} and p.gives_way and p.payment_id > ${after}
       and not exists (select 1 from batch_lines l where l.account_id = ${account} and l.payment_id = p.payment_id)
     order by p.payment_id limit ${limit}`)
