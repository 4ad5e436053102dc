import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withBaseBackup } from '../src/platform/backup/base-backup.ts'
import { writeBackup } from '../src/platform/backup/file.ts'
import type { EmbeddedConnection } from '../src/platform/postgres/connection.ts'
import { drive, httpSend } from './measure/load.ts'
import { asOwner, benchFolder, settle } from './measure/database.ts'
import { isNoisy, median, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { measure, newCaller, newCustomer, type Sample } from './neighbours.ts'
import { CUSTOMERS, OPEN_INVOICES } from './seed-money.ts'

/**
 * A backup of the embedded database beside `tar` of its folder, its log left out and the archive brought to the disk, as the backup is; and what
 * requests notice of the copy that the service makes on its own.
 */

const TIMES_FLOOR = 2
const WRITES_A_SECOND = 500
const WRITERS = 16
const SETTINGS = { BOOTSTRAP_ACCOUNT_MODE: 'live', LOG_LEVEL: 'error' }

interface Copied {
  seconds: number
  cpu: number
}

/** Customers with an invoice each, everything on the disk. */
async function fill({ connection }: Service, count: number): Promise<void> {
  await asOwner(connection, async (client) => {
    for (const statement of [CUSTOMERS, ...OPEN_INVOICES]) await client.query(statement, [count])
    await client.query(`select setval(pg_get_serial_sequence('customers', 'customer_id'), $1)`, [count])
    await client.query('vacuum (analyze)')
  })
  await settle(connection)
}

/** Seconds of a line that a shell writes about its children: "0m0.12s 0m0.34s". */
const secondsIn = (line: string): number =>
  [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds),
    0,
  )

function tarred(dataDir: string, file: string): Copied {
  const startedMs = performance.now()
  const script = 'tar -cf "$1" --exclude="postgres/pg_wal/*" -C "$2" postgres 2>/dev/null; sync "$1"; times'
  const { stdout } = spawnSync('sh', ['-c', script, 'sh', file, dataDir], { encoding: 'utf8' })
  const seconds = (performance.now() - startedMs) / 1000
  rmSync(file)
  return { seconds, cpu: secondsIn(stdout.split('\n')[1] ?? '') }
}

async function backedUp({ connection, databaseCpu }: Service, file: string): Promise<Copied> {
  const databaseBefore = databaseCpu()
  const before = process.cpuUsage()
  const startedMs = performance.now()
  const about = { MadeAt: new Date().toISOString(), Program: 'bench', key: undefined }
  await withBaseBackup(connection as EmbeddedConnection, (archive) => writeBackup(file, archive, about))
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(before)
  rmSync(file)
  return { seconds, cpu: (user + system) / 1e6 + databaseCpu() - databaseBefore }
}

/** Returns how many writes a second were acknowledged while a backup was made at full speed; writers go on until it is whole. */
async function writtenBeside(service: Service, file: string, customers: number): Promise<number> {
  const rest = { Amount: 1, CurrencyCode: 'USD', Date: '2026-01-01', Method: 'eft', Allocations: [] }
  const next = () => {
    const customerID = 1 + Math.floor(Math.random() * customers)
    return httpSend('POST', '/v1/payments', service.authorization, JSON.stringify({ customerID, ...rest }))
  }
  const load = { port: service.port, callers: WRITERS, next, status: 201 }
  // A program that has just been started is slow on its own.
  await drive({ ...load, seconds: 2 })
  let isWhole = false
  const backup = backedUp(service, file).finally(() => (isWhole = true))
  let [answers, seconds] = [0, 0]
  while (!isWhole) {
    const told = await drive({ ...load, seconds: 0.5 })
    answers += told.answers
    seconds += told.seconds
  }
  await backup
  return answers / seconds
}

