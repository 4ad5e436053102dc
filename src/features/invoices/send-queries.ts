import type { Instant } from '../../kernel/calendar.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Sending is no edit: nothing that a PUT would replace changes, and LastUpdated stays. */
export const updateDateSent = (tx: Transaction, id: InvoiceId, at: Instant) =>
  tx.rows(sql`update invoices set date_sent = ${at} where account_id = ${tx.account} and invoice_id = ${id}`)
