import type { Queryable } from '../database/database.ts'
import { column, sql } from '../database/sql.ts'
import type { Purpose } from './envelope.ts'

/** Statements about data keys, which belong to no account; the owner's functions know all columns that hold some. */

/** Bytes as an element of an array. */
export const byteaText = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`

/** The data key of a purpose; null where a version before has sealed with a key derived from ENCRYPTION_KEY itself. */
interface DataKeyRow {
  purpose: Purpose
  wrapped: Buffer | null
}

export const listDataKeys = (db: Queryable) => db.rows<DataKeyRow>(sql`select purpose, wrapped from list_data_keys()`)

/** Keeps data keys of purposes that have none. Of several processes that do this at once the first keeps all of its own. */
export const keepDataKeys = (db: Queryable, made: readonly { purpose: Purpose; wrapped: string }[]) =>
  db.rows(sql`select keep_data_keys(${column(made, 'purpose')}::text[], ${column(made, 'wrapped')}::bytea[])`)

/** Returns the names, in hex, of all keys that wrap something; in the time of a few looks into indexes. */
export const listWrappingKeys = async (db: Queryable): Promise<string[]> => {
  const rows = await db.rows<{ id: string }>(
    sql`select distinct encode(key_id, 'hex') as "id" from list_wrapping_keys() order by 1`,
  )
  return rows.map(({ id }) => id)
}

/** Returns the number of data keys that a key wraps. */
export const countWrappedBy = (db: Queryable, keyId: string) =>
  db.count(sql`select count_wrapped_by(decode(${keyId}, 'hex')) as "n"`)

/** Wrapped data key, and the column that holds it. */
export interface WrappedKey {
  table: string
  column: string
  wrapped: Buffer
}

/** Lists some data keys that a key wraps. */
export const listWrappedBy = (db: Queryable, keyId: string, limit: number) =>
  db.rows<WrappedKey>(
    sql`select table_name as "table", column_name as "column", wrapped from list_wrapped_by(decode(${keyId}, 'hex'), ${limit})`,
  )

/** Puts data keys of one column, wrapped anew, in the place of themselves; nothing happens to a row that changed meanwhile. */
export const replaceWrapped = (
  db: Queryable,
  { table, column: name }: Pick<WrappedKey, 'table' | 'column'>,
  keys: readonly { before: string; after: string }[],
) =>
  db.rows(
    sql`select replace_wrapped(${table}, ${name}, ${column(keys, 'before')}::bytea[], ${column(keys, 'after')}::bytea[])`,
  )
