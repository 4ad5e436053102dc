import { expect } from 'vitest'
import { addCustomer, invoicesOf, readSubscription } from '../support/shop.ts'
import { use } from '../../src/features/subscriptions/components.testing.ts'
import { digitsOf } from '../../src/kernel/currencies.ts'
import { minorText } from '../../src/kernel/money.ts'
import { sql } from '../../src/platform/database/sql.ts'
import type { Reply, TestClient, TestService } from '../support/app.ts'

/** Year as a book-keeper reads it: every invoice with its number, days, lines, taxes, total and Status, and every credit note. */

const dayOf = (text: string): string => text.slice(0, 10)

const lineText = ({ Line, Descrip, Qty, UnitCostEx, AmountEx }: any): string =>
  `${Descrip === null ? Line : `${Line} ${Descrip}`}: ${Qty === 1 ? '' : `${Qty} × ${UnitCostEx} = `}${AmountEx}`

/** "2 | 2027-02-01 due 2027-02-15 | Plan 2027-02-01 to 2027-02-28: 31 | VAT 4.65 | 35.65 less 10 | Past Due". */
export async function bookOf(client: TestClient, filter = ''): Promise<string[]> {
  const rows: string[] = []
  for (const invoice of await invoicesOf(client, filter)) {
    const { body } = await client.get(`/v1/invoices/${invoice.invoiceID}/explanation`)
    const taxes = body.Taxes.map(({ Name, Amount }: any) => `${Name} ${Amount}`).join(' + ')
    const credited = invoice.TotalNegativeAdjs === 0 ? '' : ` less ${invoice.TotalNegativeAdjs}`
    rows.push(
      [
        invoice.invoiceNum,
        `${dayOf(invoice.InvoiceDate)} due ${dayOf(invoice.DueDate)}`,
        invoice.Charges.map(lineText).join(' + '),
        taxes || 'no tax',
        `${invoice.Total}${credited}`,
        invoice.Status,
      ].join(' | '),
    )
  }
  return rows
}

interface NoteRow {
  number: string
  date: string
  invoiceNumber: bigint
  currency: string
  netMinor: bigint
  totalMinor: bigint
}

/** Credit notes with the invoices that they credit: "CN-1 | 2027-03-01 for 3 | 15.50 + 2.33 = 17.83". */
export async function notesOf({ db }: TestService, client: TestClient): Promise<string[]> {
  const rows = await db.reader(client.id).rows<NoteRow>(sql`
    select n.ref as "number", n.dated as "date", i.number as "invoiceNumber", n.currency, n.amount_minor as "totalMinor",
           (select sum(l.net_minor) from credit_note_lines l
             where l.account_id = n.account_id and l.credit_note_id = n.negative_adjustment_id)::bigint as "netMinor"
      from negative_adjustments n join invoices i on i.account_id = n.account_id and i.invoice_id = n.invoice_id
     where n.account_id = ${client.id} order by n.negative_adjustment_id`)
  return rows.map(({ number, date, invoiceNumber, currency, netMinor, totalMinor }) => {
    const text = (minor: bigint): string => minorText(minor, digitsOf(currency))
    return `${number} | ${date} for ${invoiceNumber} | ${text(netMinor)} + ${text(totalMinor - netMinor)} = ${text(totalMinor)}`
  })
}

/** Waits for a change that answers 204. */
export async function done(reply: Promise<Reply>): Promise<void> {
  const { status, text } = await reply
  expect([status, text]).toEqual([204, ''])
}

/** Reports usage of a component on a day, at noon of UTC unless a time is given. */
export const useOn = (client: TestClient, id: number, componentID: number, NumUnits: number, date: string) =>
  done(use(client, id, { componentID, NumUnits, Date: date.includes('T') ? date : `${date}T12:00:00Z` }))

/** A new customer with a subscription; answers both identifiers and the path of the subscription. */
export async function subscribeNew(client: TestClient, body: object, customer: object = {}) {
  const customerID = await addCustomer(client, customer)
  const added = await client.post('/v1/subscriptions', { customerID, ...body })
  expect(added.text).toContain('subscriptionID')
  const id: number = added.body.subscriptionID
  return { customerID, id, path: `/v1/subscriptions/${id}`, read: () => readSubscription(client, id) }
}

export const balanceOf = async (client: TestClient, customerID: number): Promise<number> =>
  (await client.get(`/v1/customers/${customerID}`)).body.Balance
