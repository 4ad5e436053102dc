import type { Id } from '../../kernel/ids.ts'
import { bigintList } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import type { Counts } from './queries.ts'
import type { EntryProgress } from './rules.ts'

/** Statements of how far a file has been worked on, which are written with what was worked on. */

/** How far a file has come, beside its counts. */
export interface FileProgress extends EntryProgress {
  /** The next line is about a whole batch and has begun. */
  isLineStarted: boolean
  /** That line has changed a payment and is counted as applied. */
  isLineBegun: boolean
  /** Batches of which payments got the status of their block or file, which has not been worked on itself. */
  begunBatches: Id[]
}

export const getFileProgress = (tx: Transaction, id: Id): Promise<FileProgress> =>
  tx.one<FileProgress>(sql`
    select is_line_started as "isLineStarted", is_line_begun as "isLineBegun", begun_batches as "begunBatches",
           entry_counted_minor as "countedMinor", has_unknown_part as "hasUnknownPart", is_entry_known as "isKnown"
      from result_files where account_id = ${tx.account} and result_file_id = ${id}`)

/** Adds what became of some lines, in the transaction that wrote it. */
export const sendFileProgress = (
  tx: Transaction,
  id: Id,
  {
    linesDone,
    counts,
    progress,
  }: {
    linesDone: number
    counts: Counts
    progress: EntryProgress & Pick<FileProgress, 'begunBatches'>
  },
): void =>
  tx.send(sql`
    update result_files set lines_done = lines_done + ${linesDone}, matched = matched + ${counts.matched}, applied = applied + ${counts.applied},
           already_known = already_known + ${counts.alreadyKnown}, unmatched = unmatched + ${counts.unmatched},
           payments = coalesce(payments, 0) + ${counts.payments}, is_line_started = false, is_line_begun = false,
           begun_batches = ${bigintList(progress.begunBatches)}::bigint[], entry_counted_minor = ${progress.countedMinor},
           has_unknown_part = ${progress.hasUnknownPart}, is_entry_known = ${progress.isKnown}
     where account_id = ${tx.account} and result_file_id = ${id}`)

/**
 * Notes that the next line, which is about a whole batch, has begun and has changed so many payments. With `isCounted` it is counted as applied,
 * once.
 */
export const sendLineBegun = (
  tx: Transaction,
  id: Id,
  { payments, isCounted }: { payments: number; isCounted: boolean },
): void =>
  tx.send(sql`
    update result_files set is_line_started = true, applied = applied + (${isCounted && payments > 0} and not is_line_begun)::integer,
           is_line_begun = is_line_begun or ${payments > 0}, payments = coalesce(payments, 0) + ${payments}
     where account_id = ${tx.account} and result_file_id = ${id}`)
