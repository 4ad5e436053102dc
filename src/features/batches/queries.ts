import { MOVES_MAX } from '../../engine/collection/batch-days.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { CLAIMED, IS_FREE, leasedRows, LET_GO } from '../../platform/database/leased.ts'
import { beginAgain } from '../../platform/database/failures.ts'
import { bigintList } from '../../platform/database/columns.ts'
import { fragment, type Fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { Figure } from '../../platform/metrics.ts'
import { lockCustomers } from '../customers/queries.ts'

/** Statements of batches; those of their lines stand in line-queries.ts. */

export const BATCH_STATES = ['open', 'build', 'failed', 'submitted', 'completed', 'cancelled'] as const
export type BatchState = (typeof BATCH_STATES)[number]

export interface Batch {
  id: Id
  /** A UUID in small letters. */
  token: string
  gatewayId: Id
  gatewayToken: string
  currency: string
  actionDate: IsoDate
  state: BatchState
  buildError: string | null
  notes: string | null
  isServiceMade: boolean
  /** How often the service has moved it to a later day. */
  moves: number
  createdAt: Instant
  submittedAt: Instant | null
  /** The key that submitted it; 0 where the service did. */
  submittedBy: Id | null
  needsRelease: boolean
  releasedAt: Instant | null
  hasFile: boolean
  /** Until when it can be submitted, as the pass of collection has found last; null: it was in none yet. */
  lastMomentAt: Instant | null
  /** Of its lines, failed ones too. */
  lineCount: number
  totalMinor: bigint
}

const columns = (account: AccountId): Fragment => fragment`
  b.batch_id as "id", b.token::text as "token", b.gateway_id as "gatewayId", b.gateway_token::text as "gatewayToken", b.currency,
  b.action_date as "actionDate", b.state, b.build_error as "buildError", b.notes, b.is_service_made as "isServiceMade", b.moves,
  b.created_at as "createdAt", b.submitted_at as "submittedAt", b.submitted_by as "submittedBy", b.needs_release as "needsRelease",
  b.released_at as "releasedAt", b.last_moment_at as "lastMomentAt", b.file_sha256 is not null as "hasFile",
  (select count(*)::integer from batch_lines l where l.account_id = ${account} and l.batch_id = b.batch_id) as "lineCount",
  (select coalesce(sum(p.amount_minor), 0)::bigint from batch_lines l join payments p on p.account_id = ${account} and p.payment_id = l.payment_id
    where l.account_id = ${account} and l.batch_id = b.batch_id) as "totalMinor"`

export const findBatch = (db: Queryable, account: AccountId, id: Id) =>
  db.first<Batch>(sql`
    select ${columns(account)} from payment_batches b where b.account_id = ${account} and b.batch_id = ${id}`)

export const findBatchByToken = (db: Queryable, account: AccountId, token: string) =>
  db.first<Batch>(sql`
    select ${columns(account)} from payment_batches b where b.account_id = ${account} and b.token = ${token}::uuid`)

/** Conditions of a list of batches; null: none. */
export interface BatchFilter {
  state?: BatchState | null
  gatewayToken?: string | null
  /** Of ActionDate, both days included. */
  from?: IsoDate | null
  to?: IsoDate | null
  /** Those whose day has passed at an instant, or all others. */
  passed?: { is: boolean; now: Instant } | null
}

/** Batches that the service moves on its own once their last moment is past. */
const WILL_MOVE = fragment`b.is_service_made and b.state = 'open' and b.moves < ${MOVES_MAX}`

/** Returns the condition that the day of a batch `b` has passed, apart from its having lines. */
const hasPassed = (now: Instant): Fragment =>
  fragment`b.state in ('open', 'failed') and b.last_moment_at < ${now} and not (${WILL_MOVE})`

/** Returns what lists the lines, as `payment_id`, of batches whose day has passed. */
export const linesDayPassed = (account: AccountId, now: Instant): Fragment => fragment`
  select l.payment_id from payment_batches b join batch_lines l on l.account_id = ${account} and l.batch_id = b.batch_id
   where b.account_id = ${account} and ${hasPassed(now)}`

const conditions = (account: AccountId, { state, gatewayToken, from, to, passed }: BatchFilter): Fragment => {
  const isPassed = (now: Instant) => fragment`
    (coalesce(${hasPassed(now)}, false) and exists (select 1 from batch_lines l where l.account_id = ${account} and l.batch_id = b.batch_id))`
  return fragment`
    b.account_id = ${account} ${state == null ? NOTHING : fragment`and b.state = ${state}`}
      ${gatewayToken == null ? NOTHING : fragment`and b.gateway_token = ${gatewayToken}::uuid`}
      ${from == null ? NOTHING : fragment`and b.action_date >= ${from}`} ${to == null ? NOTHING : fragment`and b.action_date <= ${to}`}
      ${passed == null ? NOTHING : passed.is ? fragment`and ${isPassed(passed.now)}` : fragment`and not ${isPassed(passed.now)}`}`
}

export const listBatches = (db: Queryable, account: AccountId, filter: BatchFilter, start: PageStart, limit: number) =>
  db.rows<Batch>(sql`
    select ${columns(account)} from payment_batches b where ${conditions(account, filter)} order by b.batch_id ${inPage(start, limit)}`)

export const countBatches = (db: Queryable, account: AccountId, filter: BatchFilter) =>
  db.count(sql`select count(*) as "n" from payment_batches b where ${conditions(account, filter)}`)

/** Writes until when a batch can be submitted. */
export const updateLastMoment = (tx: Transaction, id: Id, at: Instant) =>
  tx.rows(sql`
    update payment_batches set last_moment_at = ${at} where account_id = ${tx.account} and batch_id = ${id} and last_moment_at is distinct from ${at}`)

/** Locks a batch, after the customers of its lines: so it is found as it will stay until the commit. */
export async function lockBatch(tx: Transaction, id: Id): Promise<Batch | undefined> {
  await tx.rows(
    sql`select 1 from payment_batches where account_id = ${tx.account} and batch_id = ${id} for no key update`,
  )
  return findBatch(tx, tx.account, id)
}

/** Locks batches and returns their states alone: to count their lines for each result would cost more than the result. */
export const lockBatchStates = (tx: Transaction, ids: readonly Id[]) =>
  tx.rows<Pick<Batch, 'id' | 'state'>>(sql`
    select batch_id as "id", state from payment_batches
     where account_id = ${tx.account} and batch_id = any(${bigintList(ids)}::bigint[]) order by batch_id for no key update`)

/** Lists the customers of a batch's lines by ascending identifier. */
const listCustomersOfBatch = (tx: Transaction, id: Id): Promise<CustomerId[]> =>
  tx.values<CustomerId>(sql`
    select distinct l.customer_id as "id" from batch_lines l where l.account_id = ${tx.account} and l.batch_id = ${id} order by l.customer_id`)

/**
 * Locks the customers of a batch's lines, then the batch. Rule: customers by ascending identifier, then batches. Where a line of another
 * customer joined meanwhile the transaction begins again.
 */
export async function lockWholeBatch(tx: Transaction, id: Id): Promise<Batch | undefined> {
  const customers = await listCustomersOfBatch(tx, id)
  await lockCustomers(tx, customers, true)
  const batch = await lockBatch(tx, id)
  const known = new Set(customers)
  if ((await listCustomersOfBatch(tx, id)).some((customer) => !known.has(customer))) throw beginAgain()
  return batch
}

export type NewBatch = Pick<
  Batch,
  'gatewayId' | 'gatewayToken' | 'currency' | 'actionDate' | 'notes' | 'isServiceMade' | 'createdAt'
>

export const insertBatch = (tx: Transaction, row: NewBatch): Promise<Id> =>
  tx.value<Id>(sql`
    insert into payment_batches (account_id, gateway_id, gateway_token, currency, action_date, notes, is_service_made, created_at)
    values (${tx.account}, ${row.gatewayId}, ${row.gatewayToken}::uuid, ${row.currency}, ${row.actionDate}, ${row.notes},
            ${row.isServiceMade}, ${row.createdAt}) returning batch_id as "id"`)

/** Writes what can change of a batch while no job builds it. */
export const updateBatch = (tx: Transaction, row: Batch) =>
  tx.rows(sql`
    update payment_batches set gateway_id = ${row.gatewayId}, gateway_token = ${row.gatewayToken}::uuid, currency = ${row.currency},
      action_date = ${row.actionDate}, state = ${row.state}, build_error = ${row.buildError}, notes = ${row.notes}, moves = ${row.moves},
      submitted_at = ${row.submittedAt}, submitted_by = ${row.submittedBy}, needs_release = ${row.needsRelease},
      released_at = ${row.releasedAt}, attempts = 0, ${LET_GO}
     where account_id = ${tx.account} and batch_id = ${row.id}`)

/** Writes that a batch was handed over: what went to the gateway, its file, and the company by which the bank names it in its answers. */
export const updateSubmitted = (
  tx: Transaction,
  { id, lineCount, totalMinor }: Batch,
  file: { sealed: Buffer; name: string; mediaType: string; sha256: Buffer } | null,
  company: string | null = null,
) =>
  tx.rows(sql`
    update payment_batches set state = 'submitted', sent_count = ${lineCount}, sent_minor = ${totalMinor}, sealed_file = ${file?.sealed ?? null},
      file_name = ${file?.name ?? null}, file_type = ${file?.mediaType ?? null}, file_sha256 = ${file?.sha256 ?? null},
      sent_company = ${company}, ${LET_GO}
     where account_id = ${tx.account} and batch_id = ${id}`)

export const updateState = (tx: Transaction, id: Id, state: BatchState, buildError: string | null = null) =>
  tx.rows(sql`
    update payment_batches set state = ${state}, build_error = ${buildError}, ${LET_GO} where account_id = ${tx.account} and batch_id = ${id}`)

/** The file of a batch as it is kept; sealed is null once it was forgotten. */
export interface KeptFile {
  sealed: Buffer | null
  name: string
  mediaType: string
  sha256: Buffer
}

export const findFile = (db: Queryable, account: AccountId, id: Id) =>
  db.first<KeptFile>(sql`
    select sealed_file as "sealed", file_name as "name", file_type as "mediaType", file_sha256 as "sha256"
      from payment_batches where account_id = ${account} and batch_id = ${id} and file_sha256 is not null`)

/** Writes the day on which the file of a batch was downloaded first. */
export const updateDownloaded = (tx: Transaction, id: Id, today: IsoDate) =>
  tx.rows(sql`
    update payment_batches set downloaded_on = coalesce(downloaded_on, ${today}) where account_id = ${tx.account} and batch_id = ${id}`)

/**
 * Gives a batch its place among the files of its gateway and day, from 0, and returns it; the one that it has on that day stays. The gateway is
 * locked, so that no other takes the same.
 */
export async function placeFile(tx: Transaction, { id, gatewayId }: Pick<Batch, 'id' | 'gatewayId'>, day: IsoDate) {
  await tx.rows(
    sql`select 1 from gateways where account_id = ${tx.account} and gateway_id = ${gatewayId} for no key update`,
  )
  await tx.rows(sql`
    update payment_batches set file_day = ${day}, file_of_day = (
        select coalesce(max(b.file_of_day), -1) + 1 from payment_batches b
         where b.account_id = ${tx.account} and b.gateway_id = ${gatewayId} and b.file_day = ${day})
     where account_id = ${tx.account} and batch_id = ${id} and file_day is distinct from ${day}`)
  const { place } = await tx.one<{ place: number }>(
    sql`select file_of_day as "place" from payment_batches where account_id = ${tx.account} and batch_id = ${id}`,
  )
  return place
}

/** Failures of builds wait longer each time. */
export const builds = leasedRows({ relation: 'payment_batches', id: 'batch_id' })

/** The channel on which workers learn of batches to build. */
export const BUILD_CHANNEL = 'batch_build'

export const announceBuild = (tx: Transaction) => tx.rows(sql`select pg_notify(${BUILD_CHANNEL}, '')`)

/** Claims a batch that is to be built; undefined where it is not, or, unless `isAll`, another is at it or its wait is not over. */
export const claimBuild = (tx: Transaction, id: Id, isAll: boolean) =>
  tx.first<{ id: Id; gatewayId: Id; submittedAt: Instant }>(sql`
    update payment_batches set ${CLAIMED}
     where account_id = ${tx.account} and batch_id = ${id} and state = 'build' and (not needs_release or released_at is not null)
       ${isAll ? fragment`` : fragment`and ${IS_FREE}`}
    returning batch_id as "id", gateway_id as "gatewayId", submitted_at as "submittedAt"`)

/** Renews the lease of whoever builds a batch. */
export const renewBuild = (tx: Transaction, id: Id) =>
  tx.rows(
    sql`update payment_batches set ${CLAIMED} where account_id = ${tx.account} and batch_id = ${id} and state = 'build'`,
  )

/** Lists batches of an account that were submitted and are not handed over, the oldest first. */
export const listInBuild = (db: Queryable, account: AccountId) =>
  db.rows<Batch>(sql`
    select ${columns(account)} from payment_batches b where b.account_id = ${account} and b.state = 'build' order by b.batch_id`)

/** Lists batches that wait for a worker, of all accounts; those that wait for a release only where the account follows real time. */
export const listBatchesAtWork = (db: Pick<Queryable, 'rows'>) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", batch_id as "id" from list_batches_at_work()`,
  )

/** Forgets the files of batches whose debits were due before a day; their check sums stay. */
export const forgetBatchFiles = (db: Pick<Queryable, 'rows'>, before: IsoDate) =>
  db.rows(sql`select forget_batch_files(${before}::date) as "gone"`)

const COUNT_MAX = 10_000

/** Lists the figures of batches and of reports of gateways, of all accounts that follow real time, for /metrics. */
export const listBatchFigures = (db: Pick<Queryable, 'rows'>, at: Instant) =>
  db.rows<Figure>(sql`select name, label, value from list_batch_figures(${at}::timestamptz, ${COUNT_MAX}::bigint)`)
