import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { codesOf, moveTo, shop } from '../subscriptions/billing.testing.ts'

const service = await startTestService()

/** A subscription of 31.00 that was cancelled on 16 January, half of it given back, and another open invoice of 20.00. */
async function credited() {
  const { client, customerID, add } = await shop(service)
  const { body } = await add()
  const byHand = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 20 }] })
  await moveTo(client, '2027-01-16')
  await client.put(`/v1/subscriptions/${body.subscriptionID}/cancel/prorata`)
  const [ofRules] = (await client.get('/v1/invoices')).body
  const balance = async () => (await client.get(`/v1/customers/${customerID}`)).body.Balance
  return { client, ofRules: ofRules.invoiceID as number, byHand: byHand.body.invoiceID as number, balance }
}

/** As payments will make it happen: the credited invoice was closed, so the money went to the other one. */
const moveCredit = (client: { id: bigint }, from: number, to: number, isServiceMade: boolean) =>
  service.db.transaction(client.id, async (tx) => {
    await tx.rows(sql`
      update allocations set owed_id = ${to}, is_service_made = ${isServiceMade} where account_id = ${client.id} and owed_id = ${from}`)
    await tx.rows(sql`
      update invoices set negative_minor = case invoice_id when ${to} then 1600 else 0 end
       where account_id = ${client.id} and invoice_id in (${from}, ${to})`)
  })

test('an invoice that the service credited is not cancelled: the note is named', async () => {
  const { client, ofRules, balance } = await credited()
  expect(await balance()).toBe(35)
  const refused = await client.delete(`/v1/invoices/${ofRules}`)
  expect(refused.status).toBe(409)
  expect(refused.text).toContain('CN-1')
  expect(codesOf(refused)).toEqual(['invoice_credited'])
})

test('credit that the service allocated to an invoice is free again when that is cancelled', async () => {
  const { client, ofRules, byHand, balance } = await credited()
  await moveCredit(client, ofRules, byHand, true)
  expect((await client.get(`/v1/invoices/${byHand}`)).body).toMatchObject({ TotalNegativeAdjs: 16, Balance: 4 })
  expect((await client.delete(`/v1/invoices/${byHand}`)).status).toBe(204)
  expect((await client.get(`/v1/invoices/${byHand}`)).body).toMatchObject({ Status: 'Cancelled', TotalNegativeAdjs: 0 })
  expect(await balance()).toBe(31 - 16)
  const notes = await service.db
    .reader(client.id)
    .rows(sql`select applied_minor as "applied" from credit_notes where account_id = ${client.id}`)
  expect(notes).toEqual([{ applied: 0n }])
})

test('what a caller allocated stands against cancelling, and stays', async () => {
  const { client, ofRules, byHand, balance } = await credited()
  await moveCredit(client, ofRules, byHand, false)
  expect(codesOf(await client.delete(`/v1/invoices/${byHand}`))).toEqual(['invoice_allocated'])
  expect(await balance()).toBe(35)
})
