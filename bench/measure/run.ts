import { execFileSync } from 'node:child_process'
import { freemem } from 'node:os'
import type pg from 'pg'
import type { Connection } from '../../src/platform/database/database.ts'
import type { Engine } from '../../src/platform/database/scoped-query.ts'
import { BULK_FLAGS } from '../../src/platform/engine-flags.ts'
import { run } from './children.ts'
import { asOwner, type BenchServer, createDatabase, dropDatabase, settle } from './database.ts'

/** Billing runs, each in a copy of a database that was seeded for them. */

interface RunSaid {
  invoices: number
  failed: number
  seconds: number
  /** CPU-seconds of Node. */
  cpu: number
  peakMb: number
}

interface RunWish {
  template: string
  count: number
  until: string
  /** Processes that help. */
  helpers?: number
  /** Of the database; left out: plain. */
  engine?: Engine
}

interface Size {
  rows: number
  bytes: number
  wal: number
}

/** Rows that were ever inserted, whatever tables there are; bytes on the disk; bytes of the log. */
async function sizeOf(client: pg.Client): Promise<Size> {
  const { rows } = await client.query<{ rows: string; bytes: string; wal: string }>(`
    select (select coalesce(sum(n_tup_ins), 0) from pg_stat_user_tables) as rows,
           pg_database_size(current_database()) as bytes, pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal`)
  return { rows: Number(rows[0]?.rows), bytes: Number(rows[0]?.bytes), wal: Number(rows[0]?.wal) }
}

const MEGABYTE = 2 ** 20

/**
 * Fills free memory once and lets go of it. The host of a virtual machine takes back what lies free there, and gives it again at the price of a fault each: up to a
 * quarter of a run's CPU, by chance, after a large database was dropped.
 */
async function warmMemory(connection: Connection): Promise<void> {
  const { bytes: ofDatabase } = await asOwner(connection, sizeOf)
  const bytes = Math.floor(Math.min(128 * MEGABYTE + 4 * ofDatabase, 2048 * MEGABYTE, freemem() / 2))
  execFileSync(process.execPath, ['-e', `Buffer.allocUnsafe(${bytes}).fill(1)`])
}

/** Does some work in a fresh copy, settled, and returns its result with the CPU-seconds that the server spent. */
export async function inCopy<T>(
  server: BenchServer,
  template: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T & { database: number }> {
  const connection = await createDatabase(server, 'round', template)
  await settle(connection)
  await warmMemory(connection)
  const before = server.cpu()
  const result = await work(connection)
  // Backends that have ended are counted with their parent, which learns of it a moment later.
  await settle(connection)
  const database = server.cpu() - before
  await dropDatabase(server, 'round')
  return { ...result, database }
}

/** Works one run; fails where it does not issue one invoice each. */
export async function workRunIn(
  connection: Connection,
  program: string,
  wish: Omit<RunWish, 'template'>,
): Promise<RunSaid> {
  const { count, ...asked } = wish
  const child = run<RunSaid>(program, { connection, account: 1, ...asked }, BULK_FLAGS)
  const said = await child.said
  await child.ended
  if (said.invoices !== count || said.failed !== 0)
    throw new Error(`${said.invoices} invoices and ${said.failed} failures instead of ${count} invoices`)
  return said
}

export const measureRun = (server: BenchServer, program: string, wish: RunWish) =>
  inCopy(server, wish.template, async (connection) => {
    const before = await asOwner(connection, sizeOf)
    const said = await workRunIn(connection, program, wish)
    const after = await asOwner(connection, sizeOf)
    return { ...said, rows: after.rows - before.rows, bytes: after.bytes - before.bytes, wal: after.wal - before.wal }
  })
