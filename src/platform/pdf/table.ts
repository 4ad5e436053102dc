import { faceOf } from './faces.ts'
import { ink, QUIET, type Sheet, type Tag } from './sheet.ts'
import { fitting, heightOf, type Ink, type Line, wrap } from './wrap.ts'

/** Tables whose rows are laid out by hand, over as many pages as they need, with their head repeated on each. */

export interface TableColumn {
  /** Empty in a table without a head. */
  title: string
  /** In points. */
  width: number
  align?: 'left' | 'right'
}

export interface Piece {
  text: string
  ink: Ink
}

export interface Row {
  cells: readonly (readonly Piece[])[]
  /** A heavier line above it: a sum. */
  isSum?: boolean
}

export interface TableSettings {
  x: number
  /** The first cell of each row names the others. */
  hasRowHeads?: boolean
  /** Close rows without lines between them. */
  isPlain?: boolean
  /** Rows that stay on one page with the row before them, counted from the end. */
  keptAtEnd?: number
}

const PAD = 4
const GAP = 10

interface SetRow {
  cells: Line[][]
  height: number
  isSum: boolean
}

const linesOf = (pieces: readonly Piece[], { width }: TableColumn): Line[] =>
  pieces.flatMap(({ text, ink: how }) => wrap(text, width - GAP, how))

function setRow(row: Row, columns: readonly TableColumn[]): SetRow {
  const cells = row.cells.map((pieces, index) => linesOf(pieces, columns[index] as TableColumn))
  return { cells, height: Math.max(...cells.map(heightOf)), isSum: row.isSum ?? false }
}

const headInk = ink(7.5, 'bold', QUIET)

/** Draws a table at the cursor and moves it below. */
export function drawTable(
  sheet: Sheet,
  columns: readonly TableColumn[],
  rows: readonly Row[],
  settings: TableSettings,
): void {
  const head = setRow({ cells: columns.map(({ title }) => [{ text: title, ink: headInk }]) }, columns)
  const hasHead = columns.some(({ title }) => title !== '')
  const set = rows.map((row) => setRow(row, columns))
  const table = new TableDrawing(sheet, columns, settings, hasHead ? head : undefined)
  const keptFrom = set.length - (settings.keptAtEnd ?? 0)
  sheet.group('Table', () => {
    // A first row that is long is cut; the head needs a few lines below it all the same.
    sheet.need((hasHead ? head.height + 2 * PAD : 0) + Math.min(set[0]?.height ?? 0, 60) + 2 * PAD)
    if (hasHead) sheet.group('THead', () => table.drawHead('content'))
    sheet.group('TBody', () => {
      set.forEach((row, index) => {
        const kept = index === keptFrom ? set.slice(keptFrom) : [row]
        table.drawRow(
          row,
          kept.reduce((sum, { height }) => sum + height + 2 * PAD, 0),
        )
      })
    })
  })
}

/** Returns columns in a width: all but the first as wide as what stands in them, up to their own width, and the first gets what is left. */
export function fittedColumns(columns: readonly TableColumn[], rows: readonly Row[], width: number): TableColumn[] {
  const fitted = columns.map((column, index) => {
    const pieces = [{ text: column.title, ink: headInk }, ...rows.flatMap(({ cells }) => cells[index] ?? [])]
    const widest = pieces.reduce(
      (most, { text, ink: { face, size } }) => Math.max(most, faceOf(face).widthOf(text, size)),
      0,
    )
    return { ...column, width: Math.min(column.width, Math.ceil(widest) + GAP) }
  })
  const others = fitted.slice(1).reduce((sum, column) => sum + column.width, 0)
  return fitted.map((column, index) => (index === 0 ? { ...column, width: width - others } : column))
}

class TableDrawing {
  readonly #sheet: Sheet
  readonly #columns: readonly TableColumn[]
  readonly #lefts: number[]
  readonly #width: number
  readonly #settings: TableSettings
  readonly #head: SetRow | undefined
  readonly #pad: number

  constructor(sheet: Sheet, columns: readonly TableColumn[], settings: TableSettings, head: SetRow | undefined) {
    this.#sheet = sheet
    this.#columns = columns
    this.#settings = settings
    this.#head = head
    this.#pad = settings.isPlain ? 1 : PAD
    let left = settings.x
    this.#lefts = columns.map(({ width }) => (left += width) - width)
    this.#width = left - settings.x
  }

  #place(index: number) {
    const { width, align } = this.#columns[index] as TableColumn
    const x = this.#lefts[index] as number
    // The gap lies between columns: numbers end where the table ends.
    return { x: align === 'right' ? x + GAP : x, y: this.#sheet.y, width: width - GAP, align }
  }

  /** Draws the head of a table. Screen readers read it once; on further pages it is only seen. */
  drawHead(as: 'content' | 'artifact'): void {
    const head = this.#head
    if (!head) return
    const sheet = this.#sheet
    sheet.y += PAD
    const draw = (index: number) => sheet.drawLines(head.cells[index] ?? [], this.#place(index))
    if (as === 'artifact') sheet.artifact(() => this.#columns.forEach((_column, index) => draw(index)))
    else
      sheet.group('TR', () =>
        this.#columns.forEach((_column, index) => {
          const cell = sheet.element('TH', { scope: 'Column' })
          sheet.mark(cell, 'TH', () => draw(index))
          cell.end()
        }),
      )
    sheet.y += head.height + PAD
    sheet.rule(this.#settings.x, sheet.y, this.#width, 0.8)
  }

  #nextPage(): void {
    this.#sheet.breakPage()
    this.drawHead('artifact')
  }

  /** Draws a row, as a whole on the next page if it does not fit; one that is longer than a page is cut between lines. */
  drawRow(row: SetRow, needed: number): void {
    const sheet = this.#sheet
    if (needed > sheet.room && sheet.y > sheet.top && needed <= sheet.bottom - sheet.top - 40) this.#nextPage()
    sheet.group('TR', () => {
      const tags = row.cells.map((_cell, index): Tag => (index === 0 && this.#settings.hasRowHeads ? 'TH' : 'TD'))
      const elements = tags.map((tag) => sheet.element(tag, tag === 'TH' ? { scope: 'Row' } : {}))
      let rest: readonly (readonly Line[])[] = row.cells
      if (row.isSum) sheet.rule(this.#settings.x, sheet.y, this.#width, 0.8)
      for (;;) {
        sheet.y += this.#pad
        const drawn = rest.map((lines) => fitting(lines, sheet.room - this.#pad))
        drawn.forEach((lines, index) => {
          if (lines.length === 0) return
          sheet.mark(elements[index]!, tags[index]!, () => sheet.drawLines(lines, this.#place(index)))
        })
        sheet.y += Math.max(...drawn.map(heightOf)) + this.#pad
        rest = rest.map((lines, index) => lines.slice(drawn[index]?.length))
        if (rest.every(({ length }) => length === 0)) break
        this.#nextPage()
      }
      for (const element of elements) element.end()
    })
    if (!this.#settings.isPlain) sheet.rule(this.#settings.x, sheet.y, this.#width)
  }
}
