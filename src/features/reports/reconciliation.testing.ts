import { expect } from 'vitest'
import type { TestClient } from '../../../test/support/app.ts'
import { AGES } from '../../engine/money/statement.ts'
import { addMonths, type IsoDate } from '../../kernel/calendar.ts'
import { addDays } from '../../kernel/calendar.ts'

/** Reports held against the ledger: every month, currency and form, to the cent. */

const cents = (amount: number): number => Math.round(amount * 1000)

/** Adds up amounts by a key, in thousandths; sums of 0 are left out. */
function sumsBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string, amountOf: (row: Row) => number) {
  const sums = new Map<string, number>()
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + cents(amountOf(row)))
  return Object.fromEntries([...sums].filter(([, sum]) => sum !== 0).toSorted())
}

/** Returns the movement of ledger accounts over a period, as credits less debits in thousandths: of each tax, and of revenue. */
async function movementOf(client: TestClient, from: IsoDate, to: IsoDate) {
  const balances = async (date: IsoDate): Promise<any[]> => (await client.get(`/v1/ledger/balances?date=${date}`)).body
  const after = await balances(to)
  const before = (await balances(addDays(from, -1))).map((row) => ({ ...row, Balance: -row.Balance }))
  const of = (account: string) => [...after, ...before].filter(({ Account }) => Account === account)
  return {
    taxes: sumsBy(
      of('tax'),
      ({ CurrencyCode, TaxName }) => `${CurrencyCode} ${TaxName}`,
      ({ Balance }) => -Balance,
    ),
    revenue: sumsBy(
      of('revenue'),
      ({ CurrencyCode }) => CurrencyCode,
      ({ Balance }) => -Balance,
    ),
  }
}

/** Reads the amounts of one column of a CSV in German writing, by the currency of their line. */
function columnOf(csv: string, title: string): { CurrencyCode: string; amount: number }[] {
  const [titles = [], ...lines] = csv
    .replace('\ufeff', '')
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(';'))
  return lines.map((cells) => ({
    CurrencyCode: cells[titles.indexOf('CurrencyCode')] as string,
    amount: Number((cells[titles.indexOf(title)] as string).replace(',', '.')),
  }))
}

/** Holds the reports of one period against the ledger, in each form and currency. */
async function reconcile(client: TestClient, from: IsoDate, to: IsoDate): Promise<void> {
  await reconcileTaxes(client, from, to)
  await reconcileTrialBalance(client, from, to)
  await reconcileAgeing(client, to)
  await reconcileRevenue(client, from, to)
  await reconcileDeferred(client, to)
}

/** Holds what is deferred by month and by package against each other, in each form and currency; nothing of it belongs to days that have passed. */
async function reconcileDeferred(client: TestClient, date: IsoDate): Promise<void> {
  const report = async (query: string): Promise<any> => {
    const { status, body, text } = await client.get(`/v1/reports/deferred?date=${date}&${query}`)
    expect(status, text).toBe(200)
    return query.includes('csv') ? text : body
  }
  const months: any[] = await report('by=month')
  const sums = sumsBy(months, currencyOf, ({ Deferred }) => Deferred)
  for (const { Month } of months) expect(Month > date.slice(0, 7)).toBe(true)
  for (const by of ['month', 'package']) {
    const rows: any[] = await report(`by=${by}`)
    expect(sumsBy(rows, currencyOf, ({ Deferred }) => Deferred)).toEqual(sums)
    const csv = columnOf(await report(`by=${by}&format=csv&locale=de`), 'Deferred')
    expect(sumsBy(csv, currencyOf, (row) => row.amount)).toEqual(sums)
    for (const currency of new Set(rows.map(currencyOf)))
      expect(await report(`by=${by}&currency=${currency}`)).toEqual(rows.filter((row) => currencyOf(row) === currency))
  }
}

