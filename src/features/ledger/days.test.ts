import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { invoiceOf, moneyShop } from '../money/money.testing.ts'
import { sumDays } from './mark-queries.ts'
import { daySummer } from './days.testing.ts'

/** The ledger by day: its sums follow whoever commits, and nobody waits for them. */

const service = await startTestService()
const sumAllDays = await daySummer(service)
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

const daysOf = async (account: bigint): Promise<string[]> =>
  (
    await service.db.reader(account).rows<{ line: string }>(sql`
      select concat_ws(' ', dated, debit || '→' || credit, tax_name, amount_minor) as "line" from ledger_days
       where account_id = ${account} order by dated, debit, credit`)
  ).map(({ line }) => line)

const ONE = ['2027-01-01 receivable→revenue 10000', '2027-01-01 receivable→tax VAT 1500']
const TWO = ['2027-01-01 receivable→revenue 20000', '2027-01-01 receivable→tax VAT 3000']
const THREE = ['2027-01-01 receivable→revenue 30000', '2027-01-01 receivable→tax VAT 4500']

test('what was posted on a day is summed once, and more of the same day later', async () => {
  const { client, customerID } = await moneyShop(service)
  expect(await daysOf(client.id)).toEqual([])
  await sumAllDays()
  expect(await daysOf(client.id)).toEqual(ONE)
  await invoiceOf(client, customerID)
  expect(await daysOf(client.id)).toEqual(ONE)
  await sumAllDays()
  expect(await daysOf(client.id)).toEqual(TWO)
})

test('while days are summed others post, and marks of lists move; a second sum leaves it to the first', async () => {
  const { client, customerID } = await moneyShop(service)
  await sumAllDays()
  await invoiceOf(client, customerID)
  await owner.query('begin')
  await owner.query('select 1 from perennial.ledger_days_mark for update')
  await invoiceOf(client, customerID)
  expect(await sumDays(service.db.unscoped)).toBe(false)
  await service.db.unscoped.rows(sql`select seal_list('ledger')`)
  expect(await daysOf(client.id)).toEqual(ONE)
  await owner.query('commit')
  await sumAllDays()
  expect(await daysOf(client.id)).toEqual(THREE)
})

test('what an open transaction may still post is not below the mark', async () => {
  const { client, customerID } = await moneyShop(service)
  await sumAllDays()
  await owner.query('begin')
  await owner.query(
    `select nextval(pg_get_serial_sequence('perennial.ledger_rows', 'entry_id')) from generate_series(1, 5000)`,
  )
  await invoiceOf(client, customerID)
  for (let look = 0; look < 3; look += 1) await service.db.unscoped.rows(sql`select seal_list('ledger')`)
  expect(await sumDays(service.db.unscoped)).toBe(false)
  await owner.query('commit')
  await sumAllDays()
  expect(await daysOf(client.id)).toEqual(TWO)
})
