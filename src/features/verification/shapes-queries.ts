import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { hashedShapes } from '../invoices/template-line-queries.ts'

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

/** Invoice that refers to a shape and should not, or not to this one. */
interface MisshapenInvoice {
  id: InvoiceId
  customerId: CustomerId
  shapeId: Id
  isMissing: boolean
  /** It has lines or taxes as rows beside those of the shape. */
  hasRows: boolean
}

/** Lists those of some invoices whose shape is missing, has taxes where none were drawn for, or does not stand alone. */
export const listMisshapen = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  db.rows<MisshapenInvoice>(sql`
    select s.* from (
      select i.invoice_id as "id", i.customer_id as "customerId", i.template_id as "shapeId",
             k.template_id is null or (k.taxes = 0) <> (i.first_tax_id is null) as "isMissing",
             exists (select from charge_rows c where c.account_id = ${account} and c.invoice_id = i.invoice_id)
               or exists (select from invoice_tax_rows t where t.account_id = ${account} and t.invoice_id = i.invoice_id) as "hasRows"
        from invoices i left join invoice_templates k on k.account_id = ${account} and k.template_id = i.template_id
       where i.account_id = ${account} and i.invoice_id = any(${arrayLiteral(ids)}::bigint[]) and i.template_id is not null) s
     where s."isMissing" or s."hasRows" order by s."id"`)

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
