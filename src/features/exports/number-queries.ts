import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, sql } from '../../platform/database/sql.ts'

/** Numbers of documents as the files of an account have them. */

export interface WrittenNumber {
  number: string
  base: string
  count: number
  document: string
}

/** Lists how numbers were written before. */
export const listWrittenNumbers = (tx: Transaction, numbers: readonly string[]) =>
  tx.rows<Pick<WrittenNumber, 'number' | 'document'>>(sql`
    select number, document from export_numbers where account_id = ${tx.account} and number = any(${arrayLiteral(numbers)}::text[])`)

/** Lists how far the numbers of some bases are counted. */
export const listCounts = (tx: Transaction, bases: readonly string[]) =>
  tx.rows<Pick<WrittenNumber, 'base' | 'count'>>(sql`
    select base, max(count) as "count" from export_numbers where account_id = ${tx.account} and base = any(${arrayLiteral(bases)}::text[])
     group by base`)

/** Adds numbers of a batch; returns those whose document no other number has. */
export const insertNumbers = (tx: Transaction, exportId: Id, numbers: readonly WrittenNumber[]) =>
  tx.rows<{ number: string }>(sql`
    insert into export_numbers (account_id, export_id, number, base, count, document)
    select ${tx.account}, ${exportId}, n.*
      from unnest(${column(numbers, 'number')}::text[], ${column(numbers, 'base')}::text[], ${column(numbers, 'count')}::integer[],
                  ${column(numbers, 'document')}::text[]) n
        on conflict (account_id, document) do nothing
    returning number`)
