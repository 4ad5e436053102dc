import { digitsOf } from '../../kernel/currencies.ts'
import { cellText } from '../../kernel/text.ts'
import type { Writing } from '../../kernel/context.ts'
import type { Column, Columns } from '../../platform/wire/columns.ts'
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

/**
 * Quotes a text: one with a separator, a quote or a line break stands in quotes; one that a spreadsheet would compute is shown as text. Signs that turn
 * the direction of text are left out.
 */
export function quoted(content: string): string {
  const safe = cellText(content)
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Returns the digits of an amount with all decimals of its currency. */
function withDecimals(digits: string, currency: string): string {
  const decimals = digitsOf(currency)
  const [units, part = ''] = digits.split('.')
  return decimals === 0 ? digits : `${units}.${part.padEnd(decimals, '0')}`
}

/** Writes a cell from the column that JSON is written from: a day without its time, an amount with all decimals, nothing for null. */
function cellOf<Row extends { currency: string }>(
  [shape, valueOf]: Column<Row>,
  row: Row,
  { writing, decimalPoint }: { writing: Writing; decimalPoint: string },
): string {
  const value: unknown = valueOf(row, writing)
  if (value === null) return ''
  if (shape.looks === 'text') return quoted(value as string)
  if (shape.looks === 'date') return (value as string).slice(0, DAY_LENGTH)
  const digits = String(value)
  return (shape.isAmount ? withDecimals(digits, row.currency) : digits).replace('.', decimalPoint)
}

const DAY_LENGTH = '2026-04-03'.length

/** Writes a report as CSV, with a line of titles: the columns of its records under their names. */
export async function* csvPieces<Row extends { currency: string }>(
  columns: Columns<Row>,
  portions: Portions<Row>,
  locale: ReportLocale,
  writing: Writing,
): AsyncGenerator<string> {
  const form = FORMS[locale]
  const lineOf = (cells: readonly string[]): string => `${cells.join(form.separator)}\r\n`
  const written = { writing, decimalPoint: form.decimalPoint }
  const all = Object.values(columns)
  yield form.mark + lineOf(Object.keys(columns))
  for await (const rows of portions)
    yield rows.map((row) => lineOf(all.map((column) => cellOf(column, row, written)))).join('')
}
