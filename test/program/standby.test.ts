import { chownSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'
import { call, runProgram, serve, type Serving, testFolder } from './program.ts'

/** Servers as an operator runs them, a primary and a standby, and what the service makes of a failover. */

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const running = new Map<string, EmbeddedPostgres>()

async function start(folder: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir: folder, log: silent })
  running.set(folder, server)
}

async function stop(folder: string): Promise<void> {
  await running.get(folder)?.stop()
  running.delete(folder)
}

/** Makes a stopped primary start as a standby next time. */
function makeStandby(folder: string): void {
  const cluster = join(folder, 'postgres')
  const file = join(cluster, 'standby.signal')
  writeFileSync(file, '')
  const { uid, gid } = statSync(cluster)
  chownSync(file, uid, gid)
}

/** A copy that root made belongs to root, as whom no server runs. */
function giveAwayAs(model: string, copy: string): void {
  const { uid, gid } = statSync(model)
  for (const name of ['', ...(readdirSync(copy, { recursive: true }) as string[])])
    chownSync(join(copy, name), uid, gid)
}

async function promote(folder: string): Promise<void> {
  const client = new pg.Client({ ...running.get(folder)!.connection, database: 'postgres' })
  await client.connect()
  expect((await client.query('select pg_promote() as "is"')).rows).toEqual([{ is: true }])
  await client.end()
}

const urlOf = (...folders: string[]) =>
  `postgres://postgres:never-shown@localhost:5432/perennial?host=${folders.map((folder) => join(folder, 'postgres')).join(',')}`

const write = async (service: Serving, first: Serving) =>
  (await call(service, first, '/v1/customers', { Name: 'Some', LastName: 'Body' })).status

/** Asks until the answer is another one than that of a database that is away: how soon a server takes writes is its own affair. */
async function readyAgain(service: Serving): Promise<number> {
  for (;;) {
    const { status } = await fetch(`${service.address}/readyz`)
    if (status !== 503) return status
  }
}

function folders(count: number): string[] {
  const root = testFolder()
  onTestFinished(async () => {
    for (const folder of [...running.keys()]) await stop(folder)
  })
  return Array.from({ length: count }, (_, place) => join(root, `server${place}`))
}

test('a standby is away: 503 for reads and writes, not ready, and refused at the start, until it is promoted', async () => {
  const [folder = ''] = folders(1)
  await start(folder)
  const env = { DATABASE_URL: urlOf(folder), DATA_DIR: join(folder, '..', 'data'), LOG_LEVEL: 'silent' }
  const service = await serve(env)
  expect(await write(service, service)).toBe(201)
  await stop(folder)
  makeStandby(folder)
  await start(folder)
  expect(await write(service, service)).toBe(503)
  expect((await call(service, service, '/v1/customers')).status).toBe(503)
  expect((await fetch(`${service.address}/readyz`)).status).toBe(503)
  const late = await runProgram(['serve'], env)
  expect([late.code, late.err]).toEqual([1, expect.stringContaining('takes no writes')])
  expect(late.err).not.toContain('never-shown')
  const doctor = await runProgram(['doctor'], env)
  expect(doctor.out).toMatch(/fail +DATABASE_URL: .* takes no writes/)
  await promote(folder)
  expect(await readyAgain(service)).toBe(200)
  expect(await write(service, service)).toBe(201)
})

test('of several servers the one that takes writes is used, also after a failover to the other', async () => {
  const [one = '', two = ''] = folders(2)
  await start(one)
  const prepared = await serve({ DATABASE_URL: urlOf(one), DATA_DIR: join(one, '..', 'data'), LOG_LEVEL: 'silent' })
  prepared.child.kill('SIGTERM')
  await prepared.ended
  await stop(one)
  mkdirSync(two, { mode: 0o700 })
  cpSync(join(one, 'postgres'), join(two, 'postgres'), { recursive: true, preserveTimestamps: true })
  giveAwayAs(join(one, 'postgres'), join(two, 'postgres'))
  makeStandby(one)
  await start(one)
  await start(two)

  const service = await serve({
    DATABASE_URL: `${urlOf(one, two)}&target_session_attrs=read-write`,
    DATA_DIR: join(one, '..', 'data'),
    LOG_LEVEL: 'silent',
  })
  expect(await write(service, prepared)).toBe(201)
  await stop(two)
  expect(await write(service, prepared)).toBe(503)
  await promote(one)
  expect(await readyAgain(service)).toBe(200)
  expect(await write(service, prepared)).toBe(201)
})
