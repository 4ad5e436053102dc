import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import type { Memory } from './memory.ts'
import {
  holdForFailover,
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
  raiseNumbers: RaiseNumbers
  log: SettleLog
}

const NOTHING_KNOWN = { seen: null, lastSentMs: null, numbers: [] }

/**
 * Meets the server, and returns its place once this process may write there: the others have had their time to show what they know, and where anything is
 * lost, identifiers, numbers and holds are done. Each step can be done again, by any process; `timeline` is that of the server, null at a start.
 */
export async function meetAndSettle(deps: SettleDeps, timeline: number | null): Promise<Met> {
  const { db, processId, memory } = deps
  const evidence = timeline === null ? NOTHING_KNOWN : (memory?.evidence(timeline) ?? NOTHING_KNOWN)
  const first = await meetServer(db.unscoped, processId, evidence)
  let met = first
  // Numbers that others know count, so all are waited for, also where the loss is known.
  while (met.isMove && met.waitMs > 0 && !met.isSettled) {
    await delay(Math.min(AGAIN_MS, met.waitMs))
    met = await meetServer(db.unscoped, processId, evidence)
  }
  if (!met.isMove || !first.isMove) return met
  const isMine = timeline !== null
  if (met.isLossy && (!met.isSettled || (isMine && met.isOwnLoss))) await settleLoss(deps, met.id)
  if (met.isLossy && isMine && met.replayedAtMs !== null)
    await noteLosses(db.unscoped, met.id, processId, memory?.after(met.replayedAtMs) ?? [])
  if (isMine || first.isNew || (met.isLossy && !met.isSettled)) report(deps.log, met)
  return met
}

/** Does what a loss asks for: identifiers, numbers, holds. */
export async function settleLoss(
  { db, raiseNumbers }: Pick<SettleDeps, 'db' | 'raiseNumbers'>,
  id: string,
): Promise<void> {
  await skipLostIdentifiers(db.unscoped, id)
  for (const numbers of await listFailoverNumbers(db.unscoped, id)) await raiseNumbers(db, numbers)
  await holdForFailover(db.unscoped)
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
