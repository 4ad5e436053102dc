import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { jsonText } from '../../kernel/json.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import type { Part } from '../../platform/checks/pages.ts'
import type { Figure } from '../../platform/metrics.ts'

/** The nightly verification: who waits for it, and what it found. */

/** Name of the lease of an account that is being verified; list_accounts_to_verify names it too. */
export const VERIFICATION = 'verification'

/** Lists accounts that no worker has verified since a moment and that none is verifying now. */
export const listAccountsToVerify = (db: Queryable, since: Instant) =>
  db.rows<{ account: AccountId }>(
    sql`select account_id as "account" from list_accounts_to_verify(${since}::timestamptz)`,
  )

/** Reports whether the account was verified since a moment. */
export const isVerified = async (tx: Transaction, since: Instant): Promise<boolean> =>
  (await tx.first(sql`
    select 1 from verifications where account_id = ${tx.account} and finished_at >= ${since}::timestamptz`)) !==
  undefined

/** Keeps when the account was verified, how many differences there were, and where the next night goes on; null begins with everything. */
export const finishVerification = (tx: Transaction, at: Instant, differences: number, progress: Part | null) =>
  tx.rows(sql`
    insert into verifications (account_id, finished_at, differences, progress)
    values (${tx.account}, ${at}::timestamptz, ${differences}, ${progress && jsonText(progress)}::jsonb)
    on conflict (account_id) do update
      set finished_at = excluded.finished_at, differences = excluded.differences, progress = excluded.progress`)

/** Finds where the verification of the account goes on; undefined where it begins with everything. */
export async function findProgress(tx: Transaction): Promise<Part | undefined> {
  const row = await tx.first<{ progress: { turn: number; since: string; ends: Record<string, string> } | null }>(sql`
    select progress from verifications where account_id = ${tx.account}`)
  if (!row?.progress) return undefined
  const { turn, since, ends } = row.progress
  return {
    turn: Number(turn),
    since: BigInt(since),
    ends: Object.fromEntries(Object.entries(ends).map(([list, last]) => [list, BigInt(last)])),
  }
}

/** Lists the figures of the nightly verification for /metrics, whichever process ran it; none before its first night. */
export const listVerificationFigures = (db: Queryable) =>
  db.rows<Figure>(sql`
    with state as (select differences, oldest from verification_state())
    select 'verify_differences' as "name", '' as "label", differences::double precision as "value" from state where oldest is not null
    union all select 'verify_finished_at', '', extract(epoch from oldest)::double precision from state where oldest is not null`)
