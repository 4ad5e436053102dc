import { earliest, type IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { type DueCustomers, type DueDay, type DueTable, nextOfBoth } from '../../platform/database/due.ts'
import type { Account, Moment, Warn } from '../../kernel/context.ts'
import { Fault } from '../../kernel/fault.ts'
import { constraintOf } from '../../platform/database/failures.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import type { RunFailure } from './queries.ts'

/**
 * Kinds of records that fall due on days. Each feature declares its own beside its rules; the run is handed all of them in the order of a
 * day and knows none.
 */

export interface DueRecord {
  id: Id
  customerId: CustomerId
  dueOn: IsoDate | null
}

/** The counts that a run takes of a plan, and the day on which its record is due next. */
export interface DuePlan {
  state: { dueOn: IsoDate | null }
  invoices: readonly { currency: string; totalMinor: bigint }[]
  renewals: number
  ended: 'cancelled' | 'expired' | null
}

/** The account and the moment for which a run works, and who it is. */
export interface DueContext {
  account: Account
  moment: Moment
  actor: string
  hasMailServer?: boolean
  /** Left out: nothing is logged. */
  warn?: Warn
  /** Object of the run on which hangs what a kind remembers of its chunks; left out: nothing is remembered. */
  memory?: object
}

interface DueFacts {
  /** The kind's name in failures of a run and in metrics; kinds of one sort of record share it. */
  recordType: string
  /** The field that names its records in the failures of a run; left out: the customer names them. */
  idField?: string
  /** The table whose rows are counted for /metrics, under `recordType`; left out: they are not counted there. */
  table?: DueTable
  /** Its records are due while their customers are suspended or archived, instead of while they are not. */
  isOfPaused?: boolean
  findAfter(db: Queryable, account: AccountId, day: IsoDate, until: IsoDate): Promise<IsoDate | null>
  /** Lists the customers of the next records, each as often as they have some, in identifier order. */
  listCustomers(db: Queryable, account: AccountId, due: DueCustomers): Promise<CustomerId[]>
  /** Does what follows when a day is billed, before the run comes back to whom it passed over; left out: nothing does. */
  closeDay?(db: Database, account: AccountId, day: IsoDate): Promise<void>
  /** Counts records due up to a day; left out: a run's progress does not count them. */
  count?(db: Queryable, account: AccountId, until: IsoDate): Promise<number>
}

interface Declared<R extends DueRecord, P extends DuePlan> extends DueFacts {
  /** The constraint that refuses to bill a period twice; left out: it bills none. */
  onceConstraint?: string
  listDue(db: Queryable, account: AccountId, customers: readonly CustomerId[], due: DueDay): Promise<R[]>
  /** Lists records due up to a day, page by page, without locks; left out: a forecast does not look at them. */
  listForecast?(db: Queryable, account: AccountId, until: IsoDate, after: Id, limit: number): Promise<R[]>
  /** Reads what planning these records needs, once for all of them; the plan itself is pure, and throws where a record is broken. */
  planner(
    db: Queryable,
    context: Pick<DueContext, 'account' | 'moment'>,
    records: readonly R[],
  ): Promise<(record: R, day?: IsoDate) => P>
  /**
   * Bills those of the due records of locked customers that are alike in all that counts, without making anything for each. Returns their plans, and
   * whether nothing else is due; left out: each record is planned on its own.
   */
  billAlike?(
    tx: Transaction,
    context: DueContext,
    customers: readonly CustomerId[],
    due: DueDay,
  ): Promise<{ plans: P[]; isAll: boolean }>
  /** Writes the plans of records of locked customers. */
  apply(tx: Transaction, context: DueContext, plans: readonly P[]): Promise<void>
}

/** Plans, and the records that could not be planned. */
export interface Planned {
  plans: DuePlan[]
  failures: RunFailure[]
}

/** A kind as the run sees it. */
export interface DueKind extends DueFacts {
  listDue(db: Queryable, account: AccountId, customers: readonly CustomerId[], due: DueDay): Promise<DueRecord[]>
  listForecast?(db: Queryable, account: AccountId, until: IsoDate, after: Id, limit: number): Promise<DueRecord[]>
  /** Plans records; a broken record becomes a failure with its reason and stops nothing. */
  plan(
    db: Queryable,
    context: Pick<DueContext, 'account' | 'moment'>,
    records: readonly DueRecord[],
    day?: IsoDate,
  ): Promise<Planned>
  /** Plans and writes the due records of locked customers, or one of them. A later day's records wait for its own pass. */
  work(tx: Transaction, context: DueContext, customers: readonly CustomerId[], due: DueDay, only?: Id): Promise<Planned>
  /** Describes a record that could not be worked on a day; left out: the day on which it is due. */
  failureOf(record: DueRecord, error: unknown, day?: IsoDate): RunFailure
}

/** Declares a kind of due records. */
export function dueKind<R extends DueRecord, P extends DuePlan>(kind: Declared<R, P>): DueKind {
  const failureOf = (record: DueRecord, error: unknown, day?: IsoDate): RunFailure => ({
    recordType: kind.recordType,
    recordId: record.id,
    customerId: record.customerId,
    dueOn: day ?? (record.dueOn as IsoDate),
    ...reasonsOf(error, kind.onceConstraint ?? ''),
  })
  async function plan(
    db: Queryable,
    context: Pick<DueContext, 'account' | 'moment'>,
    records: readonly R[],
    day?: IsoDate,
  ) {
    const plans: P[] = []
    const failures: RunFailure[] = []
    if (records.length === 0) return { plans, failures }
    const planOne = await kind.planner(db, context, records)
    for (const record of records) {
      try {
        plans.push(planOne(record, day))
      } catch (error) {
        failures.push(failureOf(record, error, day))
      }
    }
    return { plans, failures }
  }
  return {
    ...kind,
    failureOf,
    plan: (db, context, records, day) => plan(db, context, records as readonly R[], day),
    work: async (tx, context, customers, due, only) => {
      const alike = only === undefined ? await kind.billAlike?.(tx, context, customers, due) : undefined
      if (alike?.isAll) return { plans: alike.plans, failures: [] }
      const found = await kind.listDue(tx, tx.account, customers, due)
      const records = only === undefined ? found : found.filter(({ id }) => id === only)
      const planned = await plan(tx, context, records, due.day)
      await kind.apply(tx, context, planned.plans)
      return alike ? { plans: [...alike.plans, ...planned.plans], failures: planned.failures } : planned
    },
  }
}

/**
 * Returns the reason why a record could not be billed: as a sentence for a person, and for the log, which has nothing that a caller sent. The
 * constraint is the one that refuses to bill a period twice.
 */
export function reasonsOf(error: unknown, onceConstraint: string): { reason: string; loggedReason: string } {
  if (constraintOf(error) === onceConstraint) {
    const reason = 'A period that is due has been billed before, so the dates of the record do not fit what was billed.'
    return { reason, loggedReason: reason }
  }
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, 1000)
  const logged = error instanceof Fault ? error.problems.map(({ code }) => code).join(' ') : errorFacts(error).message
  return { reason, loggedReason: logged.slice(0, 1000) }
}

