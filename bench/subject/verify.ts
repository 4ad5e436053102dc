import { verifyAccount } from '../../src/checks.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { openDatabase } from '../../src/platform/database/open-database.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'

/** Verifies everything of one account, as `perennial verify` does, and answers what it took. */

const { connection, account } = JSON.parse(process.argv[2] ?? '') as { connection: Connection; account: number }
const NAMED = 3
const db = openDatabase(connection, { role: APP_ROLE, poolSize: 2 })
const named: string[] = []
const before = process.cpuUsage()
const startedMs = performance.now()
const { differences, invoices } = await verifyAccount(db, BigInt(account), ({ check, what, stored, expected }) => {
  if (named.length < NAMED) named.push(`${check}, ${what}: ${stored} instead of ${expected}`)
})
const { user, system } = process.cpuUsage(before)
const seconds = (performance.now() - startedMs) / 1000
await db.close()
process.send?.({
  invoices,
  differences,
  named,
  seconds,
  cpu: (user + system) / 1e6,
  peakMb: process.resourceUsage().maxRSS / 1024,
})
process.disconnect()
