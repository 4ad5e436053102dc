import { fragment, type Fragment } from '../../platform/database/sql.ts'
import { inCurrency, inPeriod, PLACE, type ReportPeriod } from './period-queries.ts'

/** Settlements of a period and the entries of their taxes, as all reports that come to the ledger count them: each on its day, and turned on the day it ended. */

/**
 * Lists entries that took tax back or relieved it, each with its settlement and the invoice of that. A settlement of a note by its service stands under the
 * note, one from before there were settlements under its allocation; of one that was taken away only entries are left.
 */
export const taken = (period: ReportPeriod): Fragment => {
  const { account } = period
  const settledBy = (recordType: string, key: Fragment): Fragment => fragment`
    select e.*, s.invoice_id, s.settlement_id from entries e left join settlements s on s.account_id = ${account} and ${key} = e.record_id
     where e.record_type = ${recordType}`
  return fragment`
  entries as materialized (
    select record_type, record_id, customer_id, tax_name, tax_rate, tax_number, currency, dated, event = 'bad_debt_tax_relieved' as is_relief,
           case when debit = 'tax' then amount_minor else -amount_minor end as amount
      from ledger
     where account_id = ${account} and event in ('credit_note_made', 'tax_taken_back', 'bad_debt_tax_relieved') and tax_name is not null
       and ${inPeriod(fragment`dated`, period)} ${inCurrency(fragment`currency`, period)}),
  taken as materialized (
    ${settledBy('settlement', fragment`s.settlement_id`)}
    union all
    ${settledBy('negative_adjustment', fragment`s.negative_adjustment_id`)}
    union all
    ${settledBy('allocation', fragment`s.old_allocation_id`)})`
}

/** Lists gross amounts of settlements. */
export const gross = (period: ReportPeriod): Fragment => {
  const { account } = period
  return fragment`
  gross as materialized (
    select settlement_id, negative_adjustment_id, customer_id, invoice_id, dated, basis = 'relief' as is_relief, gross_minor as amount from settlements
     where account_id = ${account} and ${inPeriod(fragment`dated`, period)}
    union all
    select settlement_id, negative_adjustment_id, customer_id, invoice_id, ended_on, basis = 'relief', -gross_minor from settlements
     where account_id = ${account} and ended_on is not null and ${inPeriod(fragment`ended_on`, period)})`
}

/** Lists gross amounts of callers' notes by their Date, less the gross settled of them by the settlement's day. */
export const unsettled = (period: ReportPeriod): Fragment => {
  const { account } = period
  return fragment`
  unsettled as materialized (
    select customer_id, currency, dated, ${PLACE}, amount_minor as amount from negative_adjustments
     where account_id = ${account} and kind = 'credit_note' and invoice_id is null and ${inPeriod(fragment`dated`, period)}
           ${inCurrency(fragment`currency`, period)}
    union all
    select g.customer_id, i.currency, g.dated, n.customer_country_id, n.customer_state_id, n.customer_vat_number, -g.amount
      from gross g
      join invoices i on i.account_id = ${account} and i.invoice_id = g.invoice_id ${inCurrency(fragment`i.currency`, period)}
      left join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = g.negative_adjustment_id
     where not g.is_relief and n.invoice_id is null)`
}
