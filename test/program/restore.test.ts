import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { call, runProgram, serve, type Serving, startedFolder, startProgram, testFolder } from './program.ts'

/** `perennial backup` of a service at work, and `perennial restore` of what it wrote. */

const CLIENTS = 8

/** Writes customers one after the other on several connections until it is stopped. */
function writeOn(service: Serving) {
  const acknowledged: number[] = []
  let isOver = false
  const client = async (): Promise<void> => {
    while (!isOver) {
      const { status, body } = await call(service, service, '/v1/customers', { Name: 'Ann', LastName: 'Lee' })
      expect(status).toBe(201)
      acknowledged.push(body.customerID)
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  return {
    acknowledged,
    stop: async () => {
      isOver = true
      await Promise.all(clients)
    },
  }
}

async function untilMoreThan(count: number, acknowledged: readonly unknown[]): Promise<void> {
  while (acknowledged.length <= count) await new Promise(setImmediate)
}

async function allCustomers(service: Serving, first: Serving): Promise<Set<number>> {
  const found = new Set<number>()
  for (let page = 1; ; page += 1) {
    const { body } = await call(service, first, `/v1/customers?page=${page}&page_size=100`)
    for (const { customerID } of body) found.add(customerID)
    if (body.length === 0) return found
  }
}

test('a backup under writes, restored elsewhere, holds every write that was acknowledged before it began', async () => {
  const folder = testFolder()
  const [DATA_DIR, OTHER, file] = [startedFolder(), join(folder, 'other'), join(folder, 'backup.tar')]
  const first = await serve({ DATA_DIR })
  const writing = writeOn(first)
  await untilMoreThan(200, writing.acknowledged)
  const before = [...writing.acknowledged]
  const backup = await runProgram(['backup', file, '--with-key', '--json'], { DATA_DIR })
  await writing.stop()
  const lastRead = new Date().toISOString()
  expect(backup).toMatchObject({ code: 0, err: '' })
  // It was made while others wrote.
  expect(writing.acknowledged.length).toBeGreaterThan(before.length)
  expect(await runProgram(['backup', file], { DATA_DIR })).toMatchObject({
    code: 1,
    err: `There is a file ${file} already: name another one.\n`,
  })

  expect(await runProgram(['restore', file], { DATA_DIR: OTHER })).toMatchObject({ code: 0, err: '' })
  const verified = await runProgram(['verify', '--json'], { DATA_DIR: OTHER })
  expect(verified.code, verified.out).toBe(0)
  const second = await serve({ DATA_DIR: OTHER }, ['--no-worker'])
  const restored = await allCustomers(second, first)
  expect(before.filter((id) => !restored.has(id))).toEqual([])
  // What came later is there or not; identifiers go on behind all of it.
  const known = new Set(writing.acknowledged)
  expect([...restored].filter((id) => !known.has(id) && id > Math.max(...known))).toEqual([])
  const next = await call(second, first, '/v1/customers', { Name: 'Bob', LastName: 'Low' })
  // A reader of the first one may know what was undone: all that is here comes once more.
  const { body: again } = await call(second, first, `/v1/customers?updatedSince=${lastRead}&page_size=100`)
  expect(again.map(({ customerID }: any) => customerID)).toEqual([...restored].slice(0, 100))
  expect(restored.has(next.body.customerID)).toBe(false)
  expect(next.body.customerID).toBeGreaterThan(Math.max(...restored))
})

test('what is cut, changed, elsewhere in use or of another kind is refused by name, and a missing key is named', async () => {
  const folder = testFolder()
  const [DATA_DIR, OTHER, file] = [startedFolder(), join(folder, 'other'), join(folder, 'backup.tar')]
  const kept = readFileSync(join(DATA_DIR, 'encryption.key'), 'utf8')
  const made = await runProgram(['backup', file], { DATA_DIR })
  expect([made.code, made.err]).toEqual([0, expect.stringContaining('The encryption key is not in it')])
  const whole = readFileSync(file)
  expect(whole.includes(kept.trim())).toBe(false)

  const refused = async (why: string, dataDir = OTHER) => {
    const { code, err } = await runProgram(['restore', file], { DATA_DIR: dataDir })
    expect([code, err]).toEqual([1, expect.stringContaining(why)])
    expect(err).toContain('Nothing was restored')
    if (dataDir === OTHER) expect(existsSync(OTHER)).toBe(false)
  }
  truncateSync(file, whole.length - 10_000)
  await refused('it is cut off, or it is no backup')
  const changed = Buffer.from(whole)
  changed[Math.floor(whole.length / 2)] = (changed[Math.floor(whole.length / 2)] ?? 0) ^ 1
  writeFileSync(file, changed)
  await refused('its SHA-256 is another one')
  writeFileSync(file, whole)
  await refused(`${join(DATA_DIR, 'postgres')} is there already`, DATA_DIR)
  const server = await runProgram(['restore', file], {
    DATA_DIR: OTHER,
    DATABASE_URL: 'postgres://nobody@127.0.0.1/none',
  })
  expect([server.code, server.err]).toEqual([1, expect.stringContaining('DATABASE_URL names a server')])

  // An empty folder that is there already is as good as none.
  mkdirSync(OTHER)
  const restored = await runProgram(['restore', file], { DATA_DIR: OTHER })
  expect([restored.code, restored.err]).toEqual([0, expect.stringContaining('The encryption key is missing')])
  const keyless = await runProgram(['serve'], { DATA_DIR: OTHER })
  expect([keyless.code, keyless.err]).toEqual([1, expect.stringContaining('There is no encryption key')])
  const keyed = await runProgram(['account', 'list', '--json'], { DATA_DIR: OTHER, ENCRYPTION_KEY: kept.trim() })
  expect(JSON.parse(keyed.out)).toHaveLength(1)
})

test('a restore that is killed half-way leaves nothing that a start takes for an empty database, and is done anew', async () => {
  const folder = testFolder()
  const [DATA_DIR, OTHER, file] = [startedFolder(), join(folder, 'other'), join(folder, 'backup.tar')]
  const first = await serve({ DATA_DIR }, ['--no-worker'])
  expect(await runProgram(['backup', file, '--with-key'], { DATA_DIR })).toMatchObject({ code: 0 })
  const { child, ended } = startProgram(['restore', file], { DATA_DIR: OTHER })
  while (!existsSync(join(OTHER, 'postgres.restoring', 'base'))) await new Promise(setImmediate)
  child.kill('SIGKILL')
  expect(await ended).toMatchObject({ signal: 'SIGKILL' })
  expect(readdirSync(OTHER).filter((entry) => entry !== 'lock')).toEqual(['postgres.restoring'])

  for (const args of [['serve'], ['account', 'create', '--name', 'New'], ['migrate'], ['import', file], ['doctor']]) {
    const { code, out, err } = await runProgram(args, { DATA_DIR: OTHER })
    expect([args, code, out + err]).toEqual([args, 1, expect.stringContaining('did not come to its end')])
  }
  expect(readdirSync(OTHER).filter((entry) => entry !== 'lock')).toEqual(['postgres.restoring'])

  expect(await runProgram(['restore', file], { DATA_DIR: OTHER })).toMatchObject({ code: 0, err: '' })
  expect(existsSync(join(OTHER, 'postgres.restoring'))).toBe(false)
  const second = await serve({ DATA_DIR: OTHER }, ['--no-worker'])
  expect((await call(second, first, '/v1/account')).status).toBe(200)
})

test('a database on a server is backed up as an export, which never holds the key and which restore sends on to import', async () => {
  const { admin, url } = await foreignServer()
  await admin.query('create role billing login createrole')
  await admin.query('create database billing owner billing')
  const folder = testFolder()
  const [env, file] = [{ DATABASE_URL: url('billing', 'billing'), DATA_DIR: folder }, join(folder, 'backup.gz')]
  expect(await runProgram(['migrate'], env)).toMatchObject({ code: 0 })
  const keyed = await runProgram(['backup', file, '--with-key'], env)
  expect([keyed.code, keyed.err]).toEqual([1, expect.stringContaining('never holds the encryption key')])
  expect(await runProgram(['backup', file], env)).toMatchObject({ code: 0 })
  const { code, err } = await runProgram(['restore', file], { DATA_DIR: join(folder, 'other') })
  expect([code, err]).toEqual([1, expect.stringContaining('is taken in by "perennial import"')])
})
