import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { ownProgram } from '../../../test/support/own-program.ts'
import { listPending, migrate } from './migrations.ts'
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

/** A database whose only migrations make what a program asks the others for: a list of processes. */
async function databaseWithProcesses() {
  const connection = await newDatabase()
  const { owner } = await prepareRoles(connection)
  const folder = mkdtempSync(join(tmpdir(), 'perennial-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const numbered = (name: string, text: string) => writeFileSync(join(folder, name), text)
  numbered(
    '0001_processes.sql',
    `create table perennial.one (n int); create table perennial.live (schema int);
     create function perennial.list_processes() returns table (kind text, host text, pid int, version text, schema int, state text, is_live boolean)
       language sql as $$ select 'serve', 'one', 7, '0.1.9', l.schema, 'ready', true from perennial.live l $$;`,
  )
  await migrate(connection, owner, folder, { program: '0.1.9' })
  return { connection, owner, folder, numbered }
}

test('migrations run beside live processes that know their least, else nothing runs and the processes are named; a program that knows too little is refused', async () => {
  const { connection, owner, folder, numbered } = await databaseWithProcesses()
  const service = await connected(connection)
  await service.query('insert into perennial.live values (1)')
  numbered('0002_rolls.sql', '-- Adds.\n-- least: 1\nalter table perennial.one add more int;')
  expect(await migrate(connection, owner, folder, { program: '0.2.0' })).toEqual(['0002_rolls.sql'])
  numbered('0003_rolls_too.sql', '-- least: 2\nalter table perennial.one add most int;')
  numbered('0004_renames.sql', 'alter table perennial.one rename n to m;')
  const { pending, live } = await listPending(connection, folder)
  expect(pending).toEqual([
    { name: '0003_rolls_too.sql', least: 2, isRolling: true },
    { name: '0004_renames.sql', least: 4, isRolling: false },
  ])
  expect(live).toHaveLength(1)
  await expect(migrate(connection, owner, folder)).rejects.toThrow(
    'The database needs 0003_rolls_too.sql, 0004_renames.sql, beside which these processes cannot run: serve 0.1.9 on one, process 7. Stop them',
  )
  expect((await service.query('select from perennial.migrations')).rowCount).toBe(2)
  await service.query('delete from perennial.live')
  // Of a program that is no longer live a connection may be left, as of one that is frozen.
  const frozen = await connected({ ...connection, application_name: 'perennial' })
  frozen.on('error', () => {})
  await frozen.query('begin; lock perennial.one in access share mode')
  const both = await Promise.all([
    migrate(connection, owner, folder, { program: '0.3.0' }),
    migrate(connection, owner, folder, { program: '0.3.0' }),
  ])
  expect(both.flat()).toEqual(['0003_rolls_too.sql', '0004_renames.sql'])
  await expect(frozen.query('select 1')).rejects.toThrow()
  rmSync(join(folder, '0004_renames.sql'))
  await expect(migrate(connection, owner, folder)).rejects.toThrow(
    'The database needs a program that knows migration 4, and this version knows only 3: start version 0.3.0 or a newer one.',
  )
  await service.query('delete from perennial.migrations where version = 4')
  rmSync(join(folder, '0003_rolls_too.sql'))
  expect(await migrate(connection, owner, folder)).toEqual([])
  await service.end()
})

test('a migration that gets no lock within two seconds lets go of it, so that nobody waits behind, and begins again', async () => {
  const { connection, owner, folder, numbered } = await databaseWithProcesses()
  numbered('0002_rolls.sql', '-- least: 1\nalter table perennial.one add more int;')
  const service = await connected(connection)
  await service.query('begin; lock perennial.one in access share mode')
  const migrated = migrate(connection, owner, folder)
  const other = await connected(connection)
  const waits = `select from pg_locks where relation = 'perennial.one'::regclass and not granted`
  await expect.poll(async () => (await other.query(waits)).rowCount, { interval: 10 }).toBe(1)
  await other.query('select from perennial.one')
  expect((await other.query(waits)).rowCount).toBe(0)
  await service.query('commit')
  expect(await migrated).toEqual(['0002_rolls.sql'])
  await Promise.all([service.end(), other.end()])
})

const MIGRATING = `
import { migrate } from './migrations.ts'
const { connection, owner, folder } = JSON.parse(process.argv[2])
process.stdout.write((await migrate(connection, owner, folder)).join())`

test.each([
  ['wakes', 'SIGCONT', ['0002_rolls.sql', '']],
  ['is gone', 'SIGKILL', ['', '0002_rolls.sql']],
] as const)(
  'of two that migrate one is frozen: the other waits, tells that, and goes on when the first %s',
  async (_, signal, ran) => {
    const { connection, owner, folder, numbered } = await databaseWithProcesses()
    numbered('0002_rolls.sql', '-- least: 1\nalter table perennial.one add more int;')
    const service = await connected(connection)
    await service.query('begin; lock perennial.one in access share mode')
    const program = ownProgram(MIGRATING, import.meta.url)
    const frozen = spawn(process.execPath, [program, JSON.stringify({ connection, owner, folder })])
    onTestFinished(() => void frozen.kill('SIGKILL'))
    let printed = ''
    frozen.stdout.on('data', (text: Buffer) => (printed += String(text)))
    const ended = once(frozen, 'close')
    const waits = `select from pg_locks where relation = 'perennial.one'::regclass and not granted`
    await expect.poll(async () => (await service.query(waits)).rowCount, { interval: 10, timeout: 20_000 }).toBe(1)
    frozen.kill('SIGSTOP')
    const other = await new Promise<Promise<string[]>[]>((resolve) => {
      const migrated = migrate(connection, owner, folder, { waits: () => resolve([migrated]) })
    })
    await service.query('commit')
    frozen.kill(signal)
    await ended
    expect([printed, (await Promise.all(other)).flat().join()]).toEqual(ran)
    expect((await service.query('select more from perennial.one')).rowCount).toBe(0)
    await service.end()
  },
)
