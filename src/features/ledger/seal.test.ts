import { createHash } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { invoiceOf, moneyShop } from '../money/money.testing.ts'
import { takeLedgerMark } from './mark-queries.ts'
import { sealLedger } from './seal.ts'

const service = await startTestService()
const seal = async (account: bigint) =>
  sealLedger(service.db, account, {
    at: '2027-01-02T02:00:00.000Z',
    below: await takeLedgerMark(service.db.unscoped),
    eventSeal: null,
  })

test('a seal is the hash of the one before it and of every head, which anybody can hash again', async () => {
  const { client, customerID } = await moneyShop(service)
  const lines = async () =>
    (
      await service.db.reader(client.id).rows<{ line: string }>(sql`
        select concat_ws(chr(31), customer_id, currency, links, encode(head, 'hex')) || chr(10) as "line" from customer_totals
         where account_id = ${client.id} order by customer_id, currency`)
    ).map(({ line }) => line)
  const first = createHash('sha256')
    .update((await lines()).join(''))
    .digest()
  expect(await seal(client.id)).toEqual({ heads: 1n, batches: 0n, seal: first })
  await invoiceOf(client, customerID)
  const other: number = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
  await invoiceOf(client, other)
  const second = createHash('sha256')
    .update(first)
    .update((await lines()).join(''))
    .digest()
  expect(await seal(client.id)).toEqual({ heads: 2n, batches: 0n, seal: second })
})

test('an account without money has nothing to seal', async () => {
  const { client } = await moneyShop(service, 0)
  expect(await seal(client.id)).toBeNull()
})

test('a seal waits for nobody: a customer whose money is moving is in the next one', async () => {
  const { client, customerID } = await moneyShop(service)
  const other: number = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
  await invoiceOf(client, other)
  const holder = new pg.Client(clientConfig(service.connection, undefined))
  await holder.connect()
  await holder.query(`begin; select 1 from customer_totals where customer_id = ${customerID} for update`)
  expect(await seal(client.id)).toMatchObject({ heads: 1n })
  await holder.query('rollback')
  await holder.end()
  expect(await seal(client.id)).toMatchObject({ heads: 2n })
})

test('seals are kept: the role that the service works under can neither change nor delete them', async () => {
  const { client } = await moneyShop(service)
  await seal(client.id)
  for (const statement of [
    sql`update ledger_seals set heads = 0 where account_id = ${client.id}`,
    sql`delete from ledger_seals where account_id = ${client.id}`,
  ])
    await expect(service.db.transaction(client.id, (tx) => tx.rows(statement))).rejects.toThrow(/permission denied/)
})
