import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import type { Permission } from '../../kernel/context.ts'

export interface ApiKey {
  id: Id
  name: string
  permission: Permission
  /** Requests with this key are refused where they have names that nobody knows. */
  isStrict: boolean
  hash: Buffer
  createdAt: Instant
  expiresAt: Instant | null
  revokedAt: Instant | null
  lastUsedAt: Instant | null
}

const KEY = fragment`
  api_key_id as "id", name, permission, is_strict as "isStrict", key_hash as "hash", created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", last_used_at as "lastUsedAt"`

export const findKeyByHash = (db: Queryable, account: AccountId, hash: Buffer) =>
  db.first<ApiKey>(sql`select ${KEY} from api_keys where account_id = ${account} and key_hash = ${hash}`)

/** Returns whether a key of any account has this hash, in force or not. */
export const isKnownHash = (db: Queryable, hash: Buffer): Promise<boolean> =>
  db.value<boolean>(sql`select key_exists(${hash}) as "isKnown"`)

export const listKeys = (db: Queryable, account: AccountId) =>
  db.rows<ApiKey>(sql`select ${KEY} from api_keys where account_id = ${account} order by api_key_id`)

/** Lists all keys of the account, locked: of two that end the last two keys at once, the second must see the first. */
export const lockKeys = (tx: Transaction, account: AccountId) =>
  tx.rows<ApiKey>(sql`select ${KEY} from api_keys where account_id = ${account} order by api_key_id for update`)

export const insertKey = (
  tx: Transaction,
  account: AccountId,
  key: Pick<ApiKey, 'name' | 'permission' | 'hash' | 'createdAt' | 'expiresAt'> & { isStrict?: boolean },
): Promise<Id> =>
  tx.value<Id>(sql`
    insert into api_keys (account_id, name, permission, is_strict, key_hash, created_at, expires_at)
    values (${account}, ${key.name}, ${key.permission}, ${key.isStrict ?? false}, ${key.hash}, ${key.createdAt}, ${key.expiresAt})
    returning api_key_id as "id"`)

export const revokeKey = (tx: Transaction, account: AccountId, id: Id, at: Instant) =>
  tx.rows<{ id: Id }>(sql`
    update api_keys set revoked_at = coalesce(revoked_at, ${at}) where account_id = ${account} and api_key_id = ${id} returning api_key_id as "id"`)

export const updateStrictness = (tx: Transaction, account: AccountId, id: Id, isStrict: boolean) =>
  tx.rows(sql`update api_keys set is_strict = ${isStrict} where account_id = ${account} and api_key_id = ${id}`)

/** Stores when a key was last used, to the minute. */
export const touchKey = (tx: Transaction, account: AccountId, id: Id, at: Instant) =>
  tx.rows(sql`
    update api_keys set last_used_at = ${at}
     where account_id = ${account} and api_key_id = ${id} and (last_used_at is null or last_used_at < ${at}::timestamptz - interval '1 minute')`)
