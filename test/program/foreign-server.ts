import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { surroundingsOfOlder } from '../support/older-postgres.ts'
import { startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'
import { testFolder } from './program.ts'

export interface ForeignServer {
  admin: pg.Client
  host: string
  port: number
  url(user: string, database: string): string
  /** Ends the server, as its own operator might at any time. */
  stop(): Promise<void>
}

/**
 * A server that somebody else runs: here the embedded one of the test's own process, of an older major version where one is named, or in a folder that
 * was started before. Its address shows a password, which nobody asks for.
 */
export async function foreignServer({
  older,
  folder,
}: { older?: string; folder?: string } = {}): Promise<ForeignServer> {
  const dataDir = folder ?? (older === undefined ? join(testFolder(), 'server') : testFolder())
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }
  const server = await startEmbeddedPostgres({
    dataDir,
    log: silent,
    ...(older === undefined ? {} : surroundingsOfOlder(older, dataDir)),
  })
  const admin = new pg.Client(server.connection)
  admin.on('error', () => {})
  await admin.connect()
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    await admin.end().catch(() => {})
    await server.stop()
  }
  onTestFinished(stop)
  const { host, port } = server.connection
  return {
    admin,
    host,
    port,
    url: (user, database) =>
      `postgres://${user}:never-shown@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    stop,
  }
}
