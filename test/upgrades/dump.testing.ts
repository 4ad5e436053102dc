import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { inject } from 'vitest'
import type { Connection } from '../../src/platform/database/database.ts'
import { type Migration, migrate } from '../../src/platform/database/migrations.ts'
import { prepareRoles } from '../../src/platform/database/roles.ts'
import { withOwner } from '../support/owner-client.ts'
import type { SentFile } from './firm.ts'

export const MIGRATIONS = new URL('../../db/migrations', import.meta.url).pathname

/** Dumps of databases as earlier programs left them, and how one is loaded and upgraded. README.md says how they were made. */

/** Facts that a dump has beside it, in a file of its name. */
export interface BesideDump {
  /** The moment at which it was made: live accounts are to be read as of then. */
  MadeAt: string
  EncryptionKey: string
  Accounts: Record<string, { account: number; key: string }>
  /** Bank files that the program of the time had read, with its answers. */
  Files: SentFile[]
  /** By account and path, the answers of the program of the time. */
  Answers: Record<string, Record<string, unknown>>
}

const unpacked = (name: string): string => gunzipSync(readFileSync(new URL(name, import.meta.url))).toString()

export const besideDump = (name: string): BesideDump => JSON.parse(unpacked(`${name}.json.gz`)) as BesideDump

/** Returns a dump as SQL that the driver takes at once. */
export const dumpText = (name: string): string => unpacked(`${name}.sql.gz`)

/** Makes a database without a schema. */
export async function emptyDatabase(): Promise<Connection> {
  const server = inject('databaseServer')
  const database = `test_upgrade_${randomBytes(6).toString('hex')}`
  await withOwner({ ...server, database: 'postgres' }, (client) => client.query(`create database ${database}`))
  return { ...server, database }
}

/** Loads a dump into a new database by the driver. */
export async function loadDump(name: string): Promise<Connection> {
  const connection = await emptyDatabase()
  await withOwner(connection, (client) => client.query(dumpText(name)))
  return connection
}

/** Brings a database up to date as a start of the service does, and returns the names of the migrations that ran. */
export async function upgrade(connection: Connection, folder = MIGRATIONS): Promise<string[]> {
  const { owner } = await prepareRoles(connection)
  return migrate(connection, owner, folder)
}

/** Returns the rows of a database that say which migrations ran. */
export const appliedTo = async (connection: Connection): Promise<Pick<Migration, 'version' | 'name' | 'hash'>[]> => {
  const rows: Pick<Migration, 'version' | 'name' | 'hash'>[] = []
  await withOwner(connection, async (client) => {
    rows.push(...(await client.query('select version, name, hash from perennial.migrations order by version')).rows)
  })
  return rows
}
