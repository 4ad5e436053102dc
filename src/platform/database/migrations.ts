import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { StartFailure } from '../postgres/start-failure.ts'
import { clientConfig, type Connection, WHOLE_STATEMENT_MS } from './database.ts'
import { isRetryable, RETRIES_MAX } from './failures.ts'
import { ServerClient } from './server-client.ts'
import { boundSilence, GRACE_MS } from './silence.ts'

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
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
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

/** Runs a migration, and again after a dead-lock with what a running service of the version before does: nothing is left of one. */
async function apply(client: pg.Client, migration: Migration): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await applyOnce(client, migration)
    } catch (error) {
      if (!isRetryable(error) || tries >= RETRIES_MAX) throw error
    }
  }
}

async function applyOnce(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(migration.text)
    await client.query('insert into perennial.migrations (version, name, hash) values ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.hash,
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
