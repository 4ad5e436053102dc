import type { Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import type { BatchScope } from './moves-queries.ts'

/**
 * Writes what has changed since the last batch of what callers' notes move from revenue to unsettled: each note with its amount, and turned round each
 * settlement with its gross, until it ended. Notes with entries that come with the next batch wait for that. Returns whether anything changed.
 */
export async function insertUnsettled(tx: Transaction, { id, currency, to, below }: BatchScope): Promise<boolean> {
  const note = fragment`n.account_id = ${tx.account} and n.kind = 'credit_note' and n.invoice_id is null and n.currency = ${currency}`
  const settlement = fragment`
    select s.customer_id, s.negative_adjustment_id as note, s.settlement_id as settlement, s.invoice_id, s.basis = 'lines' as has_lines`
  const ofNote = fragment`
    settlements s join negative_adjustments n on ${note} and n.negative_adjustment_id = s.negative_adjustment_id`
  const n = await tx.count(sql`
    with late as (
      select record_id, record_type from ledger
       where account_id = ${tx.account} and entry_id >= ${below} and record_type in ('negative_adjustment', 'settlement')),
    standing as (
      select n.customer_id, n.negative_adjustment_id as note, null::bigint as settlement, null::bigint as invoice_id, false as has_lines, n.dated,
             n.amount_minor as amount
        from negative_adjustments n where ${note} and n.dated <= ${to}
      union all
      ${settlement}, s.dated, -s.gross_minor from ${ofNote} where s.account_id = ${tx.account} and s.dated <= ${to}
      union all
      ${settlement}, greatest(s.ended_on, s.dated), s.gross_minor from ${ofNote}
       where s.account_id = ${tx.account} and s.ended_on is not null and greatest(s.ended_on, s.dated) <= ${to}
      union all
      select customer_id, negative_adjustment_id, settlement_id, invoice_id, has_lines, dated, -amount_minor
        from export_unsettled where account_id = ${tx.account} and currency = ${currency} and dated <= ${to}),
    written as (
    insert into export_unsettled (account_id, export_id, customer_id, currency, negative_adjustment_id, settlement_id, invoice_id, has_lines, dated,
                                  amount_minor)
      select ${tx.account}, ${id}, customer_id, ${currency}, note, settlement, invoice_id, has_lines, dated, sum(amount) from standing
       where note not in (select record_id from late where record_type = 'negative_adjustment')
             and (settlement is null or settlement not in (select record_id from late where record_type = 'settlement'))
       group by customer_id, note, settlement, invoice_id, has_lines, dated
      having sum(amount) <> 0
    returning 1)
    select count(*) as "n" from written`)
  return n > 0
}
