import { conflict } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { findRecordedAlike } from './alike-queries.ts'
import type { ListedLine } from './queries.ts'

/** Throws a conflict if a line of another file that may be the same money was recorded: an alike one, the sum of a part, or a part of a sum. */
export async function checkNotRecorded(tx: Transaction, line: Pick<ListedLine, 'id' | 'fileId'>): Promise<void> {
  const other = await findRecordedAlike(tx, line)
  if (!other) return
  throw conflict(
    'line_recorded_before',
    `Line ${line.id} may be the same money as line ${other.id} of result file ${other.fileId}, which was recorded as payment ${other.paymentId}. Send isSeparate true if it is another booking.`,
    'customerID',
  )
}
