import type { Decimal } from '../../kernel/decimal.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import { PORTION_ROWS } from '../../platform/database/reads.ts'
import { fragment, type Fragment, sql } from '../../platform/database/sql.ts'
import { SUMMED_BELOW } from '../ledger/mark-queries.ts'
import { LEDGER } from '../ledger/packed.ts'
import { cancelled, inCurrency, inPeriod, issued, type ReportPeriod, SHOWN_NAME } from './period-queries.ts'
import { gross, taken, unsettled } from './settled-queries.ts'
import type { Snapshot } from '../../platform/database/database.ts'

/**
 * Taxes of a period by rate, and sales of it by customer. Rows come from invoices and settlements, each with its day and the day it ended; what is
 * taken back of taxes comes from the entries, so that every sum is the movement of its ledger account.
 */

/** Row by rate, amounts in minor units. */
export interface TaxOfPeriod {
  /** Null where no rule taxed, and of what is unsettled. */
  name: string | null
  rate: Decimal | null
  taxNumber: string | null
  currency: string
  category: string | null
  countryId: Id | null
  stateId: Id | null
  baseMinor: bigint
  outputMinor: bigint
  baseTakenBackMinor: bigint
  takenBackMinor: bigint
  baseRelievedMinor: bigint
  relievedMinor: bigint
}

/** Row by customer, amounts in minor units. */
export interface SalesOfPeriod {
  customerId: CustomerId
  customerName: string
  currency: string
  countryId: Id | null
  vatNumber: string | null
  category: string | null
  turnoverMinor: bigint
  turnoverTakenBackMinor: bigint
  /** Charged less taken back and relieved. */
  taxMinor: bigint
}

/** Lists invoices of the period, and with the sign turned those that were cancelled in it. */
const charged = (period: ReportPeriod): Fragment =>
  fragment`charged as materialized (${issued(period)} union all ${cancelled(period)})`

/** Lists the same without invoices of which the sums of days know, and without those of a net amount of 0. */
const notSummed = (period: ReportPeriod): Fragment => fragment`
  charged as materialized (
    select i.invoice_id, i.currency, i.total_minor as total, 1 as sign, i.customer_country_id as country, i.customer_state_id as state
      from ledger e join invoices i on i.account_id = ${period.account} and i.invoice_id = e.record_id
     where e.account_id = ${period.account} and ${LEDGER.fromId('e', SUMMED_BELOW)} and e.event = 'invoice_issued'
       and e.tax_name is null and ${inPeriod(fragment`e.dated`, period)} ${inCurrency(fragment`e.currency`, period)}
    union all
    select invoice_id, currency, total, sign, country, state from (${cancelled(period)}) c)`

/** Sums net amounts that settlements took back of invoices: the gross on its own day, less each tax on the day of its entry. */
const settled = (period: ReportPeriod): Fragment => {
  const { account } = period
  return fragment`
  net as materialized (
    select invoice_id, is_relief, sum(amount) as amount from (
      select invoice_id, is_relief, amount from gross
      union all
      select invoice_id, is_relief, -amount from taken where invoice_id is not null) p
     group by invoice_id, is_relief),
  settled as materialized (
    select n.invoice_id, n.is_relief, n.amount, i.customer_id, i.currency, i.customer_country_id as country, i.customer_state_id as state,
           i.customer_vat_number as vat_number
      from net n join invoices i on i.account_id = ${account} and i.invoice_id = n.invoice_id ${inCurrency(fragment`i.currency`, period)})`
}

const corrected = (period: ReportPeriod): Fragment =>
  fragment`${taken(period)}, ${gross(period)}, ${settled(period)}, ${unsettled(period)}`

/** Category of a tax of an invoice: one that was charged is of the standard rate, also where it was charged before categories were kept. */
const CATEGORY = fragment`coalesce(t.category, case when t.rate > 0 then 'S' end)`

/** Lists the taxes of one invoice: looked up for each, since a join with a view of two parts would read all. */
const taxesOf = ({ account }: ReportPeriod, invoiceId: Fragment): Fragment =>
  fragment`select * from invoice_taxes where account_id = ${account} and invoice_id = ${invoiceId} offset 0`

