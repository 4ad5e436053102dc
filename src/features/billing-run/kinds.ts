import { earliest, type IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { applyRecurringPlans, planRecurring, recurringContext } from '../recurring-invoices/bill.ts'
import {
  countRecurringDueBy,
  findRecurringDueAfter,
  listDueRecurringCustomers,
} from '../recurring-invoices/due-queries.ts'
import { loadRecurring } from '../recurring-invoices/load.ts'
import { listDueRecurring, listRecurringForPlanning } from '../recurring-invoices/queries.ts'
import {
  countStatementsDueBy,
  findStatementDueAfter,
  listDueStatements,
  listStatementCustomers,
} from '../customers/statement-due-queries.ts'
import { applyStatements, planStatement } from '../statements/automatic.ts'
import { applyPlans, planContext, planSubscription } from '../subscriptions/bill.ts'
import {
  countDue as countDueSubscriptions,
  findDueAfter as findSubscriptionDueAfter,
  findPausedEndAfter,
  listDueCustomers as listDueSubscriptionCustomers,
  listDueForPlanning,
  listDueSubscriptions,
} from '../subscriptions/due-queries.ts'
import type { RecordType, RunFailure } from './queries.ts'

/** What a billing run bills: subscriptions and recurring invoices. The run itself knows neither, only that something is due on a day. */

export interface DueRecord {
  id: Id
  customerId: CustomerId
  dueOn: IsoDate | null
}

/** What the run counts of a plan. */
export interface BilledPlan {
  state: { dueOn: IsoDate | null }
  invoices: readonly { currency: string; totalMinor: bigint }[]
  renewals: number
  ended: 'cancelled' | 'expired' | null
}

interface Due {
  day: IsoDate
  runId: Id
}

interface Kind<R extends DueRecord, P extends BilledPlan> {
  recordType: RecordType
  countDue(db: Queryable, account: AccountId, until: IsoDate): Promise<number>
  findDueAfter(db: Queryable, account: AccountId, day: IsoDate, until: IsoDate): Promise<IsoDate | null>
  listDueCustomers(
    db: Queryable,
    account: AccountId,
    due: Due & { after: CustomerId; limit: number },
  ): Promise<CustomerId[]>
  listDue(db: Queryable, account: AccountId, customers: readonly CustomerId[], due: Due): Promise<R[]>
  /** Records due up to a day, page by page, without locks. */
  listForecast(db: Queryable, account: AccountId, until: IsoDate, after: Id, limit: number): Promise<R[]>
  /** Reads what planning these records needs, once for all of them; the plan itself is pure, and throws where a record is broken. */
  planner(
    db: Queryable,
    context: Pick<IssueContext, 'account' | 'moment'>,
    records: readonly R[],
  ): Promise<(record: R, day?: IsoDate) => P>
  apply(tx: Transaction, context: IssueContext, plans: readonly P[]): Promise<void>
}

export interface Chunk {
  plans: BilledPlan[]
  failures: RunFailure[]
}

/** A kind of record as the run sees it. */
export interface BilledKind extends Omit<Kind<DueRecord, BilledPlan>, 'planner' | 'apply'> {
  /** Plans records; one broken record is told with its reason and stops nothing. */
  plan(
    db: Queryable,
    context: Pick<IssueContext, 'account' | 'moment'>,
    records: readonly DueRecord[],
    day?: IsoDate,
  ): Promise<Chunk>
  /** Bills what is due on a day of locked customers, or one record of them. What a later day brings waits for its own pass. */
  bill(tx: Transaction, context: IssueContext, customers: readonly CustomerId[], due: Due, only?: Id): Promise<Chunk>
}

function billedKind<R extends DueRecord, P extends BilledPlan>(kind: Kind<R, P>): BilledKind {
  async function plan(
    db: Queryable,
    context: Pick<IssueContext, 'account' | 'moment'>,
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
        failures.push(failureOf(kind.recordType, record, error))
      }
    }
    return { plans, failures }
  }
  return {
    ...kind,
    plan: (db, context, records, day) => plan(db, context, records as readonly R[], day),
    bill: async (tx, context, customers, due, only) => {
      const found = await kind.listDue(tx, tx.account, customers, due)
      const records = only === undefined ? found : found.filter(({ id }) => id === only)
      const { plans, failures } = await plan(tx, context, records, due.day)
      await kind.apply(tx, context, plans)
      return { plans, failures }
    },
  }
}

