import { daysBetween, earliest, type Instant, type IsoDate } from '../../kernel/calendar.ts'
import { conflict, Fault, invalid } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { dateIn, instantOf, midnightOf } from '../../kernel/zone.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type Lease, releaseLease, renewLease, takeLease, underLease } from '../../platform/database/lease.ts'
import { type Account, type Moment, momentOf } from '../../kernel/context.ts'
import { getAccount, notifyAccountChange, updateClock } from '../accounts/queries.ts'
import { insertEvents } from '../events/queries.ts'
import { findDueAfter } from './due-kind.ts'
import { failureText } from './clock-failure.ts'
import { insertRun, updateOutcome } from './queries.ts'
import { ClockMovedOut } from './wire.ts'
import { emptyTotals, type RunDeps, type RunTotals, workOn } from './chunk.ts'
import { billUntil, endRun, learnDue, takeRun } from './run.ts'
import type { ClockMove } from './types.ts'

/** Moving a test account's clock: every day with something due is lived through, in order, before the clock shows the next. */

const YEARS_MAX = 10

export interface ClockWish {
  /** Called once a run has begun that moves the clock; left out where nobody asks for it. */
  onBegun?: (runId: Id) => void
  /** Writes what became of the move, to be kept with its run; left out: nothing is kept. */
  writeResult?: (move: ClockMove, account: Account) => string
  account: AccountId
  to: Instant
  actor: string
  onProgress?: (day: IsoDate, totals: RunTotals) => void
  /** Learns how many of the days to go through are done. */
  onDays?: (done: number, total: number) => void
  /** Ends the move at its next step when it is aborted. */
  gone?: AbortSignal | undefined
}

/** A clock that follows real time has gone on since it was read: a value of a moment ago is still its present one. */
const PRESENT_MS = 60_000

/** Returns the moment to move to: the wished one, or the present one where that is meant. Throws what stands against it. */
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

/** The lease that the one who moves an account's clock holds. */
const CLOCK = 'clock'

/** A move that has begun: how far it goes, and the lease under which it may set the clock. */
interface Begun {
  account: Account
  from: Instant
  to: Instant
  lease: Lease
}

/** Moves the clock and answers what happened on the way. If it cannot go on, the clock stands at the day reached and a Fault names it. */
export async function moveClock(deps: RunDeps, wish: ClockWish): Promise<ClockMove> {
  const begun = await deps.db.transaction(wish.account, (tx) => beginMove(tx, deps, wish))
  const { account, from, to, lease } = begun
  if (!lease) return { now: to, from, days: 0, totals: emptyTotals() }
  return underLease(deps.db, account.id, lease, () => liveThrough(deps, wish, { ...begun, lease }))
}

/** Takes the clock's lease; none where nothing is to be done. Throws a Fault when the clock cannot be moved so, or is being moved. */
async function beginMove(
  tx: Transaction,
  deps: RunDeps,
  wish: ClockWish,
): Promise<Omit<Begun, 'lease'> & { lease: Lease | undefined }> {
  const lease = await takeLease(tx, CLOCK)
  if (!lease) throw clockMoving()
  const account = await getAccount(tx, tx.account)
  const { now: from, today } = momentOf(account, deps.realClock)
  const to = checkMove(account, from, wish.to)
  // A move that failed on its last day left the clock at its end and work behind: the same call does that work.
  const isPresent = Date.parse(to) === Date.parse(from)
  if (
    !isPresent ||
    account.clockAt === null ||
    (await findWorkAfter(deps, tx, tx.account, '0001-01-01', today)) !== null
  )
    return { account, from, to, lease }
  await releaseLease(tx, lease)
  return { account, from, to: from, lease: undefined }
}

/** Makes the refusal of a second move while the first runs. */
export const clockMoving = () =>
  new Fault(
    'busy',
    [
      {
        code: 'clock_moving',
        message:
          'The clock of this account is being moved by another request. Where that one was cut off by a crash, the clock is free after 30 seconds at most.',
        field: 'Now',
      },
    ],
    1,
  )

const countDays = (account: Account, from: Instant, to: Instant): number =>
  Math.round(
    (Date.parse(`${dateIn(to, account.timeZone)}T00:00:00Z`) -
      Date.parse(`${dateIn(from, account.timeZone)}T00:00:00Z`)) /
      86_400_000,
  )

