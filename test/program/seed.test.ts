import { expect, test } from 'vitest'
import { addMonths } from '../../src/kernel/calendar.ts'
import { call, runProgram, serve, startedFolder, testFolder } from './program.ts'

/** A demo of few customers, made beside a running service as a person would. */

interface Told {
  AccountID: number
  ApiKey: string
  From: string
  To: string
  Invoices: number
  Subscriptions: number
  Failed: number
  tellingInvoiceID: number
}

const STATUSES = ['Paid', 'Pending', 'Due', 'Past Due', 'Cancelled', 'Draft']

test('the demo is a year of billing ending today: invoices in every month, none to come, and nothing left to bill', async () => {
  const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
  const service = await serve(env, ['--no-worker'])
  const made = await runProgram(['seed', '--demo', '--customers', '20', '--json'], env)
  expect(made.code).toBe(0)
  const told = JSON.parse(made.out) as Told
  expect(told).toMatchObject({ Failed: 0, Customers: 20, Seed: 1, From: addMonths(told.To, -12) })

  const credentials = { account: told.AccountID, key: told.ApiKey }
  const list = async (path: string) => (await call(service, credentials, `${path}?page_size=200`)).body
  const invoices = await list('/v1/invoices')
  expect(invoices).toHaveLength(told.Invoices)
  const days = invoices.map(({ InvoiceDate }: { InvoiceDate: string }) => InvoiceDate.slice(0, 10))
  const months = new Set(days.map((day: string) => day.slice(0, 7)))
  for (let n = 1; n <= 11; n += 1) expect(months).toContain(addMonths(told.From, n).slice(0, 7))
  expect(days.filter((day: string) => day > told.To || day < told.From)).toEqual([])
  const statuses = new Set(invoices.map(({ Status }: { Status: string }) => Status))
  expect([...statuses].filter((status) => !STATUSES.includes(status as string))).toEqual([])
  expect([...statuses]).toEqual(expect.arrayContaining(['Past Due', 'Paid']))
  expect((await list('/v1/payments')).length).toBeGreaterThan(10)

  const subscriptions = await list('/v1/subscriptions')
  expect(subscriptions).toHaveLength(told.Subscriptions)
  const states = subscriptions.map(({ comp_Status }: { comp_Status: string }) => comp_Status)
  expect(states).toEqual(expect.arrayContaining(['Active', 'Cancelled', 'Future']))
  expect((await list('/v1/recurring-invoices')).length).toBeGreaterThan(0)
  const { body: explained } = await call(service, credentials, `/v1/invoices/${told.tellingInvoiceID}/explanation`)
  expect(explained.Lines.length).toBeGreaterThan(2)

  const table = await runProgram(['invoices', '--account', String(told.AccountID), '--count', '5'], env)
  const [head, ...rows] = table.out.trimEnd().split('\n')
  expect(head).toMatch(/^Number +Date +Customer +Total +Status +invoiceID$/)
  const newest = invoices.toSorted((a: any, b: any) => b.invoiceID - a.invoiceID).slice(0, 5)
  expect(rows.map((row) => row.split(/ {2,}/).at(-1))).toEqual(newest.map(({ invoiceID }: any) => String(invoiceID)))
  for (const [index, { Name, Total, Status, InvoiceDate }] of newest.entries())
    for (const part of [Name, String(Total), Status, InvoiceDate.slice(0, 10)]) expect(rows[index]).toContain(part)
  const [first] = JSON.parse((await runProgram(['invoices', '--account', String(told.AccountID), '--json'], env)).out)
  expect(first).toMatchObject({ invoiceID: newest[0].invoiceID, Status: newest[0].Status })

  const again = await runProgram(['billing', 'run', '--account', String(told.AccountID), '--json'], env)
  expect(JSON.parse(again.out)).toMatchObject([{ Done: 0, Invoices: 0, Failed: 0 }])
})

test('a second demo is an account of its own and says so; the first stays as it was', async () => {
  const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
  const service = await serve(env, ['--no-worker'])
  const first = JSON.parse((await runProgram(['seed', '--demo', '--customers', '3', '--json'], env)).out) as Told
  const second = await runProgram(['seed', '--demo', '--customers', '2', '--seed', '5'], env)
  expect(second.code).toBe(0)
  expect(second.out).toMatch(
    new RegExp(
      `^There was a demo before \\(account ${first.AccountID}\\); it stays as it is, and this is another one.`,
    ),
  )
  expect(second.out).toMatch(/2 customers, .* 0 failed\nAPI key {3}test_/)
  const shown = second.out.trimEnd().split('\n\n').at(-1)?.split('\n').slice(1) ?? []
  expect(shown.length).toBeLessThanOrEqual(9)
  for (const line of shown) expect(line).toMatch(/^ {2}(demo|npm run -s perennial) .+ # .+$/)
  expect(shown.join('\n')).toMatch(/demo invoices\/\d+\/explanation +# every amount/)
  const credentials = { account: first.AccountID, key: first.ApiKey }
  expect((await call(service, credentials, '/v1/invoices?page_size=200')).body).toHaveLength(first.Invoices)
  expect((await call(service, credentials, '/v1/customers')).body).toHaveLength(3)
})

test('without --demo, and with counts that make no sense, nothing is made', async () => {
  const env = { DATA_DIR: testFolder() }
  for (const words of [
    [],
    ['--demo', '--customers', '0'],
    ['--demo', '--customers', '2001'],
    ['--demo', '--seed', 'x'],
  ])
    expect((await runProgram(['seed', ...words], env)).code).toBe(2)
})