/** Measures requests while the service makes its own copy, and once more when it has ended. */
async function beside(
  dataDir: string,
  copies: string,
  seconds: number,
): Promise<{ alone: Sample; during: Sample; isWhole: boolean }> {
  const service = await startService({ ...SETTINGS, BACKUP_DIR: copies }, dataDir)
  try {
    const quiet = await newCaller(service, 'live')
    const customerID = await newCustomer(quiet)
    const isCopying = () => existsSync(copies) && readdirSync(copies).some((name) => name.endsWith('.part'))
    const isDone = () => existsSync(copies) && readdirSync(copies).some((name) => name.endsWith('.tar'))
    while (!isCopying() && !isDone()) await delay(5)
    // A program that has just been started is slow on its own.
    await measure(service, quiet, customerID, seconds)
    const during = await measure(service, quiet, customerID, seconds)
    const isWhole = isCopying()
    while (!isDone()) await delay(50)
    await settle(service.connection)
    return { alone: await measure(service, quiet, customerID, Math.max(seconds, 1)), during, isWhole }
  } finally {
    await service.stop()
  }
}

const within = (goal: string, reached: number, floor: number, unit: string): Verdict => ({
  goal,
  reached: `${(reached / floor).toFixed(2)} × (${reached.toFixed(2)} against ${floor.toFixed(2)} ${unit})`,
  isMet: reached <= TIMES_FLOOR * floor,
})

/** Measures backups of a database of so many customers and invoices. */
export async function benchBackup({
  count,
  times,
  isSmoke,
}: {
  count: number
  times: number
  isSmoke: boolean
}): Promise<void> {
  const folder = benchFolder()
  const [dataDir, copies, file] = ['data', 'copies', 'one.tar'].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(dataDir, { mode: 0o700 })
  try {
    const service = await startService(SETTINGS, dataDir)
    const floors: Copied[] = []
    const backups: Copied[] = []
    let writes = 0
    try {
      await tellMachine(service.connection)
      await fill(service, count)
      for (let time = 0; time <= times; time += 1) {
        const [floor, backup] = [tarred(dataDir, file), await backedUp(service, file)]
        // The first fills the cache of the machine.
        if (time > 0) [floors, backups].forEach((all, place) => all.push(place === 0 ? floor : backup))
      }
      writes = await writtenBeside(service, file, count)
    } finally {
      await service.stop()
    }
    const { alone, during, isWhole } = await beside(dataDir, copies, isSmoke ? 0.2 : 8)
    const megabytes = readdirSync(copies).reduce((sum, name) => sum + statSync(join(copies, name)).size, 0) / 1e6
    const rows = (['seconds', 'cpu'] as const).map((figure) => [
      figure,
      spread(backups.map((one) => one[figure])),
      spread(floors.map((one) => one[figure])),
    ])
    tellTable([`A backup of ${megabytes.toFixed(0)} MB`, 'backup', 'tar'], rows)
    const cells = ({ readMs, paymentMs, loopMs }: Sample) => [readMs, paymentMs, loopMs].map((ms) => ms.toFixed(1))
    tellTable(
      ['99 of 100 within, ms', 'point read', 'payment', 'event loop'],
      [
        ['alone', ...cells(alone)],
        ['beside the nightly copy', ...cells(during)],
      ],
    )
    tell(isWhole ? 'the copy went on all the while' : 'the copy ended before the requests did')
    if (isNoisy(floors.map(({ seconds }) => seconds)))
      tell('the machine was not quiet: tar took between half and twice its time')
    const of = (all: readonly Copied[], figure: keyof Copied) => median(all.map((one) => one[figure]))
    tellVerdicts(
      [
        within(
          `a backup takes at most ${TIMES_FLOOR} × the time of tar`,
          of(backups, 'seconds'),
          of(floors, 'seconds'),
          's',
        ),
        {
          goal: `${WRITES_A_SECOND} writes a second while a backup is made`,
          reached: `${writes.toFixed(0)} a second`,
          isMet: writes >= WRITES_A_SECOND,
        },
        within(`and at most ${TIMES_FLOOR} × its CPU`, of(backups, 'cpu'), of(floors, 'cpu'), 'CPU-s'),
        within(`99 of 100 point reads within ${TIMES_FLOOR} × of alone meanwhile`, during.readMs, alone.readMs, 'ms'),
        within(
          `99 of 100 payments within ${TIMES_FLOOR} × of alone meanwhile`,
          during.paymentMs,
          alone.paymentMs,
          'ms',
        ),
      ],
      { isSmoke },
    )
  } finally {
    folder.remove()
  }
}
