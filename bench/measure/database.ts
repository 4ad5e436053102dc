import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Connection, Database } from '../../src/platform/database/database.ts'
import { migrate } from '../../src/platform/database/migrations.ts'
import { APP_ROLE, prepareRoles } from '../../src/platform/database/roles.ts'
import type { Engine } from '../../src/platform/database/scoped-query.ts'
import { startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'
import { cpuOfTree, serverIn } from './processes.ts'
import { openDatabase } from '../../src/platform/database/open-database.ts'

/** The embedded PostgreSQL with the settings that it is shipped with, in a folder of its own on a real disk. */
export interface BenchServer {
  connectionTo(database: string): Connection
  /** CPU-seconds of all PostgreSQL processes so far. */
  cpu(): number
  stop(): Promise<void>
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }

/** A folder that is gone afterwards. Not in memory: a disk's fsync is part of what is measured. BENCH_FOLDER says where. */
export function benchFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(process.env['BENCH_FOLDER'] ?? tmpdir(), `perennial-bench-${process.pid}-`))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Makes such a folder for a service or a server. BENCH_FROM names one that was started before, of which it becomes a copy: small forms save first starts. */
export function dataFolder(): ReturnType<typeof benchFolder> {
  const folder = benchFolder()
  const before = process.env['BENCH_FROM']
  if (before !== undefined) execFileSync('cp', ['-a', `${before}/.`, folder.path])
  return folder
}

export async function startServer(): Promise<BenchServer> {
  const folder = dataFolder()
  const postgres = await startEmbeddedPostgres({ dataDir: folder.path, log: silent })
  const main = serverIn(join(folder.path, 'postgres'))
  return {
    connectionTo: (database) => ({ ...postgres.connection, database }),
    cpu: () => cpuOfTree(main),
    stop: async () => {
      await postgres.stop()
      folder.remove()
    },
  }
}

/** Runs statements as superuser. */
export async function asOwner<T>(connection: Connection, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...connection, options: '-c search_path=perennial -c TimeZone=UTC' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export async function createDatabase(server: BenchServer, name: string, template?: string): Promise<Connection> {
  await asOwner(server.connectionTo('postgres'), (admin) =>
    admin.query(`create database ${name} ${template ? `template ${template} strategy file_copy` : ''}`),
  )
  return server.connectionTo(name)
}

export const dropDatabase = (server: BenchServer, name: string) =>
  asOwner(server.connectionTo('postgres'), (admin) => admin.query(`drop database ${name} with (force)`))

/** A migrated database with the service's roles. */
export async function createMigrated(server: BenchServer, name: string): Promise<Connection> {
  const connection = await createDatabase(server, name)
  const { owner } = await prepareRoles(connection)
  await migrate(connection, owner, join(ROOT, 'db', 'migrations'))
  return connection
}

export const openAsService = (connection: Connection, engine: Engine = 'plain'): Database =>
  openDatabase(connection, { role: APP_ROLE, poolSize: 4, engine })

/** Everything written is on disk and nothing is left to be done for what came before. */
export const settle = (connection: Connection) => asOwner(connection, (client) => client.query('checkpoint'))
