import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { clientConfig, type Queryable } from '../../platform/database/database.ts'
import type { Statement } from '../../platform/database/sql.ts'
import { listEvents } from '../events/queries.ts'
import { listEntries, listTaxesOfPeriod } from './read-queries.ts'

/** Reads of a part of a long table go by an index: what they cost does not grow with all that an account has. */

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
let client: TestClient
beforeAll(async () => {
  await owner.connect()
  client = await service.newAccount()
  const { body } = await client.post('/v1/customers', { Name: 'Long Ltd', isCompany: true })
  await owner.query(`
    insert into perennial.events (account_id, type, record_id, customer_id, happened_at, actor)
      select ${client.id}, case when n % 10000 = 0 then 'account.updated' else 'customer.updated' end, n, ${body.customerID},
        timestamptz '2026-01-01' + n * interval '1 minute', 'key 1' from generate_series(1, 50000) n;
    insert into perennial.ledger_entries (account_id, customer_id, link, record_id, amount_minor, posted_at, dated, is_reversal, currency, event,
        record_type, debit, credit)
      select ${client.id}, n, 1, n, 100, now(), date '2020-01-01' + n / 50, false, 'USD', 'invoice_issued', 'invoice', 'receivables', 'revenue'
        from generate_series(1, 50000) n;
    insert into perennial.invoices (account_id, customer_id, currency, invoice_date, due_date, last_updated, source, collection_method, total_minor,
        issued_at, number, account_version, customer_version)
      select ${client.id}, ${body.customerID}, 'USD', date '2020-01-01' + n / 50, date '2020-01-01' + n / 50, now(), 'App', 'cash', 100, now(), n, 1, 1
        from generate_series(1, 50000) n`)
  await owner.query('vacuum (analyze) perennial.events, perennial.ledger_entries, perennial.invoices')
})
afterAll(() => owner.end())

/** The plan of the one statement that a query sends. */
async function planOf(ask: (db: Queryable) => Promise<unknown>): Promise<string> {
  const sent: Statement[] = []
  const rows = async <Row>(statement: Statement): Promise<Row[]> => {
    sent.push(statement)
    return []
  }
  await ask({ rows })
  const [{ text, values } = { text: '', values: [] }] = sent
  const { rows: lines } = await owner.query<{ 'QUERY PLAN': string }>(
    `explain ${text}`,
    values.map((value) => String(value)),
  )
  return lines.map((line) => line['QUERY PLAN']).join('\n')
}

const start = { fromId: 0n, skip: 0 }

test('events of a type that is rare, at any depth', async () => {
  for (const skip of [0, 3])
    expect(
      await planOf((db) => listEvents(db, client.id, { type: 'account.updated' }, { fromId: 0n, skip }, 101)),
    ).toContain('events_by_type')
})

test('events and entries of one customer, in the middle of many', async () => {
  expect(await planOf((db) => listEvents(db, client.id, { customerId: 999_999n }, start, 101))).toContain(
    'events_by_customer',
  )
  const filter = { customerId: 25_000n, from: null, to: null }
  expect(await planOf((db) => listEntries(db, client.id, filter, { fromId: 0n, skip: 5000 }, 101))).toContain(
    'ledger_entries_by_customer',
  )
})

test('taxes of a month among years, and what was cancelled in it', async () => {
  const plan = await planOf((db) => listTaxesOfPeriod(db, client.id, '2021-03-01', '2021-03-31'))
  for (const index of ['invoices_cancelled', 'ledger_entries_by_date']) expect(plan).toContain(index)
  expect(plan).not.toMatch(/Seq Scan on (invoices|ledger_entries)/)
})
