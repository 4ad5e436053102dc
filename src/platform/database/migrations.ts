import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as rest } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type pg from 'pg'
import { StartFailure } from '../postgres/start-failure.ts'
import { type Connection, WHOLE_STATEMENT_MS } from './database.ts'
import { isLockedOut, isRetryable, RETRIES_MAX } from './failures.ts'
import { ServerClient } from './server-client.ts'
import { boundSilence, GRACE_MS } from './silence.ts'
import { clientConfig } from './open-database.ts'
import { OF_ONE_ACCOUNT } from './young-tables.ts'

/** Numbered plain SQL, forward only, run by the owner under one lock. */

export interface Migration {
  version: number
  name: string
  text: string
  hash: string
}

const NAME = /^(\d{4})_[a-z0-9_]+\.sql$/

const migrationOf = (name: string, text: string): Migration => ({
  version: Number(name.slice(0, 4)),
  name,
  text,
  hash: createHash('sha256').update(text).digest('hex'),
})

export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name)).sort()
  return Promise.all(names.map(async (name) => migrationOf(name, await readFile(join(folder, name), 'utf8'))))
}

/** The line before each migration in the file of those that version 0.1.0 replaced by one. */
const NAMED = /^-- file (\d{4}_[a-z0-9_]+\.sql)\n/m

/** Returns the migrations before version 0.1.0, as they ran: decision 54. */
export async function readOlderMigrations(folder: string): Promise<Migration[]> {
  const packed = await readFile(join(folder, '..', 'before-0.1.0.sql.gz'))
  const [, ...parts] = (await promisify(gunzip)(packed)).toString('utf8').split(NAMED)
  const older: Migration[] = []
  for (let at = 0; at < parts.length; at += 2) older.push(migrationOf(parts[at] as string, parts[at + 1] as string))
  return older
}

/** Migrations that a database has, and those it lacks. */
export interface MigrationState {
  /** Whether it was made before version 0.1.0, and has not got over all older migrations. */
  isOlder: boolean
  /** Migrations that a database of its age may have. */
  known: Migration[]
  /** Migrations that are yet to run, in their order: of an older database the older ones first. */
  lacking: Migration[]
}

/** Returns what a database with these rows of `migrations` has and lacks. */
export async function stateOfMigrations(
  folder: string,
  applied: readonly Pick<Migration, 'version' | 'name'>[],
): Promise<MigrationState> {
  const present = await readMigrations(folder)
  const [first, ...later] = present
  const lackingOf = (known: readonly Migration[]) =>
    known.filter(({ version }) => !applied.some((one) => one.version === version))
  if (!applied.some(({ version, name }) => version === first?.version && name !== first.name))
    return { isOlder: false, known: present, lacking: lackingOf(present) }
  const older = await readOlderMigrations(folder)
  return { isOlder: true, known: older, lacking: [...lackingOf(older), ...later] }
}

// Any constant will do, as long as no other program of this database uses it.
const MIGRATION_LOCK = 7_305_861_200_411

async function listApplied(client: pg.Client): Promise<Pick<Migration, 'version' | 'name'>[]> {
  await client.query(`
    create table if not exists perennial.migrations (
      version integer primary key, name text not null, hash text not null, applied_at timestamptz not null default now());
    alter table perennial.migrations enable row level security`)
  const { rows } = await client.query<Pick<Migration, 'version' | 'name'>>(
    'select version, name from perennial.migrations order by version',
  )
  return rows
}

/**
 * Brings the schema up to date and returns the names of the migrations that ran. Throws a StartFailure when the database was
 * written by a newer version of this program.
 */
export async function migrate(connection: Connection, owner: string | undefined, folder: string): Promise<string[]> {
  const client = new ServerClient(clientConfig(connection, owner))
  await client.connect()
  try {
    boundSilence(client, WHOLE_STATEMENT_MS + GRACE_MS)
    await client.query(`set statement_timeout = ${WHOLE_STATEMENT_MS}`)
    await takeLock(client)
    const applied = await listApplied(client)
    const { isOlder, known, lacking } = await stateOfMigrations(folder, applied)
    const newest = known.at(-1)?.version ?? 0
    const foreign = applied.find(({ version }) => version > newest)
    if (foreign !== undefined)
      throw new StartFailure(
        `The database has migration ${foreign.version}, this version of Perennial knows only ${newest}: start a version at least as new as the one that was used before.`,
      )
    const isOwn = (one: Migration) => !isOlder || known.includes(one)
    for (const migration of lacking.filter(isOwn)) await apply(client, migration)
    if (isOlder) await takeTheirPlace(client, folder)
    for (const migration of lacking.filter((one) => !isOwn(one))) await apply(client, migration)
    if (lacking.length > 0) await client.query(OF_ONE_ACCOUNT)
    return lacking.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/**
 * Takes the lock of migrations. Asked for again and again, because a statement that waits for it has a snapshot, and an index that is made beside
 * running work waits for all of those.
 */
async function takeLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      MIGRATION_LOCK,
    ])
    if (rows[0]?.taken) return
    await rest(LOCK_AGAIN_MS)
  }
}

const LOCK_AGAIN_MS = 100
/** How often, and after which time, a step is tried again that got no lock in time. */
const LOCKED_OUT_MAX = 600
const LOCKED_OUT_MS = 1000

/** The first line of a migration whose steps commit one by one. */
const IN_STEPS = /^-- step by step\n/
const NEXT_STEP = /^-- then\n/m

/** Runs a migration, and again after a dead-lock with what a running service of the version before does: nothing is left of one. */
async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const once = IN_STEPS.test(migration.text) ? applyInSteps : applyOnce
  let lockedOut = 0
  for (let tries = 0; ; tries += 1) {
    try {
      return await once(client, migration)
    } catch (error) {
      if (once === applyInSteps && isLockedOut(error) && lockedOut < LOCKED_OUT_MAX) {
        lockedOut += 1
        tries -= 1
        await rest(LOCKED_OUT_MS)
      } else if (!isRetryable(error) || tries >= RETRIES_MAX) throw error
    }
  }
}

/**
 * Runs a migration that would hold its locks for too long, or that PostgreSQL takes in no transaction: each step on its own. All can be done again: what was
 * broken off begins at the first one.
 */
async function applyInSteps(client: pg.Client, migration: Migration): Promise<void> {
  for (const step of migration.text.split(NEXT_STEP)) await client.query(step)
  await note(client, migration)
}

async function applyOnce(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(migration.text)
    await note(client, migration)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

const note = (client: pg.Client, { version, name, hash }: Migration) =>
  client.query('insert into perennial.migrations (version, name, hash) values ($1, $2, $3)', [version, name, hash])

/** Puts the row of the first migration in place of those of the older ones, which made the same schema. */
async function takeTheirPlace(client: pg.Client, folder: string): Promise<void> {
  const [first] = await readMigrations(folder)
  await client.query('begin')
  await client.query('delete from perennial.migrations')
  await note(client, first as Migration)
  await client.query('commit')
}
