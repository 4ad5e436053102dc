import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'

export interface IdOfCode {
  id: Id
  /** The code in small letters. */
  key: string
}

export const listPackageIds = (db: Queryable, account: AccountId, keys: readonly string[]) =>
  db.rows<IdOfCode>(sql`
    select package_id as "id", code_key as "key" from packages where account_id = ${account} and code_key = any(${arrayLiteral(keys)}::text[])`)

export const listIdsOfComponents = (db: Queryable, account: AccountId, keys: readonly string[]) =>
  db.rows<IdOfCode>(sql`
    select component_id as "id", code_key as "key" from components where account_id = ${account} and code_key = any(${arrayLiteral(keys)}::text[])`)
