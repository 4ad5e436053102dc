import type { Id } from '../../kernel/ids.ts'
import { PORTION_ROWS } from '../../platform/database/reads.ts'
import { fragment, type Fragment, sql } from '../../platform/database/sql.ts'
import { COMPONENT_OF_LINE, KIND_OF_LINE, PACKAGE_OF_LINE, type SalesKind, sharedOverLines } from './line-queries.ts'
import { cancelled, issued, type ReportPeriod } from './period-queries.ts'
import { gross, taken, unsettled } from './settled-queries.ts'
import type { Snapshot } from '../../platform/database/database.ts'

/** Revenue of a period by what was sold, where, or when: lines of invoices less what notes took of them, so that all rows come to the movement of revenue. */

export const REVENUE_BY = ['package', 'component', 'country', 'month'] as const
export type RevenueBy = (typeof REVENUE_BY)[number]

/** Row of one kind; amounts in minor units. */
export interface RevenueOfPeriod {
  currency: string
  kind: SalesKind
  /** Package, component or country; null of other lines, of an unknown country, and by month. */
  itemId: Id | null
  /** Code and name of the package or component, as they are now. */
  code: string | null
  name: string | null
  /** YYYY-MM; null unless by month. */
  month: string | null
  turnoverMinor: bigint
  turnoverTakenBackMinor: bigint
}

/** Key of a row: of a charge c on a day, and of what has no line, for a customer of a country. */
const KEYS: Readonly<Record<RevenueBy, { ofLine: Fragment; ofNoLine: Fragment }>> = {
  package: { ofLine: PACKAGE_OF_LINE, ofNoLine: fragment`null::bigint` },
  component: { ofLine: COMPONENT_OF_LINE, ofNoLine: fragment`null::bigint` },
  country: { ofLine: fragment`d.country`, ofNoLine: fragment`d.country` },
  month: { ofLine: fragment`to_char(d.dated, 'YYYY-MM')`, ofNoLine: fragment`to_char(d.dated, 'YYYY-MM')` },
}

const NAMES: Readonly<Record<RevenueBy, (period: ReportPeriod) => Fragment>> = {
  package: ({ account }) => fragment`
    select r.*, r.key as "itemId", null as "month", p.code, p.name from rows r
      left join packages p on p.account_id = ${account} and p.package_id = r.key`,
  component: ({ account }) => fragment`
    select r.*, r.key as "itemId", null as "month", p.code, p.name from rows r
      left join components p on p.account_id = ${account} and p.component_id = r.key`,
  country: () => fragment`select *, key as "itemId", null as "month", null as code, null as name from rows`,
  month: () => fragment`select *, null::bigint as "itemId", key as "month", null as code, null as name from rows`,
}

/**
 * Lists what settlements took of lines: the gross on its own day, less each tax on the day of its entry. Of an older share that is gone only entries of
 * taxes are left; they stand with what is unsettled.
 */
const takenOfLines = (period: ReportPeriod): Fragment => fragment`
  ${taken(period)}, ${gross(period)}, ${unsettled(period)},
  nets as materialized (
    select settlement_id, invoice_id, dated, sum(amount) as amount from (
      select settlement_id, invoice_id, dated, amount from gross where not is_relief
      union all
      select settlement_id, invoice_id, dated, -amount from taken where invoice_id is not null and not is_relief) p
     group by 1, 2, 3 having sum(amount) <> 0),
  shared as materialized (${sharedOverLines(period.account, fragment`nets`)})`

/** Lists the lines of the invoice of a row d: looked up for each, since a join with a view of two parts would read all. */
const linesOf = ({ account }: ReportPeriod): Fragment =>
  fragment`select * from charges where account_id = ${account} and invoice_id = d.invoice_id offset 0`

/** Reads the revenue of a period, some rows at a time: of each currency by kind and, as asked for, by package, component, country or month. */
export const revenueOfPeriod = (db: Snapshot, period: ReportPeriod, by: RevenueBy) => {
  const { ofLine, ofNoLine } = KEYS[by]
  const ofCurrency = period.currency === null ? fragment`true` : fragment`i.currency = ${period.currency}`
  return db.portions<RevenueOfPeriod>(
    sql`
    with ${takenOfLines(period)},
    changes as (
      select d.currency, ${KIND_OF_LINE} as kind, ${ofLine} as key, sum(d.sign * c.net_minor) as turnover, 0 as back
        from (${issued(period)} union all ${cancelled(period)}) d
       cross join lateral (${linesOf(period)}) c
       group by 1, 2, 3
      union all
      select d.currency, ${KIND_OF_LINE}, ${ofLine}, 0, d.amount
        from (select s.*, i.invoice_id, i.currency, i.customer_country_id as country from shared s
                join settlements t on t.account_id = ${period.account} and t.settlement_id = s.settlement_id
                join invoices i on i.account_id = ${period.account} and i.invoice_id = t.invoice_id
               where ${ofCurrency}) d
       cross join lateral (${linesOf(period)}) c
       where c.charge_id = d.charge_id
      union all
      select d.currency, 'unsettled', ${ofNoLine}, 0, d.amount from unsettled d
      union all
      select d.currency, 'unsettled', ${ofNoLine}, 0, -d.amount
        from (select *, null::bigint as country from taken where invoice_id is null and not is_relief) d),
    rows as (
      select currency, kind, key, sum(turnover)::bigint as "turnoverMinor", sum(back)::bigint as "turnoverTakenBackMinor" from changes
       group by currency, kind, key having sum(turnover) <> 0 or sum(back) <> 0)
    ${NAMES[by](period)} order by currency, array_position('{subscription,recurring,by_hand,unsettled}'::text[], kind), key nulls last`,
    PORTION_ROWS,
  )
}
