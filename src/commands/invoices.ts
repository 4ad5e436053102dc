import { getAccount } from '../features/accounts/queries.ts'
import { listCustomersByIds } from '../features/customers/queries.ts'
import { customerNameOf } from '../kernel/customer-name.ts'
import { listNewestInvoices } from '../features/invoices/queries.ts'
import { shownStatus } from '../features/invoices/wire.ts'
import { momentOf } from '../kernel/context.ts'
import { digitsOf } from '../kernel/currencies.ts'
import type { Id } from '../kernel/ids.ts'
import { minorText } from '../kernel/money.ts'
import type { Database } from '../platform/database/database.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printTable } from './output.ts'

/** `perennial invoices`: the newest invoices of an account, as a table. */

export interface InvoicesWish {
  account?: Id
  count: number
}

/** Lists the newest invoices, the newest first; drafts have no number. */
export async function listInvoicesCommand(context: CommandContext, wish: InvoicesWish): Promise<number> {
  const rows = await withDatabase(context, (db) => load(db, wish))
  if (context.isJson) printJson(rows)
  else {
    const widest = Math.max(0, ...rows.map(({ Total }) => Total.length))
    printTable(
      ['Number', 'Date', 'Customer', 'Total', '', 'Status', 'invoiceID'],
      rows.map(({ invoiceNum, InvoiceDate, Name, Total, CurrencyCode, Status, invoiceID }) => [
        invoiceNum === null ? '–' : String(invoiceNum),
        InvoiceDate,
        Name,
        Total.padStart(widest),
        CurrencyCode,
        Status,
        String(invoiceID),
      ]),
    )
  }
  return EXIT.done
}

async function load(db: Database, { account: named, count }: InvoicesWish) {
  const { id } = await chosenAccount(db, named)
  const reader = db.reader(id)
  const { today } = momentOf(await getAccount(reader, id), Date.now)
  const invoices = await listNewestInvoices(reader, id, count)
  const customerIds = [...new Set(invoices.map(({ customerId }) => customerId))]
  const customers = await listCustomersByIds(reader, id, customerIds, today)
  const nameOf = new Map(customers.map((customer) => [customer.id, customerNameOf(customer)]))
  return invoices.map((invoice) => ({
    invoiceID: invoice.id,
    invoiceNum: invoice.number,
    InvoiceDate: invoice.invoiceDate,
    Name: nameOf.get(invoice.customerId) ?? '',
    Total: minorText(invoice.totalMinor, digitsOf(invoice.currency)),
    CurrencyCode: invoice.currency,
    Status: shownStatus(invoice, today),
  }))
}
