import type { BookAccount } from '../../engine/books/codes.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { IS_OF_PACKAGE } from '../reports/line-queries.ts'
import { type BatchScope, HAS_LINES, INVOICE_OF_MOVE, METHOD_OF_MOVE, moved, NOTE_OF_MOVE } from './moves-queries.ts'
import { ITEMS } from './source-queries.ts'
import { writtenOutCharges } from '../invoices/state-queries.ts'

/** Codes that a batch lacks, where no code of the account stands in for it: found in one pass before anything is written. */

/** Kinds of codes that may be missing, because the account has none that stand in. */
export interface Sought {
  /** Sides on the code of a customer. */
  owed: readonly BookAccount[]
  /** Methods of payments that have codes; null: cash has one for all. */
  methods: readonly string[] | null
  isRevenue: boolean
  isTax: boolean
}

export interface MissingCode {
  /** As "customer 7" or "revenue of package 3". */
  what: string
  /** How many there are in all. */
  count: number
}

/** Makes the condition that no code is set on the rule that a tax t of an invoice, of the setting `name` and the rate `rate`, follows: as it is now where the rule is gone, or was never kept. */
const isRuleUncoded = (tx: Transaction, column: Fragment, name: Fragment, rate: Fragment): Fragment => fragment`
  coalesce(
    (select case when r.${column} is null then '-' else '+' end from tax_rules r where r.account_id = ${tx.account} and r.tax_rule_id = t.tax_rule_id),
    (select case when r.${column} is null then '-' else '+' end
       from tax_rules r join tax_settings g on g.account_id = ${tx.account} and g.tax_setting_id = r.tax_setting_id
      where r.account_id = ${tx.account} and g.name = ${name} and r.rate = ${rate} order by r.tax_rule_id limit 1)) is distinct from '+'`

const customers = (tx: Transaction, { owed }: Sought): Fragment => fragment`
  select distinct 1 as place, m.customer_id as id, 'customer ' || m.customer_id as what
    from moves m join customers c on c.account_id = ${tx.account} and c.customer_id = m.customer_id
   where c.gl_code is null and (m.debit = any(${arrayLiteral(owed)})) <> (m.credit = any(${arrayLiteral(owed)}))`

const methodsOfPayments = (tx: Transaction, { methods }: Sought): Fragment => fragment`
  select distinct 2, null::bigint, coalesce('payment method ' || x.method, 'account cash')
    from (select ${METHOD_OF_MOVE(tx)} as method from moves m
            left join payments p on m.document_type = 'payment' and p.account_id = ${tx.account} and p.payment_id = m.document_id
           where ${methods !== null} and 'cash' in (m.debit, m.credit)) x
   where not coalesce(x.method = any(${arrayLiteral(methods ?? [])}), false)`

/** Lines of sources: those of the note where it has any, which are rows, else those of the invoice. */
const lines = (tx: Transaction): Fragment => fragment`
  select s.invoice_id, s.note, c.item_id, ${IS_OF_PACKAGE} as is_package, c.net_minor
    from sources s cross join lateral (select * from charges where account_id = ${tx.account} and invoice_id = s.invoice_id offset 0) c
   where not exists (select 1 from credit_note_lines n where n.account_id = ${tx.account} and n.credit_note_id = s.note)
  union all
  select s.invoice_id, s.note, c.item_id, ${IS_OF_PACKAGE}, n.net_minor
    from sources s join credit_note_lines n on n.account_id = ${tx.account} and n.credit_note_id = s.note
    join ${writtenOutCharges(tx.account)} c on c.charge_id = n.charge_id`

const revenue = (tx: Transaction): Fragment => fragment`
  select distinct 3, coalesce(p.package_id, k.component_id),
         case when l.net_minor is null then 'account revenue' when p.package_id is not null then 'revenue of package ' || p.package_id
              when k.component_id is not null then 'revenue of component ' || k.component_id else 'revenue of lines by hand' end
    from sources s
    left join (select invoice_id, note, item_id, is_package, sum(net_minor) as net_minor from (${lines(tx)}) c
                group by invoice_id, note, item_id, is_package having sum(net_minor) <> 0) l
           on l.invoice_id = s.invoice_id and l.note is not distinct from s.note
    ${ITEMS(tx)}
   where coalesce(p.gl_code, k.gl_code) is null`

const taxes = (tx: Transaction, { isTax }: Sought): Fragment => fragment`
  select distinct 4, null::bigint, coalesce('tax ' || m.tax_name || ' of ' || trim_scale(m.tax_rate), 'account tax')
    from (select distinct tax_name, tax_rate, of_invoice as invoice_id from moves where ${isTax} and 'tax' in (debit, credit)) m
    left join lateral (
      select t.tax_rule_id from invoice_taxes t
       where t.account_id = ${tx.account} and t.invoice_id = m.invoice_id and t.name = m.tax_name and t.rate = m.tax_rate
       order by t.invoice_tax_id limit 1) t on true
   where ${isRuleUncoded(tx, fragment`gl_code`, fragment`m.tax_name`, fragment`m.tax_rate`)}`

/** Lists the first of what has no code, each with how many there are. */
export const listMissingCodes = (tx: Transaction, scope: BatchScope, sought: Sought, limit: number) =>
  tx.rows<MissingCode>(sql`
    with moves as (
      select m.*, ${INVOICE_OF_MOVE} as of_invoice, ${HAS_LINES} as of_lines from (${moved(tx, scope)}) m ${NOTE_OF_MOVE(tx)}),
    sources as (
      select s.invoice_id, s.note
        from (select distinct of_invoice as invoice_id, case when of_lines then document_id end as note from moves
               where ${sought.isRevenue} and 'revenue' in (debit, credit)) s
        left join lateral (
          select t.tax_rule_id, t.name, t.rate from invoice_taxes t
           where t.account_id = ${tx.account} and t.invoice_id = s.invoice_id order by t.invoice_tax_id limit 1) t on true
       where ${isRuleUncoded(tx, fragment`revenue_gl_code`, fragment`t.name`, fragment`t.rate`)}),
    missing as (
      ${customers(tx, sought)} union all ${methodsOfPayments(tx, sought)} union all ${revenue(tx)} union all ${taxes(tx, sought)})
    select what, (count(*) over ())::integer as "count" from missing order by place, id nulls last, what limit ${limit}`)
