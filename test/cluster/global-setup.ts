import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
    /** The folder that keeps which statements were executed. */
    executed?: string
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
  const executed = WIDE ?? join(cluster.root, 'executed')
  mkdirSync(executed, { recursive: true })
  project.provide('executed', executed)
  return async () => {
    await judgeShare(executed).finally(() => stopCluster(cluster))
  }
}

/** The part of the statements that is executed by the stage alone; in the wide form it is only told. */
const SHARE_MIN = 0.7

/** Fails the run where all files of the stage have run and executed less than they did. */
async function judgeShare(folder: string): Promise<void> {
  const ran = new Set(readdirSync(folder))
  const stage = readdirSync(join(ROOT, 'test/cluster')).filter((name) => name.endsWith('.test.ts'))
  const isWhole = stage.every((name) => name === 'statements.test.ts' || ran.has(`test.cluster.${name}`))
  if (WIDE === undefined && !isWhole) return
  const { share, missed } = await executedShare(readExecuted(folder))
  const list = join(WIDE ?? tmpdir(), 'not-executed.txt')
  writeFileSync(list, missed.join('\n'))
  console.log(`Executed on Citus: ${(100 * share).toFixed(1)} % of the collected statements. The others: ${list}`)
  if (WIDE !== undefined || share >= SHARE_MIN) return
  console.error(`No less than ${100 * SHARE_MIN} % are to be executed.`)
  process.exitCode = 1
}