/** Holds revenue in every form against the ledger, and what is unsettled against the report of taxes. */
async function reconcileRevenue(client: TestClient, from: IsoDate, to: IsoDate): Promise<void> {
  const period = `from=${from}&to=${to}`
  const report = async (query: string): Promise<any> => {
    const { status, body, text } = await client.get(`/v1/reports/revenue?${period}&${query}`)
    expect(status, text).toBe(200)
    return query.includes('csv') ? text : body
  }
  const { revenue } = await movementOf(client, from, to)
  const taxes: any[] = (await client.get(`/v1/reports/tax?${period}`)).body
  const unsettled = (rows: readonly any[], word: string, field: string) =>
    sumsBy(
      rows.filter((row) => row[word] === 'unsettled'),
      currencyOf,
      (row) => row[field],
    )
  for (const by of ['package', 'component', 'country', 'month']) {
    const rows: any[] = await report(`by=${by}`)
    expect(sumsBy(rows, currencyOf, ({ NetTurnover }) => NetTurnover)).toEqual(revenue)
    expect(unsettled(rows, 'Kind', 'TurnoverTakenBack')).toEqual(unsettled(taxes, 'Category', 'BaseTakenBack'))
    const csv = columnOf(await report(`by=${by}&format=csv&locale=de`), 'NetTurnover')
    expect(sumsBy(csv, currencyOf, (row) => row.amount)).toEqual(revenue)
    for (const currency of new Set(rows.map(currencyOf)))
      expect(await report(`by=${by}&currency=${currency}`)).toEqual(rows.filter((row) => currencyOf(row) === currency))
  }
}

/** Holds what months of a report come to against the same report of all of them, row by row. */
async function addUpMonths(client: TestClient, months: readonly (readonly [IsoDate, IsoDate])[]): Promise<void> {
  const ofPeriod = async (by: string, from: IsoDate, to: IsoDate): Promise<any[]> =>
    (await client.get(`/v1/reports/revenue?from=${from}&to=${to}&by=${by}`)).body
  const keyOf = (row: any): string =>
    [row.CurrencyCode, row.Kind, row.packageID ?? row.componentID ?? row.countryID ?? row.Month].join(' ')
  for (const by of ['package', 'component', 'country', 'month']) {
    const apart: any[] = []
    for (const [from, to] of months) apart.push(...(await ofPeriod(by, from, to)))
    const together = await ofPeriod(by, months[0]![0], months.at(-1)![1])
    for (const field of ['Turnover', 'TurnoverTakenBack', 'NetTurnover'])
      expect(sumsBy(apart, keyOf, (row) => row[field])).toEqual(sumsBy(together, keyOf, (row) => row[field]))
  }
}

/** Holds what customers owed on a day against the ledger: Balance is receivable less unapplied, and open items come to the ages of their customers. */
async function reconcileAgeing(client: TestClient, date: IsoDate): Promise<void> {
  const report = async (query: string): Promise<any> => {
    const { status, body, text } = await client.get(`/v1/reports/ageing?date=${date}&${query}`)
    expect(status, text).toBe(200)
    return query.includes('csv') ? text : body
  }
  const owed = (await client.get(`/v1/ledger/balances?date=${date}`)).body.filter(({ Account }: any) =>
    ['receivable', 'unapplied'].includes(Account),
  )
  const customers: any[] = await report('by=customer')
  const items: any[] = await report('by=document')
  const balance = sumsBy(owed, currencyOf, ({ Balance }: any) => Balance)
  expect(sumsBy(customers, currencyOf, ({ Balance }) => Balance)).toEqual(balance)
  const customerOf = ({ customerID, CurrencyCode }: any): string => `${customerID} ${CurrencyCode}`
  for (const column of [...AGES, 'Total', 'Unallocated', 'Balance'])
    expect(sumsBy(items, customerOf, (row) => row[column])).toEqual(sumsBy(customers, customerOf, (row) => row[column]))
  for (const by of ['customer', 'document'])
    expect(
      sumsBy(columnOf(await report(`by=${by}&format=csv&locale=de`), 'Balance'), currencyOf, ({ amount }) => amount),
    ).toEqual(balance)
}

