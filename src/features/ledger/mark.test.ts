import pg from 'pg'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { invoiceOf, moneyShop } from '../money/money.testing.ts'
import { takeLedgerMark } from './mark-queries.ts'

const service = await startTestService()

async function shopWithWriter() {
  const { client, customerID } = await moneyShop(service)
  const writer = new pg.Client(clientConfig(service.connection, undefined))
  await writer.connect()
  const mark = (patienceMs?: number) => service.db.transaction(client.id, (tx) => takeLedgerMark(tx, patienceMs))
  const newest = async () =>
    (
      await service.db
        .reader(client.id)
        .rows<{ id: bigint }>(sql`select max(entry_id) as "id" from ledger_rows where account_id = ${client.id}`)
    )[0]!.id
  /** Draws an identifier of an entry in a transaction that goes on. */
  const begin = async () => {
    await writer.query('begin')
    const { rows } = await writer.query<{ id: bigint }>(`select nextval('ledger_rows_entry_id_seq') as "id"`)
    return rows[0]!.id
  }
  return { client, customerID, writer, mark, newest, begin }
}

test('a mark is above every entry that is committed where nobody writes, and follows the next one', async () => {
  const { client, customerID, writer, mark, newest } = await shopWithWriter()
  const first = await mark()
  expect(first).toBeGreaterThan(await newest())
  await invoiceOf(client, customerID)
  expect(await newest()).toBeGreaterThanOrEqual(first)
  expect(await mark()).toBeGreaterThan(await newest())
  await writer.end()
})

test('a mark waits for a transaction that has drawn below it, and not for one that draws later', async () => {
  const { writer, mark, begin } = await shopWithWriter()
  const drawn = await begin()
  const taken = mark()
  const later = new pg.Client(clientConfig(service.connection, undefined))
  await later.connect()
  // The mark has looked at the locks once its function waits.
  const waits = async (): Promise<boolean> =>
    (
      await later.query(
        `select 1 from pg_stat_activity where wait_event = 'PgSleep' and query like '%take_ledger_mark%'`,
      )
    ).rowCount! > 0
  while (!(await waits()));
  await later.query('begin')
  await later.query(`select nextval('ledger_rows_entry_id_seq')`)
  await writer.query('commit')
  expect(await taken).toBe(drawn + 1n)
  await later.end()
  await writer.end()
})

test('a mark stays below the entries of a transaction that outlasts its patience, and holds nobody up', async () => {
  const { client, customerID, writer, mark, newest, begin } = await shopWithWriter()
  const drawn = await begin()
  expect(await mark(0)).toBeLessThanOrEqual(drawn)
  await invoiceOf(client, customerID)
  expect(await newest()).toBeGreaterThan(drawn)
  await writer.query('rollback')
  expect(await mark()).toBeGreaterThan(await newest())
  await writer.end()
})

test('where other servers write too, a mark is what was settled by age', async () => {
  const { client, newest } = await shopWithWriter()
  const mark = await service.db.transaction(client.id, async (tx) => {
    await tx.rows(sql`select set_config('perennial.writing_servers', 'several', true)`)
    return takeLedgerMark(tx)
  })
  expect(mark).toBeLessThanOrEqual(await newest())
})
