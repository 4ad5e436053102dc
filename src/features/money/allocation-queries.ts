import { notingChanged } from '../events/queries.ts'
import type { AllocationState, OwedSums } from '../../engine/money/allocation-effects.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import {
  type OfMany,
  orTooMany,
  type Queryable,
  rowsOfMany,
  type Snapshot,
  type Transaction,
} from '../../platform/database/database.ts'
import { column, type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { someAtATime } from '../../platform/http/pieces.ts'
import { ALLOCATIONS_MAX } from './allocation-wire.ts'
import { IS_UNSETTLED, NEGATIVE_COUNTS } from './open-queries.ts'

/** Allocations join money given to money owed. Those that a failed payment ended stay as history: only edits, deletes and checks read them. */

const columns = (account: Id): Fragment => fragment`
  l.allocation_id as "id", l.customer_id as "customerId", l.given_kind as "givenKind", l.given_id as "givenId", l.owed_kind as "owedKind",
  l.owed_id as "owedId",
  case when l.owed_kind = 'invoice' then
    (select i.number from invoices i where i.account_id = ${account} and i.invoice_id = l.owed_id) end as "invoiceNumber", l.amount_minor as "amountMinor", l.dated, l.is_service_made as "isServiceMade", l.ended_on as "endedOn",
  case when l.given_kind = 'negative_adjustment' then
    (select ${NEGATIVE_COUNTS} from negative_adjustments n where n.account_id = ${account} and n.negative_adjustment_id = l.given_id)
    when ${IS_UNSETTLED} then 'pending' else 'paid' end as "counts"`

const joined = (account: Id, allocations = fragment`allocations`): Fragment => fragment`
  from ${allocations} l
  left join payments p on l.given_kind = 'payment' and p.account_id = ${account} and p.payment_id = l.given_id`

// What is passed over is not joined.
const where = (account: Id, condition: Fragment, limit = NOTHING) =>
  sql`select ${columns(account)}
        ${joined(account, fragment`(select * from allocations l where l.account_id = ${account} and l.ended_on is null and ${condition} ${limit})`)}
       order by l.allocation_id`

const listWhere = (db: Queryable, account: Id, condition: Fragment, limit = orTooMany(db)) =>
  db.rows<AllocationState>(where(account, condition, limit))

const ofOwed = (kind: AllocationState['owedKind'], owed: readonly Id[]) =>
  fragment`l.owed_kind = ${kind} and l.owed_id = any(${ids(owed)}::bigint[])`

const ids = (some: readonly Id[]): string => `{${some.join(',')}}`

/** Lists what is allocated of given documents of one kind, in the order made. */
export const listAllocationsOfGiven = (
  db: Queryable,
  account: Id,
  kind: AllocationState['givenKind'],
  given: readonly Id[],
) => listWhere(db, account, fragment`l.given_kind = ${kind} and l.given_id = any(${ids(given)}::bigint[])`)

/** More than those of a usual page; twice as many as a caller may give to one record. */
const ALLOCATIONS_AT_A_TIME = 2 * ALLOCATIONS_MAX

/**
 * Completes the first of some given documents of one kind, in the order of their identifiers, by what is allocated of them: as many documents as
 * have no more than ALLOCATIONS_AT_A_TIME together, at least the very first.
 */
export async function completeFirst<Row extends { id: Id }>(
  db: Queryable,
  account: Id,
  kind: AllocationState['givenKind'],
  rows: readonly Row[],
): Promise<(Row & { allocations: AllocationState[] })[]> {
  const given = rows.map(({ id }) => id)
  const condition = fragment`l.given_kind = ${kind} and l.given_id = any(${ids(given)}::bigint[])`
  const limit = fragment`order by l.given_id, l.allocation_id limit ${ALLOCATIONS_AT_A_TIME + 1}`
  let allocations = await listWhere(db, account, condition, limit)
  let whole = rows
  if (allocations.length > ALLOCATIONS_AT_A_TIME) {
    const cutId = allocations.reduce((last, { givenId }) => (givenId > last ? givenId : last), 0n)
    whole = rows.filter(({ id }) => id < cutId)
    if (whole.length === 0) {
      whole = rows.slice(0, 1)
      allocations = await listAllocationsOfGiven(db, account, kind, given.slice(0, 1))
    }
  }
  // Not copied: text rows cannot be.
  const completed = new Map(whole.map((row) => [row.id, Object.assign(row, { allocations: [] as AllocationState[] })]))
  for (const allocation of allocations) completed.get(allocation.givenId)?.allocations.push(allocation)
  return [...completed.values()]
}

/** Completes given documents of a page, in the order of their identifiers, some of them at a time. */
export const completeGiven = <Row extends { id: Id }>(
  db: Queryable,
  account: Id,
  kind: AllocationState['givenKind'],
  rows: readonly Row[],
) => someAtATime(rows, (next) => completeFirst(db, account, kind, next))

/** Lists what is allocated to owed documents of one kind, in the order made. */
export const listAllocationsOfOwed = (
  db: Queryable,
  account: Id,
  kind: AllocationState['owedKind'],
  owed: readonly Id[],
) => listWhere(db, account, ofOwed(kind, owed))

/** Reads what is allocated to one owed document, so many at a time. */
export const portionsOfOwed = (
  db: Snapshot,
  account: Id,
  { kind, id, size }: { kind: AllocationState['owedKind']; id: Id; size: number },
) => db.portions<AllocationState>(where(account, ofOwed(kind, [id])), size)

/**
 * Lists what was allocated of a payment, or to a positive adjustment, until the payment failed: history that counts nowhere, and that goes with
 * the record when it is deleted.
 */
export const listEndedAllocations = (
  db: Queryable,
  account: Id,
  { kind, id }: { kind: 'payment' | 'positive_adjustment'; id: Id },
): Promise<AllocationState[]> =>
  kind === 'payment'
    ? rowsOfMany<Id, AllocationState>(db, account, endedOfPayments, [id], ({ givenId }, given) =>
        given.includes(givenId),
      )
    : db.rows<AllocationState>(ended(account, fragment`l.owed_kind = ${kind} and l.owed_id = ${id}`))

const endedOfPayments: OfMany<Id> = (account, given) =>
  ended(account, fragment`l.given_kind = 'payment' and l.given_id = any(${ids(given)}::bigint[])`)

const ended = (account: Id, condition: Fragment) => sql`
    select ${columns(account)} ${joined(account)}
     where l.account_id = ${account} and l.ended_on is not null and ${condition} order by l.allocation_id`

/** Draws identifiers ahead, so that what names an allocation need not wait until it is written. */
export const drawAllocationIds = (tx: Transaction, count: number): Promise<Id[]> =>
  tx.values<Id>(sql`select nextval('allocations_allocation_id_seq') as "id" from generate_series(1, ${count})`)

/** Returns the insert of new allocations under identifiers drawn ahead. */
export const inserted = (account: Id, rows: readonly (AllocationState & { at: Instant })[]): Fragment => fragment`
    insert into allocations (account_id, allocation_id, customer_id, given_kind, given_id, owed_kind, owed_id, amount_minor, dated, is_service_made,
      ended_on, created_at)
    select ${account}, r.id, r.customer, r.given_kind, r.given, r.owed_kind, r.owed, r.amount, r.dated, r.is_service_made, r.ended_on, r.at
      from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'customerId')}::bigint[], ${column(rows, 'givenKind')}::text[],
        ${bigints(rows, 'givenId')}::bigint[], ${column(rows, 'owedKind')}::text[], ${bigints(rows, 'owedId')}::bigint[],
        ${bigints(rows, 'amountMinor')}::bigint[], ${dates(rows, 'dated')}::date[], ${column(rows, 'isServiceMade')}::boolean[],
        ${dates(rows, 'endedOn')}::date[], ${column(rows, 'at')}::timestamptz[])
        as r(id, customer, given_kind, given, owed_kind, owed, amount, dated, is_service_made, ended_on, at) returning 1`

const insertion: OfMany<AllocationState & { at: Instant }> = (account, rows) => sql`${inserted(account, rows)}`

/** Writes new allocations under identifiers drawn ahead, without waiting. */
export const sendAllocations = (tx: Transaction, rows: readonly AllocationState[], at: Instant): void =>
  tx.sendGrouped(
    insertion,
    rows.map((row) => ({ ...row, at })),
  )

export const sendAllocationUpdates = (tx: Transaction, rows: readonly AllocationState[]): void =>
  tx.sendGrouped(updates, rows)

const updates: OfMany<AllocationState> = (account, rows) => sql`
    update allocations l
       set given_kind = r.given_kind, given_id = r.given, owed_kind = r.owed_kind, owed_id = r.owed, amount_minor = r.amount, dated = r.dated, is_service_made = r.is_service_made, ended_on = r.ended_on
      from unnest(${bigints(rows, 'id')}::bigint[], ${column(rows, 'givenKind')}::text[], ${bigints(rows, 'givenId')}::bigint[],
        ${column(rows, 'owedKind')}::text[], ${bigints(rows, 'owedId')}::bigint[],
        ${bigints(rows, 'amountMinor')}::bigint[], ${dates(rows, 'dated')}::date[], ${column(rows, 'isServiceMade')}::boolean[],
        ${dates(rows, 'endedOn')}::date[]) as r(id, given_kind, given, owed_kind, owed, amount, dated, is_service_made, ended_on)
     where l.account_id = ${account} and l.allocation_id = r.id`

/** Takes allocations away, without waiting, and keeps what they joined: exports name it beside their entries. */
export const sendAllocationDeletes = (tx: Transaction, gone: readonly Id[]): void =>
  tx.send(sql`
    with gone as (
      delete from allocations where account_id = ${tx.account} and allocation_id = any(${ids(gone)}::bigint[])
      returning allocation_id, given_kind, given_id, owed_kind, owed_id)
    insert into removed_allocations (account_id, allocation_id, given_kind, given_id, owed_kind, owed_id)
    select ${tx.account}, * from gone returning 1`)

/** Change of what is allocated of a given document. */
export interface GivenDelta {
  id: Id
  amountMinor: bigint
}

export const addPaymentApplied = (tx: Transaction, rows: readonly GivenDelta[]): void =>
  tx.sendGrouped(paymentsApplied, rows)

const paymentsApplied: OfMany<GivenDelta> = (account, rows) => sql`
    with changed as (
      update payments p set applied_minor = p.applied_minor + d.amount
      from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'amountMinor')}::bigint[]) as d(id, amount)
     where p.account_id = ${account} and p.payment_id = d.id returning p.payment_id as id)
    ${notingChanged(account, 'payment')}`

export const addNegativeApplied = (tx: Transaction, rows: readonly GivenDelta[]): void =>
  tx.send(sql`
    with changed as (
      update negative_adjustments n set applied_minor = n.applied_minor + d.amount
      from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'amountMinor')}::bigint[]) as d(id, amount)
     where n.account_id = ${tx.account} and n.negative_adjustment_id = d.id returning n.negative_adjustment_id as id)
    ${notingChanged(tx.account, 'credit_note')}`)

export const addPositiveApplied = (tx: Transaction, rows: readonly ({ id: Id } & OwedSums)[]): void =>
  tx.send(sql`
    update positive_adjustments a
       set paid_minor = a.paid_minor + d.paid, pending_minor = a.pending_minor + d.pending, negative_minor = a.negative_minor + d.negative
      from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'paidMinor')}::bigint[], ${bigints(rows, 'pendingMinor')}::bigint[],
        ${bigints(rows, 'negativeMinor')}::bigint[]) as d(id, paid, pending, negative)
     where a.account_id = ${tx.account} and a.positive_adjustment_id = d.id`)
