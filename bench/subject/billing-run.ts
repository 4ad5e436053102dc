import { ORDER_OF_DAY } from '../../src/duties.ts'
import { insertRun } from '../../src/features/billing-run/queries.ts'
import { workRun } from '../../src/features/billing-run/run.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { openDatabase } from '../../src/platform/database/database.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'

/** Works one billing run as the service's worker does, and tells what it took. */

const { connection, account, until } = JSON.parse(process.argv[2] ?? '') as {
  connection: Connection
  account: number
  until: string
}
const db = openDatabase(connection, { role: APP_ROLE, poolSize: 4 })
const id = BigInt(account)
const before = process.cpuUsage()
const startedMs = performance.now()
const run = await db.transaction(id, (tx) =>
  insertRun(tx, id, { cause: 'command', untilDate: until, createdAt: '2027-02-01T00:00:00.000Z' }),
)
const totals = await workRun({ db, realClock: Date.now, order: ORDER_OF_DAY }, id, run.id)
const { user, system } = process.cpuUsage(before)
const seconds = (performance.now() - startedMs) / 1000
await db.close()
process.send?.({
  invoices: totals?.invoices ?? 0,
  failed: totals?.failures.length ?? 0,
  seconds,
  cpu: (user + system) / 1e6,
  peakMb: process.resourceUsage().maxRSS / 1024,
})
process.disconnect()
