import { earlier, type IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { momentOf } from '../../kernel/context.ts'
import { whilePresent } from '../../platform/long/presence.ts'
import { getAccount } from '../accounts/queries.ts'
import { failureText } from './clock-failure.ts'
import { billChunk, type DayPass, type RunDeps, type RunTotals, type RunWork, workOn } from './chunk.ts'
import { countDue, findDueAfter } from './due-kind.ts'
import { billInSlices } from './slices.ts'
import { deleteSlices } from './slice-queries.ts'
import { learnAccount } from './known-account.ts'
import {
  addProgress,
  type BillingRun,
  countPassedOver,
  findRun,
  finishRun,
  leaseRun,
  updateOutcome,
} from './queries.ts'

/**
 * The billing run: everything that is due on an account up to a day, in chunks of one transaction each. It can be killed anywhere and goes
 * on where it was: what is billed has moved its due day in the same transaction, what is not is still due.
 */

/** Takes a run and works it to its end; undefined when it is finished or another worker has it. */
export async function workRun(
  deps: RunDeps,
  account: AccountId,
  runId: Id,
  onChunk?: RunWork['onChunk'],
): Promise<(RunTotals & { run: BillingRun }) | undefined> {
  const run = await deps.db.transaction(account, (tx) => takeRun(tx, deps, runId))
  if (!run) return undefined
  const known = await getAccount(deps.db.reader(account), account)
  const { today } = momentOf(known, deps.realClock)
  await learnDue(deps.db, account, run)
  const present = { kind: 'billing_run', about: String(runId) } as const
  // The run of a clock that was cut short names a day that the clock has not reached.
  const work = workOn(deps, account, runId, earlier(run.untilDate, today), onChunk ? { onChunk } : {})
  await whilePresent(deps.db, account, present, () => billUntil(work, work.until))
  // Whoever moved the clock ends its run itself: here it was cut off.
  if (run.cause === 'clock')
    await deps.db.transaction(account, (tx) =>
      updateOutcome(tx, account, runId, { result: null, failure: failureText(known, undefined, today) }),
    )
  const ended = await endRun(deps, account, runId)
  return { ...work.totals, run: ended }
}

/** Ends a run, and returns it with what all workers did of it. `endWith` is done in the same transaction. */
export async function endRun(
  deps: RunDeps,
  account: AccountId,
  runId: Id,
  endWith?: (tx: Transaction) => Promise<unknown>,
): Promise<BillingRun> {
  const ended = await deps.db.transaction(account, async (tx) => {
    // In the order in which a chunk locks them.
    const finished = await finishRun(tx, account, runId, instantOf(deps.realClock()))
    await deleteSlices(tx, runId)
    await endWith?.(tx)
    return finished
  })
  await learnAccount(deps.db, account, { about: 'issued', records: ended.invoices })
  return ended
}

/** Lets PostgreSQL look at what a run reads where it does not know the account, and keeps the lease of the run meanwhile. */
export const learnDue = (db: Database, account: AccountId, { id, total }: Pick<BillingRun, 'id' | 'total'>) =>
  learnAccount(db, account, { about: 'due', records: total }, () =>
    db.transaction(account, (tx) => addProgress(tx, account, id, { done: 0, invoices: 0, failed: 0 })),
  )

/** Takes a run for this worker, inside the caller's transaction; undefined when it is finished or another worker has it. */
export async function takeRun(
  tx: Transaction,
  { realClock, order }: Pick<RunDeps, 'realClock' | 'order'>,
  runId: Id,
): Promise<BillingRun | undefined> {
  const run = await findRun(tx, tx.account, runId)
  if (!run || run.finishedAt !== null) return undefined
  const total = await countDue(order, tx, tx.account, run.untilDate)
  return leaseRun(tx, tx.account, runId, instantOf(realClock()), total)
}

/** Bills day by day, oldest first, until nothing due is left but what failed. */
export async function billUntil(work: RunWork, until: IsoDate): Promise<void> {
  const { db, order } = work.deps
  const reader = db.reader(work.account)
  const passedOver = () => countPassedOver(reader, work.account, work.runId)
  let seen = await passedOver()
  let day = await findDueAfter(order, reader, work.account, '0001-01-01', until)
  while (day !== null) {
    for (const [phase, kinds] of order.entries()) {
      const pass = { day, kinds, isWaiting: false }
      if (!(await billInSlices(work, pass, phase))) await billPass(work, pass)
      for (const { closeDay } of kinds) await closeDay?.(db, work.account, day)
      const now = await passedOver()
      // What is billed lies in the index until it is cleaned: nobody looks through it where everybody was there.
      if (now > seen) await billPass(work, { day, kinds, isWaiting: true })
      seen = now
    }
    day = await findDueAfter(order, reader, work.account, day, until)
  }
}

async function billPass(work: RunWork, pass: DayPass): Promise<void> {
  let after: CustomerId | null = 0n
  while (after !== null) {
    after = await billChunk(work, pass, { afterId: after })
    await work.onChunk(work.totals)
  }
}
