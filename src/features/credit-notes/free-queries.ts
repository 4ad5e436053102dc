import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Numbers of the credit notes that the service made for an invoice. */
export const listNotesFor = async (db: Queryable, account: AccountId, invoiceId: InvoiceId): Promise<string[]> =>
  (
    await db.rows<{ number: string }>(sql`
      select ref as "number" from negative_adjustments where account_id = ${account} and invoice_id = ${invoiceId}
       order by negative_adjustment_id`)
  ).map(({ number }) => number)
