import type { Queryable } from '../database/database.ts'
import { sql } from '../database/sql.ts'

/** Statements about keys that seal documents, which belong to no account. */

export interface StoredSealKey {
  sealedKey: Buffer
  certificate: Buffer
}

/** Finds the newest key. */
export const findSealKey = (db: Queryable) =>
  db.first<StoredSealKey>(sql`select sealed_key as "sealedKey", certificate from find_seal_key()`)

/** Keeps a key in the place of the newest one, named by its certificate; null: of none. Of several that are kept at once the first stays. */
export const keepSealKey = (db: Queryable, { sealedKey, certificate }: StoredSealKey, inPlaceOf: Buffer | null) =>
  db.rows(sql`select keep_seal_key(${sealedKey}, ${certificate}, ${inPlaceOf})`)
