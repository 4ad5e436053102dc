import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** The nightly verification: who waits for it, who is at it, and what it found. */

/** Accounts that no worker has verified since a moment and that none is verifying now. */
export const listAccountsToVerify = (db: Queryable, since: Instant, at: Instant) =>
  db.rows<{ account: AccountId }>(sql`
    select account_id as "account" from list_accounts_to_verify(${since}::timestamptz, ${at}::timestamptz)`)

/** Takes an account for a worker; no row where another was faster. */
export const leaseVerification = (tx: Transaction, since: Instant, at: Instant, until: Instant) =>
  tx.rows<{ account: AccountId }>(sql`
    insert into verifications as v (account_id, leased_until) values (${tx.account}, ${until}::timestamptz)
    on conflict (account_id) do update set leased_until = excluded.leased_until
     where (v.finished_at is null or v.finished_at < ${since}::timestamptz) and (v.leased_until is null or v.leased_until < ${at}::timestamptz)
    returning v.account_id as "account"`)

export const finishVerification = (tx: Transaction, at: Instant, differences: number) =>
  tx.rows(sql`
    update verifications set leased_until = null, finished_at = ${at}::timestamptz, differences = ${differences} where account_id = ${tx.account}`)

/** Lets go of an account that is not verified to the end. */
export const releaseVerification = (tx: Transaction) =>
  tx.rows(sql`update verifications set leased_until = null where account_id = ${tx.account}`)
