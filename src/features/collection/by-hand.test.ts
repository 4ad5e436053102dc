import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { codesOf, differencesOf } from '../../../test/support/shop.ts'
import { momentOf, type RequestContext } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import type { GatewayAdapter } from '../gateways/contract.ts'
import { keptReports, paymentsOf, report, workAt } from '../gateway-reports/reports.testing.ts'
import { resumeTry } from './calls.ts'
import { CARDS, cardShop } from './shop.testing.ts'

/** Results by hand of tries whose gateway has fallen silent, and attempts whose money is lost again. */

const service = await startTestService()

const clean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

/** A try of 115.00 that was made on 1 January, and whose gateway has been away since. */
async function silent(number: string, fault: 'not_received' | 'not_answered') {
  const shop = await cardShop(service, number)
  const [{ gatewayID, GatewayToken }] = (await shop.client.get('/v1/gateways')).body
  const faulty = (Fault: string | null) => shop.client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault } })
  const invoiceID = await shop.invoice(115)
  await faulty(fault)
  const begun = await shop.client.post(`/v1/invoices/${invoiceID}/collect`)
  expect(begun.status).toBe(202)
  await faulty('refused')
  const { paymentID } = begun.body
  const settle = (body: object) => shop.client.put(`/v1/payments/${paymentID}/result`, body)
  /** The gateway is back, and reports the charge. */
  const speak = async (id = 'late') => {
    await faulty(null)
    const sender = { client: shop.client, gatewayID, GatewayToken }
    await report(service, sender, { id, about: 'charge', reference: String(paymentID) })
    await workAt(service, shop.client)
  }
  const attempt = async () => (await shop.attempts(invoiceID))[0]
  return { ...shop, invoiceID, paymentID, settle, speak, attempt }
}

test('a try is settled by hand after 24 hours of silence, once, on a day from its beginning to today', async () => {
  const { client, invoiceID, settle, read, move, attempt } = await silent(CARDS.good, 'not_received')
  expect((await settle({ Success: true })).status).toBe(409)
  await client.put('/v1/clock', { Now: '2027-01-01T20:00:00Z' })
  expect(codesOf(await settle({ Success: true }))).toEqual(['gateway_may_answer'])
  await move('2027-01-03')
  for (const Date of ['2027-01-04', '2026-12-31']) {
    const refused = await settle({ Success: true, Date })
    expect([refused.status, refused.body.Errors[0].Field]).toEqual([400, 'Date'])
  }
  const both = await settle({ Success: true, Reason: 'AC04' })
  expect([both.status, both.body.Errors]).toMatchObject([400, [{ Code: 'contradiction', Field: 'Reason' }]])
  expect(await attempt()).toMatchObject({ Outcome: 'pending' })
  expect((await settle({ Success: true, Date: '2027-01-02' })).status).toBe(204)
  expect(await attempt()).toMatchObject({ Outcome: 'succeeded' })
  expect(await read(invoiceID)).toMatchObject({ Status: 'Paid', NumTries: 1 })
  for (const Success of [true, false]) expect(codesOf(await settle({ Success }))).toEqual(['try_ended'])
  await clean(client)
})

test.each([
  [undefined, 'declined', null],
  ['Account_Closed', 'account_closed', null],
  ['am04', 'insufficient_funds', 'AM04'],
  ['R03', 'invalid_account', 'R03'],
  ['They rang and knew nothing.', 'unknown', null],
])('a failure by hand for the reason %s is of class %s', async (Reason, declineClass, code) => {
  const { client, invoiceID, settle, move, attempt, read } = await silent(CARDS.good, 'not_received')
  await move('2027-01-03')
  expect((await settle({ Success: false, ...(Reason && { Reason }) })).status).toBe(204)
  expect(await attempt()).toMatchObject({ Outcome: 'declined', Class: declineClass, Code: code })
  expect(await read(invoiceID)).toMatchObject({ Balance: 115, NumTries: 1 })
  await clean(client)
})

test('what a person knows was never sent uses up no try, and its step comes again', async () => {
  const { client, invoiceID, settle, move, attempt, read } = await silent(CARDS.good, 'not_received')
  await move('2027-01-03')
  expect((await settle({ Success: false, Reason: 'not_sent' })).status).toBe(204)
  expect(await attempt()).toMatchObject({ Outcome: 'not_sent', Class: 'not_sent' })
  expect(await read(invoiceID)).toMatchObject({ NumTries: 0, NextTryDate: '2027-01-05T00:00:00Z' })
  await clean(client)
})

