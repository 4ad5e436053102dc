import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { connectionEnded, isOutage, isUnavailable } from '../database/failures.ts'
import type { Settle } from '../database/servers.ts'
import { steadyClock } from '../steady-clock.ts'
import type { Memory, ServerKnowledge, TimelineEnd } from './memory.ts'
import {
  awaitsNotes,
  holdingGateways,
  type KnownNumbers,
  listFailoverNumbers,
  markDone,
  markSettled,
  meetServer,
  type Met,
  noteLosses,
  skipLostIdentifiers,
} from './queries.ts'

/** Meeting a server whose timeline is higher than the one before: before this process writes there, what is lost is settled. */

const AGAIN_MS = 50

/**
 * How long the others may take to call. One whose server is frozen finds that out by its silence: two processes may differ by as long as a look and a question
 * take. One that starts then has looked for no silence, and may be the first here while all others still wait for an answer.
 */
const PATIENCE_MS = { gone: 3_000, silent: 6_000, startBesideSilent: 10_000 }

/** How long one that has called may take, when the time of all is over, until it has written down what it knows. One that takes longer has died. */
const NOTING_MS = 3_000

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

/** Origin of a process that meets a server. */
export interface Origin {
  /** The timeline that it worked on until now; null at a start. */
  before: number | null
  /** The server before was frozen. */
  wasSilent?: boolean
}

/**
 * Meets the server, and returns its place once this process may write there: the others have had their time to show what they know, and where anything is
 * lost, identifiers, numbers and holds are done. Each step can be done again, by any process.
 */
export async function meetAndSettle(deps: SettleDeps, { before, wasSilent = false }: Origin): Promise<Met> {
  const { db, processId, memory } = deps
  const evidence = before === null ? NOTHING_KNOWN : (memory?.evidence(before) ?? NOTHING_KNOWN)
  const patienceMs = PATIENCE_MS[!wasSilent ? 'gone' : before === null ? 'startBesideSilent' : 'silent']
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
  if (isMine) await markDone(db.unscoped, met.id, processId)
  if (isMine) memory?.forgetCommits()
  // What is noted decides what leaves again: whoever has called writes it down before anybody goes on.
  while (met.isLossy && (await awaitsNotes(db.unscoped, met.id, patienceMs + NOTING_MS))) await delay(AGAIN_MS)
  if (isMine || first.isNew || (met.isLossy && !met.isSettled)) report(deps.log, met)
  // The others had waited for as long as they do, and write.
  if (isMine && first.isOwnLoss && first.lateMs > patienceMs)
    deps.log.error(
      'this process met the new database server later than others waited for it: numbers of invoices and credit notes that it remembers may have been given again since; "perennial after-failover" names each of them',
    )
  return met
}

/** Makes what settles a failover of a running process, on connections that `open` makes. Whatever fails there, nobody writes, and the next one tries again. */
export function settling(deps: Omit<SettleDeps, 'db'>, open: () => Database): Settle {
  let failure = ''
  return async (before, wasSilent) => {
    const db = open()
    try {
      const { timeline } = await meetAndSettle({ ...deps, db }, { before, wasSilent })
      failure = ''
      return timeline
    } catch (error) {
      if (isOutage(error) || isUnavailable(error)) throw error
      if (String(error) !== failure)
        deps.log.error(`nothing is written, because what the failover has lost cannot be settled: ${String(error)}`)
      failure = String(error)
      throw connectionEnded('what a failover has lost is not settled')
    } finally {
      await db.close()
    }
  }
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
  else log.warn(unknownLoss(met))
}

/** Words a failover of which no process knew enough to notice a loss. */
export const unknownLoss = ({ timeline }: { timeline: number }): string =>
  `nobody can tell whether the database server of timeline ${timeline} has all that was acknowledged before: if something may be missing, run  perennial after-failover --lossy`