/** In the order in which they are billed within a customer's chunk. */
export const KINDS: readonly BilledKind[] = [
  billedKind({
    recordType: 'subscription',
    countDue: countDueSubscriptions,
    findDueAfter: findSubscriptionDueAfter,
    listDueCustomers: listDueSubscriptionCustomers,
    listDue: listDueSubscriptions,
    listForecast: listDueForPlanning,
    planner: async (db, context, records) => {
      const plans = await planContext(db, context, records)
      return (s, day) => planSubscription(s, plans, day)
    },
    apply: applyPlans,
  }),
  billedKind({
    recordType: 'recurring_invoice',
    countDue: countRecurringDueBy,
    findDueAfter: findRecurringDueAfter,
    listDueCustomers: listDueRecurringCustomers,
    listDue: listDueRecurring,
    listForecast: listRecurringForPlanning,
    planner: async (db, context, records) => {
      const loaded = new Map((await loadRecurring(db, context.account.id, records)).map((one) => [one.recurring, one]))
      const plans = await recurringContext(db, context)
      return (r, day) => planRecurring(loaded.get(r)!, plans, day)
    },
    apply: applyRecurringPlans,
  }),
  // Not billed, but due on a day like the others: the run makes it once, in order, and goes on with it when it was killed.
  billedKind({
    recordType: 'statement',
    countDue: countStatementsDueBy,
    findDueAfter: findStatementDueAfter,
    listDueCustomers: listStatementCustomers,
    listDue: listDueStatements,
    // A forecast is of what would be billed.
    listForecast: async () => [],
    planner: async () => planStatement,
    apply: applyStatements,
  }),
]

const BILLED_BEFORE = new Set(['charges_once', 'charges_once_recurring'])

export const failureOf = (recordType: RecordType, record: DueRecord, error: unknown): RunFailure => ({
  recordType,
  recordId: record.id,
  customerId: record.customerId,
  dueOn: record.dueOn as IsoDate,
  reason: reasonOf(error).slice(0, 1000),
})

function reasonOf(error: unknown): string {
  const { constraint } = error as { constraint?: string }
  if (constraint !== undefined && BILLED_BEFORE.has(constraint))
    return 'A period that is due has been billed before, so the dates of the record do not fit what was billed.'
  return error instanceof Error ? error.message : String(error)
}

/** How many records of any kind are due up to a day. */
export async function countDue(db: Queryable, account: AccountId, until: IsoDate): Promise<number> {
  let count = 0
  for (const kind of KINDS) count += await kind.countDue(db, account, until)
  return count
}

/** The first day after another with something to do; ends of what is not billed meanwhile count. */
export async function findDueAfter(
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> {
  let found: IsoDate | null = null
  for (const kind of KINDS) found = earliest(found, await kind.findDueAfter(db, account, day, found ?? until))
  return earliest(found, await findPausedEndAfter(db, account, day, found ?? until))
}

/** The next customers, in identifier order, with anything due on a day. */
export async function listDueCustomers(
  db: Queryable,
  account: AccountId,
  due: Due & { after: CustomerId; limit: number },
): Promise<CustomerId[]> {
  let merged: CustomerId[] = []
  for (const kind of KINDS) {
    const more = await kind.listDueCustomers(db, account, due)
    if (merged.length === 0) merged = more
    else if (more.length > 0) merged = [...new Set([...merged, ...more])].toSorted((a, b) => (a < b ? -1 : 1))
  }
  return merged.slice(0, due.limit)
}