async function liveThrough(deps: RunDeps, wish: ClockWish, begun: Begun): Promise<ClockMove> {
  const { account, from, to } = begun
  const target = dateIn(to, account.timeZone)
  // One run over all days, so that one broken record is reported once.
  const runId = await beginRun(deps, account.id, target, to)
  wish.onBegun?.(runId)
  const totals = emptyTotals()
  const momentOn = (day: IsoDate): Moment => ({
    today: day,
    now: day >= target ? to : midnightOf(day, account.timeZone),
    isPassing: true,
  })
  const today = dateIn(from, account.timeZone)
  let moment: Moment | undefined = today < target ? { today, now: from, isPassing: true } : momentOn(target)
  let reached = today
  try {
    if (moment) await deps.afterDay?.begin?.(deps.db, account, moment)
    while (moment) {
      await setClock(deps, begun, moment.now)
      reached = moment.today
      const onChunk = () => wish.gone?.throwIfAborted()
      const work = workOn(deps, account.id, runId, target, { moment, totals, actor: wish.actor, onChunk })
      await billUntil(work, reached)
      await workAfterDay(deps, account, moment, wish.actor, totals)
      wish.onProgress?.(reached, totals)
      wish.onDays?.(daysBetween(today, reached), daysBetween(today, target))
      wish.gone?.throwIfAborted()
      const next =
        reached >= target ? null : await findWorkAfter(deps, deps.db.reader(account.id), account.id, reached, target)
      moment = reached >= target ? undefined : momentOn(next ?? target)
    }
  } catch (error) {
    const isPassedOn = error instanceof Fault && (error.kind === 'unavailable' || error.kind === 'busy')
    const stopped = isPassedOn ? error : clockStopped(reached, error)
    await keepFailure(deps, account, runId, stopped, reached)
    throw stopped
  }
  const move = { now: to, from, days: countDays(account, from, to), totals }
  const result = wish.writeResult?.(move, account)
  // Together, so that whoever sees the result can move the clock on.
  await endRun(deps, account.id, runId, async (tx) => {
    if (result !== undefined) await updateOutcome(tx, account.id, runId, { result, failure: null })
    await endMove(tx, wish, begun)
  })
  return move
}

/** Keeps why a move stopped. Where the database takes nothing now, whoever ends the run notes that it was cut off. */
const keepFailure = (
  deps: RunDeps,
  account: Account,
  runId: Id,
  { problems }: Fault,
  reached: IsoDate,
): Promise<unknown> =>
  deps.db
    .transaction(account.id, (tx) =>
      updateOutcome(tx, account.id, runId, { result: null, failure: failureText(account, problems[0], reached) }),
    )
    .catch(() => undefined)

/** Finds the next day with something due, or with work that follows what is due. */
async function findWorkAfter(
  { order, afterDay }: RunDeps,
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> {
  const due = await findDueAfter(order, db, account, day, until)
  return earliest(due, (await afterDay?.findAfter(db, account, day, until)) ?? null)
}

async function workAfterDay(
  { db, afterDay }: RunDeps,
  account: Account,
  moment: Moment,
  actor: string,
  totals: RunTotals,
): Promise<void> {
  const done = await afterDay?.work(db, account, moment, actor)
  if (!done) return
  totals.collected += done.collected
  totals.declined += done.declined
  totals.unknown += done.unknown
}

/** Makes the fault of a clock that stopped. The reason is for the log, not for the caller. */
function clockStopped(reached: IsoDate, cause: unknown): Fault {
  const message = `The clock stands at ${reached}: the work of that day could not be finished. The same call goes on from there.`
  return Object.assign(new Fault('broken', [{ code: 'clock_stopped', message, field: null }]), { cause })
}

/** Makes a run and takes it at once, so that no worker takes it for one that waits. */
async function beginRun(deps: RunDeps, account: AccountId, untilDate: IsoDate, movesTo: Instant): Promise<Id> {
  const nowMs = deps.realClock()
  const run = await deps.db.transaction(account, async (tx) => {
    const made = await insertRun(tx, account, { cause: 'clock', untilDate, createdAt: instantOf(nowMs), movesTo })
    return (await takeRun(tx, deps, made.id)) ?? made
  })
  await learnDue(deps.db, account, run)
  return run.id
}

/** Sets the clock under its lease: who has lost that must not set back what another has moved on. */
const setClock = (deps: RunDeps, { account, lease }: Begun, now: Instant) =>
  deps.db.transaction(account.id, async (tx) => {
    if (!(await renewLease(tx, lease))) throw clockMoving()
    await updateClock(tx, account.id, now)
    await notifyAccountChange(tx)
  })

async function endMove(tx: Transaction, wish: ClockWish, { account, lease, from, to }: Begun): Promise<void> {
  await insertEvents(tx, [
    {
      type: 'account.clock_moved',
      recordId: account.id,
      customerId: null,
      happenedAt: to,
      actor: wish.actor,
      reason: null,
      record: ClockMovedOut.write({ From: from, Now: to }),
    },
  ])
  await releaseLease(tx, lease)
}
