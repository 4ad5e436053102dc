import { IS_UNSETTLED } from '../money/filter-queries.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import { oneRow, orTooMany, type Queryable } from '../../platform/database/database.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import type { frozenOfAccount } from '../accounts/rules.ts'
import type { FrozenCustomer } from '../customers/fields.ts'
import type { Applied, CreditNoteDocument } from './document.ts'

export type FrozenAccount = ReturnType<typeof frozenOfAccount>

/** Account and customer as a document froze them, where they were edited since; null where they are as they were. */
export interface FrozenParties {
  account: FrozenAccount | null
  customer: FrozenCustomer | null
}

const getFrozen = (db: Queryable, account: AccountId, document: Fragment) =>
  oneRow<FrozenParties>(
    db,
    sql`select v.document as "account", w.document as "customer"
          from (${document}) d
          left join account_versions v on v.account_id = ${account} and v.version = d.account_version
          left join customer_versions w
            on w.account_id = ${account} and w.customer_id = d.customer_id and w.version = d.customer_version`,
  )

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

/** Lists the debts that a credit note pays, in the order in which it was applied to them. */
export const listUses = (db: Queryable, account: AccountId, noteId: Id) =>
  db.rows<CreditNoteDocument['applied'][number]>(sql`
    select l.dated as "date", coalesce(a.kind, 'invoice') as "kind", coalesce(a.ref, i.number::text) as "reference", l.amount_minor as "amountMinor"
      from allocations l
      left join invoices i on l.owed_kind = 'invoice' and i.account_id = ${account} and i.invoice_id = l.owed_id
      left join positive_adjustments a
        on l.owed_kind = 'positive_adjustment' and a.account_id = ${account} and a.positive_adjustment_id = l.owed_id
     where l.account_id = ${account} and l.given_kind = 'negative_adjustment' and l.given_id = ${noteId} and l.ended_on is null
     order by l.allocation_id`)
