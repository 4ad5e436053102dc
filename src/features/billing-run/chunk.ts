import type { Change } from '../../platform/failover/memory.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { type Account, type Moment, momentOf, type RealClock, type Warn } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { type LockedCustomers, lockCustomers } from '../customers/queries.ts'
import type { AfterDay, TryTotals } from './after-day.ts'
import { type DueContext, type DueKind, listDueCustomers, type OrderOfDay, type Planned } from './due-kind.ts'
import { isOfDatabase, markFailing } from './failing.ts'
import { addPassedOver, addProgress, insertFailure, type RunFailure } from './queries.ts'

/** Chunks of a billing run: some thousand records that are due on a day, with their customers, in one transaction each. */

export interface RunDeps {
  db: Database
  realClock: RealClock
  /** All kinds of due records, in the order of a day. */
  order: OrderOfDay
  /** Mail leaves the house; left out: it stays readable in the outbox. */
  hasMailServer?: boolean
  /** Work of a day that calls outside, and so can be in no transaction of a run; a moved clock waits for it. */
  afterDay?: AfterDay
  /** Left out: failures are not logged. */
  warn?: Warn
  /** Records due of a slice, of which large passes have several for other workers to bill too; left out: 4,000. */
  sliceSize?: number
  /**
   * Records a transaction, but that a customer is billed whole: enough that statements are few, not so many that memory grows or somebody waits long for a
   * lock. Left out: 4,000, or 2,000 where a test clock is moved.
   */
  chunk?: number
}

export interface RunTotals extends TryTotals {
  done: number
  invoices: number
  renewals: number
  expired: number
  failures: RunFailure[]
}

export const emptyTotals = (): RunTotals => ({
  done: 0,
  invoices: 0,
  renewals: 0,
  expired: 0,
  failures: [],
  collected: 0,
  declined: 0,
  unknown: 0,
})

const CHUNK = 4000
/** A test clock is moved by the process that answers callers, who wait while it plans. */
const CHUNK_OF_CLOCK = 2000

export interface RunWork {
  deps: RunDeps
  account: AccountId
  runId: Id
  actor: string
  /** Object on which hangs what kinds of records remember from chunk to chunk. */
  memory: object
  /** The last day of the run: a record is done when nothing of it is left due by then. */
  until: IsoDate
  /** The moment to bill at; undefined: the account's own, asked anew for every chunk. */
  moment: Moment | undefined
  totals: RunTotals
  onChunk: (totals: RunTotals) => Promise<void> | void
  /** Another worker leads the run, whose lease is not this one's to renew; left out: this one leads it. */
  isHelper?: boolean
  /** Writes in the transaction of each chunk that it is being done; left out: nothing beside the progress. */
  inChunk?: (tx: Transaction) => Promise<void>
}

/** A walk through the customers with something due on a day, for one phase of the day. */
export interface DayPass {
  day: IsoDate
  kinds: readonly DueKind[]
  /** The second pass waits for customers that were locked in the first. */
  isWaiting: boolean
}

/** Makes the work on a run that the caller has taken. Without a moment each chunk asks the account's own. */
export const workOn = (
  deps: RunDeps,
  account: AccountId,
  runId: Id,
  until: IsoDate,
  about: Partial<Pick<RunWork, 'actor' | 'moment' | 'totals' | 'onChunk'>> = {},
): RunWork => ({
  deps,
  account,
  runId,
  until,
  actor: about.actor ?? `billing run ${runId}`,
  memory: {},
  moment: about.moment,
  totals: about.totals ?? emptyTotals(),
  onChunk: about.onChunk ?? (() => {}),
})

/** Bills the next customers of a pass in one transaction; answers the last that was looked at, null when there are no more. */
export async function billChunk(
  work: RunWork,
  pass: DayPass,
  { afterId, lastId }: { afterId: CustomerId; lastId?: CustomerId },
): Promise<CustomerId | null> {
  const { deps, account, runId } = work
  const { day, kinds } = pass
  const due = { day, after: afterId, limit: deps.chunk ?? (work.moment ? CHUNK_OF_CLOCK : CHUNK), runId }
  const found = await listDueCustomers(kinds, deps.db.reader(account), account, due)
  const wanted = lastId === undefined ? found : found.filter((id) => id <= lastId)
  await billCustomers(work, pass, wanted)
  return wanted.at(-1) ?? null
}

/** Bills customers together; where the database refuses them as a whole, the halves on their own, down to the record that it refuses. */
async function billCustomers(work: RunWork, pass: DayPass, customers: readonly CustomerId[]): Promise<void> {
  if (customers.length === 0) return
  try {
    const chunk = await work.deps.db.transaction(work.account, async (tx) => {
      const locked = await lockFor(tx, work, customers, pass.isWaiting)
      const count = locked.active.length + locked.paused.length
      const chunk = count === 0 ? undefined : await billLocked(tx, work, pass, locked)
      tx.remember(() => chunkOf(work))
      // Behind the account's counter, in the order in which every chunk locks the two.
      const passedOver = customers.length - count
      if (passedOver > 0) await addPassedOver(tx, work.account, work.runId, passedOver)
      return chunk
    })
    if (chunk) count(work, chunk)
  } catch (error) {
    if (isOfDatabase(error)) throw error
    const [customer] = customers
    if (customers.length === 1) return billEach(work, pass, customer as CustomerId)
    const middle = Math.ceil(customers.length / 2)
    await billCustomers(work, pass, customers.slice(0, middle))
    await billCustomers(work, pass, customers.slice(middle))
  }
}

