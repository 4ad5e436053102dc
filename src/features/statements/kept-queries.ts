import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { column, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { KeptStatement } from './kept.ts'

/** Statements that went out on their own, as they were sent. */

export interface StatementRow {
  id: Id
  customerId: CustomerId
  from: IsoDate
  to: IsoDate
  createdAt: Instant
  /** A kept amount is a text. */
  sections: readonly { currency: string; closingMinor: string | bigint }[]
}

export const insertStatements = (
  tx: Transaction,
  rows: readonly { customerId: CustomerId; from: IsoDate; to: IsoDate; document: string }[],
  at: Instant,
) =>
  tx.rows<{ id: Id; customerId: CustomerId }>(sql`
    insert into statements (account_id, created_at, customer_id, from_date, to_date, document)
    select ${tx.account}, ${at}::timestamptz, * from unnest(${column(rows, 'customerId')}::bigint[], ${column(rows, 'from')}::date[],
      ${column(rows, 'to')}::date[], ${column(rows, 'document')}::jsonb[])
    returning statement_id as "id", customer_id as "customerId"`)

/** Conditions of a list, which is one customer's. */
export interface StatementFilter {
  customerId: CustomerId
}

export const listStatements = (
  db: Queryable,
  account: AccountId,
  { customerId }: StatementFilter,
  start: PageStart,
  limit: number,
) =>
  // Of the documents, which may have many lines, no more leaves the database than the list shows.
  db.rows<StatementRow>(sql`
    select statement_id as "id", customer_id as "customerId", from_date as "from", to_date as "to", created_at as "createdAt",
           (select jsonb_agg(jsonb_build_object('currency', s.value -> 'currency', 'closingMinor', s.value -> 'closingMinor') order by s.ordinality)
              from jsonb_array_elements(document -> 'sections') with ordinality s) as "sections"
      from statements where account_id = ${account} and customer_id = ${customerId}
     order by statement_id ${inPage(start, limit)}`)

export const countStatements = (db: Queryable, account: AccountId, { customerId }: StatementFilter) =>
  db.count(sql`select count(*) as "n" from statements where account_id = ${account} and customer_id = ${customerId}`)

/** Finds the document of a statement; null where it has more than `movementsMax` movements, of which none leaves the database then. */
export const findStatement = (
  db: Queryable,
  account: AccountId,
  customerId: CustomerId,
  id: Id,
  movementsMax: number,
) =>
  db.first<{ document: KeptStatement | null }>(sql`
    select case when (select sum(jsonb_array_length(s.value -> 'lines')) from jsonb_array_elements(document -> 'sections') s) <= ${movementsMax}
           then document end as "document"
      from statements where account_id = ${account} and customer_id = ${customerId} and statement_id = ${id}`)

/** Removes personal data: amounts, dates and numbers stay, and of the customer only its reference. */
export const anonymiseStatements = (tx: Transaction, customerId: CustomerId, neutral: string) =>
  tx.rows(sql`
    update statements set document = jsonb_set(document, '{customer}', jsonb_build_object('name', ${neutral}::text, 'address', '[]'::jsonb,
             'registrationNumber', null, 'vatNumber', null, 'tel', null, 'email', null, 'webPage', null))
     where account_id = ${tx.account} and customer_id = ${customerId}`)
