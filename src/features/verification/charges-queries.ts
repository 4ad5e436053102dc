import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { bracketsOf, type PricedBracketsJson } from '../invoices/brackets.ts'
import type { Charge } from '../invoices/queries.ts'

export interface UninvoicedCharge extends Charge {
  customerId: CustomerId
  currency: string
}

/** Lists the charges on no invoice, with the currency of their subscription. */
export const listUninvoicedCharges = async (
  db: Queryable,
  account: AccountId,
  after: Id,
  limit: number,
): Promise<UninvoicedCharge[]> =>
  (
    await db.rows<Omit<UninvoicedCharge, 'brackets'> & { brackets: PricedBracketsJson | null }>(sql`
    select c.charge_id as "id", c.invoice_id as "invoiceId", c.display_order as "displayOrder", c.kind, c.name, c.description, c.quantity,
           c.unit_price as "unitPrice", c.net_minor as "netMinor", c.gross_minor as "grossMinor", c.period_from as "from",
           c.period_until as "until", c.whole_from as "wholeFrom", c.whole_until as "wholeUntil", c.price, c.brackets,
           c.subscription_id as "subscriptionId", c.stretch, c.item_id as "itemId", c.part, s.customer_id as "customerId", s.currency
      from charge_rows c join subscriptions s on s.account_id = ${account} and s.subscription_id = c.subscription_id
     where c.account_id = ${account} and c.invoice_id is null and c.charge_id > ${after} order by c.charge_id limit ${limit}`)
  ).map((row) => ({ ...row, brackets: bracketsOf(row.brackets) }))

/** Lists lines of invoices, or of subscriptions, that are not there. */
export const listOrphanCharges = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id; of: Id | null }>(sql`
    select c.charge_id as "id", c.invoice_id as "of" from charge_rows c
     where c.account_id = ${account} and c.charge_id > ${after}
       and case when c.invoice_id is null
             then not exists (select 1 from subscriptions s where s.account_id = ${account} and s.subscription_id = c.subscription_id)
             else not exists (select 1 from invoices i where i.account_id = ${account} and i.invoice_id = c.invoice_id) end
     order by c.charge_id limit ${limit}`)

export const listOrphanTaxes = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id; of: Id }>(sql`
    select t.invoice_tax_id as "id", t.invoice_id as "of" from invoice_tax_rows t
     where t.account_id = ${account} and t.invoice_tax_id > ${after}
       and not exists (select 1 from invoices i where i.account_id = ${account} and i.invoice_id = t.invoice_id)
     order by t.invoice_tax_id limit ${limit}`)