test('it is refused for what is no try, for unknown payments, and while the gateway answers that it is pending', async () => {
  const { client, customerID, paymentID, settle, move } = await silent(CARDS.good, 'not_received')
  const eft = { customerID, Amount: 5, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft', Allocations: [] }
  const recorded = (await client.post('/v1/payments', eft)).body.paymentID
  expect(codesOf(await client.put(`/v1/payments/${recorded}/result`, { Success: true }))).toEqual(['payment_fixed'])
  expect((await client.put('/v1/payments/999/result', { Success: true })).status).toBe(404)
  expect((await settle({})).body.Errors[0].Field).toBe('Success')
  await move('2027-01-03')
  const sandbox = service.calling.adapters.get('sandbox') as GatewayAdapter
  const pending: GatewayAdapter = {
    ...sandbox,
    askCharge: async () => ({ outcome: { kind: 'pending', gatewayReference: 'p' }, changes: [] }),
  }
  const account = await getAccount(service.db.reader(client.id), client.id)
  const context = { account, moment: momentOf(account, Date.now), actor: 'test' } as RequestContext
  const deps = { ...service.calling, adapters: new Map([['sandbox' as const, pending]]), db: service.db }
  expect(await resumeTry(deps, context, BigInt(paymentID), 'all')).toBe('open')
  expect(codesOf(await settle({ Success: true }))).toEqual(['gateway_may_answer'])
  await clean(client)
})

test('a gateway that has charged what a person took for failed brings new money, once', async () => {
  const { client, invoiceID, paymentID, settle, speak, move, read } = await silent(CARDS.good, 'not_answered')
  await move('2027-01-03')
  expect((await settle({ Success: false })).status).toBe(204)
  for (const id of ['one', 'two']) await speak(id)
  expect(await paymentsOf(client)).toEqual([
    [expect.any(String), 115, 'Failed'],
    [`Late success: payment ${paymentID}`, 115, 'Allocated'],
  ])
  expect(await read(invoiceID)).toMatchObject({ Status: 'Paid' })
  await clean(client)
})

test('a gateway that has declined what a person took for received takes it back, once', async () => {
  const { client, invoiceID, settle, speak, move, read, attempt } = await silent(CARDS.poor, 'not_answered')
  await move('2027-01-03')
  expect((await settle({ Success: true })).status).toBe(204)
  expect(await read(invoiceID)).toMatchObject({ Status: 'Paid' })
  for (const id of ['one', 'two']) await speak(id)
  expect(await paymentsOf(client)).toEqual([[expect.any(String), 115, 'Failed']])
  expect(await read(invoiceID)).toMatchObject({ Balance: 115 })
  expect(await attempt()).toMatchObject({ Outcome: 'returned', Class: 'insufficient_funds' })
  for (const kept of await keptReports(service, client)) expect(kept).toMatchObject({ isFinished: true, reason: null })
  await clean(client)
})

test('what a gateway does not know and a person took for received is listed for a person', async () => {
  const { client, settle, speak, move, attempt } = await silent(CARDS.good, 'not_received')
  await move('2027-01-03')
  await settle({ Success: true })
  await speak()
  expect(await attempt()).toMatchObject({ Outcome: 'succeeded' })
  expect(await keptReports(service, client)).toMatchObject([{ reason: expect.stringMatching(/recorded as received/) }])
  await clean(client)
})

test('an attempt whose money is lost again is returned, and succeeded once the dispute is won', async () => {
  const { client, invoice, move, attempts } = await cardShop(service, '4000000000001976')
  const id = await invoice(115)
  await move('2027-01-05')
  expect(await attempts(id)).toMatchObject([{ Outcome: 'succeeded', Class: null, Code: null, Message: null }])
  await move('2027-01-15')
  const [lost] = await attempts(id)
  expect(lost).toMatchObject({ Outcome: 'returned', Class: 'refunded_late', Code: expect.any(String) })
  expect(lost.Message).toMatch(/./)
  await move('2027-02-04')
  expect((await attempts(id))[0]).toMatchObject({ Outcome: 'succeeded', Class: null, Code: null, Message: null })
  await clean(client)
})

test('one of which half is taken back is returned; one that was only refunded is not', async () => {
  const half = await cardShop(service, '4000000000002685')
  const id = await half.invoice(115)
  await half.move('2027-01-15')
  expect(await half.attempts(id)).toMatchObject([{ Outcome: 'returned', Class: 'refunded_late', Amount: 115 }])
  const refunded = await cardShop(service, CARDS.good)
  const other = await refunded.invoice(115)
  await refunded.move('2027-01-05')
  const [payment] = (await refunded.client.get('/v1/payments')).body
  await refunded.client.put(`/v1/payments/${payment.paymentID}`, { ...payment, Allocations: [] })
  expect((await refunded.client.post(`/v1/payments/${payment.paymentID}/refund`, {})).status).toBe(201)
  expect(await refunded.attempts(other)).toMatchObject([{ Outcome: 'succeeded' }])
  for (const { client } of [half, refunded]) await clean(client)
})
