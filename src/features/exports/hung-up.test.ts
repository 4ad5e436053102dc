import { connect, type AddressInfo } from 'node:net'
import pg from 'pg'
import { afterAll, expect, test, vi } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { moneyShop } from '../money/money.testing.ts'
import { CODES } from './exports.testing.ts'

const service = await startTestService()
// One holds the lock, the other looks: what a transaction has seen of other sessions it sees unchanged to its end.
const [other, watch] = [1, 2].map(() => new pg.Client(clientConfig(service.connection, undefined))) as [
  pg.Client,
  pg.Client,
]
await Promise.all([other.connect(), watch.connect()])
const { server } = service.app
await server.listen({ host: '127.0.0.1', port: 0 })
const { port } = server.server.address() as AddressInfo
afterAll(() => Promise.all([other.end(), watch.end()]))

const JANUARY = { Format: 'csv', From: '2027-01-01', To: '2027-01-31', CurrencyCode: 'USD', isLock: false }

/** Statements of this database that wait for a lock. */
const waiting = async () =>
  (
    await watch.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
  ).rows[0]?.n

test.each([
  ['before it reads', 'gl_codes'],
  ['while it is written', 'export_pieces'],
])('a caller who hangs up ends an export and leaves nothing of it: %s', async (_name, relation) => {
  const { client } = await moneyShop(service, 1)
  expect((await client.put('/v1/glcodes', CODES)).status).toBe(204)
  await other.query('begin')
  await other.query(`lock table ${relation} in access exclusive mode`)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const body = JSON.stringify(JANUARY)
  const credentials = Buffer.from(`${client.id}:${client.secret}`).toString('base64')
  socket.write(
    `POST /v1/exports HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${credentials}\r\nIdempotency-Key: same\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await vi.waitFor(async () => expect(await waiting()).toBe(1), 10_000)
  socket.destroy()
  await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 2_000, interval: 20 })
  await other.query('rollback')
  const list = await client.get('/v1/exports')
  expect([list.status, list.body]).toEqual([200, []])
  const made = await vi.waitFor(
    async () => {
      const again = await client.post('/v1/exports', JANUARY, { 'idempotency-key': 'same' })
      expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, undefined])
      return again.body
    },
    { timeout: 2_000, interval: 20 },
  )
  expect(made).toMatchObject({ Number: 1, Entries: 2 })
  expect((await client.get('/v1/exports')).body).toHaveLength(1)
})
