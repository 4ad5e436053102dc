import type { DeferredCharge } from '../../engine/books/deferred.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { PORTION_ROWS } from '../../platform/database/reads.ts'
import { fragment, type Fragment, sql } from '../../platform/database/sql.ts'
import { KIND_OF_LINE, PACKAGE_OF_LINE, type SalesKind, sharedOverLines } from './line-queries.ts'
import { type AsAt, inCurrency } from './period-queries.ts'
import type { Snapshot } from '../../platform/database/database.ts'

/** Charges of which days lie after a date, as they stood on it. */

/** Charges that are alike, and how many. */
export interface AlikeCharges extends DeferredCharge {
  count: bigint
  currency: string
  kind: SalesKind
  /** Package with its code and name as they are now; null where the charges are for none, and where they are not asked for. */
  packageId: Id | null
  code: string | null
  name: string | null
}

/** Lists settlements that stood on the date, of invoices with days after it: their net amounts. */
const nets = ({ account, date }: AsAt): Fragment => fragment`
  nets as materialized (
    select s.settlement_id, s.negative_adjustment_id, s.invoice_id, s.dated,
           s.gross_minor - coalesce((
             select sum(t.amount_minor) from settlement_taxes t
              where t.account_id = ${account} and t.settlement_id = s.settlement_id and t.dated <= ${date}), 0) as amount
      from settlements s
     where s.account_id = ${account} and s.basis <> 'relief' and s.dated <= ${date} and (s.ended_on is null or s.ended_on > ${date})
       and exists (select 1 from charges c where c.account_id = ${account} and c.invoice_id = s.invoice_id and c.period_until > ${date}::date + 1 offset 0))`

/** Lists lines of notes, of whatever day, that give days of a charge c back. */
const daysOnNotes = (account: AccountId): Fragment => fragment`
  select 1 from settlements s join credit_note_lines l on l.account_id = ${account} and l.credit_note_id = s.negative_adjustment_id
   where s.account_id = ${account} and s.invoice_id = c.invoice_id and l.charge_id = c.charge_id and l.period_from is not null`

/**
 * Reads charges of which days lie after a date, those that are alike together, some rows at a time. Only what is dated until then counts: invoices,
 * cancellations and credits. Days that were given back for nothing stand on no note; they count from their first day on.
 */
export const chargesBeyond = (db: Snapshot, asAt: AsAt, by: 'month' | 'package') => {
  const { account, date } = asAt
  const item = by === 'package' ? PACKAGE_OF_LINE : fragment`null::bigint`
  return db.portions<AlikeCharges>(
    sql`
    with ${nets(asAt)},
    credited as materialized (
      select charge_id, sum(amount)::bigint as amount from (${sharedOverLines(account, fragment`nets`)}) s group by charge_id),
    given_back as materialized (
      select l.charge_id, min(l.period_from) as day
        from nets n join credit_note_lines l on l.account_id = ${account} and l.credit_note_id = n.negative_adjustment_id
       where l.period_from is not null group by l.charge_id),
    alike as (
      select i.currency, ${KIND_OF_LINE} as kind, ${item} as item_id, c.net_minor, coalesce(r.amount, 0) as credited_minor, c.period_from, c.period_until,
             case when c.credited_from is null then null when g.day is not null then g.day
                  when c.credited_from <= ${date} and not exists (${daysOnNotes(account)}) then c.credited_from end as given_back_from,
             count(*) as count
        from charges c
        join invoices i on i.account_id = ${account} and i.invoice_id = c.invoice_id
        left join credited r on r.charge_id = c.charge_id
        left join given_back g on g.charge_id = c.charge_id
       where c.account_id = ${account} and c.period_until > ${date}::date + 1
         and i.issued_at is not null and i.invoice_date <= ${date} and (i.cancelled_on is null or greatest(i.cancelled_on, i.invoice_date) > ${date})
             ${inCurrency(fragment`i.currency`, asAt)}
       group by 1, 2, 3, 4, 5, 6, 7, 8)
    select a.currency, a.kind, a.item_id as "packageId", p.code, p.name, a.net_minor as "netMinor", a.credited_minor as "creditedMinor",
           a.period_from as "from", a.period_until as "until", a.given_back_from as "givenBackFrom", a.count
      from alike a left join packages p on p.account_id = ${account} and p.package_id = a.item_id`,
    PORTION_ROWS,
  )
}
