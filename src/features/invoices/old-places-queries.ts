import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { firstRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { column, type Fragment, fragment, sql } from '../../platform/database/sql.ts'

/** Identifiers that one transaction looks at. */
export const STRETCH_IDS = 5_000n

export const listAccountsWithOldPlaces = (db: Queryable) =>
  db.rows<{ account: AccountId }>(sql`select account_id as "account" from list_accounts_with_places_to_find()`)

/** Invoices of an account that are still to be looked at. */
export interface OldPlaces {
  nextId: InvoiceId
  lastId: InvoiceId
}

export const lockOldPlaces = (tx: Transaction) =>
  firstRow<OldPlaces>(
    tx,
    sql`select next_id as "nextId", last_id as "lastId" from invoice_places_to_find where account_id = ${tx.account} for update`,
  )

const frozenCountries = (tx: Transaction, { nextId }: OldPlaces): Fragment => fragment`
  select i.invoice_id as id, case when w.version is null then c.country else w.document ->> 'country' end as text
    from invoices i
    join customers c on c.account_id = ${tx.account} and c.customer_id = i.customer_id
    left join customer_versions w on w.account_id = ${tx.account} and w.customer_id = i.customer_id and w.version = i.customer_version
   where i.account_id = ${tx.account} and i.invoice_id >= ${nextId} and i.invoice_id < ${nextId + STRETCH_IDS}
     and i.issued_at is not null and i.customer_country_id is null`

/** Lists the texts that the next stretch of invoices has as the countries of their customers. */
export const listFrozenCountries = (tx: Transaction, places: OldPlaces) =>
  tx.rows<{ text: string }>(
    sql`select distinct f.text as "text" from (${frozenCountries(tx, places)}) f where f.text is not null`,
  )

/** Writes the countries that these texts name to the next stretch of invoices. */
export const updateOldPlaces = (tx: Transaction, places: OldPlaces, named: readonly { text: string; id: number }[]) =>
  tx.rows(sql`
    update invoices i set customer_country_id = n.id
      from (${frozenCountries(tx, places)}) f
      join unnest(${column(named, 'text')}::text[], ${column(named, 'id')}::bigint[]) as n(text, id) on n.text = f.text
     where i.account_id = ${tx.account} and i.invoice_id = f.id`)

export const moveOldPlaces = (tx: Transaction, nextId: InvoiceId) =>
  tx.rows(sql`update invoice_places_to_find set next_id = ${nextId} where account_id = ${tx.account}`)

export const deleteOldPlaces = (tx: Transaction) =>
  tx.rows(sql`delete from invoice_places_to_find where account_id = ${tx.account}`)
