import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { buildWhenStale } from '../../bin/build-when-stale.js'
import { migrate } from '../../src/platform/database/migrations.ts'
import { prepareRoles } from '../../src/platform/database/roles.ts'
import { startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'

/** One embedded server for the whole run, with a migrated template that every test file clones. Speed over safety: nothing here must survive. */

declare module 'vitest' {
  interface ProvidedContext {
    databaseServer: { host: string; port: number; user: string }
  }
}

const ROOM_MIN_BYTES = 2 ** 31

function quickFolder(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize > ROOM_MIN_BYTES) return '/dev/shm'
  } catch {
    // No such file system here.
  }
  return tmpdir()
}

export default async function setup(project: TestProject) {
  // Documents are drawn by a thread of the build.
  if (!buildWhenStale(new URL('../..', import.meta.url).pathname)) throw new Error('the program could not be built')
  const dataDir = mkdtempSync(join(quickFolder(), 'perennial-test-'))
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: silent,
    settings: { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: '200' },
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
  return async () => {
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
