import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Snapshot, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { inPage, onward, type PageStart } from '../../platform/http/paging.ts'

export const EXPORT_FORMATS = ['csv', 'datev'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** Row whose own tax differs from what the accountant's program will compute, or text that was changed for it. */
export interface ExportDifference {
  part: number
  row: number
  number: string | null
  problem: string
  expected: string
  computed: string
}

export interface ExportRow {
  id: Id
  number: number
  format: ExportFormat
  from: IsoDate
  to: IsoDate
  currency: string
  isLock: boolean
  /** Entries below it were posted before the batch was made. */
  below: bigint
  entries: number
  debitMinor: bigint
  creditMinor: bigint
  files: number
  sha256: Buffer
  differenceCount: number
  createdAt: Instant
}

export type ExportWithDifferences = ExportRow & { differences: readonly ExportDifference[] }

const COLUMNS = fragment`
  export_id as "id", number, format, from_day as "from", to_day as "to", currency, is_lock as "isLock", below, entries, debit_minor as "debitMinor",
  credit_minor as "creditMinor", files, sha256, difference_count as "differenceCount", created_at as "createdAt"`

export const listExports = (db: Queryable, account: AccountId, _filter: object, start: PageStart, limit: number) =>
  db.rows<ExportRow>(sql`
    select ${COLUMNS} from exports where account_id = ${account} ${onward(start, 'export_id')}
     order by export_id ${inPage(start, limit)}`)

export const countExports = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" from exports where account_id = ${account}`)

export const findExport = (db: Queryable, account: AccountId, id: Id) =>
  db.first<ExportWithDifferences>(sql`
    select ${COLUMNS}, differences from exports where account_id = ${account} and export_id = ${id}`)

/** Finds the newest batch of a currency. */
export const findNewestExport = (db: Queryable, account: AccountId, currency: string) =>
  db.first<ExportWithDifferences>(sql`
    select ${COLUMNS}, differences from exports where account_id = ${account} and currency = ${currency}
     order by export_id desc limit 1`)

/** Finds another export of a currency that has closed the books up to a day. */
export const findClosing = (tx: Transaction, { id, currency }: Pick<ExportRow, 'id' | 'currency'>, day: IsoDate) =>
  tx.first<{ number: number }>(sql`
    select number from exports where account_id = ${tx.account} and currency = ${currency} and is_lock and to_day >= ${day}
           and export_id <> ${id}
     order by export_id limit 1`)

/** Lists how far the batches of a currency reach, the oldest first. */
export const listReaches = (db: Queryable, account: AccountId, currency: string) =>
  db.rows<{ below: bigint; to: IsoDate }>(sql`
    select below, to_day as "to" from exports where account_id = ${account} and currency = ${currency} order by below, export_id`)

/** Returns the highest mark and the highest number of the batches of an account; 0 where there is none. */
export const highestOf = (db: Queryable, account: AccountId) =>
  db.one<{ below: bigint; number: number }>(sql`
    select coalesce(max(below), 0) as "below", coalesce(max(number), 0) as "number" from exports where account_id = ${account}`)

export type NewExport = Pick<
  ExportRow,
  'number' | 'format' | 'from' | 'to' | 'currency' | 'isLock' | 'below' | 'createdAt'
>

/** Adds a batch of which nothing is written yet, and returns its identifier. */
export const insertExport = (tx: Transaction, batch: NewExport): Promise<Id> =>
  tx.value<Id>(sql`
    insert into exports (account_id, number, format, from_day, to_day, currency, is_lock, below, created_at)
    values (${tx.account}, ${batch.number}, ${batch.format}, ${batch.from}, ${batch.to}, ${batch.currency}, ${batch.isLock},
           ${batch.below}, ${batch.createdAt})
    returning export_id as "id"`)

export type Written = Pick<
  ExportWithDifferences,
  'entries' | 'debitMinor' | 'creditMinor' | 'files' | 'sha256' | 'differenceCount' | 'differences'
>

export const finishExport = (tx: Transaction, id: Id, to: Written) =>
  tx.rows(sql`
    update exports set entries = ${to.entries}, debit_minor = ${to.debitMinor}, credit_minor = ${to.creditMinor}, files = ${to.files},
           sha256 = ${to.sha256}, difference_count = ${to.differenceCount}, differences = ${JSON.stringify(to.differences)}::jsonb
     where account_id = ${tx.account} and export_id = ${id}`)

/** Adds a piece of a file, compressed. */
export const insertPiece = (tx: Transaction, id: Id, part: number, piece: number, compressed: Buffer) =>
  tx.rows(sql`
    insert into export_pieces (account_id, export_id, part, piece, compressed) values (${tx.account}, ${id}, ${part}, ${piece}, ${compressed})`)

/** Reads a file piece by piece. */
export const piecesOfFile = (db: Snapshot, account: AccountId, id: Id, part: number) =>
  db.portions<{ compressed: Buffer }>(
    sql`select compressed from export_pieces where account_id = ${account} and export_id = ${id} and part = ${part} order by piece`,
    1,
  )

export const deleteExport = (tx: Transaction, id: Id) =>
  tx.rows(sql`delete from exports where account_id = ${tx.account} and export_id = ${id}`)
