import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import { clientConfig } from './open-database.ts'

/** Tests of `settled_below`, on a database of their own: nobody else draws identifiers there. */

const connection = await createTestDatabase()
const [owner, writer] = [clientOf(), clientOf()]
await owner.connect()
await writer.connect()
afterAll(async () => {
  await writer.end()
  await owner.end()
})

function clientOf(): pg.Client {
  return new pg.Client(clientConfig(connection, undefined))
}

const settledBelow = async (list: string) =>
  (await owner.query<{ id: bigint }>(`select settled_below($1) as "id"`, [list])).rows[0]?.id
const draw = async (client: pg.Client, list: string, idColumn: string) =>
  (await client.query<{ id: bigint }>(`select nextval('${list}_${idColumn}_seq') as "id"`)).rows[0]?.id as bigint
const ageCandidates = (minutes: number) =>
  owner.query(`update list_watermarks set candidate_at = candidate_at - make_interval(mins => $1)`, [minutes])

describe('what is settled below', () => {
  test('stops at the identifiers of a transaction that still runs, also one that has only drawn and written nothing for an hour', async () => {
    await writer.query('begin')
    const drawn = await draw(writer, 'customers', 'customer_id')
    const later = await draw(owner, 'customers', 'customer_id')
    expect(await settledBelow('customers')).toBe(0n)
    await ageCandidates(60)
    expect(await settledBelow('customers')).toBe(0n)
    // Whoever only reads a list, for however long, holds nothing up.
    const reader = clientOf()
    await reader.connect()
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from customers')
    await writer.query('commit')
    expect(await settledBelow('customers')).toBe(later + 1n)
    expect(later).toBeGreaterThan(drawn)
    await reader.end()
  })

  test('follows although somebody draws at every moment: only those who may have drawn below it are waited for', async () => {
    await writer.query('begin')
    const first = await draw(writer, 'invoices', 'invoice_id')
    await settledBelow('invoices')
    const next = clientOf()
    await next.connect()
    await next.query('begin')
    await draw(next, 'invoices', 'invoice_id')
    await writer.query('rollback')
    expect(await settledBelow('invoices')).toBe(first + 1n)
    // Of what was drawn since the last look nothing is known yet.
    expect(await settledBelow('invoices')).toBe(first + 1n)
    await next.end()
  })

  test('is not moved while a deletion holds it, and moves where nobody draws', async () => {
    const drawn = await draw(owner, 'payments', 'payment_id')
    await settledBelow('payments')
    await writer.query('begin')
    await writer.query(`select 1 from list_watermarks where list = 'payments' for share`)
    expect(await settledBelow('payments')).toBe(0n)
    await writer.query('rollback')
    expect(await settledBelow('payments')).toBe(drawn + 1n)
  })

  test('goes by age alone where other servers write too, whose transactions cannot be seen here', async () => {
    await owner.query(`set perennial.writing_servers = 'several'`)
    const drawn = await draw(owner, 'event_rows', 'event_id')
    await settledBelow('events')
    await ageCandidates(29)
    expect(await settledBelow('events')).toBe(0n)
    await ageCandidates(2)
    expect(await settledBelow('events')).toBe(drawn + 1n)
  })
})
