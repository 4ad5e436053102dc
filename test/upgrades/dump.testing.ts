import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { inject } from 'vitest'
import type { Connection } from '../../src/platform/database/database.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { migrate } from '../../src/platform/database/migrations.ts'
import { prepareRoles } from '../../src/platform/database/roles.ts'
import type { SentFile } from './firm.ts'

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

/** Loads a dump into a new database by the driver. */
export async function loadDump(name: string): Promise<Connection> {
  const server = inject('databaseServer')
  const database = `test_upgrade_${randomBytes(6).toString('hex')}`
  const query = async (connection: Connection, text: string) => {
    const client = new pg.Client(clientConfig(connection, undefined))
    await client.connect()
    await client.query(text).finally(() => client.end())
  }
  await query({ ...server, database: 'postgres' }, `create database ${database}`)
  await query({ ...server, database }, dumpText(name))
  return { ...server, database }
}

/** Brings a database up to date as a start of the service does, and returns the names of the migrations that ran. */
export async function upgrade(connection: Connection): Promise<string[]> {
  const { owner } = await prepareRoles(connection)
  return migrate(connection, owner, new URL('../../db/migrations', import.meta.url).pathname)
}
