import type { Logger } from 'pino'
import type { AccountId } from './kernel/ids.ts'
import { dateIn, instantOf } from './kernel/zone.ts'
import { listAccountsToSchedule, listScheduleZones, markScheduled } from './features/accounts/queries.ts'
import { deleteOldRuns, insertRun, listUnfinishedRuns, releaseRun } from './features/billing-run/queries.ts'
import { workRun } from './features/billing-run/run.ts'
import type { SealedLedger } from './features/ledger/seal.ts'
import { deleteOldMail } from './features/outbox/queries.ts'
import { findDueAfter, type OrderOfDay } from './features/billing-run/due-kind.ts'
import type { Difference } from './features/verification/difference.ts'
import { verifyNightly } from './features/verification/nightly.ts'
import type { Verification } from './features/verification/verify.ts'
import type { Database } from './platform/database/database.ts'
import { deleteOldKeys, deleteOldLeases, sealLists } from './platform/database/housekeeping.ts'
import type { RealClock } from './kernel/context.ts'

/**
 * The worker: starts a billing run for every account at its midnight, works runs that wait or were left by a killed worker, and keeps
 * house. Any number of workers may share one database.
 */

export interface WorkerDeps {
  db: Database
  log: Logger
  realClock: RealClock
  /** All kinds of due records, in the order of a day. */
  order: OrderOfDay
  /** Mail leaves the house; left out: it stays readable in the outbox. */
  hasMailServer?: boolean
  onRunFinished?: (invoices: number, failed: number, seconds: number) => void
}

export interface Worker {
  /** Ends after the chunk in hand; what is left of a run waits for the next worker. */
  stop(): Promise<void>
}

/** As many as list_unfinished_runs answers. */
const RUNS_A_LOOK = 100
const LOOK_EVERY_MS = 5_000
const HOUSEKEEPING_EVERY_MS = 20_000
const FORGET_EVERY_MS = 3_600_000
const VERIFY_LOOK_EVERY_MS = 600_000
const RUNS_KEPT_MS = 90 * 86_400_000
const MAIL_KEPT_MS = 90 * 86_400_000
const KEYS_KEPT_MS = 24 * 3_600_000

class Stopped extends Error {}

export async function startWorker(deps: WorkerDeps): Promise<Worker> {
  const { db, log } = deps
  let isStopping = false
  let isCalled = false
  let endSleep = () => {}
  // A call during work counts for the sleep after it: what it tells of may have been looked for too early.
  const wake = () => {
    isCalled = true
    endSleep()
  }
  const stopListening = await db.listen('billing_run', wake, wake)
  const lastDone = { housekeeping: -Infinity, forgetting: -Infinity, verifying: -Infinity }
  let verifying = Promise.resolve()

  async function loop(): Promise<void> {
    while (!isStopping) {
      isCalled = false
      await once().catch((error: unknown) => {
        if (!(error instanceof Stopped)) log.error({ err: error }, 'the worker could not go on; it tries again')
      })
      if (!isStopping && !isCalled) await sleep()
    }
  }

  const sleep = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LOOK_EVERY_MS)
      endSleep = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  async function once(): Promise<void> {
    await scheduleRuns(deps)
    const runs = await listUnfinishedRuns(db.unscoped, instantOf(deps.realClock()))
    for (const { account, id } of runs) await workOne(deps, account, id, () => isStopping)
    // At a midnight of many accounts more wait than one look answers.
    if (runs.length >= RUNS_A_LOOK) isCalled = true
    const nowMs = performance.now()
    if (nowMs - lastDone.housekeeping >= HOUSEKEEPING_EVERY_MS) {
      lastDone.housekeeping = nowMs
      await sealLists(db)
    }
    if (nowMs - lastDone.forgetting >= FORGET_EVERY_MS) {
      lastDone.forgetting = nowMs
      await deleteOldRuns(db.unscoped, instantOf(deps.realClock() - RUNS_KEPT_MS))
      await deleteOldMail(db.unscoped, instantOf(deps.realClock() - MAIL_KEPT_MS))
      await deleteOldKeys(db, instantOf(deps.realClock() - KEYS_KEPT_MS))
      await deleteOldLeases(db, instantOf(deps.realClock() - KEYS_KEPT_MS))
    }
    // Beside the loop, which must not wait: verifying a large account takes minutes.
    if (nowMs - lastDone.verifying >= VERIFY_LOOK_EVERY_MS) {
      lastDone.verifying = nowMs
      verifying = verifying.then(() => verifyTonight(deps, () => isStopping))
    }
  }

  const looping = loop()
  return {
    stop: async () => {
      isStopping = true
      wake()
      await looping
      await verifying
      await stopListening()
    },
  }
}

/** The log names what differs and not what stands there: that is for whoever may see the books, by "perennial verify". */
async function verifyTonight({ db, log, realClock }: WorkerDeps, isStopping: () => boolean): Promise<void> {
  const goOn = () => {
    if (isStopping()) throw new Stopped()
  }
  const watched = {
    db,
    realClock,
    onDifference: ({ account, check, recordType, recordId, what }: Difference) =>
      log.warn({ account: String(account), check, recordType, record: String(recordId), what }, 'the books differ'),
    onVerified: ({ account, invoices, differences }: Verification) =>
      log.info({ account: String(account), invoices, differences }, 'verified'),
    onSealed: (account: AccountId, { heads, seal }: SealedLedger) =>
      log.info({ account: String(account), chains: Number(heads), seal: seal.toString('hex') }, 'the ledger is sealed'),
    onFailed: (account: AccountId, error: unknown) =>
      log.error({ err: error, account: String(account) }, 'an account could not be verified'),
  }
  await verifyNightly(watched, goOn).catch((error: unknown) => {
    if (!(error instanceof Stopped))
      log.error({ err: error }, 'the nightly verification could not go on; it tries again')
  })
}

async function workOne(deps: WorkerDeps, account: AccountId, id: bigint, isStopping: () => boolean): Promise<void> {
  const startedMs = performance.now()
  const stopBetweenChunks = () => {
    if (isStopping()) throw new Stopped()
  }
  const totals = await workRun(deps, account, id, stopBetweenChunks).catch(async (error: unknown) => {
    if (error instanceof Stopped) await deps.db.transaction(account, (tx) => releaseRun(tx, account, id))
    throw error
  })
  if (!totals) return
  const seconds = (performance.now() - startedMs) / 1000
  deps.onRunFinished?.(totals.invoices, totals.failures.length, seconds)
  deps.log.info(
    {
      account: String(account),
      run: String(id),
      done: totals.done,
      invoices: totals.invoices,
      failed: totals.failures.length,
      seconds,
    },
    'billing run done',
  )
}

/** Every account on real time gets one run a day, when its own day begins; days without anything due need none. */
export async function scheduleRuns({
  db,
  realClock,
  order,
}: Pick<WorkerDeps, 'db' | 'realClock' | 'order'>): Promise<number> {
  const zones = (await listScheduleZones(db.unscoped)).map(({ timeZone }) => timeZone)
  const days = zones.map((zone) => dateIn(realClock(), zone))
  let started = 0
  for (const { id, today } of await listAccountsToSchedule(db.unscoped, zones, days)) {
    started += await db.transaction(id, async (tx) => {
      // Of several workers one marks the day; the others find it marked.
      if ((await markScheduled(tx, id, today)).length === 0) return 0
      if ((await findDueAfter(order, tx, id, '0001-01-01', today)) === null) return 0
      await insertRun(tx, id, { cause: 'schedule', untilDate: today, createdAt: instantOf(realClock()) })
      return 1
    })
  }
  return started
}
