import { expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { differencesOf } from '../support/shop.ts'

/** A paid invoice of two lines, of which one is credited in part, sent and given back: report, ledger and verification agree to the cent. */

const service = await startTestService()

test('a line of 10.00 is credited of a paid invoice, sent, and refunded: 2.30 of its tax comes back and stays', async () => {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23 }] })
  const customer = { Name: 'Acme', isCompany: true, Email: 'ap@example.test' }
  const { customerID } = (await client.post('/v1/customers', customer)).body
  const Charges = [{ UnitCostEx: 100 }, { UnitCostEx: 49 }]
  const { invoiceID } = (await client.post('/v1/invoices', { customerID, Charges })).body
  const { Charges: lines } = (await client.get(`/v1/invoices/${invoiceID}`)).body
  const paid = { customerID, Amount: 183.27, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'cash', AutoApply: true }
  expect((await client.post('/v1/payments', paid)).status).toBe(201)

  const Lines = [{ chargeID: lines[0].chargeID, AmountEx: 10 }]
  const body = { Lines, Reason: 'A week of outage', Refund: { Ref: 'Handed over' } }
  const note = await client.post(`/v1/invoices/${invoiceID}/credit`, body)
  expect(note.status, note.text).toBe(201)
  expect(note.body).toMatchObject({ Amount: 12.3, TotalEx: 10, TotalTax: 2.3, Status: 'Allocated' })
  const sent = await client.put(`/v1/credits/${note.body.creditNoteID}/send`, {})
  expect([sent.status, sent.headers['perennial-warning']]).toEqual([204, undefined])
  expect((await client.delete(`/v1/credits/${note.body.creditNoteID}`)).status).toBe(409)

  const [vat] = (await client.get('/v1/reports/tax?from=2027-01-01&to=2027-01-31')).body
  expect(vat).toMatchObject({
    Base: 149,
    OutputTax: 34.27,
    BaseTakenBack: 10,
    TaxTakenBack: 2.3,
    NetBase: 139,
    Net: 31.97,
  })
  const balances = (await client.get('/v1/ledger/balances?date=2027-01-31')).body
  const balanceOf = (account: string) => balances.find(({ Account }: any) => Account === account)?.Balance ?? 0
  // 183.27 came in and 12.30 went out; 149.00 − 10.00 is earned.
  expect(['cash', 'receivable', 'unapplied', 'revenue', 'tax'].map(balanceOf)).toEqual([170.97, 0, 0, -139, -31.97])
  expect(await differencesOf(service, client)).toEqual([])
})
