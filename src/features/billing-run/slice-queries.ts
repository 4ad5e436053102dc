import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { bigintList } from '../../platform/database/columns.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { isOver, UNTIL } from '../../platform/database/lease.ts'
import { fragment, ofQuery, sql } from '../../platform/database/sql.ts'

/** Customers of one pass of a run that one worker at a time bills: after the first identifier, up to the last. */
export interface RunSlice {
  runId: Id
  day: IsoDate
  /** Place of its kinds in the order of a day, from 0. */
  phase: number
  afterId: CustomerId
  lastId: CustomerId
  holder: string
}

/** Divides a pass into slices that end with these customers, in place of all slices that the run has, and wakes other workers. */
export const replaceSlices = async (
  tx: Transaction,
  runId: Id,
  pass: { day: IsoDate; phase: number; lasts: readonly CustomerId[] },
): Promise<void> => {
  await deleteSlices(tx, runId)
  await tx.rows(
    ofQuery(sql`
    insert into billing_run_parts (account_id, billing_run_id, last_customer_id, after_customer_id, day, phase)
    select ${tx.account}, ${runId}, last, lag(last, 1, 0::bigint) over (order by last), ${pass.day}, ${pass.phase}
      from unnest(${bigintList(pass.lasts)}::bigint[]) as last`),
  )
  await tx.rows(sql`select pg_notify('billing_run_part', '')`)
}

export const deleteSlices = (tx: Transaction, runId: Id) =>
  tx.rows(sql`delete from billing_run_parts where account_id = ${tx.account} and billing_run_id = ${runId}`)

/** Takes a slice that nobody holds, under a lease; undefined where there is none. */
export const leaseSlice = (tx: Transaction, runId: Id, holder: string) =>
  tx.first<RunSlice>(sql`
    update billing_run_parts set holder = ${holder}::uuid, leased_until = ${UNTIL}
     where account_id = ${tx.account} and billing_run_id = ${runId} and last_customer_id = (
             select last_customer_id from billing_run_parts
              where account_id = ${tx.account} and billing_run_id = ${runId} and ${isOver('leased_until')}
              order by last_customer_id limit 1 for update skip locked)
    returning billing_run_id as "runId", day, phase, after_customer_id as "afterId", last_customer_id as "lastId", holder`)

const held = (tx: Transaction, { runId, lastId, holder }: RunSlice) => fragment`
  account_id = ${tx.account} and billing_run_id = ${runId} and last_customer_id = ${lastId} and holder = ${holder}::uuid`

/** Renews the lease of a slice, with the customer up to whom it is billed; false where it is another's now. */
export const renewSlice = async (tx: Transaction, slice: RunSlice): Promise<boolean> =>
  (await tx.first(sql`
    update billing_run_parts set leased_until = ${UNTIL}, after_customer_id = ${slice.afterId} where ${held(tx, slice)} returning holder`)) !==
  undefined

/** Lets go of a slice that is not through, so that the next worker need not wait for the lease to lapse. */
export const releaseSlice = (tx: Transaction, slice: RunSlice) =>
  tx.rows(
    sql`update billing_run_parts set leased_until = null, after_customer_id = ${slice.afterId} where ${held(tx, slice)}`,
  )

export const deleteSlice = (tx: Transaction, slice: RunSlice) =>
  tx.rows(sql`delete from billing_run_parts where ${held(tx, slice)}`)

export const countSlices = (db: Queryable, account: AccountId, runId: Id): Promise<number> =>
  db.value<number>(sql`
    select count(*)::integer as "n" from billing_run_parts where account_id = ${account} and billing_run_id = ${runId}`)

/** Lists runs of the whole database that have slices which nobody holds. */
export const listRunsWithSlices = (db: Queryable) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", billing_run_id as "id" from list_runs_with_parts()`,
  )
