import type { Decimal } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import type { TaxCategory } from '../../kernel/tax.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { IS_OF_PACKAGE } from '../reports/line-queries.ts'
import { writtenOutCharges } from '../invoices/state-queries.ts'

/** Lines and taxes that revenue is of, with the codes of their packages, components and rules. */

/** Returns whether any package or component has a code of its own: where none has, no lines need to be read. */
export const hasItemCodes = (tx: Transaction): Promise<boolean> =>
  tx.value<boolean>(sql`
    select exists (select 1 from packages where account_id = ${tx.account} and gl_code is not null)
        or exists (select 1 from components where account_id = ${tx.account} and gl_code is not null) as "has"`)

/** Lines of a code: how much of the revenue of an invoice or a note is on it. */
export interface LinesOfCode {
  key: Id
  /** Code of packages and components; null of those that have none, and of lines by hand. */
  code: string | null
  netMinor: bigint
}

/** Adds the packages p and components k of lines l with their `is_package` and `item_id`. */
export const ITEMS = (tx: Transaction): Fragment => fragment`
    left join packages p on l.is_package and p.account_id = ${tx.account} and p.package_id = l.item_id
    left join components k on not l.is_package and k.account_id = ${tx.account} and k.component_id = l.item_id`

const byCode = (tx: Transaction, lines: Fragment): Fragment => fragment`
  select l.key, coalesce(p.gl_code, k.gl_code) as "code", sum(l.net)::bigint as "netMinor" from (${lines}) l ${ITEMS(tx)}
   group by 1, 2 having sum(l.net) <> 0 order by 1, 2`

/** Lists the lines of invoices by code. */
export const listChargedLines = (tx: Transaction, invoiceIds: readonly Id[]) =>
  tx.rows<LinesOfCode>(sql`
    ${byCode(
      tx,
      fragment`select c.invoice_id as key, c.item_id, ${IS_OF_PACKAGE} as is_package, c.net_minor as net from charges c
                where c.account_id = ${tx.account} and c.invoice_id = any(${arrayLiteral(invoiceIds)}::bigint[])`,
    )}`)

/** Lists the lines that notes give back, by code. Their charges are rows. */
export const listCreditedLines = (tx: Transaction, noteIds: readonly Id[]) =>
  tx.rows<LinesOfCode>(sql`
    ${byCode(
      tx,
      fragment`select n.credit_note_id as key, c.item_id, ${IS_OF_PACKAGE} as is_package, n.net_minor as net
                 from credit_note_lines n join ${writtenOutCharges(tx.account)} c on c.charge_id = n.charge_id
                where n.account_id = ${tx.account} and n.credit_note_id = any(${arrayLiteral(noteIds)}::bigint[])`,
    )}`)

export interface TaxOfInvoice {
  invoiceId: Id
  ruleId: Id | null
  name: string
  rate: Decimal
  category: TaxCategory | null
  /** Country and VAT number of the customer as they are frozen with the invoice. */
  countryId: Id | null
  vatNumber: string | null
}

/** Lists the taxes of invoices, those of the first setting first. */
export const listTaxesOfInvoices = (tx: Transaction, invoiceIds: readonly Id[]) =>
  tx.rows<TaxOfInvoice>(sql`
    select t.invoice_id as "invoiceId", t.tax_rule_id as "ruleId", t.name, t.rate, t.category, i.customer_country_id as "countryId",
           i.customer_vat_number as "vatNumber"
      from invoice_taxes t join invoices i on i.account_id = ${tx.account} and i.invoice_id = t.invoice_id
     where t.account_id = ${tx.account} and t.invoice_id = any(${arrayLiteral(invoiceIds)}::bigint[])
     order by t.invoice_id, t.invoice_tax_id`)

export interface CodedRule {
  id: Id
  name: string
  rate: Decimal
  code: string | null
  revenueCode: string | null
  datevKey: string | null
}

/** Lists the tax rules of the account with their codes. */
export const listCodedRules = (tx: Transaction) =>
  tx.rows<CodedRule>(sql`
    select r.tax_rule_id as "id", s.name, r.rate, r.gl_code as "code", r.revenue_gl_code as "revenueCode", r.datev_key as "datevKey"
      from tax_rules r join tax_settings s on s.account_id = ${tx.account} and s.tax_setting_id = r.tax_setting_id
     where r.account_id = ${tx.account} order by r.tax_rule_id`)
