import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { migrate } from './migrations.ts'
import { prepareRoles } from './roles.ts'

/** Services that start at the same moment on one database, or beside one of the version before. */

async function connected(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(connection)
  await client.connect()
  return client
}

/** An empty database. */
async function newDatabase() {
  const server = inject('databaseServer')
  const database = `started_${randomBytes(6).toString('hex')}`
  const admin = await connected({ ...server, database: 'postgres' })
  await admin.query(`create database ${database}`)
  await admin.end()
  return { ...server, database }
}

test('each finds or makes roles and schema, on an empty database and again', async () => {
  const connection = await newDatabase()
  for (let round = 0; round < 5; round += 1) {
    const starts = Array.from({ length: 8 }, () => prepareRoles(connection))
    const ended = await Promise.allSettled(starts)
    expect(ended.filter(({ status }) => status === 'rejected')).toEqual([])
  }
})

test('a migration that meets a dead-lock with a service that still runs is done again', async () => {
  const connection = await newDatabase()
  const { owner } = await prepareRoles(connection)
  const folder = mkdtempSync(join(tmpdir(), 'perennial-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, '0001_two_tables.sql'), 'create table perennial.one (); create table perennial.two ();')
  await migrate(connection, owner, folder)
  writeFileSync(
    join(folder, '0002_more.sql'),
    'alter table perennial.two add n int; alter table perennial.one add n int;',
  )
  const service = await connected(connection)
  // Whoever waits this long looks whether it is a dead-lock, and gives way: the migration.
  await service.query(`alter database ${connection.database} set deadlock_timeout = '3s'`)
  await service.query(`set deadlock_timeout = '1h'; begin; lock perennial.one in access share mode`)
  const migrated = migrate(connection, owner, folder)
  const waits = `select from pg_locks where relation = 'perennial.one'::regclass and not granted`
  await expect.poll(async () => (await service.query(waits)).rowCount, { interval: 10 }).toBe(1)
  await service.query('select from perennial.two')
  await service.query('commit')
  expect(await migrated).toEqual(['0002_more.sql'])
  const { rows } = await service.query('select count(*)::int as n from perennial.migrations')
  expect(rows).toEqual([{ n: 2 }])
  await service.end()
})

test('a migration in steps waits behind nobody for long, goes on where it was broken off, and lets others wait for it', async () => {
  const connection = await newDatabase()
  const { owner } = await prepareRoles(connection)
  const folder = mkdtempSync(join(tmpdir(), 'perennial-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(
    join(folder, '0001_table.sql'),
    'create table perennial.one (n int); insert into perennial.one values (1), (2);',
  )
  await migrate(connection, owner, folder)
  const steps = [
    `set local lock_timeout = '100ms'; alter table perennial.one add column if not exists more int not null default 0;`,
    'create unique index concurrently if not exists one_n on perennial.one (n);',
    'select 1 / (count(*) filter (where more = 1)) from perennial.one;',
  ]
  writeFileSync(join(folder, '0002_steps.sql'), `-- step by step\n${steps.join('\n-- then\n')}\n`)
  const service = await connected(connection)
  await service.query('begin; lock perennial.one in access share mode')
  const [first, second] = [migrate(connection, owner, folder), migrate(connection, owner, folder)]
  const ended = Promise.allSettled([first, second])
  const waits = `select from pg_locks where relation = 'perennial.one'::regclass and not granted`
  await expect.poll(async () => (await service.query(waits)).rowCount, { interval: 5 }).toBe(1)
  await expect.poll(async () => (await service.query(waits)).rowCount, { interval: 5 }).toBe(0)
  await service.query('commit')
  // The last step fails for both: what the others did stays, and nothing says that the migration ran.
  expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect((await service.query('select count(*)::int as n from perennial.migrations')).rows).toEqual([{ n: 1 }])
  await service.query('update perennial.one set more = 1 where n = 1')
  const again = await Promise.all([migrate(connection, owner, folder), migrate(connection, owner, folder)])
  expect(again.toSorted((a, b) => b.length - a.length)).toEqual([['0002_steps.sql'], []])
  const { rows } = await service.query(`select indisvalid from pg_index where indexrelid = 'perennial.one_n'::regclass`)
  expect(rows).toEqual([{ indisvalid: true }])
  await service.end()
})
