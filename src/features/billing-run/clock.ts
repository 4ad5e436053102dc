import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import { conflict, Fault, invalid } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { dateIn, instantOf, midnightOf } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Account, type Moment, momentOf } from '../../platform/http/context.ts'
import { getAccount, notifyAccountChange, updateClock } from '../accounts/queries.ts'
import { insertEvents } from '../events/queries.ts'
import { findDueAfter } from './kinds.ts'
import { insertRun, stayAlive, tryClockLock } from './queries.ts'
import { billUntil, emptyTotals, endRun, type RunDeps, type RunTotals, takeRun, workOn } from './run.ts'

/** Moving a test account's clock: every day with something due is lived through, in order, before the clock shows the next. */

const YEARS_MAX = 10

export interface ClockMove {
  now: Instant
  from: Instant
  days: number
  totals: RunTotals
}

export interface ClockWish {
  account: AccountId
  to: Instant
  actor: string
  onProgress?: (day: IsoDate, totals: RunTotals) => void
}

/** A clock that follows real time has gone on since it was read: a value of a moment ago is still its present one. */
const PRESENT_MS = 60_000

/** The moment to move to: the wished one, or the present one where that is meant. Throws what stands against it. */
function checkMove(account: Account, from: Instant, wished: Instant): Instant {
  if (account.mode === 'live')
    throw conflict('clock_live', 'A live account follows real time; its clock cannot be moved.', 'Now')
  const bound = new Date(from)
  bound.setUTCFullYear(bound.getUTCFullYear() + YEARS_MAX)
  if (Date.parse(wished) > bound.getTime())
    throw invalid(
      'clock_too_far',
      `The clock moves at most ${YEARS_MAX} years in one call, from ${from} to ${bound.toISOString()}.`,
      'Now',
    )
  const aheadMs = Date.parse(wished) - Date.parse(from)
  if (aheadMs >= 0) return wished
  if (account.clockAt === null && aheadMs >= -PRESENT_MS) return from
  throw conflict('clock_backwards', `The clock shows ${from} and moves only forward; ${wished} is earlier.`, 'Now')
}

/** Each move holds connections for its lock and its days, so only a few go on at a time and the others wait for their turn. */
const MOVES_MAX = 2
const waiting: (() => void)[] = []
let moving = 0

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (moving < MOVES_MAX) moving += 1
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else moving -= 1
  }
}

/** Moves the clock and answers what happened on the way. If it cannot go on, the clock stands at the day reached and a Fault names it. */
export const moveClock = (deps: RunDeps, wish: ClockWish): Promise<ClockMove> =>
  // This transaction only holds the lock; the days commit on their own.
  inTurn(() => deps.db.transaction(wish.account, (holder) => moveHeld(deps, wish, holder)))

async function moveHeld(deps: RunDeps, wish: ClockWish, holder: Transaction): Promise<ClockMove> {
  const { account: id } = wish
  if (!(await tryClockLock(holder, id))) throw clockMoving()
  const account = await getAccount(holder, id)
  const { now: from, today } = momentOf(account, deps.realClock)
  const to = checkMove(account, from, wish.to)
  // A move that failed on its last day left the clock at its end and work behind: the same call does that work.
  const isPresent = Date.parse(to) === Date.parse(from)
  if (isPresent && account.clockAt !== null && (await findDueAfter(holder, id, '0001-01-01', today)) === null)
    return { now: from, from, days: 0, totals: emptyTotals() }
  const days = countDays(account, from, to)
  const totals = await liveThrough(deps, { ...wish, to }, account, { from, holder })
  return { now: to, from, days, totals }
}

const clockMoving = () =>
  new Fault(
    'busy',
    [{ code: 'clock_moving', message: 'The clock of this account is being moved by another request.', field: 'Now' }],
    1,
  )

const countDays = (account: Account, from: Instant, to: Instant): number =>
  Math.round(
    (Date.parse(`${dateIn(to, account.timeZone)}T00:00:00Z`) -
      Date.parse(`${dateIn(from, account.timeZone)}T00:00:00Z`)) /
      86_400_000,
  )

/** Well under the time after which the database ends a transaction that does nothing. */
const STILL_THERE_MS = 30_000

async function liveThrough(
  deps: RunDeps,
  wish: ClockWish,
  account: Account,
  { from, holder }: { from: Instant; holder: Transaction },
): Promise<RunTotals> {
  const target = dateIn(wish.to, account.timeZone)
  // One run over all days, so that one broken record is told once.
  const runId = await beginRun(deps, account.id, target)
  const totals = emptyTotals()
  const momentOn = (day: IsoDate): Moment => ({
    today: day,
    now: day >= target ? wish.to : midnightOf(day, account.timeZone),
  })
  const today = dateIn(from, account.timeZone)
  let moment: Moment | undefined = today < target ? { today, now: from } : momentOn(target)
  let reached = today
  const timer = setInterval(() => void stayAlive(holder).catch(() => {}), STILL_THERE_MS)
  try {
    while (moment) {
      await setClock(deps, account.id, moment.now)
      reached = moment.today
      const work = workOn(deps, account.id, runId, target, { moment, totals, actor: wish.actor })
      await billUntil(work, reached)
      wish.onProgress?.(reached, totals)
      const next =
        reached >= target ? null : await findDueAfter(deps.db.reader(account.id), account.id, reached, target)
      moment = reached >= target ? undefined : momentOn(next ?? target)
    }
  } catch (error) {
    throw error instanceof Fault && error.kind === 'unavailable' ? error : clockStopped(reached, error)
  } finally {
    clearInterval(timer)
  }
  await endRun(deps, account.id, runId)
  await recordMove(deps, wish, from)
  return totals
}

/** Why it stopped is for the log, not for the caller. */
function clockStopped(reached: IsoDate, cause: unknown): Fault {
  const message = `The clock stands at ${reached}: the work of that day could not be finished. The same call goes on from there.`
  return Object.assign(new Fault('broken', [{ code: 'clock_stopped', message, field: null }]), { cause })
}

/** Made and taken at once, so that no worker takes it for one that waits. */
async function beginRun(deps: RunDeps, account: AccountId, untilDate: IsoDate): Promise<bigint> {
  const nowMs = deps.realClock()
  const { id } = await deps.db.transaction(account, async (tx) => {
    const run = await insertRun(tx, account, { cause: 'clock', untilDate, createdAt: instantOf(nowMs) })
    await takeRun(tx, nowMs, run.id)
    return run
  })
  return id
}

const setClock = (deps: RunDeps, account: AccountId, now: Instant) =>
  deps.db.transaction(account, async (tx) => {
    await updateClock(tx, account, now)
    await notifyAccountChange(tx)
  })

const recordMove = (deps: RunDeps, wish: ClockWish, from: Instant) =>
  deps.db.transaction(wish.account, (tx) =>
    insertEvents(tx, [
      {
        type: 'account.clock_moved',
        recordId: wish.account,
        customerId: null,
        happenedAt: wish.to,
        actor: wish.actor,
        reason: null,
        record: JSON.stringify({ From: from, Now: wish.to }),
      },
    ]),
  )
