import { execFileSync } from 'node:child_process'
import { cpus, loadavg, totalmem } from 'node:os'
import pg from 'pg'
import type { Connection } from '../../src/platform/database/database.ts'
import { tell } from './figures.ts'

const SETTINGS = [
  'server_version',
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'shared_buffers',
  'work_mem',
  'max_wal_size',
  'checkpoint_timeout',
  'wal_compression',
  'jit',
  'max_parallel_workers_per_gather',
]

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

/** Says on what the figures were made, where no database takes part. */
export function tellHost(): void {
  const [load = 0] = loadavg()
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  tell(
    `${new Date().toISOString()}, commit ${commit()}, ${cpus().length} × ${model}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}, load ${load.toFixed(2)} before`,
  )
}

/** Says on what the figures were made. */
export async function tellMachine(connection: Connection): Promise<void> {
  tellHost()
  const client = new pg.Client(connection)
  await client.connect()
  const { rows } = await client.query<{ name: string; value: string }>(
    'select name, current_setting(name) as value from unnest($1::text[]) name',
    [SETTINGS],
  )
  await client.end()
  tell(`PostgreSQL: ${rows.map(({ name, value }) => `${name} ${value}`).join(', ')}`)
}
