import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { ORDER_OF_DAY } from '../../src/duties.ts'
import { helpRun } from '../../src/features/billing-run/slices.ts'
import { findRun, insertRun } from '../../src/features/billing-run/queries.ts'
import { workRun } from '../../src/features/billing-run/run.ts'
import { fitForBulkWork } from '../../src/platform/engine-flags.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { openDatabase } from '../../src/platform/database/open-database.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'
import type { Engine } from '../../src/platform/database/scoped-query.ts'

/** Works one billing run as the service's worker does, with as many helpers as are wished, and tells what it took. */

interface Wish {
  connection: Connection
  account: number
  until: string
  helpers?: number
  /** Of a helper: the run that it helps with. */
  run?: string
  /** Left out: plain. */
  engine?: Engine
}

fitForBulkWork()
const wish = JSON.parse(process.argv[2] ?? '') as Wish
const { connection, account, until, helpers = 0, engine = 'plain' } = wish
const db = openDatabase(connection, { role: APP_ROLE, poolSize: 4, engine })
const id = BigInt(account)
const deps = { db, realClock: Date.now, order: ORDER_OF_DAY }

async function help(run: bigint): Promise<void> {
  const isOver = async () => (await findRun(db.reader(id), id, run))?.finishedAt !== null
  await isOver()
  process.send?.('ready')
  while (!(await isOver())) {
    await helpRun(deps, id, run)
    await sleep(5)
  }
}

async function lead(): Promise<void> {
  const run = await db.transaction(id, (tx) =>
    insertRun(tx, id, { cause: 'command', untilDate: until, createdAt: '2027-02-01T00:00:00.000Z' }),
  )
  const others = Array.from({ length: helpers }, () =>
    fork(process.argv[1] as string, [JSON.stringify({ ...wish, run: String(run.id) })]),
  )
  await Promise.all(others.map((child) => once(child, 'message')))
  const before = process.cpuUsage()
  const startedMs = performance.now()
  const totals = await workRun(deps, id, run.id)
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - startedMs) / 1000
  await Promise.all(others.map((child) => child.exitCode ?? once(child, 'exit')))
  process.send?.({
    invoices: totals?.run.invoices ?? 0,
    failed: totals?.run.failed ?? 0,
    seconds,
    cpu: (user + system) / 1e6,
    peakMb: process.resourceUsage().maxRSS / 1024,
  })
}

await (wish.run === undefined ? lead() : help(BigInt(wish.run)))
await db.close()
process.disconnect()
