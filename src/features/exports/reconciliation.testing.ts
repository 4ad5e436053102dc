import { expect } from 'vitest'
import type { TestClient } from '../../../test/support/app.ts'
import { groupBy } from '../../kernel/grouping.ts'
import { amountOf, CODES, type CsvRow, rowsOf } from './exports.testing.ts'

/** Batches held against the ledger: each entry is in one batch or in none, and what batches have is what their entries come to. */

interface Entry {
  Debit: keyof typeof CODES
  Credit: keyof typeof CODES
  Amount: number
  CurrencyCode: string
  exportID: number | null
}

export async function entriesOf(client: TestClient): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await client.get(`/v1/ledger/entries?page=${page}&page_size=200`)
    entries.push(...body)
    if (body.length < 200) return entries
  }
}

/** Adds up amounts by a key, in thousandths; sums of 0 are left out. */
function sumsBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string, of: (row: Row) => number) {
  const sums = new Map<string, number>()
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + of(row))
  return Object.fromEntries([...sums].filter(([, sum]) => sum !== 0).toSorted())
}

const REVENUE = new Set([CODES.unsettled, CODES.revenue])
/** Revenue and what is unsettled are one account of the ledger. */
const accountOf = (code: string): string => (REVENUE.has(code) ? CODES.revenue : code)

const ledgerSums = (entries: readonly Entry[]) =>
  sumsBy(
    entries.flatMap(({ Debit, Credit, Amount, CurrencyCode }) => [
      { code: CODES[Debit], amount: Math.round(Amount * 1000), CurrencyCode },
      { code: CODES[Credit], amount: -Math.round(Amount * 1000), CurrencyCode },
    ]),
    ({ code, CurrencyCode }) => `${CurrencyCode} ${code}`,
    ({ amount }) => amount,
  )

/** Holds all batches of an account, which has CODES, against its ledger. Returns their rows. */
export async function reconcileExports(client: TestClient): Promise<CsvRow[]> {
  const batches: any[] = (await client.get('/v1/exports?page_size=200')).body
  const entries = await entriesOf(client)
  const all: CsvRow[] = []
  for (const batch of batches) {
    const rows = await rowsOf(client, batch)
    const own = entries.filter(({ exportID }) => exportID === batch.exportID)
    expect(own).toHaveLength(batch.Entries)
    for (const { CurrencyCode } of [...own, ...rows]) expect(CurrencyCode).toBe(batch.CurrencyCode)
    const sum = (side: 'Debit' | 'Credit') =>
      rows.reduce((total, row) => total + Math.round(Number(row[side]) * 1000), 0)
    expect([sum('Debit'), sum('Credit')]).toEqual(
      [batch.Debit, batch.Credit].map((amount) => Math.round(amount * 1000)),
    )
    for (const [journal, some] of groupBy(rows, ({ Journal }) => Journal))
      expect([journal, some.reduce((total, row) => total + amountOf(row), 0)]).toEqual([journal, 0])
    for (const { Date: day } of rows) expect(day >= batch.From.slice(0, 10) && day <= batch.To.slice(0, 10)).toBe(true)
    expect(sumsBy(rows, (row) => `${row.CurrencyCode} ${accountOf(row.GLCode)}`, amountOf)).toEqual(ledgerSums(own))
    all.push(...rows)
  }
  return all
}

/** Returns what is unsettled in all batches together, by currency in thousandths. */
export const unsettledOf = (rows: readonly CsvRow[]) =>
  sumsBy(
    rows.filter(({ GLCode }) => GLCode === CODES.unsettled),
    ({ CurrencyCode }) => CurrencyCode,
    amountOf,
  )

/** Returns what is unsettled up to a day by the tax report, by currency in thousandths. */
export async function unsettledByReport(client: TestClient, to: string) {
  const report: any[] = (await client.get(`/v1/reports/tax?from=2020-01-01&to=${to}`)).body
  return sumsBy(
    report.filter(({ Category }) => Category === 'unsettled'),
    ({ CurrencyCode }) => CurrencyCode,
    ({ BaseTakenBack }) => Math.round(BaseTakenBack * 1000),
  )
}
