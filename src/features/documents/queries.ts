import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import { orTooMany, type Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import type { frozenOfAccount } from '../accounts/rules.ts'
import type { FrozenCustomer } from '../customers/fields.ts'
import { IS_UNSETTLED } from '../money/open-queries.ts'
import type { Applied } from './document.ts'

export type FrozenAccount = ReturnType<typeof frozenOfAccount>

/** Account and customer as a document froze them, where they were edited since; null where they are as they were. */
export interface FrozenParties {
  account: FrozenAccount | null
  customer: FrozenCustomer | null
  /** The customer's place for taxes, as ISO 3166-1 numbers countries. */
  countryId: bigint | null
}

const getFrozen = (db: Queryable, account: AccountId, document: Fragment) =>
  db.one<FrozenParties>(sql`
    select v.document as "account", w.document as "customer", d.customer_country_id as "countryId"
      from (${document}) d
      left join account_versions v on v.account_id = ${account} and v.version = d.account_version
      left join customer_versions w
        on w.account_id = ${account} and w.customer_id = d.customer_id and w.version = d.customer_version`)

export const getFrozenParties = (db: Queryable, account: AccountId, id: InvoiceId) =>
  getFrozen(db, account, fragment`select * from invoices where account_id = ${account} and invoice_id = ${id}`)

export const getFrozenPartiesOfNote = (db: Queryable, account: AccountId, id: Id) =>
  getFrozen(
    db,
    account,
    fragment`select * from negative_adjustments where account_id = ${account} and negative_adjustment_id = ${id}`,
  )

/** Lists the first payments, credit notes and bad debts of an invoice in the order in which they were applied. */
export function listAppliedLines(db: Queryable, account: AccountId, id: InvoiceId, appliedMax: number) {
  // Where more are too many, those that there are need no order to be found.
  const first = db.rowsMax === undefined ? fragment`order by allocation_id limit ${appliedMax}` : orTooMany(db)
  return db.rows<Applied>(sql`
    select coalesce(p.dated, n.dated) as "date", coalesce(n.kind, 'payment') as "kind", coalesce(p.ref, n.ref) as "reference", p.method,
           coalesce(${IS_UNSETTLED}, false) as "isPending", l.amount_minor as "amountMinor"
      from (select * from allocations
             where account_id = ${account} and owed_kind = 'invoice' and owed_id = ${id} and ended_on is null
             ${first}) l
      left join payments p on l.given_kind = 'payment' and p.account_id = ${account} and p.payment_id = l.given_id
      left join negative_adjustments n
        on l.given_kind = 'negative_adjustment' and n.account_id = ${account} and n.negative_adjustment_id = l.given_id
     order by l.allocation_id`)
}

/** Lists numbers and days of invoices. */
export const listInvoiceHeads = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  db.rows<{ id: InvoiceId; number: string | null; date: IsoDate }>(sql`
    select invoice_id as "id", number::text as "number", invoice_date as "date" from invoices
     where account_id = ${account} and invoice_id = any(${arrayLiteral(ids)}::bigint[])`)

/** Lists the invoices and credit notes that have one of these numbers. */
export const listDocumentsNumbered = (db: Queryable, account: AccountId, numbers: readonly string[]) =>
  db.rows<{ number: string; id: Id }>(sql`
    select number::text as "number", invoice_id as "id" from invoices
     where account_id = ${account} and number = any(${arrayLiteral(numbers.filter((one) => /^\d{1,12}$/.test(one)))}::bigint[])
    union all
    select ref, negative_adjustment_id from negative_adjustments
     where account_id = ${account} and ref = any(${arrayLiteral(numbers)}::text[])`)
