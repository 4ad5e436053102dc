import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'

/** Lists those of some issued invoices whose customers get them by mail and can be reached. */
export const listInvoicesToSend = (tx: Transaction, ids: readonly InvoiceId[]): Promise<InvoiceId[]> =>
  tx.values<InvoiceId>(sql`
    select i.invoice_id as "id" from invoices i join customers c on c.account_id = ${tx.account} and c.customer_id = i.customer_id
     where i.account_id = ${tx.account} and i.invoice_id = any(${arrayLiteral(ids)}::bigint[]) and c.auto_send_invoice and c.email is not null`)
