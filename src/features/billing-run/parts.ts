import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { earlier } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { momentOf } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { relaxedCommits } from '../../platform/database/relaxed-commits.ts'
import { listDueCustomers } from './due-kind.ts'
import {
  countParts,
  deletePart,
  leasePart,
  releasePart,
  renewPart,
  replaceParts,
  type RunPart,
} from './parts-queries.ts'
import { addProgress, findRun } from './queries.ts'
import { billChunk, type DayPass, type RunDeps, type RunTotals, type RunWork, workOn } from './chunk.ts'

/**
 * Large passes of a run in parts: the worker that leads the run divides the customers of a pass, and it and whoever else is there bill one part after
 * the other, each under a lease. The pass is over when no part is left. A worker that dies costs its part's lease and nothing else: what it billed has
 * moved its due day, and the part goes on after the last chunk that is known.
 */

/** As many records of each list as a chunk has: of the last parts every worker has one, and whoever is through first waits for little more than a chunk. */
const PART_SIZE = 4_000
/** A pass of which so many parts cannot be made is billed at once. */
const PARTS_LEAST = 3
/** Above every identifier there can be: the last part takes whoever has come meanwhile. */
const ABOVE_ALL = 2n ** 63n - 1n
/** How long a leader whose parts all are others' waits before it looks again: twice as long each time. */
const LOOK_AFTER_MS = 10
const LOOK_EVERY_MS = 200

/** Bills a pass in parts; false where it is too small for that, or belongs to a moved clock, which only its own process knows. */
export async function billInParts(work: RunWork, pass: DayPass, phase: number): Promise<boolean> {
  const { deps, account, runId } = work
  const { db } = deps
  if (work.moment) return false
  const lasts = await lastsOfParts(work, pass)
  if (lasts.length < PARTS_LEAST) return false
  // All in one transaction: where no part is left the pass is over, whoever looks.
  await db.transaction(account, (tx) => replaceParts(tx, runId, { day: pass.day, phase, lasts }))
  for (let waitMs = LOOK_AFTER_MS; ; waitMs = Math.min(2 * waitMs, LOOK_EVERY_MS)) {
    if (await billFreeParts(work)) waitMs = LOOK_AFTER_MS
    if ((await countParts(db.reader(account), account, runId)) === 0) return true
    // Others have the rest; the lease of the run is this one's to renew.
    await db.transaction(account, (tx) => addProgress(tx, account, runId, { done: 0, invoices: 0, failed: 0 }))
    await work.onChunk(work.totals)
    await sleep(waitMs)
  }
}

/** Returns the last customer of each part: as many records that are due of a kind for each, however their identifiers lie, except for the last, which is open. */
async function lastsOfParts({ deps, account, runId }: RunWork, { day, kinds }: DayPass): Promise<CustomerId[]> {
  const { db, partSize = PART_SIZE } = deps
  const lasts: CustomerId[] = []
  let after: CustomerId | undefined = 0n
  while (after !== undefined) {
    const due = { day, after, limit: 1, skip: partSize - 1, runId }
    ;[after] = await listDueCustomers(kinds, db.reader(account), account, due)
    lasts.push(after ?? ABOVE_ALL)
  }
  return lasts
}

/** Takes and bills parts that nobody has, one after the other, until there are none; false where there was none. */
async function billFreeParts(work: RunWork): Promise<boolean> {
  const { deps, account, runId } = work
  // A machine that dies may forget who had which part, never what was billed of it.
  const { db } = relaxedCommits(deps.db)
  let billed: RunPart | undefined
  for (;;) {
    const part = await db.transaction(account, async (tx) => {
      if (billed) await deletePart(tx, billed)
      return leasePart(tx, runId, randomUUID())
    })
    if (!part) return billed !== undefined
    await billPart(work, part)
    billed = part
  }
}

/** Bills a part to its end, or to the chunk after which it is another worker's. */
async function billPart(work: RunWork, part: RunPart): Promise<void> {
  const { db, order } = work.deps
  // Of the part, not of the caller: who was taken for dead while busy finds parts of a later pass here.
  const pass = { day: part.day, kinds: order[part.phase] ?? [], isWaiting: false }
  let isLost = false
  const inPart: RunWork = {
    ...work,
    inChunk: async (tx) => {
      isLost = !(await renewPart(tx, part))
    },
  }
  try {
    while (part.afterId < part.lastId) {
      const reached = await billChunk(inPart, pass, part)
      if (reached === null) break
      part.afterId = reached
      // Its lease has lapsed and somebody else goes on with it: nothing is wrong, and nothing is left to do here.
      if (isLost) return
      await work.onChunk(work.totals)
    }
  } catch (error) {
    await db.transaction(work.account, (tx) => releasePart(tx, part)).catch(() => {})
    throw error
  }
}

/** Bills parts of a run that another worker leads, as long as there are any; undefined where there was none. */
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
  return (await billFreeParts(work)) ? work.totals : undefined
}
