import { expect } from 'vitest'
import type { TestClient } from '../../../test/support/app.ts'

/** Codes of every ledger account, which end in its name. */
export const CODES = {
  receivable: '1400',
  unapplied: '1590',
  clearing: '1360',
  cash: '1800',
  revenue: '4400',
  tax: '3806',
  bad_debt: '6930',
  interest: '7110',
  opening_balance: '9000',
  unsettled: '1499',
}

export interface CsvRow {
  Journal: string
  Date: string
  Account: string
  GLCode: string
  TaxName: string
  Number: string
  Reference: string
  CustomerReference: string
  Text: string
  Debit: string
  Credit: string
  CurrencyCode: string
}

/** Splits a line of a CSV file into its cells. */
function cellsOf(line: string): string[] {
  const cells: string[] = []
  for (const [, quoted, plain] of line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g))
    cells.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
  return cells
}

export function readCsv(text: string): CsvRow[] {
  const [titles = '', ...lines] = text.replace(/\r\n$/, '').split('\r\n')
  const names = titles.split(',')
  return lines.map(
    (line) => Object.fromEntries(cellsOf(line).map((cell, place) => [names[place], cell])) as unknown as CsvRow,
  )
}

export const fileOf = async (client: TestClient, exportID: number, part = 1): Promise<string> => {
  const { status, text } = await client.get(`/v1/exports/${exportID}/file?part=${part}`)
  expect(status, text).toBe(200)
  return text
}

/** Reads the rows of all files of an export. */
export async function rowsOf(
  client: TestClient,
  { exportID, Files }: { exportID: number; Files: number },
): Promise<CsvRow[]> {
  const rows: CsvRow[] = []
  for (let part = 1; part <= Files; part += 1) rows.push(...readCsv(await fileOf(client, exportID, part)))
  return rows
}

/** Returns an amount in thousandths; debits are positive. */
export const amountOf = ({ Debit, Credit }: Pick<CsvRow, 'Debit' | 'Credit'>): number =>
  Math.round((Number(Debit) - Number(Credit)) * 1000)

/** Writes a line of each row: day, code, amount with the sign of a debit, text. */
export const linesOf = (rows: readonly CsvRow[]): string[] =>
  rows.map((row) => `${row.Date} ${row.GLCode} ${(amountOf(row) / 1000).toFixed(2)} ${row.Text}`)

/** Makes an export that must succeed. */
export async function exportOf(client: TestClient, more: object = {}) {
  const body = { Format: 'csv', From: '2027-01-01', To: '2027-01-31', CurrencyCode: 'USD', ...more }
  const { status, body: made, text } = await client.post('/v1/exports', body)
  expect(status, text).toBe(201)
  return made
}
