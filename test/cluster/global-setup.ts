import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { buildWhenStale } from '../../bin/build-when-stale.js'
import { removeLeftBehind } from '../support/roomy-parent.ts'
import {
  addCitus,
  type Cluster,
  createDatabase,
  missingForCluster,
  startCluster,
  stopCluster,
  urlOf,
} from './servers.ts'
import { executedShare, readExecuted, WIDE } from './wide.ts'

/** Starts one cluster for the run, with one distributed database: an account of its own for each test, since a database takes long to distribute. */

declare module 'vitest' {
  interface ProvidedContext {
    cluster: Cluster
  }
}

const ROOT = new URL('../..', import.meta.url).pathname
const DATABASE = 'distributed'

export default async function setup(project: TestProject) {
  if (!buildWhenStale(ROOT)) throw new Error('the program could not be built')
  // Tests that need it name themselves as not run.
  if (missingForCluster() !== undefined) return
  removeLeftBehind()
  const cluster = await startCluster()
  await createDatabase(cluster, DATABASE)
  await addCitus(cluster, DATABASE)
  const url = urlOf(cluster.coordinator, DATABASE)
  const env = { PATH: process.env['PATH'], DATABASE_URL: url, ENCRYPTION_KEY: randomBytes(32).toString('hex') }
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin', 'perennial.js'), 'distribute'], {
    encoding: 'utf8',
    env,
  })
  if (status !== 0) throw new Error(`the database could not be distributed: ${stderr}`)
  const { host = '', port = 0 } = new pg.Client(url)
  project.provide('databaseServer', {
    host,
    port,
    user: 'postgres',
    distributed: DATABASE,
    isCloned: WIDE !== undefined,
  })
  project.provide('databaseFolder', '')
  project.provide('cluster', cluster)
  return async () => {
    await stopCluster(cluster)
    if (WIDE !== undefined) await tellShare(WIDE)
  }
}

async function tellShare(folder: string): Promise<void> {
  const { share, missed } = await executedShare(readExecuted(folder))
  const list = join(folder, 'not-executed.txt')
  writeFileSync(list, missed.join('\n'))
  console.log(
    `Executed on Citus so far: ${(100 * share).toFixed(1)} % of the collected statements. The others: ${list}`,
  )
}
