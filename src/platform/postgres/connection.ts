import { openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { errorCodeOf } from './start-failure.ts'

/** Connection settings by which a `pg` client or pool reaches the embedded database. No password: the socket identifies the caller. */
export type EmbeddedConnection = {
  /** Folder of the Unix socket. */
  readonly host: string
  readonly port: 5432
  readonly user: string
  readonly database: string
}

const SOCKET_NAME = '.s.PGSQL.5432'
const SOCKET_PATH_BYTES_MAX = 103
const RETRY_MS = 10

/** SQLSTATE of a server that starts, recovers or stops. */
const CANNOT_CONNECT_NOW = '57P03'
const NO_SUCH_DATABASE = '3D000'
const DUPLICATE_DATABASE = '42P04'

const openFolders = new Map<string, number>()

/** Returns the connection to the server in the folder, as superuser `postgres` to the database `perennial`. */
export function connectionTo(cluster: string): EmbeddedConnection {
  return { host: reachable(cluster), port: 5432, user: 'postgres', database: 'perennial' }
}

// A socket's name is limited to about a hundred bytes; a longer one is reached through the opened folder.
function reachable(cluster: string): string {
  if (Buffer.byteLength(join(cluster, SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX || process.platform !== 'linux')
    return cluster
  const descriptor = openFolders.get(cluster) ?? openSync(cluster, 'r')
  openFolders.set(cluster, descriptor)
  return `/proc/${process.pid}/fd/${descriptor}`
}

/** How a try to connect ended: `absent` no server listens, `busy` it starts or stops, `ready`, `empty` our database is missing. */
export type Reach = 'ready' | 'busy' | 'absent' | 'empty'

/** Tries once to connect. Errors other than those a Reach stands for are thrown. */
export async function tryConnection(connection: EmbeddedConnection): Promise<Reach> {
  try {
    await withClient(connection, async () => undefined)
    return 'ready'
  } catch (error) {
    switch (errorCodeOf(error)) {
      case 'ENOENT':
      case 'ECONNREFUSED':
        return 'absent'
      case CANNOT_CONNECT_NOW:
      case 'ECONNRESET':
      case 'EPIPE':
        return 'busy'
      case NO_SUCH_DATABASE:
        return 'empty'
      default:
        if (error instanceof Error && /Connection terminated/.test(error.message)) return 'busy'
        throw error
    }
  }
}

/** Waits until the server answers, and makes our database when it has none. Ends early if `isOver` returns true. */
export async function waitUntilReady(connection: EmbeddedConnection, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const reach = await tryConnection(connection)
    if (reach === 'ready') return
    if (reach === 'empty') await makeDatabase(connection)
    else await delay(RETRY_MS)
  }
}

async function makeDatabase(connection: EmbeddedConnection): Promise<void> {
  try {
    await withClient({ ...connection, database: 'postgres' }, (client) =>
      client.query(`create database "${connection.database}"`),
    )
  } catch (error) {
    if (errorCodeOf(error) !== DUPLICATE_DATABASE) throw error
  }
}

async function withClient(connection: EmbeddedConnection, use: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ ...connection, ssl: false })
  // Without a listener a server that dies between two statements would end the whole process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await use(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
