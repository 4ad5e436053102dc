import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { fileOf } from './exports.testing.ts'

/** Exports of 100,000 entries, each of a customer of its own: what is missing, where a file ends, and what an answer holds. */

const service = await startTestService()
const superuser = new pg.Client(clientConfig(service.connection, undefined))
beforeAll(() => superuser.connect())
afterAll(() => superuser.end())

const COUNT = 100_000
const WITH_REFERENCE = 1500
const WANTED = { Format: 'datev', From: '2027-01-01', To: '2027-01-31', CurrencyCode: 'EUR' }

/** Adds customers who owe 1.00 each from before; some balances have a reference that DATEV cannot hold. */
const YEAR = [
  `insert into customers (account_id, customer_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method,
       auto_send_invoice, auto_send_statement, is_collection_hold)
     select $1::bigint, 1000000 + n, 'L' || n, false, 'Customer ' || n, 'EUR', '2026-01-01', false, 'cash', true, false, false
       from generate_series(1, $2::bigint) n`,
  `insert into positive_adjustments (account_id, positive_adjustment_id, customer_id, kind, dated, due_date, currency, amount_minor, ref, created_at)
     select $1::bigint, 1000000 + n, 1000000 + n, 'opening_balance', '2027-01-01', '2027-01-01', 'EUR', 100,
         case when n <= ${WITH_REFERENCE} then 'Ж ' || n end, '2026-01-01' from generate_series(1, $2::bigint) n`,
  `insert into ledger_rows (account_id, customer_id, link, record_id, amount_minor, posted_at, dated, is_reversal, currency, event, record_type, debit, credit)
     select $1::bigint, 1000000 + n, 1, 1000000 + n, 100, '2026-01-01', '2027-01-01', false, 'EUR', 'opening_balance_set', 'positive_adjustment',
         'receivable', 'opening_balance' from generate_series(1, $2::bigint) n`,
]

async function largeAccount(): Promise<TestClient> {
  const client = await service.newAccount()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  for (const statement of YEAR) await superuser.query(statement, [String(client.id), COUNT])
  await superuser.query('analyze')
  return client
}

test('100,000 codes that are missing are counted and 20 of them named; then files end at 99,999 rows and answers hold a bounded part', async () => {
  const client = await largeAccount()
  await client.put('/v1/glcodes', { Datev: { Consultant: 29_098, Client: 55_003 } })
  const began = performance.now()
  const { status, body } = await client.post('/v1/exports', WANTED)
  expect([status, body.Errors.length]).toEqual([409, 21])
  expect(body.Errors[0].Message).toMatch(/^100,001 codes are missing/)
  expect(body.Errors.slice(1, 3).map(({ Message }: any) => Message)).toEqual([
    'There is no code of account opening_balance.',
    'There is no code of customer 1000001.',
  ])
  expect(performance.now() - began).toBeLessThan(20_000)
  expect((await client.get('/v1/exports')).body).toEqual([])

  await client.put('/v1/glcodes', { Debtor: '10000', opening_balance: '9000' })
  const made = (await client.post('/v1/exports', WANTED)).body
  expect(made).toMatchObject({ Entries: COUNT, Files: 2, Debit: COUNT, DifferenceCount: WITH_REFERENCE })
  expect(made.Differences).toHaveLength(1000)
  const [first, second] = await Promise.all([1, 2].map((part) => fileOf(client, made.exportID, part)))
  expect(first?.split('\r\n')).toHaveLength(99_999 + 3)
  expect(
    second
      ?.split('\r\n')
      .slice(2)
      .map((row) => row.match(/"Opening balance \d+"/)?.[0]),
  ).toEqual(['"Opening balance 1100000"', undefined])
}, 120_000)
