import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { type AccountId, byIdentifier, type CustomerId, type Id } from '../../kernel/ids.ts'
import type { Queryable } from './database.ts'
import { listIds } from './id-lists.ts'
import { type Fragment, fragment, namesOf, NOTHING, sql } from './sql.ts'

/** The statements that all tables share whose rows are due on a day: whose are due, which day comes next, and how many wait. */

/** The table of a kind of due records. Its names stand in the code and become part of statements. */
export interface DueTable {
  relation: string
  /** The column of the record's identifier. */
  id: string
  /** The column of the day on which the record is due. */
  day: string
  /** The kind's name in the failures of a run. */
  recordType: string
  /** Some of its rows are due in a cycle, and have no such day then. */
  hasCycles?: boolean
}

/** A day of a run: records on which this run has given up are left out. */
export interface DueDay {
  day: IsoDate
  runId: Id
}

/** The next records of a day, in the order of their customers: after a customer, some passed over, and so many at most. */
export interface DueCustomers extends DueDay {
  after: CustomerId
  limit: number
  /** Left out: none is passed over. */
  skip?: number
}

/** Returns the end of a statement that lists the customers of the next records of a day. */
export const nextOf = ({ limit, skip = 0 }: DueCustomers): Fragment => fragment`limit ${limit} offset ${skip}`

/**
 * Returns the customers of the next records of two lists together, each as often as they have some, in identifier order. Where a list is as long as it may be, the
 * other may reach further: nothing behind its end is taken.
 */
export function nextOfBoth(some: readonly CustomerId[], others: readonly CustomerId[], limit: number): CustomerId[] {
  const all = [...some, ...others]
  return (some.length > 0 && others.length > 0 ? all.toSorted(byIdentifier) : all).slice(0, limit)
}

export interface DueStatements {
  table: DueTable
  /** Lists the customers of the next records that are due on a day, each as often as they have records, in identifier order; paused customers too. */
  listCustomers(db: Queryable, account: AccountId, due: DueCustomers): Promise<CustomerId[]>
  /** Finds the first day after another, up to a last one, with a record due of a customer that is not paused. */
  findAfter(db: Queryable, account: AccountId, day: IsoDate, until: IsoDate): Promise<IsoDate | null>
  /** Counts the records due up to a day, of customers that are not paused. */
  count(db: Queryable, account: AccountId, until: IsoDate): Promise<number>
}

/** Returns the condition that a run has not given up on a record. */
export const notFailed = (account: AccountId, runId: Id, recordType: string, id: string): Fragment => fragment`
  not exists (select 1 from billing_run_failures f where f.account_id = ${account} and f.billing_run_id = ${runId}
                and f.record_type = ${recordType} and f.record_id = ${namesOf(id)})`

/** Makes the statements of a table of due records. Rows of customers themselves are paused by their own column. */
export function dueStatements(table: DueTable): DueStatements {
  assert(/^[a-z_ ]+$/.test(`${table.relation} ${table.id} ${table.day}`), 'names of a due table are plain words')
  const relation = namesOf(table.relation)
  const day = namesOf(`d.${table.day}`)
  const isOfCustomers = table.relation === 'customers'
  const customer = (account: AccountId): Fragment =>
    isOfCustomers ? NOTHING : fragment`join customers c on c.account_id = ${account} and c.customer_id = d.customer_id`
  const isUnpaused = isOfCustomers ? fragment`d.paused_on is null` : fragment`c.paused_on is null`
  return {
    table,
    listCustomers: (db, account, due) =>
      listIds(
        db,
        fragment`
        select d.customer_id as id from ${relation} d
         where d.account_id = ${account} and ${day} = ${due.day} and d.customer_id > ${due.after}
           and ${notFailed(account, due.runId, table.recordType, `d.${table.id}`)}
         order by d.customer_id ${nextOf(due)}`,
      ),
    findAfter: async (db, account, after, until) => {
      const found = await db.one<{ day: IsoDate | null }>(sql`
        select (select ${day} from ${relation} d ${customer(account)}
                 where d.account_id = ${account} and ${day} > ${after} and ${day} <= ${until} and ${isUnpaused}
                 order by d.account_id, ${day} limit 1) as "day"`)
      return found.day
    },
    count: (db, account, until) =>
      db.count(
        isOfCustomers
          ? sql`select count(*) as "n" from customers d where d.account_id = ${account} and ${day} <= ${until} and ${isUnpaused}`
          : // Few are paused, so nobody looks at the customer of each.
            sql`select (select count(*) from ${relation} d where d.account_id = ${account} and ${day} <= ${until})
                     - (select count(*) from customers c join ${relation} d on d.account_id = ${account} and d.customer_id = c.customer_id
                         where c.account_id = ${account} and c.paused_on is not null and ${day} <= ${until}) as "n"`,
      ),
  }
}
