import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import { Turns } from '../turns.ts'
import { Lanes } from './lanes.ts'
import { clientConfig, openDatabase } from './open-database.ts'
import { APP_ROLE } from './roles.ts'
import { SCOPES } from './scoped-query.ts'
import { sql } from './sql.ts'

/** Uses of a database that accepts everything and answers nothing: a frozen server, or a network that drops every packet. */

const connection = await createTestDatabase()
const folder = mkdtempSync(join(tmpdir(), 'perennial-silence-'))
const PORT = 5432

/** Whether what arrives is passed on, in either direction. */
let isFrozen = false
const held: (() => void)[] = []
const sockets = new Set<Socket>()

function passOn(from: Socket, to: Socket): void {
  sockets.add(from)
  from.on('error', () => {})
  from.on('close', () => to.destroy())
  from.on('data', (bytes) => {
    const write = () => void to.write(bytes)
    if (isFrozen) held.push(write)
    else write()
  })
}

const proxy = createServer((near) => {
  const far = connect(`${connection.host}/.s.PGSQL.${connection.port}`)
  passOn(near, far)
  passOn(far, near)
})
proxy.listen(join(folder, `.s.PGSQL.${PORT}`))
await once(proxy, 'listening')

const SILENCE = { readMs: 50, graceMs: 50 }
const db = openDatabase(
  { ...connection, host: folder, port: PORT },
  { role: APP_ROLE, poolSize: 2, lanes: 1, reads: 1, silence: SILENCE },
)

afterAll(async () => {
  await db.close()
  for (const socket of sockets) socket.destroy()
  proxy.close()
  rmSync(folder, { recursive: true })
})

function freeze(): void {
  isFrozen = true
}

function thaw(): void {
  isFrozen = false
  for (const write of held.splice(0)) write()
}

const one = () => sql`select 1 as "one"`
const USES: [string, () => Promise<unknown>][] = [
  ['a look-up', () => db.lookup(1n).rows(one())],
  ['a look-up of credentials', () => db.credentials(1n).rows(one())],
  [
    'a read',
    async () => {
      const snapshot = db.snapshot(1n)
      return snapshot.rows(one()).finally(() => snapshot.end())
    },
  ],
  ['a write', () => db.transaction(1n, (tx) => tx.rows(one()), { statementMs: 50 })],
  ['a check of health', () => db.unscoped.rows(sql`select 2 - 1 as "one"`, 50)],
]

describe('on a connection that answers no more', () => {
  // A connection that was used before, so that the freeze meets it at work.
  beforeEach(async () => {
    thaw()
    for (const [, use] of USES) await use()
  })

  test.each(USES)('%s ends in 503, and the next one has a connection that answers', async (_, use) => {
    freeze()
    const asked = use()
    await expect(asked).rejects.toMatchObject({
      kind: 'unavailable',
      retryAfterSeconds: 2,
      problems: [{ code: 'database_unavailable' }],
      cause: { code: 'ETIMEDOUT' },
    })
    thaw()
    expect(await use()).toEqual([{ one: 1 }])
  })

  test('lanes on which no answer is to come are ended with all who wait, before their own bound, and the next look-up has a new one', async () => {
    const config = {
      ...clientConfig({ ...connection, host: folder, port: PORT }, APP_ROLE, 'reads'),
      silenceMs: 60_000,
    }
    const lanes = new Lanes(config, 1, { turns: new Turns(), scopes: SCOPES.plain })
    await lanes.lookup(1n).rows(one())
    // Nobody waits.
    lanes.cutWaiting()
    freeze()
    const waiting = Promise.allSettled([1n, 2n].map((account) => lanes.lookup(account).rows(one())))
    await new Promise(setImmediate)
    lanes.cutWaiting()
    const ended = { status: 'rejected', reason: { problems: [{ code: 'database_unavailable' }] } }
    expect(await waiting).toMatchObject([ended, ended])
    thaw()
    expect(await lanes.lookup(1n).rows(one())).toEqual([{ one: 1 }])
    await lanes.close()
  })

  test('a statement that the server works on for longer than reads may take is waited for', async () => {
    const slow = db.transaction(1n, (tx) => tx.rows(sql`select 1 as "one" from pg_sleep(0.4)`), { statementMs: 60_000 })
    expect(await slow).toEqual([{ one: 1 }])
  })

  test('what has waited for nothing is left alone, however long', async () => {
    const listened: string[] = []
    let heard = () => {}
    const arrived = new Promise<void>((resolve) => (heard = resolve))
    const stop = await db.listen('silence', (payload) => {
      listened.push(payload)
      heard()
    })
    await db.unscoped.rows(sql`select pg_sleep(0.3)`)
    await db.unscoped.rows(sql`select pg_notify('silence', 'still here')`)
    await arrived
    expect(listened).toEqual(['still here'])
    await stop()
  })
})
