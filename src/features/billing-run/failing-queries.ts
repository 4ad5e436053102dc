import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, fragment, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'

/** Sorts of records that count as failing from a failure until they are billed. Others are only named in the failures of a run. */
export const FAILING_TYPES = ['subscription', 'recurring_invoice'] as const
export type FailingType = (typeof FAILING_TYPES)[number]

/** Time in which the customer of a record was not billed, from its first day until the day of the return, and that billing has not got past. */
export interface Gap {
  from: IsoDate
  until: IsoDate
}

/** Record of which what is due cannot be billed. */
export interface FailingRecord {
  recordType: FailingType
  recordId: Id
  customerId: CustomerId
  since: Instant
  lastTried: Instant
  reason: string
}

/** Failing record with the gaps that its billing has to get past. */
export interface FailingState extends FailingRecord {
  gaps: readonly Gap[]
}

const COLUMNS = fragment`
  record_type as "recordType", record_id as "recordId", customer_id as "customerId", since, last_tried as "lastTried", reason`

const stateOf = ({ gaps, ...record }: FailingRecord & { gaps: string }): FailingState => ({
  ...record,
  gaps: JSON.parse(gaps) as Gap[],
})

/** Lists those of some records that are failing. Few ever are, so that they are read by the range of the identifiers. */
export async function listFailingOf(
  db: Queryable,
  account: AccountId,
  type: FailingType,
  ids: readonly Id[],
): Promise<Map<Id, FailingState>> {
  if (ids.length === 0) return new Map()
  let [first, last] = [ids[0] as Id, ids[0] as Id]
  for (const id of ids) {
    if (id < first) first = id
    if (id > last) last = id
  }
  const rows = await db.rows<FailingRecord & { gaps: string }>(sql`
    select ${COLUMNS}, gaps::text as "gaps" from failing_records
     where account_id = ${account} and record_type = ${type} and record_id between ${first} and ${last}`)
  return new Map(rows.map((row) => [row.recordId, stateOf(row)]))
}

/** Lists failing records in the order in which they began to fail. */
export const listFailing = (db: Queryable, account: AccountId, _filter: object, start: PageStart, limit: number) =>
  db.rows<FailingRecord>(sql`
    select ${COLUMNS} from failing_records where account_id = ${account} order by failing_record_id ${inPage(start, limit)}`)

export const countFailing = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" from failing_records where account_id = ${account}`)

/** Writes that records are failing, or were tried again, and adds gaps to those they have. Returns those that were not failing before. */
export async function upsertFailing(
  tx: Transaction,
  account: AccountId,
  records: readonly FailingState[],
): Promise<readonly FailingRecord[]> {
  const rows = records.map(({ gaps, ...record }) => ({ ...record, gaps: JSON.stringify(gaps) }))
  const written = await tx.rows<FailingRecord & { isNew: boolean }>(sql`
    insert into failing_records as f (account_id, record_type, record_id, customer_id, since, last_tried, reason, gaps)
    select ${account}, * from unnest(${column(rows, 'recordType')}::text[], ${column(rows, 'recordId')}::bigint[],
      ${column(rows, 'customerId')}::bigint[], ${column(rows, 'since')}::timestamptz[], ${column(rows, 'lastTried')}::timestamptz[],
      ${column(rows, 'reason')}::text[], ${column(rows, 'gaps')}::jsonb[])
    on conflict (account_id, record_type, record_id) do update
      set last_tried = excluded.last_tried, reason = excluded.reason, gaps = f.gaps || excluded.gaps
    returning ${COLUMNS}, xmax = 0 as "isNew"`)
  return written.filter(({ isNew }) => isNew)
}

/** Replaces the gaps of a failing record by those that its billing has still to get past. */
export const updateGaps = (tx: Transaction, account: AccountId, { recordType, recordId, gaps }: FailingState) =>
  tx.rows(sql`
    update failing_records set gaps = ${JSON.stringify(gaps)}::jsonb
     where account_id = ${account} and record_type = ${recordType} and record_id = ${recordId}`)

export const deleteFailing = (tx: Transaction, account: AccountId, type: FailingType, ids: readonly Id[]) =>
  tx.rows(sql`
    delete from failing_records where account_id = ${account} and record_type = ${type} and record_id = any(${arrayLiteral(ids)}::bigint[])`)
