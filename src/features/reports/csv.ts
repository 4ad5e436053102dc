import { digitsOf } from '../../kernel/currencies.ts'
import { cellText } from '../../kernel/text.ts'
import { minorText } from '../../kernel/money.ts'
import type { Portions } from '../../platform/wire/write.ts'

/** Reports as CSV (RFC 4180), written while they are read. */

export const REPORT_LOCALES = ['en', 'de'] as const
export type ReportLocale = (typeof REPORT_LOCALES)[number]

interface Form {
  /** Stands before the first line: spreadsheets then read UTF-8. */
  mark: string
  separator: string
  decimalPoint: string
}

const FORMS: Readonly<Record<ReportLocale, Form>> = {
  en: { mark: '', separator: ',', decimalPoint: '.' },
  de: { mark: '\ufeff', separator: ';', decimalPoint: ',' },
}

/** Cell of a report: a text, or a number as it is written with a decimal point. */
export type Cell = { text: string | null } | { number: string | null }

/** Column of a report: its title, and its cell of a row. */
export type CsvColumn<Row> = readonly [title: string, cellOf: (row: Row) => Cell]

export const textCell = (value: string | null): Cell => ({ text: value })
export const idCell = (value: bigint | null): Cell => ({ number: value === null ? null : String(value) })

/** Makes the cell of an amount of minor units in the currency of its row. */
export const amountCell =
  <Row extends { currency: string }>(minorOf: (row: Row) => bigint) =>
  (row: Row): Cell => ({ number: minorText(minorOf(row), digitsOf(row.currency)) })

/**
 * Quotes a text: one with a separator, a quote or a line break stands in quotes; one that a spreadsheet would compute is shown as text. Signs that turn
 * the direction of text are left out.
 */
export function quoted(content: string): string {
  const safe = cellText(content)
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const writtenCell = (cell: Cell, { decimalPoint }: Form): string =>
  'text' in cell ? quoted(cell.text ?? '') : (cell.number ?? '').replace('.', decimalPoint)

/** Writes a report as CSV, with a line of titles. */
export async function* csvPieces<Row>(
  columns: readonly CsvColumn<Row>[],
  portions: Portions<Row>,
  locale: ReportLocale,
): AsyncGenerator<string> {
  const form = FORMS[locale]
  const lineOf = (cells: readonly string[]): string => `${cells.join(form.separator)}\r\n`
  yield form.mark + lineOf(columns.map(([title]) => title))
  for await (const rows of portions)
    yield rows.map((row) => lineOf(columns.map(([, cellOf]) => writtenCell(cellOf(row), form)))).join('')
}
