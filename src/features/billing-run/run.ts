import { earlier, type IsoDate } from '../../kernel/calendar.ts'
import { Fault } from '../../kernel/fault.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { isRetryable } from '../../platform/database/failures.ts'
import { type Account, type Moment, momentOf, type RealClock } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { lockBilledCustomers } from '../customers/queries.ts'
import { listPausedEnds, type PausedEnd } from '../subscriptions/due-queries.ts'
import { endPaused } from '../subscriptions/paused-ends.ts'
import { type BilledKind, type Chunk, countDue, failureOf, findDueAfter, KINDS, listDueCustomers } from './kinds.ts'
import {
  addProgress,
  type BillingRun,
  findRun,
  finishRun,
  insertFailure,
  leaseRun,
  type RunFailure,
} from './queries.ts'

/**
 * The billing run: everything that is due on an account up to a day, in chunks of one transaction each. It can be killed anywhere and goes
 * on where it was: what is billed has moved its due day in the same transaction, what is not is still due.
 */

export interface RunDeps {
  db: Database
  realClock: RealClock
  /** Mail leaves the house; left out: it stays readable in the outbox. */
  hasMailServer?: boolean
  /** Customers a transaction: large enough that statements are few, small enough that memory and locks stay small. */
  chunk?: number
}

export interface RunTotals {
  done: number
  invoices: number
  renewals: number
  expired: number
  failures: RunFailure[]
}

export const emptyTotals = (): RunTotals => ({ done: 0, invoices: 0, renewals: 0, expired: 0, failures: [] })

const CHUNK = 1000
const LEASE_MS = 30_000

export interface Work {
  deps: RunDeps
  account: AccountId
  runId: Id
  actor: string
  /** The last day of the run: a record is done when nothing of it is left due by then. */
  until: IsoDate
  /** The moment to bill at; undefined: the account's own, asked anew for every chunk. */
  moment: Moment | undefined
  totals: RunTotals
  onChunk: (totals: RunTotals) => Promise<void> | void
}

interface Pass {
  day: IsoDate
  /** The second pass waits for customers that were locked in the first. */
  isWaiting: boolean
}

/** Work on a run that the caller has taken. Without a moment each chunk asks the account's own. */
export const workOn = (
  deps: RunDeps,
  account: AccountId,
  runId: Id,
  until: IsoDate,
  about: Partial<Pick<Work, 'actor' | 'moment' | 'totals' | 'onChunk'>> = {},
): Work => ({
  deps,
  account,
  runId,
  until,
  actor: about.actor ?? `billing run ${runId}`,
  moment: about.moment,
  totals: about.totals ?? emptyTotals(),
  onChunk: about.onChunk ?? (() => {}),
})

/** Takes a run and works it to its end; undefined when it is finished or another worker has it. */
export async function workRun(
  deps: RunDeps,
  account: AccountId,
  runId: Id,
  onChunk?: Work['onChunk'],
): Promise<RunTotals | undefined> {
  const run = await deps.db.transaction(account, (tx) => takeRun(tx, deps.realClock(), runId))
  if (!run) return undefined
  const { today } = momentOf(await getAccount(deps.db.reader(account), account), deps.realClock)
  // The run of a clock that was cut short names a day that the clock has not reached.
  const work = workOn(deps, account, runId, earlier(run.untilDate, today), onChunk ? { onChunk } : {})
  await billUntil(work, work.until)
  await endRun(deps, account, runId)
  return work.totals
}

export const endRun = (deps: RunDeps, account: AccountId, runId: Id) =>
  deps.db.transaction(account, (tx) => finishRun(tx, account, runId, instantOf(deps.realClock())))

/** Takes a run for this worker, inside the caller's transaction; undefined when it is finished or another worker has it. */
export async function takeRun(tx: Transaction, nowMs: number, runId: Id): Promise<BillingRun | undefined> {
  const run = await findRun(tx, tx.account, runId)
  if (!run || run.finishedAt !== null) return undefined
  const total = await countDue(tx, tx.account, run.untilDate)
  return leaseRun(tx, tx.account, runId, instantOf(nowMs), instantOf(nowMs + LEASE_MS), total)
}

/** Bills day by day, oldest first, until nothing due is left but what failed. */
export async function billUntil(work: Work, until: IsoDate): Promise<void> {
  const reader = work.deps.db.reader(work.account)
  let day = await findDueAfter(reader, work.account, '0001-01-01', until)
  while (day !== null) {
    await endAllPaused(work, day)
    await billPass(work, { day, isWaiting: false })
    await billPass(work, { day, isWaiting: true })
    day = await findDueAfter(reader, work.account, day, until)
  }
}

/** Ends what ends on a day though its customer is suspended or archived: credits and events, never an invoice. */
async function endAllPaused(work: Work, day: IsoDate): Promise<void> {
  const { deps, account, totals } = work
  const limit = deps.chunk ?? CHUNK
  for (let after: Id | undefined = 0n; after !== undefined;) {
    const ends: PausedEnd[] = await listPausedEnds(deps.db.reader(account), account, { day, after, limit })
    for (const end of ends) {
      try {
        const plan = await deps.db.transaction(account, async (tx) => {
          const settings = await getAccount(tx, account)
          const moment = momentFor(work, settings)
          return endPaused(tx, { account: settings, actor: work.actor, moment }, end.id, day)
        })
        if (plan?.ended === 'expired') totals.expired += 1
      } catch (error) {
        if (isUnavailable(error)) throw error
        count(work, await writeFailure(work, failureOf('subscription', end, error)))
      }
    }
    after = ends.at(-1)?.id
  }
}

