import { groupBy } from '../../kernel/grouping.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { someAtATime } from '../../platform/http/pieces.ts'
import { completeFirst } from './allocation-queries.ts'
import { countCorrected, listLinesOfNotes } from './credit-note-queries.ts'
import { listSettlementsOfNotes } from './settlement-queries.ts'
import type { Corrected, NegativeAdjustment, NegativeRecord, Settlement } from './types.ts'

/** Settlements of credit notes, and the lines that they give back, as answers show them. */

/** Loads what some credit notes correct, in one exchange, and returns it by their identifiers. */
export async function loadCorrected(
  db: Queryable,
  account: AccountId,
  noteIds: readonly Id[],
): Promise<(noteId: Id) => Corrected> {
  const [settlements, lines] = await Promise.all([
    listSettlementsOfNotes(db, account, noteIds),
    listLinesOfNotes(db, account, noteIds),
  ])
  const settlementsOf = groupBy(settlements, ({ noteId }) => noteId)
  const linesOf = groupBy(lines, ({ noteId }) => noteId)
  return (noteId) => ({ settlements: settlementsOf.get(noteId) ?? [], lines: linesOf.get(noteId) ?? [] })
}

/** Most settlements, settled taxes and lines of a page of notes that are in memory together. */
const PARTS_AT_A_TIME = 2000

/** Completes credit notes of a page by their allocations and by what they correct, some of them at a time. */
export const completeNotes = (db: Queryable, account: AccountId, rows: readonly NegativeAdjustment[]) =>
  someAtATime(rows, async (next): Promise<NegativeRecord[]> => {
    const parts = await countCorrected(
      db,
      account,
      next.map(({ id }) => id),
    )
    let sum = 0
    const within = parts.findIndex(({ count }) => (sum += count) > PARTS_AT_A_TIME)
    const whole = within < 0 ? next : next.slice(0, within === 0 ? 1 : within)
    const notes = await completeFirst(db, account, 'negative_adjustment', whole)
    const correctedOf = await loadCorrected(
      db,
      account,
      notes.map(({ id }) => id),
    )
    return notes.map((note) => ({ ...note, ...correctedOf(note.id) }))
  })

/** Returns what all taxes of settlements come to, in minor units. */
export const taxesTaken = (settlements: readonly Settlement[]): bigint =>
  settlements.reduce((sum, { taxes }) => sum + sumMinor(taxes), 0n)

/** Returns the identifier and the number of the only invoice that settlements correct; undefined for none or several. */
export function onlyInvoiceOf(
  settlements: readonly Settlement[],
): Pick<Settlement, 'invoiceId' | 'invoiceNumber'> | undefined {
  const invoices = new Set(settlements.map(({ invoiceId }) => invoiceId))
  return invoices.size === 1 ? settlements[0] : undefined
}
