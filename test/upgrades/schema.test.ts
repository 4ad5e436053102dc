import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSchema } from '../../scripts/schema-text.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { readMigrations, readOlderMigrations } from '../../src/platform/database/migrations.ts'
import { withOwner } from '../support/owner-client.ts'
import { appliedTo, emptyDatabase, loadDump, MIGRATIONS, upgrade } from './dump.testing.ts'

/** An upgraded database from before 0.1.0 and a new one have the same schema, and the same rows that migrations write. */

/** Rows that migrations write, by table; the floor of updates is of each database's own. */
const WRITTEN = {
  counted_lists: 'select to_jsonb(t) as row from counted_lists t order by 1',
  sealed_columns: 'select to_jsonb(t) as row from sealed_columns t order by 1',
  updates_floor: 'select count(*)::int as row from updates_floor',
}

async function read(connection: Connection): Promise<{ schema: string; written: Record<string, unknown[]> }> {
  let schema = ''
  const written: Record<string, unknown[]> = {}
  await withOwner(connection, async (client) => {
    schema = await readSchema(client)
    for (const [table, query] of Object.entries(WRITTEN))
      written[table] = (await client.query<{ row: unknown }>(query)).rows.map(({ row }) => row)
  })
  return { schema, written }
}

/** Makes a database as it was when so many of the older migrations had run. */
async function databaseWith(count: number): Promise<Connection> {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-migrations-'))
  for (const { name, text } of (await readOlderMigrations(MIGRATIONS)).slice(0, count))
    writeFileSync(join(folder, name), text)
  const connection = await emptyDatabase()
  await upgrade(connection, folder)
  rmSync(folder, { recursive: true })
  return connection
}

const fresh = await emptyDatabase()
await upgrade(fresh)
const made = await read(fresh)

/** Filled by services and not by migrations alone: tables of a new database that have rows. */
test('a new database has the rows that are compared, and no others', async () => {
  expect(made.schema).toContain('create table invoices')
  const filled: string[] = []
  await withOwner(fresh, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'perennial'::regnamespace and relkind = 'r' order by relname`,
    )
    for (const { name } of rows)
      if ((await client.query(`select from perennial.${name} limit 1`)).rowCount !== 0) filled.push(name)
  })
  expect(filled.toSorted()).toEqual([...Object.keys(WRITTEN), 'migrations'].toSorted())
})

test('the dump from before 0.1.0 comes to what a new database has', async () => {
  const dump = await loadDump('before-0.1.0')
  await upgrade(dump)
  expect(await read(dump)).toEqual(made)
})

test.each([1, 60])('so does a database that had %i of the older migrations', async (count) => {
  const older = await databaseWith(count)
  await upgrade(older)
  expect(await read(older)).toEqual(made)
  const present = await readMigrations(MIGRATIONS)
  expect(await appliedTo(older)).toEqual(present.map(({ version, name, hash }) => ({ version, name, hash })))
})

test('an older database is refused if it is newer than what this program knows of older ones', async () => {
  const older = await databaseWith(3)
  await withOwner(older, (client) =>
    client.query(`insert into perennial.migrations (version, name, hash) values (9000, '9000_later.sql', '')`),
  )
  await expect(upgrade(older)).rejects.toThrow('The database needs a program that knows migration 9000')
})
