import type { TaxAmount } from '../../engine/money/postings.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { TaxCategory } from '../../kernel/tax.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { someAtATime } from '../../platform/http/pieces.ts'
import { completeFirst } from './allocation-queries.ts'
import { countCorrected, listLinesOfNotes } from './credit-note-queries.ts'
import { listSettlementsOfNotes, type Settlement } from './settlement-queries.ts'
import type { Corrected, NegativeAdjustment, NegativeRecord } from './types.ts'

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

/** Tax that a note takes back of an invoice, and the net amount that it was charged on. */
export interface TaxOfNote extends TaxAmount {
  invoiceId: InvoiceId
  invoiceNumber: bigint | null
  baseMinor: bigint
  category: TaxCategory | null
}

/** Adds up the taxes of settlements: one sum for each tax of each invoice, in the order of the settlements. */
export function takenTaxes(settlements: readonly Settlement[]): TaxOfNote[] {
  const sums = new Map<string, TaxOfNote>()
  for (const { invoiceId, invoiceNumber, amountMinor: grossMinor, taxes } of settlements) {
    const invoice = { invoiceId, invoiceNumber }
    const baseMinor = grossMinor - sumMinor(taxes)
    const places = new Map<string, number>()
    for (const { name, rate, taxNumber, category, amountMinor } of taxes) {
      const label = JSON.stringify([name, decimalText(rate), taxNumber])
      // An invoice may have two taxes that are alike.
      const place = (places.get(label) ?? 0) + 1
      places.set(label, place)
      const key = `${invoiceId} ${place} ${label}`
      const sum = sums.get(key) ?? { ...invoice, name, rate, taxNumber, category, baseMinor: 0n, amountMinor: 0n }
      sums.set(key, {
        ...sum,
        baseMinor: sum.baseMinor + baseMinor,
        amountMinor: sum.amountMinor + amountMinor,
      })
    }
  }
  return [...sums.values()]
}

/** Returns what all taxes of settlements come to, in minor units. */
export const taxesTaken = (settlements: readonly Settlement[]): bigint =>
  settlements.reduce((sum, { taxes }) => sum + sumMinor(taxes), 0n)

/** Returns what of a note corrects no invoice, in minor units. */
export const unsettledMinor = ({ amountMinor, settlements }: { amountMinor: bigint } & Corrected): bigint =>
  amountMinor - sumMinor(settlements)

/** Returns the identifier and the number of the only invoice that settlements correct; undefined for none or several. */
export function onlyInvoiceOf(
  settlements: readonly Settlement[],
): Pick<Settlement, 'invoiceId' | 'invoiceNumber'> | undefined {
  const invoices = new Set(settlements.map(({ invoiceId }) => invoiceId))
  return invoices.size === 1 ? settlements[0] : undefined
}
