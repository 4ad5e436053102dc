import type { AccountId } from '../../kernel/ids.ts'
import { fragment, type Fragment } from '../../platform/database/sql.ts'

/** Lines of invoices by what they are for, and what credit notes took of each. */

/** Origin of a line: a subscription, a recurring invoice, an invoice by hand; or what corrects no line. */
export const SALES_KINDS = ['subscription', 'recurring', 'by_hand', 'unsettled'] as const
export type SalesKind = (typeof SALES_KINDS)[number]

/** Kind of a charge c. */
export const KIND_OF_LINE = fragment`
  case when c.subscription_id is not null then 'subscription' when c.recurring_invoice_id is not null then 'recurring' else 'by_hand' end`

/** Condition of lines c that are for a package itself; other lines with an item are for a component. */
export const IS_OF_PACKAGE = fragment`c.kind in ('setup', 'trial', 'package', 'package_extension')`

/** Package of a charge c; null where it is not for a package. */
export const PACKAGE_OF_LINE = fragment`case when ${IS_OF_PACKAGE} then c.item_id end`

/** Component of a charge c; null where it is not for a component. */
export const COMPONENT_OF_LINE = fragment`
  case when c.kind in ('component', 'component_extension', 'rise', 'metered', 'late_usage') then c.item_id end`

/**
 * Shares net amounts of settlements over the lines of their invoices: those of a note with lines as it names them, any other by what lines of notes made
 * before had left of each. Cumulative rounding: the shares of a settlement come to its amount. `nets` has settlement_id, invoice_id, dated and amount.
 */
export const sharedOverLines = (account: AccountId, nets: Fragment): Fragment => {
  const ofNote = fragment`l.account_id = ${account} and l.credit_note_id = s.negative_adjustment_id`
  return fragment`
  select n.settlement_id, n.dated, w.charge_id,
         round(n.amount * w.upto / nullif(w.whole, 0)) - round(n.amount * (w.upto - w.weight) / nullif(w.whole, 0)) as amount
    from ${nets} n join settlements s on s.account_id = ${account} and s.settlement_id = n.settlement_id
   cross join lateral (
     select charge_id, weight, sum(weight) over (order by charge_id) as upto, sum(weight) over () as whole from (
       select charge_id, case when sum(sum(left_minor)) over () > 0 then sum(left_minor) else sum(net_minor) end as weight from (
         select l.charge_id, l.net_minor, l.net_minor as left_minor from credit_note_lines l where ${ofNote}
         union all
         select c.charge_id, c.net_minor, c.net_minor from charges c
          where c.account_id = ${account} and c.invoice_id = n.invoice_id and not exists (select 1 from credit_note_lines l where ${ofNote})
         union all
         select e.charge_id, 0, -e.net_minor
           from settlements o join credit_note_lines e on e.account_id = ${account} and e.credit_note_id = o.negative_adjustment_id
          where o.account_id = ${account} and o.invoice_id = n.invoice_id and o.settlement_id < n.settlement_id
            and not exists (select 1 from credit_note_lines l where ${ofNote})) a
        group by charge_id) b) w`
}
