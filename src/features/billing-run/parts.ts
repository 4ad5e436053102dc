import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { earlier } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { momentOf } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
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

const PART_SIZE = 4_000
/** Above every identifier there can be: the last part takes whoever has come meanwhile. */
const ABOVE_ALL = 2n ** 63n - 1n
const LOOK_EVERY_MS = 200

/** Bills a pass in parts; false where it is too small for that, or belongs to a moved clock, which only its own process knows. */
export async function billInParts(work: RunWork, pass: DayPass, phase: number): Promise<boolean> {
  const { deps, account, runId } = work
  const { db } = deps
  if (work.moment) return false
  const lasts = await lastsOfParts(work, pass)
  if (lasts.length < 2) return false
  await db.transaction(account, (tx) => replaceParts(tx, runId, { day: pass.day, phase, lasts }))
  while ((await countParts(db.reader(account), account, runId)) > 0) {
    if (await billNextPart(work)) continue
    // Others have the rest; the lease of the run is this one's to renew.
    await db.transaction(account, (tx) => addProgress(tx, account, runId, { done: 0, invoices: 0, failed: 0 }))
    await work.onChunk(work.totals)
    await sleep(LOOK_EVERY_MS)
  }
  return true
}

/** Returns the last customer of each part: as many that are due for each, however their identifiers lie. */
async function lastsOfParts({ deps, account, runId }: RunWork, { day, kinds }: DayPass): Promise<CustomerId[]> {
  const { db, partSize: limit = PART_SIZE } = deps
  const lasts: CustomerId[] = []
  let after: CustomerId | undefined = 0n
  while (after !== undefined) {
    const some: CustomerId[] = await listDueCustomers(kinds, db.reader(account), account, { day, after, limit, runId })
    after = some.at(-1)
    if (after !== undefined) lasts.push(after)
    if (some.length < limit) break
  }
  if (lasts.length > 0) lasts[lasts.length - 1] = ABOVE_ALL
  return lasts
}

/** Takes the next part that nobody has, and bills it; false where there is none. */
async function billNextPart(work: RunWork): Promise<boolean> {
  const { db, order } = work.deps
  const part = await db.transaction(work.account, (tx) => leasePart(tx, work.runId, randomUUID()))
  if (!part) return false
  // Of the part, not of the caller: who was taken for dead while busy finds parts of a later pass here.
  const pass = { day: part.day, kinds: order[part.phase] ?? [], isWaiting: false }
  await billPart(work, pass, part)
  return true
}

async function billPart(work: RunWork, pass: DayPass, part: RunPart): Promise<void> {
  const { db } = work.deps
  let isLost = false
  const inPart: RunWork = {
    ...work,
    inChunk: async (tx) => {
      isLost = !(await renewPart(tx, part))
    },
  }
  try {
    for (;;) {
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
  await db.transaction(work.account, (tx) => deletePart(tx, part))
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
  let hasHelped = false
  while (await billNextPart(work)) hasHelped = true
  return hasHelped ? work.totals : undefined
}
