import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A file of a bank that was read to its end, beside the lines of it that are kept. */
export interface CheckedFile {
  id: Id
  matched: number
  applied: number
  unmatched: number
  lineCount: number
}

export const listFilePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedFile>(sql`
    select f.result_file_id as "id", f.matched, f.applied, f.unmatched,
           (select count(*)::integer from result_lines l where l.account_id = ${account} and l.result_file_id = f.result_file_id
               and not (l.is_change and l.state = 'applied')) as "lineCount"
      from result_files f
     where f.account_id = ${account} and f.finished_at is not null and f.result_file_id > ${after}
     order by f.result_file_id limit ${limit}`)

/** Return that a person has applied, beside the payment that it names. */
export interface CheckedReturn {
  id: Id
  paymentId: Id | null
  customerId: CustomerId | null
  isLine: boolean
  hasFailed: boolean
}

export const listReturnPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedReturn>(sql`
    select r.result_line_id as "id", r.payment_id as "paymentId", p.customer_id as "customerId",
           l.payment_id is not null as "isLine", p.failed_on is not null as "hasFailed"
      from result_lines r
      left join payments p on p.account_id = ${account} and p.payment_id = r.payment_id
      left join batch_lines l on l.account_id = ${account} and l.payment_id = r.payment_id
     where r.account_id = ${account} and r.kind = 'return' and r.state = 'applied' and r.result_line_id > ${after}
     order by r.result_line_id limit ${limit}`)
