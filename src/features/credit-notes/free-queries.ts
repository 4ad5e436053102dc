import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { column, sql } from '../../platform/database/sql.ts'

/** Numbers of the credit notes that the service made for an invoice. */
export const listNotesFor = async (db: Queryable, account: AccountId, invoiceId: InvoiceId): Promise<string[]> =>
  (
    await db.rows<{ number: string }>(sql`
      select number from credit_notes where account_id = ${account} and invoice_id = ${invoiceId} and subscription_id is not null
       order by credit_note_id`)
  ).map(({ number }) => number)

export interface Allocation {
  id: Id
  givenKind: 'payment' | 'negative_adjustment'
  givenId: Id
  appliedMinor: bigint
  isServiceMade: boolean
}

/** What is allocated to an invoice; its customer is locked. */
export const listAllocationsTo = (tx: Transaction, invoiceId: InvoiceId) =>
  tx.rows<Allocation>(sql`
    select allocation_id as "id", given_kind as "givenKind", given_id as "givenId", applied_minor as "appliedMinor",
           is_service_made as "isServiceMade"
      from allocations where account_id = ${tx.account} and owed_kind = 'invoice' and owed_id = ${invoiceId} order by allocation_id`)

/** Takes allocations off; the notes have as much more to give. */
export async function deleteCreditAllocations(tx: Transaction, allocations: readonly Allocation[]): Promise<void> {
  await tx.rows(sql`
    update credit_notes n set applied_minor = n.applied_minor - f.amount
      from (select note, sum(amount) as amount from unnest(${column(allocations, 'givenId')}::bigint[],
              ${column(allocations, 'appliedMinor')}::bigint[]) as r(note, amount) group by note) f
     where n.account_id = ${tx.account} and n.credit_note_id = f.note`)
  await tx.rows(
    sql`delete from allocations where account_id = ${tx.account} and allocation_id = any(${column(allocations, 'id')}::bigint[])`,
  )
}
