import type { TestClient, TestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'

/** The ledger of an account in the order posted, one line an entry: day, event, debit → credit, tax, minor amount. */
export async function ledgerOf(service: TestService, client: TestClient): Promise<string[]> {
  const rows = await service.db.reader(client.id).rows<{ line: string }>(sql`
      select concat_ws(' ', dated, event || case when is_reversal then '_reversed' else '' end, debit || '→' || credit, tax_name, amount_minor) as "line"
        from ledger_entries where account_id = ${client.id} order by entry_id`)
  return rows.map(({ line }) => line)
}

/** A customer with open invoices of 115.00 each (100 and 15 %), the first of 1 January. */
export async function moneyShop(service: TestService, count = 1) {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoices: number[] = []
  for (let n = 0; n < count; n += 1) invoices.push(await invoiceOf(client, customerID))
  return { client, customerID, invoices }
}

/** An invoice of 100.00 and its tax, unless more is said. */
export const invoiceOf = async (client: TestClient, customerID: number, more: object = {}): Promise<number> =>
  (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }], ...more })).body.invoiceID

export const paymentOf = (customerID: number, Amount: number, more: object = {}) => ({
  customerID,
  Amount,
  CurrencyCode: 'USD',
  Date: '2027-01-01',
  Method: 'eft',
  ...more,
})

let numbers = 0

/** The body of a credit note with a number of its own and nothing allocated, unless more is said. */
export const creditOf = (customerID: number, Amount: number, more: object = {}) => ({
  customerID,
  Amount,
  CurrencyCode: 'USD',
  Date: '2027-01-01',
  CreditNumber: `K${(numbers += 1)}`,
  Allocations: [],
  ...more,
})
