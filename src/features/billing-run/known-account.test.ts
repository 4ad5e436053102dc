import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, checkBooks, moveTo } from '../../../test/support/shop.ts'
import { ORDER_OF_DAY } from '../../duties.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { learnAccount } from './known-account.ts'
import { listTablesToAnalyze } from './queries.ts'
import { insertSubscribers, newRun, rateTermOf } from './run.testing.ts'
import { workRun } from './run.ts'

/** Runs of accounts of which PostgreSQL knew nothing when it last analyzed its tables: it would plan for one row. */

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
beforeAll(() => owner.connect())
afterAll(() => owner.end())

/** Rows of an account that PostgreSQL expects in a table. */
async function expectedIn(table: string, { id }: TestClient): Promise<number> {
  const { rows } = await owner.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select 1 from perennial.${table} where account_id = ${id}`,
  )
  return rows[0]!['QUERY PLAN'][0].Plan['Plan Rows']
}

async function newAccountWith(customers: number) {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const rateTermID = rateTermOf(await addPackage(client))
  await insertSubscribers(service, client, { rateTermID, dueOn: '2027-01-01', customers })
  return client
}

const bill = async (client: TestClient) =>
  workRun(
    { db: service.db, realClock: Date.now, order: ORDER_OF_DAY },
    client.id,
    await newRun(service, client.id, '2027-01-01'),
  )

test('a run lets PostgreSQL look at an account that it does not know, before it reads and after it has written', async () => {
  const old = await newAccountWith(1500)
  await bill(old)
  await owner.query('analyze')
  const young = await newAccountWith(1200)
  expect(await expectedIn('subscriptions', young)).toBeLessThan(120)
  await bill(young)
  for (const table of ['customers', 'subscriptions', 'subscription_billing', 'invoices', 'ledger_rows', 'charge_rows'])
    expect([table, (await expectedIn(table, young)) > 1000]).toEqual([table, true])

  const byClock = await newAccountWith(1100)
  expect(await expectedIn('invoices', byClock)).toBeLessThan(110)
  await moveTo(byClock, '2027-02-02')
  for (const table of ['subscriptions', 'invoices']) expect(await expectedIn(table, byClock)).toBeGreaterThan(110)
  await checkBooks(service, byClock)
})

test('where few are due it looks at nothing', async () => {
  await owner.query('analyze')
  const few = await newAccountWith(50)
  await bill(few)
  expect(await expectedIn('invoices', few)).toBeLessThan(10)
})

test('an account that it knows is not looked at again, however little of what is due is of one kind', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`
      insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
        auto_send_statement, is_collection_hold)
      select ${client.id}, 'many ' || n, true, 'Customer', 'USD', '2026-01-01', false, 'cash', false, false, false from generate_series(1, 1200) n`),
  )
  const unknownOf = (records: number) =>
    service.db.transaction(client.id, (tx) => listTablesToAnalyze(tx, { about: 'due', records }, 1000))
  for (const records of [1200, 50_000]) expect(await unknownOf(records)).toContainEqual({ name: 'customers' })
  await learnAccount(service.db, client.id, { about: 'due', records: 1200 })
  for (const records of [1200, 50_000]) expect(await unknownOf(records)).toEqual([])
})
