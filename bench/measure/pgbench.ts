import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { tell } from './figures.ts'
import type { Service } from './service.ts'

/** pgbench of Debian's postgresql-contrib: the floor of single writes. It works with the embedded server over its socket. */

const runFile = promisify(execFile)
const PGBENCH = process.env['PGBENCH'] ?? 'pgbench'

export interface PgbenchSample {
  /** Transactions a second. */
  rate: number
  /** CPU-seconds of PostgreSQL a transaction. */
  database: number
  /** Milliseconds of each transaction. */
  latencies: number[]
}

/** Whether there is a pgbench; without one a benchmark says how to get it, and fails unless only its working was tried. */
export async function hasPgbench({ isSmoke }: { isSmoke: boolean }): Promise<boolean> {
  const isThere = await runFile(PGBENCH, ['--version']).then(
    () => true,
    () => false,
  )
  if (isThere) return true
  tell(
    'pgbench is missing (Debian: apt-get install postgresql-contrib; else set PGBENCH to its path): nothing to compare with',
  )
  if (!isSmoke) process.exitCode = 1
  return false
}

/** Runs the statements of a file, prepared, with as many connections, as the service's own role; `variables` are those of the file, `session` further options of a session. */
export async function pgbench(
  service: Pick<Service, 'connection' | 'databaseCpu'>,
  script: string,
  callers: number,
  seconds: number,
  variables: Readonly<Record<string, number>> = {},
  session = '',
): Promise<PgbenchSample> {
  const { host, port = 5432, user, database } = service.connection
  const folder = mkdtempSync(join(tmpdir(), 'pgbench-'))
  const before = service.databaseCpu()
  const { stdout } = await runFile(
    PGBENCH,
    [
      ...['--no-vacuum', '--protocol=prepared', '--jobs=1', `--client=${callers}`, `--time=${seconds}`],
      ...Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`),
      ...['--log', `--log-prefix=${join(folder, 'log')}`],
      ...[`--file=${script}`, `--host=${host}`, `--port=${port}`, `--username=${user}`, String(database)],
    ],
    { env: { ...process.env, PGOPTIONS: `-c role=perennial_app -c search_path=perennial -c TimeZone=UTC${session}` } },
  )
  const done = Number(/transactions actually processed: (\d+)/.exec(stdout)?.[1])
  const rate = Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
  if (!(done > 0 && rate > 0)) throw new Error(`pgbench said: ${stdout}`)
  const each = (service.databaseCpu() - before) / done
  // A line a transaction: client, number, microseconds, …
  const latencies = readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => Number(line.split(' ')[2]) / 1000),
  )
  rmSync(folder, { recursive: true })
  return { rate, database: each, latencies }
}
