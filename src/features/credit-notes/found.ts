import { missing } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { pathId } from '../../platform/http/handle.ts'
import type { PathParams } from '../../platform/http/operation.ts'
import { findNegative, type NegativeAdjustment } from '../money/adjustment-queries.ts'

export const unknownNote = (id: bigint | string) =>
  missing('credit_note_unknown', `There is no credit note ${id}.`, 'creditNoteID')

/** The credit note of a path; another negative adjustment, or none, is a Fault (404). */
export async function foundNote(db: Queryable, account: AccountId, params: PathParams): Promise<NegativeAdjustment> {
  const id = pathId(params, 'creditNoteID', unknownNote)
  const note = await findNegative(db, account, id)
  if (note?.kind !== 'credit_note') throw unknownNote(id)
  return note
}
