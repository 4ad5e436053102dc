import pg from 'pg'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sendUncount } from '../../platform/database/housekeeping.ts'
import { sql } from '../../platform/database/sql.ts'

const service = await startTestService()

const PAYMENTS = `
  insert into payments (account_id, customer_id, paid_at, dated, currency, amount_minor, method, origin, created_at)
    select $1, $2, '2027-01-01', '2027-01-01', 'USD', 1, 'cash', 'recorded', '2027-01-01' from generate_series(1, 9000)`
const ENTRIES = `
  insert into ledger_rows (account_id, customer_id, link, record_id, amount_minor, posted_at, dated, is_reversal, currency, event, record_type,
      debit, credit)
    select $1, $2, n, n, 1, '2027-01-01', '2027-01-01', false, 'USD', 'payment_recorded', 'payment', 'cash', 'unapplied' from generate_series(1, 9000) n`

test('deep pages of payments and of ledger entries hold what counting from the first finds, around what was deleted', async () => {
  const client = await service.newAccount()
  const { body } = await client.post('/v1/customers', { Name: 'Payer', isCompany: true })
  const owner = new pg.Client(clientConfig(service.connection, undefined))
  await owner.connect()
  const mine = [client.id, body.customerID]
  for (const statement of [PAYMENTS, ENTRIES]) await owner.query(statement, mine)
  for (const list of ['payments', 'ledger']) {
    // Two steps, as the worker takes them.
    await owner.query(`select seal_list($1)`, [list])
    await owner.query(`select seal_list($1)`, [list])
  }
  await service.db.transaction(client.id, async (tx) => {
    const deleted = await tx.rows<{ id: bigint }>(
      sql`delete from payments where account_id = ${client.id} and payment_id % 5 = 0 returning payment_id as "id"`,
    )
    sendUncount(
      tx,
      'payments',
      deleted.map(({ id }) => id),
    )
  })
  const blocks = await owner.query<{ list: string }>('select distinct list from list_blocks where account_id = $1', [
    client.id,
  ])
  expect(blocks.rows.map(({ list }) => list).sort()).toEqual(['ledger', 'payments'])
  for (const [path, table, column, field] of [
    ['/v1/payments', 'payments', 'payment_id', 'paymentID'],
    ['/v1/ledger/entries', 'ledger_rows', 'entry_id', 'entryID'],
  ] as const) {
    const { rows } = await owner.query<{ id: string }>(
      `select ${column} as id from ${table} where account_id = $1 order by ${column}`,
      [client.id],
    )
    const last = Math.ceil(rows.length / 200)
    for (const page of [1, 21, 22, 30, last]) {
      const reply = await client.get(`${path}?page=${page}&page_size=200`)
      const wanted = rows.slice((page - 1) * 200, page * 200).map(({ id }) => Number(id))
      expect(
        reply.body.map((one: Record<string, number>) => one[field]),
        `${path} ${page}`,
      ).toEqual(wanted)
    }
    const past = await client.get(`${path}?page=${last + 9}&page_size=200`)
    expect(past.headers['link']).toContain(`page=${last}&`)
  }
  await owner.end()
})
