import type { Age, MovementType } from '../../engine/money/statement.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import { PORTION_ROWS } from '../../platform/database/reads.ts'
import { fragment, type Fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { linesDayPassed } from '../batches/queries.ts'
import { type AsAt, inCurrency, SHOWN_NAME } from './period-queries.ts'
import type { Snapshot } from '../../platform/database/database.ts'

/** How old what customers owed on a day was, by the documents as statements count them, and the money that they had given beside it. */

/** Open amounts by age, and unallocated money; minor units. */
export interface Aged extends Record<Age, bigint> {
  customerId: CustomerId
  customerName: string
  currency: string
  unallocatedMinor: bigint
  /** Lines of batches whose day has passed: what they were to pay is open. */
  pendingPassedMinor: bigint
}

/** Document that was open or not wholly allocated on the day. */
export interface OpenItem extends Aged {
  type: MovementType
  id: Id
  /** Number or reference that it is known by. */
  number: string | null
  dated: IsoDate
  /** Null of money given. */
  dueDate: IsoDate | null
  amountMinor: bigint
}

/** Documents of one kind: what they are, and what of them is open or unallocated now. */
interface Documents {
  side: 'owed' | 'given'
  /** Word of allocations for them. */
  kind: string
  columns: Fragment
  table: Fragment
  id: Fragment
  left: Fragment
  /** Left out: all documents of the kind. */
  counts?: Fragment
  wasThere: (asAt: AsAt) => Fragment
}

const LEFT_OWED = fragment`- d.paid_minor - d.pending_minor - d.negative_minor`

const INVOICES: Documents = {
  side: 'owed',
  kind: 'invoice',
  columns: fragment`'invoice'::text as type, d.invoice_id as id, d.number::text as number, d.customer_id, d.currency, d.invoice_date as dated, d.due_date,
    d.total_minor as amount`,
  table: fragment`invoices`,
  id: fragment`d.invoice_id`,
  left: fragment`d.total_minor ${LEFT_OWED}`,
  wasThere: ({ date }) => fragment`
    d.issued_at is not null and d.invoice_date <= ${date} and (d.cancelled_on is null or greatest(d.cancelled_on, d.invoice_date) > ${date})`,
}

const POSITIVE_ADJUSTMENTS: Documents = {
  side: 'owed',
  kind: 'positive_adjustment',
  columns: fragment`d.kind as type, d.positive_adjustment_id as id, d.ref as number, d.customer_id, d.currency, d.dated, d.due_date, d.amount_minor as amount`,
  table: fragment`positive_adjustments`,
  id: fragment`d.positive_adjustment_id`,
  left: fragment`d.amount_minor ${LEFT_OWED}`,
  wasThere: ({ date }) => fragment`d.dated <= ${date}`,
}

const PAYMENTS: Documents = {
  side: 'given',
  kind: 'payment',
  columns: fragment`'payment'::text as type, d.payment_id as id, d.ref as number, d.customer_id, d.currency, d.dated, null::date as due_date,
    d.amount_minor as amount`,
  table: fragment`payments`,
  id: fragment`d.payment_id`,
  left: fragment`d.amount_minor - d.applied_minor`,
  counts: fragment`and not exists (select 1 from passed l where l.payment_id = d.payment_id)`,
  wasThere: ({ date }) => fragment`d.dated <= ${date} and (d.failed_on is null or d.failed_on > ${date})`,
}

const NEGATIVE_ADJUSTMENTS: Documents = {
  side: 'given',
  kind: 'negative_adjustment',
  columns: fragment`d.kind as type, d.negative_adjustment_id as id, d.ref as number, d.customer_id, d.currency, d.dated, null::date as due_date,
    d.amount_minor as amount`,
  table: fragment`negative_adjustments`,
  id: fragment`d.negative_adjustment_id`,
  left: fragment`d.amount_minor - d.applied_minor`,
  wasThere: ({ date }) => fragment`d.dated <= ${date}`,
}

/** Returns the columns of an allocation that name its document on one side: kind and identifier. */
const sideOf = ({ side }: Documents): [kind: Fragment, id: Fragment] =>
  side === 'given' ? [fragment`given_kind`, fragment`given_id`] : [fragment`owed_kind`, fragment`owed_id`]

const thereOf = ({ wasThere }: Documents, asAt: AsAt): Fragment =>
  fragment`d.account_id = ${asAt.account} and ${wasThere(asAt)} ${inCurrency(fragment`d.currency`, asAt)}`

/**
 * Returns the condition that an allocation is of a document of one kind that can have been there: no newer one than the last that was. Most of what was allocated
 * since a day long past is of documents that came later.
 */
const mayBeOf = (documents: Documents, asAt: AsAt): Fragment => {
  const [kindOf, idOf] = sideOf(documents)
  return fragment`(${kindOf} = ${documents.kind} and ${idOf} <= (select max(${documents.id}) from ${documents.table} d where ${thereOf(documents, asAt)}))`
}

/** Lists what of documents of one kind was open on the day: what is open now, and what allocations have made of it since. */
const partsOf = (documents: Documents, asAt: AsAt): Fragment => {
  const { side, kind, columns, table, id, left, counts = NOTHING } = documents
  const [kindOf, idOf] = sideOf(documents)
  const then = fragment`${left} + coalesce(s.amount, 0)`
  const amounts =
    side === 'owed'
      ? fragment`${then} as open, 0::bigint as unallocated, 0::bigint as recovered, 0::bigint as passed`
      : fragment`0::bigint as open, ${then} as unallocated, 0::bigint as recovered, 0::bigint as passed`
  return fragment`
    select ${columns}, ${amounts}
      from ${table} d
      left join (select ${idOf} as id, sum(amount)::bigint as amount from since where ${kindOf} = ${kind} group by ${idOf}) s on s.id = ${id}
     where ${thereOf(documents, asAt)} ${counts} and ${then} <> 0`
}

/** Lists, as open, what lines of batches whose day has passed were to pay of documents of one kind on the day. */
const paidByPassed = (documents: Documents, asAt: AsAt): Fragment => fragment`
    select ${documents.columns}, n.amount_minor, 0, 0, 0
      from passed l
      join allocations n on n.account_id = ${asAt.account} and n.given_kind = 'payment' and n.given_id = l.payment_id
       and n.owed_kind = ${documents.kind} and n.dated <= ${asAt.date} and (n.ended_on is null or n.ended_on > ${asAt.date})
      join ${documents.table} d on ${documents.id} = n.owed_id
     where ${thereOf(documents, asAt)}`

/**
 * Lists what was open or unallocated of documents that were there on the day, in parts. Documents keep what they have open now, so nothing has to be added up
 * but what changed since: allocations of a later day that stand, less those that stood on the day and ended since, and bad debt recovered since.
 */
const parts = (asAt: AsAt): Fragment => {
  const { account, date } = asAt
  return fragment`
  passed as materialized (${linesDayPassed(account, asAt.now)}),
  since as materialized (
    select given_kind, given_id, owed_kind, owed_id, case when ended_on is null then amount_minor else -amount_minor end as amount from allocations
     where account_id = ${account} and ((ended_on is null and dated > ${date}) or (ended_on > ${date} and dated <= ${date}))
       and (${mayBeOf(INVOICES, asAt)} or ${mayBeOf(PAYMENTS, asAt)} or ${mayBeOf(POSITIVE_ADJUSTMENTS, asAt)} or ${mayBeOf(NEGATIVE_ADJUSTMENTS, asAt)})),
  parts as (
    ${partsOf(INVOICES, asAt)}
    union all ${partsOf(POSITIVE_ADJUSTMENTS, asAt)}
    union all ${partsOf(PAYMENTS, asAt)}
    union all ${partsOf(NEGATIVE_ADJUSTMENTS, asAt)}
    union all
    select ${PAYMENTS.columns}, 0, 0, 0, d.amount_minor from passed l join payments d on d.payment_id = l.payment_id where ${thereOf(PAYMENTS, asAt)}
    union all ${paidByPassed(INVOICES, asAt)}
    union all ${paidByPassed(POSITIVE_ADJUSTMENTS, asAt)}
    union all
    select ${NEGATIVE_ADJUSTMENTS.columns}, 0::bigint, r.amount_minor, r.amount_minor, 0
      from bad_debt_recoveries r join negative_adjustments d on d.negative_adjustment_id = r.negative_adjustment_id
     where r.account_id = ${account} and r.dated > ${date} and ${thereOf(NEGATIVE_ADJUSTMENTS, asAt)})`
}

/** Returns the place of a document among the ages, by its due date; -1 of money given. */
const ageOn = (date: IsoDate): Fragment => fragment`
  case when due_date is null then -1 when due_date >= ${date} then 0 else least((${date}::date - due_date + 29) / 30, 5) end`

/** Reads what each customer owed by age and currency on a day, and what of their money was not allocated then. */
export const agedByCustomer = (db: Snapshot, asAt: AsAt) =>
  db.portions<Aged>(
    sql`
    with ${parts(asAt)},
    aged as (
      select customer_id, currency, sum(unallocated)::bigint as unallocated, sum(passed)::bigint as passed, coalesce(sum(open) filter (where age = 0), 0)::bigint as current,
             coalesce(sum(open) filter (where age = 1), 0)::bigint as days30, coalesce(sum(open) filter (where age = 2), 0)::bigint as days60,
             coalesce(sum(open) filter (where age = 3), 0)::bigint as days90, coalesce(sum(open) filter (where age = 4), 0)::bigint as days120,
             coalesce(sum(open) filter (where age = 5), 0)::bigint as older
        from (select *, ${ageOn(asAt.date)} as age from parts) p group by customer_id, currency)
    select a.customer_id as "customerId", ${SHOWN_NAME} as "customerName", a.currency, a.current as "Current", a.days30 as "Days1To30",
           a.days60 as "Days31To60", a.days90 as "Days61To90", a.days120 as "Days91To120", a.older as "DaysOver120",
           a.unallocated as "unallocatedMinor", a.passed as "pendingPassedMinor"
      from aged a join customers c on c.account_id = ${asAt.account} and c.customer_id = a.customer_id
     where a.current <> 0 or a.days30 <> 0 or a.days60 <> 0 or a.days90 <> 0 or a.days120 <> 0 or a.older <> 0 or a.unallocated <> 0 or a.passed <> 0
     order by a.customer_id, a.currency`,
    PORTION_ROWS,
  )

/** Reads the documents that were open on a day, each in the column of its age, and the money that was not wholly allocated then. */
export const openItems = (db: Snapshot, asAt: AsAt) =>
  db.portions<OpenItem>(
    sql`
    with ${parts(asAt)},
    items as (
      select type, id, number, customer_id, currency, dated, due_date, (amount + sum(recovered))::bigint as amount, sum(open)::bigint as open,
             sum(unallocated)::bigint as unallocated, sum(passed)::bigint as passed
        from parts group by type, id, number, customer_id, currency, dated, due_date, amount
       having sum(open) <> 0 or sum(unallocated) <> 0 or sum(passed) <> 0),
    open_items as (select *, ${ageOn(asAt.date)} as age from items)
    select o.customer_id as "customerId", ${SHOWN_NAME} as "customerName", o.currency, o.type, o.id, o.number, o.dated, o.due_date as "dueDate",
           o.amount::bigint as "amountMinor", (case when age = 0 then open else 0 end)::bigint as "Current",
           (case when age = 1 then open else 0 end)::bigint as "Days1To30", (case when age = 2 then open else 0 end)::bigint as "Days31To60",
           (case when age = 3 then open else 0 end)::bigint as "Days61To90", (case when age = 4 then open else 0 end)::bigint as "Days91To120",
           (case when age = 5 then open else 0 end)::bigint as "DaysOver120", o.unallocated::bigint as "unallocatedMinor",
           o.passed::bigint as "pendingPassedMinor"
      from open_items o join customers c on c.account_id = ${asAt.account} and c.customer_id = o.customer_id
     order by o.customer_id, o.currency, coalesce(o.due_date, o.dated), o.dated, o.type, o.id`,
    PORTION_ROWS,
  )