/** Reads the taxes of a period by rate, some rows at a time. Tax that entries took back is of the standard rate: nothing else has any. */
export const taxesOfPeriod = (db: Snapshot, period: ReportPeriod) =>
  db.portions<TaxOfPeriod>(
    sql`
    with ${notSummed(period)}, ${corrected(period)},
    rows as (
      select name, rate, tax_number, currency, category, country_id as country, state_id as state, base_minor as base, output_minor as output,
             0 as base_back, 0 as back, 0 as base_relieved, 0 as relieved
        from tax_days where account_id = ${period.account} and ${inPeriod(fragment`dated`, period)} ${inCurrency(fragment`currency`, period)}
      union all
      select t.name, t.rate, t.tax_number, c.currency, ${CATEGORY} as category, c.country, c.state,
             sum(c.sign * coalesce(t.base_minor, c.total)), sum(c.sign * coalesce(t.amount_minor, 0)), 0, 0, 0, 0
        from charged c left join lateral (${taxesOf(period, fragment`c.invoice_id`)}) t on true
       group by 1, 2, 3, 4, 5, 6, 7
      union all
      select t.name, t.rate, t.tax_number, s.currency, ${CATEGORY}, s.country, s.state, 0, 0,
             case when s.is_relief then 0 else s.amount end, 0, case when s.is_relief then s.amount else 0 end, 0
        from settled s left join lateral (${taxesOf(period, fragment`s.invoice_id`)}) t on true
      union all
      select e.tax_name, e.tax_rate, e.tax_number, e.currency, 'S', i.customer_country_id, i.customer_state_id, 0, 0,
             case when e.invoice_id is null and not e.is_relief then -e.amount else 0 end, case when e.is_relief then 0 else e.amount end,
             case when e.invoice_id is null and e.is_relief then -e.amount else 0 end, case when e.is_relief then e.amount else 0 end
        from taken e left join invoices i on i.account_id = ${period.account} and i.invoice_id = e.invoice_id
      union all
      select null, null, null, currency, 'unsettled', country, state, 0, 0, amount, 0, 0, 0 from unsettled)
    select name, rate, tax_number as "taxNumber", currency, category, country as "countryId", state as "stateId", sum(base)::bigint as "baseMinor",
           sum(output)::bigint as "outputMinor", sum(base_back)::bigint as "baseTakenBackMinor", sum(back)::bigint as "takenBackMinor",
           sum(base_relieved)::bigint as "baseRelievedMinor", sum(relieved)::bigint as "relievedMinor"
      from rows group by name, rate, tax_number, currency, category, country, state
    having sum(base) <> 0 or sum(output) <> 0 or sum(base_back) <> 0 or sum(back) <> 0 or sum(base_relieved) <> 0 or sum(relieved) <> 0
     order by name, rate, tax_number nulls first, currency, category nulls first, country nulls first, state nulls first`,
    PORTION_ROWS,
  )

/** Reads the sales of a period by customer, some rows at a time. Of an invoice of several taxes the first one's category counts. */
export const salesOfPeriod = (db: Snapshot, period: ReportPeriod) => {
  const firstCategory = (invoiceId: Fragment) => fragment`
    (select ${CATEGORY} from invoice_taxes t where t.account_id = ${period.account} and t.invoice_id = ${invoiceId}
      order by t.invoice_tax_id limit 1)`
  return db.portions<SalesOfPeriod>(
    sql`
    with ${charged(period)}, ${corrected(period)},
    taxed as (
      select c.invoice_id, sum(t.amount_minor) as amount, (array_agg(${CATEGORY} order by t.invoice_tax_id))[1] as category
        from (select distinct invoice_id from charged) c cross join lateral (${taxesOf(period, fragment`c.invoice_id`)}) t group by c.invoice_id),
    rows as (
      select c.customer_id, c.currency, c.country, c.vat_number, t.category, sum(c.sign * (c.total - coalesce(t.amount, 0))) as turnover, 0 as back,
             sum(c.sign * coalesce(t.amount, 0)) as tax
        from charged c left join taxed t on t.invoice_id = c.invoice_id
       group by 1, 2, 3, 4, 5
      union all
      select customer_id, currency, country, vat_number, ${firstCategory(fragment`s.invoice_id`)}, 0, amount, 0 from settled s where not is_relief
      union all
      select e.customer_id, e.currency, i.customer_country_id, i.customer_vat_number,
             case when e.invoice_id is null then 'S' else ${firstCategory(fragment`e.invoice_id`)} end,
             0, case when e.invoice_id is null and not e.is_relief then -e.amount else 0 end, -e.amount
        from taken e left join invoices i on i.account_id = ${period.account} and i.invoice_id = e.invoice_id
      union all
      select customer_id, currency, country, vat_number, 'unsettled', 0, amount, 0 from unsettled)
    select r.customer_id as "customerId", ${SHOWN_NAME} as "customerName", r.currency, r.country as "countryId", r.vat_number as "vatNumber", r.category,
           r.turnover::bigint as "turnoverMinor", r.back::bigint as "turnoverTakenBackMinor", r.tax::bigint as "taxMinor"
      from (select customer_id, currency, country, vat_number, category, sum(turnover) as turnover, sum(back) as back, sum(tax) as tax
              from rows group by customer_id, currency, country, vat_number, category
            having sum(turnover) <> 0 or sum(back) <> 0 or sum(tax) <> 0) r
      join customers c on c.account_id = ${period.account} and c.customer_id = r.customer_id
     order by r.customer_id, r.currency, r.country nulls first, r.vat_number nulls first, r.category nulls first`,
    PORTION_ROWS,
  )
}
