import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'

/** Marks invoices as sent, which is no edit: nothing that a PUT would replace changes, and LastUpdated stays. */
export const updateDatesSent = (tx: Transaction, ids: readonly InvoiceId[], at: Instant) =>
  tx.rows(sql`
    update invoices set date_sent = ${at} where account_id = ${tx.account} and invoice_id = any(${arrayLiteral(ids)}::bigint[])`)

/** Invoice with the facts that its mail shows, and the address of the mail. */
export interface InvoiceToSend {
  id: InvoiceId
  customerId: CustomerId
  isCompany: boolean
  name: string
  lastName: string | null
  locale: string | null
  to: string
  cc: string | null
  number: bigint
  invoiceDate: IsoDate
  dueDate: IsoDate
  currency: string
  totalMinor: bigint
  balanceMinor: bigint
}

/** Lists those of some issued invoices whose customers get them by mail and can be reached, in the order of their numbers. */
export const listInvoicesToSend = (tx: Transaction, ids: readonly InvoiceId[]) =>
  tx.rows<InvoiceToSend>(sql`
    select i.invoice_id as "id", c.customer_id as "customerId", c.is_company as "isCompany", c.name, c.last_name as "lastName", c.locale,
           c.email as "to", c.email_cc as "cc", i.number, i.invoice_date as "invoiceDate", i.due_date as "dueDate", i.currency,
           i.total_minor as "totalMinor", i.total_minor - i.negative_minor - i.paid_minor - i.pending_minor as "balanceMinor"
      from invoices i join customers c on c.account_id = ${tx.account} and c.customer_id = i.customer_id
     where i.account_id = ${tx.account} and i.invoice_id = any(${arrayLiteral(ids)}::bigint[]) and c.auto_send_invoice and c.email is not null
     order by i.number`)
