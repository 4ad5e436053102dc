import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as rest } from 'node:timers/promises'
import type pg from 'pg'
import { StartFailure } from '../postgres/start-failure.ts'
import { type Connection, WHOLE_STATEMENT_MS } from './database.ts'
import { isLockedOut, isRetryable, RETRIES_MAX } from './failures.ts'
import { ServerClient } from './server-client.ts'
import { boundSilence, GRACE_MS } from './silence.ts'
import { clientConfig } from './open-database.ts'

/** Numbered plain SQL, forward only, run by the owner under one lock. */

export interface Migration {
  version: number
  name: string
  text: string
  hash: string
}

const NAME = /^(\d{4})_[a-z0-9_]+\.sql$/

export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      return { version: Number(name.slice(0, 4)), name, text, hash: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

// Any constant will do, as long as no other program of this database uses it.
const MIGRATION_LOCK = 7_305_861_200_411

async function appliedVersions(client: pg.Client): Promise<number[]> {
  await client.query(`
    create table if not exists perennial.migrations (
      version integer primary key, name text not null, hash text not null, applied_at timestamptz not null default now());
    alter table perennial.migrations enable row level security`)
  const { rows } = await client.query<{ version: number }>('select version from perennial.migrations order by version')
  return rows.map((row) => row.version)
}

/**
 * Brings the schema up to date and returns the names of the migrations that ran. Throws a StartFailure when the database was
 * written by a newer version of this program.
 */
export async function migrate(connection: Connection, owner: string | undefined, folder: string): Promise<string[]> {
  const migrations = await readMigrations(folder)
  const client = new ServerClient(clientConfig(connection, owner))
  await client.connect()
  try {
    boundSilence(client, WHOLE_STATEMENT_MS + GRACE_MS)
    await client.query(`set statement_timeout = ${WHOLE_STATEMENT_MS}`)
    await takeLock(client)
    const applied = await appliedVersions(client)
    const newest = migrations.at(-1)?.version ?? 0
    const foreign = applied.find((version) => version > newest)
    if (foreign !== undefined)
      throw new StartFailure(
        `The database has migration ${foreign}, this version of Perennial knows only ${newest}: start a version at least as new as the one that was used before.`,
      )
    const wanted = migrations.filter(({ version }) => !applied.includes(version))
    for (const migration of wanted) await apply(client, migration)
    return wanted.map(({ name }) => name)
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
