import { composeJournal } from '../../engine/books/journals.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Chart, MoveCodes, ratesOfAccounts } from './codes.ts'
import { csvForm } from './csv-form.ts'
import { checkDatev, datevForm } from './datev-form.ts'
import { FileWriter } from './file-writer.ts'
import type { BatchForm, FormedRow } from './form.ts'
import { codesMissing } from './missing.ts'
import { type BatchScope, type MoveRow, movesOfBatch } from './moves-queries.ts'
import { type ExportDifference, insertPiece, type NewExport, type Written } from './queries.ts'

/** Writes the files of a batch from the moves that are in it. */

/** Batch that is being written. */
export interface BatchToWrite extends BatchScope, Pick<NewExport, 'format' | 'isLock' | 'createdAt'> {
  number: number
}

const isSameJournal = (a: MoveRow, b: MoveRow): boolean =>
  a.documentId === b.documentId && a.documentType === b.documentType && a.dated === b.dated

/** Yields the moves of whole journals, some journals at a time. */
async function* wholeJournals(tx: Transaction, { codes }: Chart, scope: BatchScope): AsyncGenerator<MoveRow[]> {
  let waiting: MoveRow[] = []
  for await (const portion of movesOfBatch(tx, scope, codes)) {
    const rows = waiting.length === 0 ? portion : [...waiting, ...portion]
    const last = rows.at(-1) as MoveRow
    let end = rows.length
    while (end > 0 && isSameJournal(rows[end - 1] as MoveRow, last)) end -= 1
    waiting = rows.slice(end)
    if (end > 0) yield rows.slice(0, end)
  }
  if (waiting.length > 0) yield waiting
}

function* journalsAmong(rows: readonly MoveRow[]): Generator<MoveRow[]> {
  for (let start = 0, end = 0; start < rows.length; start = end) {
    const first = rows[start] as MoveRow
    for (end = start + 1; end < rows.length && isSameJournal(first, rows[end] as MoveRow);) end += 1
    yield rows.slice(start, end)
  }
}

const formOf = ({ codes, rules }: Chart, batch: BatchToWrite): BatchForm => {
  if (batch.format === 'csv') return csvForm(batch)
  checkDatev(codes.datev, batch)
  return datevForm(codes.datev, batch, ratesOfAccounts(rules))
}

/** Most differences of a problem that are kept: past them a batch shows how many there are. */
export const DIFFERENCES_MAX = 1000

/** Rows of a batch while they are written. */
class WrittenRows {
  readonly refusals = new Set<string>()
  readonly differences: ExportDifference[] = []
  readonly #differing = new Map<string, number>()
  readonly sums = { debitMinor: 0n, creditMinor: 0n }
  readonly #writer: FileWriter

  constructor(writer: FileWriter) {
    this.#writer = writer
  }

  add(rows: readonly FormedRow[], { number }: MoveRow): void {
    for (const row of rows) {
      for (const refusal of row.refusals) this.refusals.add(refusal)
      this.sums.debitMinor += row.debitMinor
      this.sums.creditMinor += row.creditMinor
    }
    if (this.refusals.size > 0) return
    const place = this.#writer.add(rows)
    for (const [offset, { differences }] of rows.entries())
      for (const difference of differences) {
        const count = (this.#differing.get(difference.problem) ?? 0) + 1
        this.#differing.set(difference.problem, count)
        if (count > DIFFERENCES_MAX) continue
        this.differences.push({ part: place.part, row: place.row + offset, number, ...difference })
      }
  }

  differenceCount(): number {
    return [...this.#differing.values()].reduce((sum, count) => sum + count, 0)
  }
}

/** Writes the files of a batch; `onEntries` learns how many entries are done. Throws a Fault (409) with the codes that its format does not take. */
export async function writeFiles(
  tx: Transaction,
  chart: Chart,
  batch: BatchToWrite,
  onEntries: (done: number) => void = () => {},
): Promise<Omit<Written, 'entries'>> {
  const form = formOf(chart, batch)
  const codes = new MoveCodes(chart, batch.format)
  const writer = new FileWriter(form, (part, piece, bytes) => insertPiece(tx, batch.id, part, piece, bytes))
  const written = new WrittenRows(writer)
  let journals = 0
  let entries = 0
  for await (const rows of wholeJournals(tx, chart, batch)) {
    await codes.load(tx, rows)
    await form.load?.(tx, rows)
    for (const moves of journalsAmong(rows)) {
      const about = moves[0] as MoveRow
      const formed = form.rowsOf(composeJournal(moves, codes), about, journals + 1)
      if (formed.length === 0) continue
      journals += 1
      written.add(formed, about)
    }
    await writer.write()
    entries += rows.length
    onEntries(entries)
  }
  if (written.refusals.size > 0) throw codesMissing(written.refusals.size, [...written.refusals])
  const { differences, sums } = written
  return { ...sums, ...(await writer.finish()), differences, differenceCount: written.differenceCount() }
}
