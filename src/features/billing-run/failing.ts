import type { IsoDate } from '../../kernel/calendar.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Moment, Warn } from '../../kernel/context.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isRetryable } from '../../platform/database/failures.ts'
import { insertEvents } from '../events/queries.ts'
import {
  deleteFailing,
  FAILING_TYPES,
  type FailingRecord,
  type FailingState,
  type FailingType,
  type Gap,
  updateGaps,
  upsertFailing,
} from './failing-queries.ts'
import { FailingOut } from './failing-wire.ts'
import { reasonsOf } from './due-kind.ts'
import type { RunFailure } from './queries.ts'

/** Records of which what is due cannot be billed: from their first failure until they are billed they are listed, and both have an event. */

/** Time of a change, and who makes it, as events name it. */
interface Happening {
  moment: Moment
  actor: string
  warn?: Warn
}

const isFailingType = (type: string): type is FailingType => (FAILING_TYPES as readonly string[]).includes(type)

const recordEvents = (
  tx: Transaction,
  { moment, actor }: Happening,
  event: 'billing_failed' | 'billing_recovered',
  records: readonly FailingRecord[],
) =>
  insertEvents(
    tx,
    records.map((record) => ({
      type: `${record.recordType}.${event}` as const,
      recordId: record.recordId,
      customerId: record.customerId,
      happenedAt: moment.now,
      actor,
      reason: null,
      record: FailingOut.write(record),
    })),
  )

/**
 * Writes failures down, with the gap after which each record could not be billed, and an event for each record that did not fail before. Each is
 * logged once it is committed.
 */
export async function markFailing(
  tx: Transaction,
  about: Happening,
  failures: readonly Omit<RunFailure, 'dueOn'>[],
  gap?: Gap,
): Promise<void> {
  const { warn } = about
  if (warn && failures.length > 0) tx.afterCommit(() => logFailures(warn, tx.account, failures))
  const { now } = about.moment
  const records = failures.flatMap(({ recordType, recordId, customerId, reason }): FailingState[] =>
    isFailingType(recordType)
      ? [{ recordType, recordId, customerId, reason, since: now, lastTried: now, gaps: gap ? [gap] : [] }]
      : [],
  )
  if (records.length === 0) return
  const isNew = await upsertFailing(tx, tx.account, records)
  if (isNew.length > 0) await recordEvents(tx, about, 'billing_failed', isNew)
}

function logFailures(warn: Warn, account: AccountId, failures: readonly Omit<RunFailure, 'dueOn'>[]): void {
  for (const { recordType, recordId, loggedReason } of failures) {
    const record = `${recordType} ${recordId}`
    warn({ account: String(account), record, reason: loggedReason }, 'a record could not be billed')
  }
}

/** A failing record of which something was billed, with the day on which it is due next. */
export interface Recovering {
  failing: FailingState
  dueOn: IsoDate | null
}

/** Ends the failing of records of which nothing is left due, with an event; of others keeps the gaps that are still to be got past. */
export async function markBilled(tx: Transaction, about: Happening, billed: readonly Recovering[]): Promise<void> {
  const { today, now } = about.moment
  const isDone = ({ dueOn }: Recovering) => dueOn === null || dueOn > today
  for (const { failing } of billed.filter((one) => !isDone(one))) await updateGaps(tx, tx.account, failing)
  const done = billed.filter(isDone).map(({ failing }) => ({ ...failing, lastTried: now }))
  if (done.length === 0) return
  for (const type of FAILING_TYPES) {
    const ids = done.filter(({ recordType }) => recordType === type).map(({ recordId }) => recordId)
    if (ids.length > 0) await deleteFailing(tx, tx.account, type, ids)
  }
  await recordEvents(tx, about, 'billing_recovered', done)
}

/** Returns the gaps of which the return lies after a day: billing up to that day has not got past them. */
export const gapsAfter = (gaps: readonly Gap[], day: IsoDate): readonly Gap[] => gaps.filter(({ until }) => until > day)

/** Returns the day on which a record is due, seen through its gaps: nothing is billed in one, but all that waits on the day of the return. */
export function dueThrough(gaps: readonly Gap[], dueOn: IsoDate | null): IsoDate | null {
  if (dueOn === null) return null
  let day = dueOn
  for (const { from, until } of gaps) if (day >= from && day < until) day = until
  return day
}

/** Returns whether a failure is not of the record: the database is away or begins the transaction again. */
export const isOfDatabase = (error: unknown): boolean =>
  (error instanceof Fault && error.kind === 'unavailable') || isRetryable(error)

/**
 * Runs work that bills, so that a failure takes back this work alone. Returns the failure; undefined where it succeeded. Throws what is no
 * failure of the record.
 */
export async function tried(tx: Transaction, work: () => Promise<void>): Promise<{ error: unknown } | undefined> {
  try {
    await tx.savepoint(work)
    return undefined
  } catch (error) {
    if (isOfDatabase(error)) throw error
    return { error }
  }
}

/** Records of a customer that is billed again, each with the function that plans it, which throws where it is broken. */
interface Returning<P> {
  type: FailingType
  onceConstraint: string
  gap: Gap
  records: readonly { id: Id; customerId: CustomerId; plan(): P }[]
  apply(plans: readonly P[]): Promise<void>
}

/** Bills the records of a customer that is billed again: all together or, where that fails, individually. Those that fail keep the gap. */
export async function billEachReturning<P>(tx: Transaction, about: Happening, returning: Returning<P>): Promise<void> {
  const { type, onceConstraint, gap, records, apply } = returning
  if (records.length === 0) return
  if (!(await tried(tx, () => apply(records.map(({ plan }) => plan()))))) return
  for (const { id, customerId, plan } of records) {
    const failed = await tried(tx, async () => apply([plan()]))
    if (!failed) continue
    const failure = { recordType: type, recordId: id, customerId, ...reasonsOf(failed.error, onceConstraint) }
    await markFailing(tx, about, [failure], gap)
  }
}
