import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { creditOf, ledgerOf, paymentOf } from './money.testing.ts'
import { codesOf, moveTo, shop } from '../../../test/support/shop.ts'

const service = await startTestService()

/** A subscription of 31.00, paid or not, that was cancelled on 16 January, 16.00 of it given back, and another open invoice of 20.00. */
async function credited({ isPaid }: { isPaid: boolean }) {
  const { client, customerID, add } = await shop(service)
  const { body } = await add()
  if (isPaid) await client.post('/v1/payments', paymentOf(customerID, 31, { AutoApply: true }))
  const byHand = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 20 }] })
  await moveTo(client, '2027-01-16')
  await client.put(`/v1/subscriptions/${body.subscriptionID}/cancel/prorata`)
  const [ofRules] = (await client.get('/v1/invoices')).body
  const balance = async () => (await client.get(`/v1/customers/${customerID}`)).body.Balance
  return { client, customerID, ofRules: ofRules.invoiceID as number, byHand: byHand.body.invoiceID as number, balance }
}

test('an invoice that the service credited is not cancelled: the note is named', async () => {
  const { client, ofRules, balance } = await credited({ isPaid: false })
  expect(await balance()).toBe(35)
  const refused = await client.delete(`/v1/invoices/${ofRules}`)
  expect(refused.status).toBe(409)
  expect(refused.text).toContain('CN-1')
  expect(codesOf(refused)).toEqual(['invoice_credited'])
})

test('several credit notes of an invoice are named as such, and a sent one is not to be deleted', async () => {
  const { client, customerID, byHand } = await credited({ isPaid: false })
  const numbers = []
  for (let i = 0; i < 2; i++) {
    const { body } = await client.post('/v1/credits', creditOf(customerID, 5, { invoiceID: byHand }))
    expect((await client.put(`/v1/credits/${body.creditNoteID}/send`, { isMailed: false })).status).toBe(204)
    numbers.push(body.CreditNumber)
  }
  const { body } = await client.delete(`/v1/invoices/${byHand}`)
  expect(body.Errors[0].Message).toBe(
    `Invoice ${byHand} has the credit notes ${numbers.join(' and ')}; it cannot be cancelled. Delete those that were not sent, or credit the rest of the invoice.`,
  )
})

test('credit that the service allocated to an invoice is free again when that is cancelled', async () => {
  const { client, byHand, balance } = await credited({ isPaid: true })
  // The credited invoice was paid, so the money went to the other one.
  expect((await client.get(`/v1/invoices/${byHand}`)).body).toMatchObject({ TotalNegativeAdjs: 16, Balance: 4 })
  expect(await balance()).toBe(4)
  expect((await client.delete(`/v1/invoices/${byHand}`)).status).toBe(204)
  expect((await client.get(`/v1/invoices/${byHand}`)).body).toMatchObject({ Status: 'Cancelled', TotalNegativeAdjs: 0 })
  expect(await balance()).toBe(-16)
  const [note] = (await client.get('/v1/credits')).body
  expect(note).toMatchObject({ CreditNumber: 'CN-1', Status: 'Unallocated', Allocations: [] })
  expect((await ledgerOf(service, client)).slice(-2).sort()).toEqual([
    '2027-01-16 allocation_made_reversed receivable→unapplied 1600',
    '2027-01-16 invoice_cancelled revenue→receivable 2000',
  ])
})

test('what a caller allocated stands against cancelling, each allocation is named, and all stays', async () => {
  const { client, customerID, byHand, balance } = await credited({ isPaid: true })
  const list = [{ invoiceID: byHand, amountApplied: 1 }]
  const paid = await client.post('/v1/payments', paymentOf(customerID, 1, { Allocations: list }))
  const noted = await client.post('/v1/credits', creditOf(customerID, 1, { Allocations: list }))
  const refused = await client.delete(`/v1/invoices/${byHand}`)
  expect([refused.status, codesOf(refused)]).toEqual([409, ['invoice_allocated']])
  expect(refused.text).toContain(`${paid.body.Allocations[0].allocationID} of payment ${paid.body.paymentID}`)
  expect(refused.text).toContain(`of credit note ${noted.body.creditNoteID}`)
  expect(await balance()).toBe(2)
  expect((await client.get(`/v1/invoices/${byHand}`)).body).toMatchObject({ Balance: 2, TotalNegativeAdjs: 17 })
})
