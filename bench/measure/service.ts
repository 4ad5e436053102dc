import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { connectionTo } from '../../src/platform/postgres/connection.ts'
import { dataFolderAt } from '../../src/platform/postgres/data-folder.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { benchFolder } from './database.ts'
import { bundled } from './children.ts'
import type { LoopDelay } from './loop-delay.ts'
import { cpuOfProcess, cpuOfTree, serverIn } from './processes.ts'

/** The real program, started as a person starts it, on an embedded database of its own. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const API_KEY = 'bench-key-0123456789'

export interface Service {
  port: number
  /** Of its one account, for the Authorization header. */
  authorization: string
  /** As superuser. */
  connection: Connection
  /** CPU-seconds so far, of the program and of all PostgreSQL processes. */
  nodeCpu(): number
  databaseCpu(): number
  /** How late the service's event loop was since this was last asked. */
  loopDelay(): Promise<LoopDelay>
  stop(): Promise<void>
}

export async function startService(settings: Record<string, string> = {}): Promise<Service> {
  const folder = benchFolder()
  const loopDelay = await bundled('measure/loop-delay.ts')
  const child = spawn(process.execPath, ['--import', loopDelay, join(ROOT, 'bin', 'perennial.js'), 'serve', '--json'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: folder.path,
      LOG_LEVEL: 'warn',
      BOOTSTRAP_API_KEY: API_KEY,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout as Readable }).once('line', resolve)
    child.once('exit', (code) => reject(new Error(`the service ended with ${code} before it served`)))
  })
  const { Address, AccountID } = JSON.parse(line) as { Address: string; AccountID: number }
  const { cluster } = dataFolderAt(folder.path)
  const database = serverIn(cluster)
  return {
    port: Number(new URL(Address).port),
    authorization: `Basic ${Buffer.from(`${AccountID}:${API_KEY}`).toString('base64')}`,
    connection: connectionTo(cluster),
    nodeCpu: () => cpuOfProcess(child.pid ?? 0),
    databaseCpu: () => cpuOfTree(database),
    loopDelay: async () => {
      const answered = once(child, 'message') as Promise<[LoopDelay]>
      child.send('loopDelay')
      return (await answered)[0]
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      folder.remove()
    },
  }
}
