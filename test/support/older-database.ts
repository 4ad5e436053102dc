import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { clientConfig, type Connection } from '../../src/platform/database/database.ts'
import { migrate } from '../../src/platform/database/migrations.ts'
import { prepareRoles } from '../../src/platform/database/roles.ts'

const MIGRATIONS = new URL('../../db/migrations', import.meta.url).pathname

/** Makes a database as it was before a migration, has it filled with rows of that time, and brings it up to date. */
export async function databaseBefore(
  migration: string,
  fill: (client: pg.Client) => Promise<unknown>,
): Promise<Connection> {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-migrations-'))
  for (const name of readdirSync(MIGRATIONS).filter((file) => file < migration))
    cpSync(join(MIGRATIONS, name), join(folder, name))
  const server = inject('databaseServer')
  const connection = { ...server, database: `test_${randomBytes(6).toString('hex')}` }
  await withClient({ ...server, database: 'postgres' }, (admin) =>
    admin.query(`create database ${connection.database}`),
  )
  const { owner } = await prepareRoles(connection)
  await migrate(connection, owner, folder)
  rmSync(folder, { recursive: true })
  await withClient(connection, fill)
  const ran = await migrate(connection, owner, MIGRATIONS)
  expect(ran[0]).toBe(migration)
  return connection
}

/** Runs work on one connection as the owner of the database. */
export async function withClient(connection: Connection, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const one = new pg.Client(clientConfig(connection, undefined))
  await one.connect()
  await work(one).finally(() => one.end())
}