/**
 * All kinds, in the order of a day: a phase is done for every customer before the next begins. Within a phase the kinds of one customer
 * are written in one transaction, in their order.
 */
export type OrderOfDay = readonly (readonly DueKind[])[]

/** Lists the tables of due records, with the names under which /metrics counts them. */
export const dueTables = (order: OrderOfDay): DueTable[] =>
  order.flat().flatMap(({ recordType, table }) => (table ? [{ ...table, recordType }] : []))

/** Returns the fields that name the records of all kinds, filled for a failure: its identifier in the field of its kind, null in the others. */
export const failedRecordIds = (order: OrderOfDay, failure?: RunFailure): Record<string, Id | null> =>
  Object.fromEntries(
    order.flat().flatMap(({ idField, recordType }): [string, Id | null][] => {
      if (idField === undefined) return []
      return [[idField, failure?.recordType === recordType ? failure.recordId : null]]
    }),
  )

/** Counts the records of all kinds that are due up to a day. */
export async function countDue(order: OrderOfDay, db: Queryable, account: AccountId, until: IsoDate): Promise<number> {
  let count = 0
  for (const kind of order.flat()) count += (await kind.count?.(db, account, until)) ?? 0
  return count
}

/** Finds the first day after another, up to a last one, on which a record of any kind is due. */
export async function findDueAfter(
  order: OrderOfDay,
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> {
  let found: IsoDate | null = null
  for (const kind of order.flat()) found = earliest(found, await kind.findAfter(db, account, day, found ?? until))
  return found
}

/**
 * Lists the customers of the next records, of any of some kinds, that are due on a day, each once, in identifier order. The last of them may have more records than
 * were counted. Where some are passed over, each kind passes over so many of its own.
 */
export async function listDueCustomers(
  kinds: readonly DueKind[],
  db: Queryable,
  account: AccountId,
  due: DueCustomers,
): Promise<CustomerId[]> {
  let next: CustomerId[] = []
  for (const kind of kinds) next = nextOfBoth(next, await kind.listCustomers(db, account, due), due.limit)
  return next.filter((id, place) => id !== next[place - 1])
}

export const PERIODS_MAX = 1000
