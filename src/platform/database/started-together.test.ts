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
