import type { CreditLine } from '../../engine/subscription/credits.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { listCreditLines } from './credit-note-queries.ts'
import { isReasonOfService, reasonOfNote } from './note-reason.ts'
import type { NegativeRecord } from './types.ts'

/** Parts of a credit note that its paper states in the language of its reader. */

/** Reads the lines of a note; one of a caller has none. */
export const linesOfNote = async (
  db: Queryable,
  account: AccountId,
  note: Pick<NegativeRecord, 'id' | 'lines'>,
): Promise<CreditLine[]> => (note.lines.length === 0 ? [] : listCreditLines(db, account, note.id))

/** Returns why a note was made, null where nobody wrote it: text of the service is written anew, in the language of the paper. */
export function paperReason(
  { reason, memo, subscriptionId }: Pick<NegativeRecord, 'reason' | 'memo' | 'subscriptionId'>,
  lines: readonly CreditLine[],
  locale: string,
): string | null {
  if (reason !== null || memo === null || subscriptionId === null) return reason ?? memo
  return isReasonOfService(memo, subscriptionId) ? reasonOfNote(locale, subscriptionId, lines) : memo
}
