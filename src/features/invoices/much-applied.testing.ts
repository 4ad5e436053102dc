import { expect } from 'vitest'
import type { TestClient } from '../../../test/support/app.ts'
import type { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Invoices to which more is applied than a test could send. */

interface MuchApplied {
  id: number
  customerID: number
}

/** An invoice of 1,000,000.00, and a customer for more of them. */
export async function newInvoice(client: TestClient): Promise<MuchApplied> {
  const { customerID } = (await client.post('/v1/customers', { Name: 'Much Ltd', isCompany: true })).body
  const Charges = [{ UnitCostEx: 1_000_000, Line: 'Everything' }]
  const { status, body } = await client.post('/v1/invoices', { customerID, Charges })
  expect(status).toBe(201)
  return { id: body.invoiceID, customerID }
}

/** Applies one payment, and every fifth time a credit note, so many times to an invoice: 0.01 each. */
export async function applyMuch(owner: Database, client: TestClient, { id, customerID }: MuchApplied, times: number) {
  const money = { customerID, Amount: times / 100, CurrencyCode: 'USD', Date: '2027-01-01', Allocations: [] }
  const { paymentID } = (await client.post('/v1/payments', { ...money, Method: 'eft' })).body
  const { creditNoteID } = (await client.post('/v1/credits', { ...money, CreditNumber: `C${id}` })).body
  const credited = Math.floor(times / 5)
  await owner.unscoped.rows(sql`
    insert into perennial.allocations (account_id, customer_id, given_kind, given_id, owed_kind, owed_id, amount_minor, dated,
      is_service_made, created_at)
    select ${client.id}, ${customerID}::bigint, case n % 5 when 0 then 'negative_adjustment' else 'payment' end,
           case n % 5 when 0 then ${creditNoteID}::bigint else ${paymentID}::bigint end, 'invoice', ${id}::bigint, 1, '2027-01-01', false, now()
      from generate_series(1, ${times}::int) n`)
  await owner.unscoped.rows(sql`
    update perennial.invoices set paid_minor = ${times - credited}, negative_minor = ${credited}
     where account_id = ${client.id} and invoice_id = ${id}`)
  return { paymentID, creditNoteID }
}
