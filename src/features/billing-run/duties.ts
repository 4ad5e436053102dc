import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Warn } from '../../kernel/context.ts'
import { dateIn, instantOf } from '../../kernel/zone.ts'
import type { Duty, DutyDeps, GoOn } from '../../platform/duty.ts'
import { AccountWork } from '../../platform/account-work.ts'
import { whilePresent } from '../../platform/long/presence.ts'
import { type SteadyClock, steadyClock } from '../../platform/steady-clock.ts'
import { beginDays, listAccountsToSchedule, listScheduleZones, markScheduled } from '../accounts/queries.ts'
import { findDueAfter } from './due-kind.ts'
import { announceRun, insertRun, listUnfinishedRuns, putOffRun, releaseRun } from './queries.ts'
import type { RunDeps } from './chunk.ts'
import { helpRun } from './slices.ts'
import { deleteSlices, listRunsWithSlices } from './slice-queries.ts'
import { workRun } from './run.ts'

/** The duties of a worker that start and work billing runs. */

export interface RunDutyDeps extends Pick<RunDeps, 'order' | 'hasMailServer'> {
  onRunFinished?: (invoices: number, failed: number, seconds: number) => void
  /** Measures spans; left out: that of the process. */
  clock?: SteadyClock
}

const LOOK_EVERY_MS = 5_000
/** The number of runs that list_unfinished_runs returns at most. */
const RUNS_A_LOOK = 100
/** Runs of two accounts go side by side: a large one holds up no small one, and more would only share the processor and take memory. */
const RUNS_AT_ONCE = 2

/** Starts a billing run for every account at its midnight. */
export const scheduleDuty = ({ order }: RunDutyDeps): Duty => ({
  name: 'schedule billing runs',
  everyMs: LOOK_EVERY_MS,
  run: async ({ db, realClock }, goOn) => {
    await scheduleRuns({ db, realClock, order }, goOn)
  },
})

/** Runs that this process leads: their slices it takes as their leader. */
const led = new Set<string>()

/** Bills slices of large runs that other workers lead. */
export const runSlicesDuty = (about: RunDutyDeps): Duty => ({
  name: 'slices of billing runs',
  everyMs: LOOK_EVERY_MS,
  wakesOn: 'billing_run_part',
  run: async (deps, goOn) => {
    const runs = await listRunsWithSlices(deps.db.unscoped)
    for (const { account, id } of runs) if (!led.has(`${account}/${id}`)) await helpOne(deps, about, account, id, goOn)
  },
})

async function helpOne(
  { db, log, realClock }: DutyDeps,
  { clock = steadyClock, onRunFinished, ...about }: RunDutyDeps,
  account: AccountId,
  id: Id,
  goOn: GoOn,
): Promise<void> {
  const startedMs = clock()
  const warn: Warn = (facts, message) => log.warn({ run: String(id), ...facts }, message)
  const present = { kind: 'billing_run', about: String(id) } as const
  const help = () => helpRun({ db, realClock, warn, ...about }, account, id, goOn)
  const totals = await whilePresent(db, account, present, help)
  if (!totals) return
  const seconds = (clock() - startedMs) / 1000
  const { done, invoices, failures } = totals
  onRunFinished?.(invoices, failures.length, seconds)
  const facts = { account: String(account), run: String(id), done, invoices, failed: failures.length, seconds }
  log.info(facts, 'slices of a billing run done')
}

/** Works runs that wait, and those that a killed worker left. */
export function runDuty(about: RunDutyDeps): Duty {
  const atWork = new AccountWork(RUNS_AT_ONCE)
  return {
    name: 'billing runs',
    everyMs: LOOK_EVERY_MS,
    wakesOn: 'billing_run',
    overlaps: true,
    run: async (deps, goOn) => {
      const begun = await atWork.each(await listUnfinishedRuns(deps.db.unscoped), async ({ account, id }) => {
        goOn()
        await workOne(deps, about, account, id, goOn)
      })
      // At a midnight of many accounts more wait than one look returns.
      if (begun >= RUNS_A_LOOK) return 'again'
    },
  }
}

async function workOne(
  { db, log, realClock }: DutyDeps,
  { clock = steadyClock, onRunFinished, ...about }: RunDutyDeps,
  account: AccountId,
  id: Id,
  goOn: GoOn,
): Promise<void> {
  const startedMs = clock()
  let isStopped = false
  const stopBetweenChunks = () => {
    isStopped = true
    goOn()
    isStopped = false
  }
  const warn: Warn = (facts, message) => log.warn({ run: String(id), ...facts }, message)
  const name = `${account}/${id}`
  led.add(name)
  const totals = await workRun({ db, realClock, warn, ...about }, account, id, stopBetweenChunks)
    .finally(() => led.delete(name))
    .catch(async (error) => {
      if (isStopped) {
        await db.transaction(account, (tx) => releaseRun(tx, id))
        throw error
      }
      const failed = await db.transaction(account, async (tx) => {
        const waits = await putOffRun(tx, id)
        // Others would go on trying them meanwhile.
        await deleteSlices(tx, id)
        return waits
      })
      log.error(
        { err: error, account: String(account), run: String(id), ...failed },
        'a billing run failed; it is tried again',
      )
    })
  if (!totals) return
  const seconds = (clock() - startedMs) / 1000
  onRunFinished?.(totals.invoices, totals.failures.length, seconds)
  // Of the whole run, whoever did what of it.
  const { done, invoices, failed } = totals.run
  const facts = { account: String(account), run: String(id), done, invoices, failed, seconds }
  if (failed > 0) log.warn(facts, 'billing run done, but not of every record')
  else log.info(facts, 'billing run done')
}

/** Accounts whose days begin in one statement. */
const DAYS_AT_ONCE = 500

/**
 * Begins the day of every account on real time whose own day has begun, with a run where something is due. Most have nothing due: their days begin many at a
 * time, by one worker. Returns how many runs were started.
 */
export async function scheduleRuns(
  { db, realClock, order }: Pick<RunDeps, 'db' | 'realClock' | 'order'>,
  goOn: GoOn = () => {},
): Promise<number> {
  const zones = (await listScheduleZones(db.unscoped)).map(({ timeZone }) => timeZone)
  const days = zones.map((zone) => dateIn(realClock(), zone))
  for (let begun = DAYS_AT_ONCE; begun === DAYS_AT_ONCE; goOn()) {
    const more = await beginDays(db.unscoped, zones, days, DAYS_AT_ONCE)
    if (more === null) return 0
    begun = more
  }
  let started = 0
  for (const { id, today } of await listAccountsToSchedule(db.unscoped, zones, days)) {
    goOn()
    started += await db.transaction(id, async (tx) => {
      // Of several workers one marks the day; the others find it marked.
      if ((await markScheduled(tx, id, today)).length === 0) return 0
      if ((await findDueAfter(order, tx, id, '0001-01-01', today)) === null) return 0
      await insertRun(tx, id, { cause: 'schedule', untilDate: today, createdAt: instantOf(realClock()) })
      await announceRun(tx)
      return 1
    })
  }
  return started
}
