import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { steadyClock } from '../steady-clock.ts'
import type { Memory, ServerKnowledge, TimelineEnd } from './memory.ts'
import {
  holdingGateways,
  type KnownNumbers,
  listFailoverNumbers,
  markSettled,
  meetServer,
  type Met,
  noteLosses,
  skipLostIdentifiers,
} from './queries.ts'

/** Meeting a server whose timeline is higher than the one before: before this process writes there, what is lost is settled. */

const AGAIN_MS = 50

/** How long the others may take to call. One whose server is frozen finds that out by its silence: two processes may differ by as long as a look and a question take. */
const PATIENCE_MS = { gone: 3_000, silent: 6_000 }

export interface SettleLog {
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

/** Raises the next numbers of an account above those that were given; what is higher already stays. */
export type RaiseNumbers = (db: Database, numbers: KnownNumbers) => Promise<void>

export interface SettleDeps {
  db: Database
  processId: string
  /** Left out where a process remembers nothing: the embedded database has no standby. */
  memory: Memory | undefined
  /** The database of those who wait for this: by it is written what turns up after it is settled. */
  working: Database
  raiseNumbers: RaiseNumbers
  log: SettleLog
}

const NOTHING_KNOWN = { seen: null, lastSentMs: null, numbers: [], commits: [] }

/**
 * Meets the server, and returns its place once this process may write there: the others have had their time to show what they know, and where anything is
 * lost, identifiers, numbers and holds are done. Each step can be done again, by any process; `before` is the timeline that this one worked on until now,
 * null at a start; with `wasSilent` its server was frozen.
 */
export async function meetAndSettle(deps: SettleDeps, before: number | null, wasSilent = false): Promise<Met> {
  const { db, processId, memory } = deps
  const evidence = before === null ? NOTHING_KNOWN : (memory?.evidence(before) ?? NOTHING_KNOWN)
  const patienceMs = PATIENCE_MS[wasSilent ? 'silent' : 'gone']
  const meet = (knows: ServerKnowledge) => meetServer(db.unscoped, { processId, before, patienceMs }, knows)
  const first = await meet(evidence)
  let met = first
  // Numbers that others know count, so all are waited for, also where the loss is known.
  while (met.isMove && met.waitMs > 0 && !met.isSettled) {
    await delay(Math.min(AGAIN_MS, met.waitMs))
    // Its numbers and commits were taken by the first call.
    met = await meet({ ...evidence, numbers: [], commits: [] })
  }
  if (!met.isMove || !first.isMove) return met
  const isMine = before !== null
  if (met.isLossy && (!met.isSettled || (isMine && first.isOwnLoss))) await settleLoss(deps, met.id)
  if (met.isLossy && isMine && memory) await noteAll({ ...deps, memory }, { ...met, lost: first.lost })
  if (isMine) memory?.forgetCommits()
  if (isMine || first.isNew || (met.isLossy && !met.isSettled)) report(deps.log, met)
  return met
}

/** Writes down what is missing, and from then on what began before and is noted only later. */
async function noteAll(
  { db, working, processId, memory, log }: SettleDeps & { memory: Memory },
  { id, ...end }: Pick<Extract<Met, { isMove: true }>, 'id'> & TimelineEnd,
): Promise<void> {
  memory.noteLater(steadyClock(), (change) => {
    noteLosses(working.unscoped, id, processId, [change]).catch((error: unknown) =>
      log.error(
        `${change.operation} ${change.id ?? ''} may be lost by the failover, and could not be noted: ${String(error)}`,
      ),
    )
  })
  await noteLosses(db.unscoped, id, processId, memory.after(end))
}

/** Does what a loss asks for: identifiers, numbers, holds. */
export async function settleLoss(
  { db, raiseNumbers }: Pick<SettleDeps, 'db' | 'raiseNumbers'>,
  id: string,
): Promise<void> {
  await skipLostIdentifiers(db.unscoped, id)
  for (const numbers of await listFailoverNumbers(db.unscoped, id)) await raiseNumbers(db, numbers)
  await db.unscoped.rows(holdingGateways('failover'))
  await markSettled(db.unscoped, id)
}

function report(log: SettleLog, met: Extract<Met, { isMove: true }>): void {
  const { timeline, isLossy, isKnown, bytesLost } = met
  if (isLossy)
    log.error(
      `the database server of timeline ${timeline} lacks what was acknowledged before${bytesLost ? ` (${bytesLost} bytes of the log)` : ''}: every gateway of a live account is held; "perennial after-failover" lists what is missing`,
    )
  else if (isKnown) log.info(`the database server of timeline ${timeline} has all that was acknowledged before`)
  else
    log.warn(
      `nobody can tell whether the database server of timeline ${timeline} has all that was acknowledged before: if something may be missing, run  perennial after-failover --lossy`,
    )
}
