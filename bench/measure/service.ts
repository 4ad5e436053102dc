import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { connectionTo } from '../../src/platform/postgres/connection.ts'
import { dataFolderAt } from '../../src/platform/postgres/data-folder.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { dataFolder } from './database.ts'
import { bundled } from './children.ts'
import type { LeastInUse, LoopDelay } from './inside.ts'
import { cpuOfProcess, cpuOfTree, memoryOf, serverIn, workerOf } from './processes.ts'

/** The real program, started as a person starts it, on an embedded database of its own. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Of the first account. BENCH_KEY is that of the folder that BENCH_FROM names. */
const API_KEY = process.env['BENCH_KEY'] ?? 'bench-key-0123456789-for-measuring'
const FIRST_ACCOUNT = 1

export interface Service {
  port: number
  /** Of its one account, for the Authorization header. */
  authorization: string
  /** As superuser. */
  connection: Connection
  /** CPU-seconds so far, of the program with its worker and of all PostgreSQL processes. */
  nodeCpu(): number
  databaseCpu(): number
  /** Whether its worker is a process of its own. */
  hasWorker(): boolean
  /** Resident memory of the program and its worker with all their threads, in MB. */
  memory(): number
  /** How late the service's event loop was since this was last asked. */
  loopDelay(): Promise<LoopDelay>
  /** How little memory its threads had in use since this was last asked. */
  leastInUse(): Promise<LeastInUse>
  /** MB of JavaScript and buffers that the collector of garbage leaves in the event loop, when it has collected everything. */
  leftByCollector(): Promise<number>
  /** Kills the program, or its database, as `kill -9` does, and waits until the program has ended. */
  kill(victim: 'service' | 'database'): Promise<void>
  /** Runs `perennial verify` over its folder. Throws where it names a difference. */
  checkBooks(): Promise<void>
  stop(): Promise<void>
}

const environment = (dataDir: string) => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  HOST: '127.0.0.1',
  PORT: '0',
  DATA_DIR: dataDir,
  LOG_LEVEL: 'warn',
  BOOTSTRAP_API_KEY: API_KEY,
})

/** Runs `perennial verify` over a folder whose service may run, and returns what it printed. */
export async function verify(folder: string): Promise<{ isClean: boolean; out: string }> {
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'perennial.js'), 'verify'], {
    cwd: ROOT,
    env: environment(folder),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { isClean: code === 0, out: out.trim() }
}

function embeddedIn(path: string): Pick<Service, 'connection' | 'databaseCpu'> {
  const { cluster } = dataFolderAt(path)
  const pid = serverIn(cluster)
  return { connection: connectionTo(cluster), databaseCpu: () => cpuOfTree(pid) }
}

/**
 * Starts it in a folder that is gone when it is stopped, or in a given one, which stays. `server` holds its database, if that is not one of its own; it has no worker
 * then.
 */
export async function startService(
  settings: Record<string, string> = {},
  given?: string,
  server?: Pick<Service, 'connection' | 'databaseCpu'>,
): Promise<Service> {
  const own = given === undefined ? dataFolder() : undefined
  const path = given ?? own?.path ?? ''
  const inside = await bundled('measure/inside.ts')
  const words = ['serve', '--json', ...(server ? ['--no-worker'] : [])]
  const child = spawn(process.execPath, ['--import', inside, join(ROOT, 'bin', 'perennial.js'), ...words], {
    cwd: ROOT,
    env: { ...environment(path), ...settings },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout as Readable }).once('line', resolve)
    child.once('exit', (code) => reject(new Error(`the service ended with ${code} before it served`)))
  })
  const { Address } = JSON.parse(line) as { Address: string }
  const { connection, databaseCpu } = server ?? embeddedIn(path)
  const ask = async <Answer>(question: string): Promise<Answer> => {
    const answered = once(child, 'message') as Promise<[Answer]>
    child.send(question)
    return (await answered)[0]
  }
  const total = (of: (pid: number) => number): number => {
    const worker = workerOf(child.pid ?? 0)
    return of(child.pid ?? 0) + (worker === undefined ? 0 : of(worker))
  }
  return {
    port: Number(new URL(Address).port),
    authorization: `Basic ${Buffer.from(`${FIRST_ACCOUNT}:${API_KEY}`).toString('base64')}`,
    connection,
    nodeCpu: () => total(cpuOfProcess),
    databaseCpu,
    hasWorker: () => workerOf(child.pid ?? 0) !== undefined,
    memory: () => total(memoryOf),
    loopDelay: () => ask<LoopDelay>('loopDelay'),
    leastInUse: () => ask<LeastInUse>('leastInUse'),
    leftByCollector: async () => (await ask<number>('leftByCollector')) / 1e6,
    kill: async (victim) => {
      process.kill(victim === 'service' ? (child.pid ?? 0) : serverIn(dataFolderAt(path).cluster), 'SIGKILL')
      await ended
    },
    checkBooks: async () => {
      const { isClean, out } = await verify(path)
      if (!isClean) throw new Error(out)
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      own?.remove()
    },
  }
}