async function billPass(work: Work, pass: Pass): Promise<void> {
  let after: CustomerId | null = 0n
  while (after !== null) {
    after = await billChunk(work, pass, after, work.deps.chunk ?? CHUNK)
    await work.onChunk(work.totals)
  }
}

/** Bills the next customers of a pass in one transaction; answers the last that was looked at, null when there are no more. */
async function billChunk(work: Work, pass: Pass, after: CustomerId, limit: number): Promise<CustomerId | null> {
  const { deps, account, runId } = work
  const wanted = await listDueCustomers(deps.db.reader(account), account, { day: pass.day, after, limit, runId })
  await billCustomers(work, pass, wanted)
  return wanted.at(-1) ?? null
}

/** Bills customers together; where the database refuses them as a whole, the halves by themselves, down to the record that it refuses. */
async function billCustomers(work: Work, pass: Pass, customers: readonly CustomerId[]): Promise<void> {
  if (customers.length === 0) return
  try {
    const chunk = await work.deps.db.transaction(work.account, async (tx) => {
      const locked = await lockBilledCustomers(tx, work.account, customers, pass.isWaiting)
      return locked.length === 0 ? undefined : billLocked(tx, work, pass.day, locked)
    })
    if (chunk) count(work, chunk)
  } catch (error) {
    if (isUnavailable(error)) throw error
    const [customer] = customers
    if (customers.length === 1) return billEach(work, pass.day, customer as CustomerId)
    const middle = Math.ceil(customers.length / 2)
    await billCustomers(work, pass, customers.slice(0, middle))
    await billCustomers(work, pass, customers.slice(middle))
  }
}

const isUnavailable = (error: unknown): boolean =>
  (error instanceof Fault && error.kind === 'unavailable') || isRetryable(error)

/** Each record of a customer by itself: what the database refuses again is listed as failed, the others are billed. */
async function billEach(work: Work, day: IsoDate, customer: CustomerId): Promise<void> {
  const { deps, account, runId } = work
  for (const kind of KINDS) {
    for (const record of await kind.listDue(deps.db.reader(account), account, [customer], { day, runId })) {
      try {
        const chunk = await deps.db.transaction(account, async (tx) => {
          const locked = await lockBilledCustomers(tx, account, [customer], true)
          return locked.length === 0 ? undefined : billLocked(tx, work, day, locked, { kind, id: record.id })
        })
        if (chunk) count(work, chunk)
      } catch (error) {
        if (isUnavailable(error)) throw error
        count(work, await writeFailure(work, failureOf(kind.recordType, record, error)))
      }
    }
  }
}

/** Bills what is due on a day of locked customers, or one record of them. */
async function billLocked(
  tx: Transaction,
  work: Work,
  day: IsoDate,
  customers: readonly CustomerId[],
  only?: { kind: BilledKind; id: Id },
): Promise<Chunk> {
  const account = await getAccount(tx, work.account)
  const { hasMailServer = false } = work.deps
  const context: IssueContext = { account, actor: work.actor, moment: momentFor(work, account), hasMailServer }
  const done: Chunk = { plans: [], failures: [] }
  for (const kind of only ? [only.kind] : KINDS) {
    const { plans, failures } = await kind.bill(tx, context, customers, { day, runId: work.runId }, only?.id)
    done.plans.push(...plans)
    done.failures.push(...failures)
  }
  for (const failure of done.failures) await insertFailure(tx, work.account, work.runId, failure)
  const invoices = done.plans.reduce((sum, plan) => sum + plan.invoices.length, 0)
  await progress(tx, work, { done: doneOf(work, done), invoices, failed: done.failures.length })
  return done
}

/** Records that this run is through with: late ones come once for each day. */
const doneOf = ({ until }: Work, { plans, failures }: Chunk): number =>
  plans.filter(({ state: { dueOn } }) => dueOn === null || dueOn > until).length + failures.length

const progress = (tx: Transaction, work: Work, more: { done: number; invoices: number; failed: number }) =>
  addProgress(tx, work.account, work.runId, {
    ...more,
    leasedUntil: instantOf(work.deps.realClock() + LEASE_MS),
  })

const momentFor = (work: Work, account: Account): Moment => work.moment ?? momentOf(account, work.deps.realClock)

const writeFailure = (work: Work, failure: RunFailure): Promise<Chunk> =>
  work.deps.db.transaction(work.account, async (tx) => {
    await insertFailure(tx, work.account, work.runId, failure)
    await progress(tx, work, { done: 1, invoices: 0, failed: 1 })
    return { plans: [], failures: [failure] }
  })

function count(work: Work, chunk: Chunk): void {
  const { totals } = work
  totals.done += doneOf(work, chunk)
  for (const plan of chunk.plans) {
    totals.invoices += plan.invoices.length
    totals.renewals += plan.renewals
    if (plan.ended === 'expired') totals.expired += 1
  }
  totals.failures.push(...chunk.failures)
}
