import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from './open-database.ts'
import { APP_ROLE } from './roles.ts'
import { sql } from './sql.ts'
import { analyzeYoungTables } from './young-tables.ts'

/** The server of the tests looks at no table itself while they run. */

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
beforeAll(() => owner.connect())
afterAll(() => owner.end())

const client = await service.newAccount()

let references = 0
const addCustomers = (count: number) =>
  service.db.transaction(client.id, (tx) =>
    tx.rows(sql`
      insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
        auto_send_statement, is_collection_hold)
      select ${client.id}, ${`many ${(references += 1)} `} || n, true, 'Customer', 'USD', '2026-01-01', false, 'cash', false, false, false
        from generate_series(1, ${count}::int) n`),
  )

/** How many rows PostgreSQL plans with; −1 before the first analysis. */
async function planned(): Promise<number> {
  const { rows } = await owner.query<{ n: number }>(
    `select reltuples::int as n from pg_class where oid = 'perennial.customers'::regclass`,
  )
  return rows[0]!.n
}

/** Waits until the server has noted what was written: a writer tells it a second late, or ten where it does nothing more. */
const untilNoted = (count: number) =>
  expect
    .poll(async () => {
      const { rows } = await owner.query(`select pg_stat_get_live_tuples('perennial.customers'::regclass)::int as n`)
      return rows[0].n
    })
    .toBeGreaterThanOrEqual(count)

test('a table of 500 rows is analyzed once it has them, and again when it has grown tenfold', async () => {
  await addCustomers(499)
  await analyzeYoungTables(service.db)
  expect(await planned()).toBe(-1)
  await addCustomers(1)
  await analyzeYoungTables(service.db)
  expect(await planned()).toBe(500)

  await addCustomers(2500)
  await untilNoted(3000)
  await analyzeYoungTables(service.db)
  expect(await planned()).toBe(500)
  await addCustomers(2000)
  await untilNoted(5000)
  await analyzeYoungTables(service.db)
  expect(await planned()).toBe(5000)
})

test('a plan that was prepared before is made anew, also where plans are kept by force', async () => {
  const app = new pg.Client(clientConfig(service.connection, APP_ROLE))
  await app.connect()
  await app.query(`select set_config('plan_cache_mode', 'force_generic_plan', false)`)
  await app.query(`select set_config('app.account_id', $1, false)`, [String(client.id)])
  await app.query('prepare notes_of as select * from customer_notes where account_id = $1 and customer_id = any($2)')
  const expectedRows = async (): Promise<number> => {
    const { rows } = await app.query(`explain (format json) execute notes_of (${client.id}, '{1,2,3}')`)
    return rows[0]['QUERY PLAN'][0].Plan['Plan Rows']
  }
  const before = await expectedRows()
  const { rows } = await owner.query(`select min(customer_id)::text as id from perennial.customers`)
  await owner.query(
    `insert into perennial.customer_notes (account_id, customer_id, note, note_type, created_at)
     select ${client.id}, ${rows[0].id}, 'n', 'general', now() from generate_series(1, 1000)`,
  )
  expect(await expectedRows()).toBe(before)
  await analyzeYoungTables(service.db)
  expect(await expectedRows()).toBeGreaterThan(before * 10)
  await app.end()
})

test.skipIf(Number(process.env['TEST_POSTGRES'] ?? 18) < 18)(
  'in a table that was never analyzed all rows count as those of one account, which no index leads past',
  async () => {
    const expected = async (where: string): Promise<number> => {
      const { rows } = await owner.query(`explain (format json) select from perennial.customer_contacts where ${where}`)
      return rows[0]['QUERY PLAN'][0].Plan['Plan Rows']
    }
    expect(await expected(`account_id = ${client.id}`)).toBe(await expected('true'))
  },
)