/** Bills each record of a customer on its own: a record that the database refuses again becomes a failure, the others are billed. */
async function billEach(work: RunWork, { day, kinds }: DayPass, customer: CustomerId): Promise<void> {
  const { deps, account, runId } = work
  for (const kind of kinds) {
    for (const record of await kind.listDue(deps.db.reader(account), account, [customer], { day, runId })) {
      try {
        const chunk = await deps.db.transaction(account, async (tx) => {
          const locked = await lockFor(tx, work, [customer], true)
          tx.remember(() => chunkOf(work))
          return billLocked(tx, work, { day, kinds: [kind] }, locked, record.id)
        })
        count(work, chunk)
      } catch (error) {
        if (isOfDatabase(error)) throw error
        count(work, await writeFailure({ work, kind, day }, kind.failureOf(record, error, day)))
      }
    }
  }
}

const chunkOf = ({ runId }: RunWork): Change => ({
  operation: 'chunk of a billing run',
  type: 'billingruns',
  id: String(runId),
  number: null,
})

/** Customers of a chunk that were locked, and for whom and when they are billed. */
interface LockedChunk extends LockedCustomers {
  context: DueContext
}

/** Locks customers, and reads the account behind the locks. */
async function lockFor(
  tx: Transaction,
  work: RunWork,
  customers: readonly CustomerId[],
  isWaiting: boolean,
): Promise<LockedChunk> {
  const [locked, context] = await Promise.all([lockCustomers(tx, customers, isWaiting), contextOf(tx, work)])
  return { ...locked, context }
}

/** The result of one transaction, with the number of records that the run is through with. */
interface BilledChunk extends Planned {
  done: number
}

/** Bills the records due on a day of locked customers, or one of them. */
async function billLocked(
  tx: Transaction,
  work: RunWork,
  { day, kinds }: Omit<DayPass, 'isWaiting'>,
  { context, ...customers }: LockedChunk,
  only?: Id,
): Promise<BilledChunk> {
  const done: BilledChunk = { plans: [], failures: [], done: 0 }
  for (const kind of kinds) {
    const ids = kind.isOfPaused ? customers.paused : customers.active
    if (ids.length === 0) continue
    const { plans, failures } = await kind.work(tx, context, ids, { day, runId: work.runId }, only)
    done.plans.push(...plans)
    done.failures.push(...failures)
    done.done += failures.length + (kind.count ? finished(work, plans) : 0)
  }
  for (const failure of done.failures) await insertFailure(tx, work.account, work.runId, failure)
  await markFailing(tx, context, done.failures)
  const invoices = done.plans.reduce((sum, plan) => sum + plan.invoices.length, 0)
  await Promise.all([
    progress(tx, work, { done: done.done, invoices, failed: done.failures.length }),
    work.inChunk?.(tx),
  ])
  return done
}

/** Counts the plans after which nothing of their record is left due in this run: a late record is planned once for each day. */
const finished = ({ until }: RunWork, plans: Planned['plans']): number =>
  plans.filter(({ state: { dueOn } }) => dueOn === null || dueOn > until).length

const progress = (tx: Transaction, work: RunWork, more: { done: number; invoices: number; failed: number }) =>
  addProgress(tx, work.account, work.runId, { ...more, isHelper: work.isHelper ?? false })

const momentFor = (work: RunWork, account: Account): Moment => work.moment ?? momentOf(account, work.deps.realClock)

async function contextOf(tx: Transaction, work: RunWork): Promise<DueContext> {
  const account = await getAccount(tx, work.account)
  const { hasMailServer = false, warn } = work.deps
  return {
    account,
    actor: work.actor,
    moment: momentFor(work, account),
    hasMailServer,
    memory: work.memory,
    ...(warn && { warn }),
  }
}

/** Writes down that the database refused a record; nothing where somebody has billed it meanwhile. */
const writeFailure = (
  { work, kind, day }: { work: RunWork; kind: DueKind; day: IsoDate },
  failure: RunFailure,
): Promise<BilledChunk> =>
  work.deps.db.transaction(work.account, async (tx) => {
    await lockCustomers(tx, [failure.customerId], true)
    const due = await kind.listDue(tx, tx.account, [failure.customerId], { day, runId: work.runId })
    if (!due.some(({ id }) => id === failure.recordId)) return { plans: [], failures: [], done: 0 }
    await insertFailure(tx, work.account, work.runId, failure)
    await markFailing(tx, await contextOf(tx, work), [failure])
    await progress(tx, work, { done: 1, invoices: 0, failed: 1 })
    return { plans: [], failures: [failure], done: 1 }
  })

function count(work: RunWork, chunk: BilledChunk): void {
  const { totals } = work
  totals.done += chunk.done
  for (const plan of chunk.plans) {
    totals.invoices += plan.invoices.length
    totals.renewals += plan.renewals
    if (plan.ended === 'expired') totals.expired += 1
  }
  totals.failures.push(...chunk.failures)
}