/** Holds a trial balance against the balances of the ledger: each column balances in each currency, and it stands where the ledger stood. */
async function reconcileTrialBalance(client: TestClient, from: IsoDate, to: IsoDate): Promise<void> {
  const query = `/v1/reports/trialbalance?from=${from}&to=${to}`
  const rows: any[] = (await client.get(query)).body
  const balancesOf = async (date: IsoDate): Promise<any[]> =>
    (await client.get(`/v1/ledger/balances?date=${date}`)).body
  const standing = (some: readonly any[], field: string) =>
    some.map((row) => [row.CurrencyCode, row.Account, row.TaxName, row[field]])
  expect(standing(rows, 'Closing')).toEqual(standing(await balancesOf(to), 'Balance'))
  const opened = standing(rows, 'Opening').filter(([, , , amount]) => amount !== 0)
  const before = standing(await balancesOf(addDays(from, -1)), 'Balance').filter(([, , , amount]) => amount !== 0)
  expect(opened).toEqual(before)
  for (const column of ['Opening', 'Closing']) expect(sumsBy(rows, currencyOf, (row) => row[column])).toEqual({})
  expect(sumsBy(rows, currencyOf, ({ Debit }) => Debit)).toEqual(sumsBy(rows, currencyOf, ({ Credit }) => Credit))
  const csv = columnOf((await client.get(`${query}&format=csv&locale=de`)).text, 'Closing')
  expect(csv.map(({ amount }) => amount)).toEqual(rows.map(({ Closing }) => Closing))
  for (const currency of new Set(rows.map(currencyOf)))
    expect((await client.get(`${query}&currency=${currency}`)).body).toEqual(
      rows.filter((row) => currencyOf(row) === currency),
    )
}

const currencyOf = ({ CurrencyCode }: any): string => CurrencyCode

async function reconcileTaxes(client: TestClient, from: IsoDate, to: IsoDate): Promise<void> {
  const period = `from=${from}&to=${to}`
  const report = async (query: string): Promise<any> => {
    const { status, body, text } = await client.get(`/v1/reports/tax?${period}&${query}`)
    expect(status, text).toBe(200)
    return query.includes('csv') ? text : body
  }
  const { taxes, revenue } = await movementOf(client, from, to)
  const rates = await report('by=rate')
  const sales = await report('by=customer')
  const named = rates.filter(({ Name }: any) => Name !== null)
  expect(
    sumsBy(
      named,
      (row: any) => `${row.CurrencyCode} ${row.Name}`,
      ({ Net }: any) => Net,
    ),
  ).toEqual(taxes)
  expect(sumsBy(sales, currencyOf, ({ NetTurnover }: any) => NetTurnover)).toEqual(revenue)
  const net = sumsBy(rates, currencyOf, ({ Net }: any) => Net)
  expect(sumsBy(sales, currencyOf, ({ Tax }: any) => Tax)).toEqual(net)
  expect(
    sumsBy(columnOf(await report('by=rate&format=csv&locale=de'), 'Net'), currencyOf, (row) => row.amount),
  ).toEqual(net)
  const salesCsv = columnOf(await report('by=customer&format=csv&locale=de'), 'NetTurnover')
  expect(sumsBy(salesCsv, currencyOf, (row) => row.amount)).toEqual(revenue)
  const currencies: string[] = [...new Set<string>([...rates, ...sales].map(currencyOf))]
  for (const one of currencies)
    for (const [by, all] of [
      ['rate', rates],
      ['customer', sales],
    ])
      expect(await report(`by=${by}&currency=${one}`)).toEqual(all.filter((row: any) => row.CurrencyCode === one))
}

/** Holds the reports of each month from one day on against the ledger, and the months against all of them. */
export async function reconcileMonths(client: TestClient, first: IsoDate, months: number): Promise<void> {
  const periods = Array.from({ length: months }, (_, month): readonly [IsoDate, IsoDate] => [
    addMonths(first, month),
    addDays(addMonths(first, month + 1), -1),
  ])
  for (const [from, to] of periods) await reconcile(client, from, to)
  await addUpMonths(client, periods)
}
