import type { LedgerAccount } from '../../engine/money/postings.ts'
import { PORTION_ROWS } from '../../platform/database/reads.ts'
import { sql } from '../../platform/database/sql.ts'
import { movedUntil } from '../ledger/mark-queries.ts'
import type { ReportPeriod } from './period-queries.ts'
import type { Snapshot } from '../../platform/database/database.ts'

/** Row of a trial balance; amounts in minor units, balances as debits less credits. */
export interface TrialBalanceRow {
  currency: string
  ledgerAccount: LedgerAccount
  /** Null of any other account than tax. */
  taxName: string | null
  /** Of the account in the accountant's chart; null where none is set, or where the rules of a tax have several. */
  glCode: string | null
  openingMinor: bigint
  debitMinor: bigint
  creditMinor: bigint
}

/**
 * Reads what every ledger account stood at before a period, and what it was debited and credited in it. A tax has the code of the
 * rules by which it is charged, where they agree; a rule without one that of the ledger account.
 */
export const trialBalance = (db: Snapshot, { account, from, to, currency }: ReportPeriod) =>
  db.portions<TrialBalanceRow>(
    sql`
    with summed as (
      select dated >= ${from} as is_in_period, currency, debit, credit, tax_name, sum(amount_minor) as amount
        from (${movedUntil(account, to, currency)}) moved group by 1, 2, 3, 4, 5),
    codes as (select accounts from gl_codes where account_id = ${account}),
    tax_codes as (
      select t.name, case when count(distinct coalesce(r.gl_code, c.code, '')) = 1 then min(coalesce(r.gl_code, c.code)) end as code
        from tax_settings t join tax_rules r on r.account_id = ${account} and r.tax_setting_id = t.tax_setting_id
        left join (select accounts ->> 'tax' as code from codes) c on true
       where t.account_id = ${account} and r.rate > 0 group by t.name),
    moved as (
      select s.currency, side.word as "ledgerAccount", case when side.word = 'tax' then s.tax_name end as "taxName",
             coalesce(sum(side.sign * s.amount) filter (where not s.is_in_period), 0)::bigint as "openingMinor",
             coalesce(sum(s.amount) filter (where s.is_in_period and side.sign = 1), 0)::bigint as "debitMinor",
             coalesce(sum(s.amount) filter (where s.is_in_period and side.sign = -1), 0)::bigint as "creditMinor"
        from summed s cross join lateral (values (s.debit, 1), (s.credit, -1)) as side(word, sign)
       group by 1, 2, 3)
    select m.*, case when t.name is null then c.accounts ->> m."ledgerAccount" else t.code end as "glCode"
      from moved m left join codes c on true left join tax_codes t on t.name = m."taxName"
     order by m.currency, m."ledgerAccount", m."taxName" nulls first`,
    PORTION_ROWS,
  )
