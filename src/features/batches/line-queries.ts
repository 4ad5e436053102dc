import type { DeclineClass } from '../../kernel/rails.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { firstRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'

/** Statements of the lines of batches. Amount and allocations of a line are those of its payment. */

export type ResultSource = 'gateway' | 'file' | 'hand'

export interface BatchLine {
  /** The identifier of its payment. */
  id: Id
  batchId: Id
  customerId: CustomerId
  paymentMethodId: Id
  isServiceMade: boolean
  /** The day of the debit that the newest notice to the payer names; null: there was none. */
  announcedOn: IsoDate | null
  /** Keyed hash of the account number that the batch was built with. */
  sentNumberHash: Buffer | null
  sentMandate: string | null
  result: 'success' | 'failed' | null
  resultOn: IsoDate | null
  resultClass: DeclineClass | null
  resultCode: string | null
  resultReason: string | null
  resultSource: ResultSource | null
  returnedOn: IsoDate | null
  returnedClass: DeclineClass | null
  returnedCode: string | null
  returnedReason: string | null
  returnedSource: ResultSource | null
}

const COLUMNS = fragment`
  l.payment_id as "id", l.batch_id as "batchId", l.customer_id as "customerId", l.payment_method_id as "paymentMethodId",
  l.is_service_made as "isServiceMade", l.announced_on as "announcedOn", l.sent_number_hash as "sentNumberHash",
  l.sent_mandate as "sentMandate", l.result, l.result_on as "resultOn", l.result_class as "resultClass", l.result_code as "resultCode",
  l.result_reason as "resultReason", l.result_source as "resultSource", l.returned_on as "returnedOn",
  l.returned_class as "returnedClass", l.returned_code as "returnedCode", l.returned_reason as "returnedReason",
  l.returned_source as "returnedSource"`

export const findLine = (db: Queryable, account: AccountId, id: Id) =>
  firstRow<BatchLine>(
    db,
    sql`select ${COLUMNS} from batch_lines l where l.account_id = ${account} and l.payment_id = ${id}`,
  )

/** Lists the lines of a batch, in the order in which they were added. */
export const listLines = (db: Queryable, account: AccountId, batchId: Id) =>
  db.rows<BatchLine>(
    sql`select ${COLUMNS} from batch_lines l where l.account_id = ${account} and l.batch_id = ${batchId} order by l.payment_id`,
  )

/** Lists the amounts of a batch's lines, in the order in which they were added. */
export const listLineAmounts = (db: Queryable, account: AccountId, batchId: Id) =>
  db.rows<{ id: Id; amountMinor: bigint }>(sql`
    select l.payment_id as "id", p.amount_minor as "amountMinor"
      from batch_lines l join payments p on p.account_id = ${account} and p.payment_id = l.payment_id
     where l.account_id = ${account} and l.batch_id = ${batchId} order by l.payment_id`)

export type NewBatchLine = Pick<
  BatchLine,
  'id' | 'batchId' | 'customerId' | 'paymentMethodId' | 'isServiceMade' | 'announcedOn'
>

export const insertLine = (tx: Transaction, row: NewBatchLine) =>
  tx.rows(sql`
    insert into batch_lines (account_id, payment_id, batch_id, customer_id, payment_method_id, is_service_made, announced_on)
    values (${tx.account}, ${row.id}, ${row.batchId}, ${row.customerId}, ${row.paymentMethodId}, ${row.isServiceMade}, ${row.announcedOn})`)
