import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { earlier } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { momentOf } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { relaxedCommits } from '../../platform/database/relaxed-commits.ts'
import { listDueCustomers } from './due-kind.ts'
import {
  countSlices,
  deleteSlice,
  leaseSlice,
  releaseSlice,
  renewSlice,
  replaceSlices,
  type RunSlice,
} from './slice-queries.ts'
import { addProgress, findRun } from './queries.ts'
import { billChunk, type DayPass, type RunDeps, type RunTotals, type RunWork, workOn } from './chunk.ts'

/**
 * Large passes of a run in slices: the worker that leads the run divides the customers of a pass, and it and whoever else is there bill one slice after
 * the other, each under a lease. The pass is over when no slice is left. A worker that dies costs its slice's lease and nothing else: what it billed has
 * moved its due day, and the slice goes on after the last chunk that is known.
 */

/** As many records of each list as a chunk has: of the last slices every worker has one, and whoever is through first waits for little more than a chunk. */
const PART_SIZE = 4_000
/** A pass of which so many slices cannot be made is billed at once. */
const SLICES_LEAST = 3
/** Above every identifier there can be: the last slice takes whoever has come meanwhile. */
const ABOVE_ALL = 2n ** 63n - 1n
/** How long a leader whose slices all are others' waits before it looks again: twice as long each time. */
const LOOK_AFTER_MS = 10
const LOOK_EVERY_MS = 200

/** Bills a pass in slices; false where it is too small for that, or belongs to a moved clock, which only its own process knows. */
export async function billInSlices(work: RunWork, pass: DayPass, phase: number): Promise<boolean> {
  const { deps, account, runId } = work
  const { db } = deps
  if (work.moment) return false
  const lasts = await lastsOfSlices(work, pass)
  if (lasts.length < SLICES_LEAST) return false
  // All in one transaction: where no slice is left the pass is over, whoever looks.
  await db.transaction(account, (tx) => replaceSlices(tx, runId, { day: pass.day, phase, lasts }))
  for (let waitMs = LOOK_AFTER_MS; ; waitMs = Math.min(2 * waitMs, LOOK_EVERY_MS)) {
    if (await billFreeSlices(work)) waitMs = LOOK_AFTER_MS
    if ((await countSlices(db.reader(account), account, runId)) === 0) return true
    // Others have the rest; the lease of the run is this one's to renew.
    await db.transaction(account, (tx) => addProgress(tx, account, runId, { done: 0, invoices: 0, failed: 0 }))
    await work.onChunk(work.totals)
    await sleep(waitMs)
  }
}

/** Returns the last customer of each slice: as many records that are due of a kind for each, however their identifiers lie, except for the last, which is open. */
async function lastsOfSlices({ deps, account, runId }: RunWork, { day, kinds }: DayPass): Promise<CustomerId[]> {
  const { db, sliceSize = PART_SIZE } = deps
  const lasts: CustomerId[] = []
  let after: CustomerId | undefined = 0n
  while (after !== undefined) {
    const due = { day, after, limit: 1, skip: sliceSize - 1, runId }
    ;[after] = await listDueCustomers(kinds, db.reader(account), account, due)
    lasts.push(after ?? ABOVE_ALL)
  }
  return lasts
}

/** Takes and bills slices that nobody has, one after the other, until there are none; false where there was none. */
async function billFreeSlices(work: RunWork): Promise<boolean> {
  const { deps, account, runId } = work
  // A machine that dies may forget who had which slice, never what was billed of it.
  const { db } = relaxedCommits(deps.db)
  let billed: RunSlice | undefined
  for (;;) {
    const slice = await db.transaction(account, async (tx) => {
      if (billed) await deleteSlice(tx, billed)
      return leaseSlice(tx, runId, randomUUID())
    })
    if (!slice) return billed !== undefined
    await billSlice(work, slice)
    billed = slice
  }
}

/** Bills a slice to its end, or to the chunk after which it is another worker's. */
async function billSlice(work: RunWork, slice: RunSlice): Promise<void> {
  const { db, order } = work.deps
  // Of the slice, not of the caller: who was taken for dead while busy finds slices of a later pass here.
  const pass = { day: slice.day, kinds: order[slice.phase] ?? [], isWaiting: false }
  let isLost = false
  const inSlice: RunWork = {
    ...work,
    inChunk: async (tx) => {
      isLost = !(await renewSlice(tx, slice))
    },
  }
  try {
    while (slice.afterId < slice.lastId) {
      const reached = await billChunk(inSlice, pass, slice)
      if (reached === null) break
      slice.afterId = reached
      // Its lease has lapsed and somebody else goes on with it: nothing is wrong, and nothing is left to do here.
      if (isLost) return
      await work.onChunk(work.totals)
    }
  } catch (error) {
    await db.transaction(work.account, (tx) => releaseSlice(tx, slice)).catch(() => {})
    throw error
  }
}

/** Bills slices of a run that another worker leads, as long as there are any; undefined where there was none. */
export async function helpRun(
  deps: RunDeps,
  account: AccountId,
  runId: Id,
  onChunk?: RunWork['onChunk'],
): Promise<RunTotals | undefined> {
  const reader = deps.db.reader(account)
  const run = await findRun(reader, account, runId)
  if (!run || run.finishedAt !== null) return undefined
  const { today } = momentOf(await getAccount(reader, account), deps.realClock)
  const led = workOn(deps, account, runId, earlier(run.untilDate, today), onChunk ? { onChunk } : {})
  const work = { ...led, isHelper: true }
  return (await billFreeSlices(work)) ? work.totals : undefined
}
