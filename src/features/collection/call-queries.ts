import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'

/** Statements around the calls of tries: when one is sent, the gateway's names, and what is paid by whom. */

/** Notes that a try is about to be sent once more. */
export const noteSending = (tx: Transaction, paymentId: Id) =>
  tx.rows(
    sql`update collection_tries set sent_at = moment() where account_id = ${tx.account} and payment_id = ${paymentId} and state = 'open'`,
  )

/** Builds the condition that no other try of the gateway bears a name. */
const isFree = (account: AccountId, name: string): Fragment => fragment`
  not exists (select 1 from collection_tries o where o.account_id = ${account} and o.gateway_id = t.gateway_id
    and o.gateway_reference = ${name} and o.payment_id <> t.payment_id)`

/** Keeps the gateway's name of an open try in place of the one that it has. Returns false where it has another, its outcome, or another bears the name. */
export const keepTryName = async (
  tx: Transaction,
  { paymentId, present, name }: { paymentId: Id; present: string | null; name: string },
): Promise<boolean> =>
  (
    await tx.rows(sql`
      update collection_tries t set gateway_reference = ${name}
       where t.account_id = ${tx.account} and t.payment_id = ${paymentId} and t.state = 'open'
         and t.gateway_reference is not distinct from ${present}::text and ${isFree(tx.account, name)} returning 1 as "kept"`)
  ).length > 0

/** Gives a try, open or not, that bears no name the one by which its gateway has answered, unless another bears it. */
export const nameTry = (tx: Transaction, paymentId: Id, name: string) =>
  tx.rows<object>(sql`
    update collection_tries t set gateway_reference = ${name}
     where t.account_id = ${tx.account} and t.payment_id = ${paymentId} and t.gateway_reference is null and ${isFree(tx.account, name)}
 returning 1 as "named"`)

/** Facts of an invoice that is paid by a try, and of who pays it. */
export interface PaidFor {
  number: bigint
  name: string
  lastName: string | null
  isCompany: boolean
  email: string | null
  /** As it was written. */
  country: string | null
  postalCode: string | null
}

export const findPaidFor = (db: Queryable, account: AccountId, invoiceId: InvoiceId) =>
  db.one<PaidFor>(sql`
    select i.number, c.name, c.last_name as "lastName", c.is_company as "isCompany", c.email, c.country, c.zip_code as "postalCode"
      from invoices i join customers c on c.account_id = ${account} and c.customer_id = i.customer_id
     where i.account_id = ${account} and i.invoice_id = ${invoiceId}`)
