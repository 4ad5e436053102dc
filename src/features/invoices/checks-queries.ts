import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { bracketsOf, type PricedBracketsJson } from '../components/brackets.ts'
import { CHECKED_CHARGE } from './group-by-facts-queries.ts'
import type { Charge } from './queries.ts'
import { hashedShapes } from './template-line-queries.ts'

/** Shape of invoices as it is stored: its hash as hexadecimal digits. */
interface StoredShape {
  id: Id
  hash: string
  charges: number
  taxes: number
}

export const listShapePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<StoredShape>(sql`
    select template_id as "id", encode(hash, 'hex') as "hash", charges, taxes from invoice_templates
     where account_id = ${account} and template_id > ${after} order by template_id limit ${limit}`)

/** Lists the same as the lines and taxes of shapes make it; nothing for one without lines. */
export function listComputedShapes(db: Queryable, account: AccountId, ids: readonly Id[]) {
  const list = arrayLiteral(ids)
  const linesOf = (table: Fragment) =>
    fragment`select * from ${table} where account_id = ${account} and template_id = any(${list}::bigint[])`
  return db.rows<StoredShape>(sql`
    select h.template_id as "id", encode(h.hash, 'hex') as "hash", h.charges, h.taxes
      from (${hashedShapes(linesOf(fragment`invoice_template_charges`), linesOf(fragment`invoice_template_taxes`), fragment`template_id`)}) h`)
}

/** Identifiers of an invoice's lines of which another line has one, too. */
interface GivenTwice {
  /** Null where it is a line of none. */
  invoiceId: InvoiceId | null
  last: Id
  next: Id
}

const givenTwice = (db: Queryable, ranges: Fragment) =>
  db.rows<GivenTwice>(sql`
    select invoice_id as "invoiceId", last, next
      from (select *, lead(first) over (order by first) as next from (${ranges}) r) b
     where next <= last order by first limit 1000`)

export const listChargeIdsTwice = (db: Queryable, account: AccountId) =>
  givenTwice(
    db,
    fragment`
    select i.invoice_id, i.first_charge_id as first, i.first_charge_id + k.charges - 1 as last
      from invoices i join invoice_templates k on k.account_id = ${account} and k.template_id = i.template_id where i.account_id = ${account}
    union all
    select invoice_id, charge_id, charge_id from charge_rows where account_id = ${account}`,
  )

export const listTaxIdsTwice = (db: Queryable, account: AccountId) =>
  givenTwice(
    db,
    fragment`
    select i.invoice_id, i.first_tax_id as first, i.first_tax_id + k.taxes - 1 as last
      from invoices i join invoice_templates k on k.account_id = ${account} and k.template_id = i.template_id
     where i.account_id = ${account} and i.first_tax_id is not null
    union all
    select invoice_id, invoice_tax_id, invoice_tax_id from invoice_tax_rows where account_id = ${account}`,
  )

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
    select ${CHECKED_CHARGE}, s.customer_id as "customerId", s.currency
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
