import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer, differencesOf, moveTo } from '../../../test/support/shop.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { account } from '../batches/batches.testing.ts'
import { addCard } from '../collection/shop.testing.ts'
import type { ChargeState, Unknown } from '../gateways/contract.ts'
import { acting } from '../money/money.testing.ts'
import { failPayment, lockedPayment, settlePayment } from '../money/payments.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'
import { keptReports, paymentsOf, report, workAt } from './reports.testing.ts'

/** Effects of reports of gateways on payments and refunds, in accounts whose clock is moved. */

const service = await startTestService()

const clean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])
const charge = (id: bigint, name = 'r') => ({ id: name, about: 'charge' as const, reference: String(id) })

test('a charge that is returned after ten days fails its payment, and the invoice is open again', async () => {
  const shop = await chargedPayment(service, '4000000000000259', { hasInvoice: true })
  await moveTo(shop.client, '2027-01-10')
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Allocated']])
  await moveTo(shop.client, '2027-01-12')
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Failed']])
  expect((await shop.client.get(`/v1/invoices/${shop.invoiceID}`)).body).toMatchObject({ Balance: 100 })
  const failed = (await shop.client.get('/v1/events')).body.find(({ Type }: any) => Type === 'payment.failed')
  expect(failed).toMatchObject({
    Actor: `gateway ${shop.gatewayID}`,
    Reason: 'The customer’s bank took the money back.',
  })
  await clean(shop.client)
})

test('half of it returned: the other half is kept and pays the same invoice', async () => {
  const shop = await chargedPayment(service, '4000000000002685', { hasInvoice: true })
  await moveTo(shop.client, '2027-01-11')
  expect(await paymentsOf(shop.client)).toEqual([
    [null, 100, 'Failed'],
    [`Kept of payment ${shop.id}`, 50, 'Allocated'],
  ])
  expect((await shop.client.get(`/v1/invoices/${shop.invoiceID}`)).body).toMatchObject({ Balance: 50 })
  await clean(shop.client)
})

test('after a refund only the rest is disputed: what is kept pays the refund, and the customer owes the rest', async () => {
  const { client, customerID, id, path, invoiceID, refund, refunds, balances } = await chargedPayment(
    service,
    '4000000000001976',
    { hasInvoice: true },
  )
  const payment = (await client.get(path)).body
  const [{ allocationID }] = payment.Allocations
  const Allocations = [{ allocationID, invoiceID, amountApplied: 60 }]
  expect((await client.put(path, { ...payment, Allocations })).status).toBe(204)
  const note = { customerID, CurrencyCode: 'USD', Date: '2027-01-01', Amount: 40, CreditNumber: 'CN1' }
  const noted = await client.post('/v1/credits', { ...note, Allocations: [{ invoiceID, amountApplied: 40 }] })
  expect(noted.status, noted.text).toBe(201)
  expect((await refund()).status).toBe(201)
  expect(await refunds()).toMatchObject([{ Amount: 40, State: 'succeeded' }])
  await moveTo(client, '2027-01-11')
  expect(await paymentsOf(client)).toEqual([
    [null, 100, 'Failed'],
    [`Kept of payment ${id}`, 40, 'Allocated'],
  ])
  expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({ Balance: 60 })
  expect(await balances()).toMatchObject({ Balance: 60, Unallocated: 0 })
  await moveTo(client, '2027-01-31')
  expect((await paymentsOf(client)).at(-1)).toEqual([`Dispute won: payment ${id}`, 60, 'Allocated'])
  expect(await balances()).toMatchObject({ Balance: 0, Unallocated: 0 })
  await clean(client)
})

test('nothing is disputed of a charge that was refunded whole', async () => {
  const shop = await chargedPayment(service, '4000000000001976')
  expect((await shop.refund()).status).toBe(201)
  await moveTo(shop.client, '2027-03-01')
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Allocated']])
  for (const kept of await keptReports(service, shop.client)) expect(kept).toMatchObject({ reason: null })
  await clean(shop.client)
})

test.each([
  ['a day at a time', ['2027-01-11', '2027-01-31', '2027-03-01']],
  ['both at once', ['2027-03-01']],
])('returned and won pays what it had paid, %s', async (_name, days) => {
  const shop = await chargedPayment(service, '4000000000001976', { hasInvoice: true })
  for (const day of days) await moveTo(shop.client, day)
  expect(await paymentsOf(shop.client)).toEqual([
    [null, 100, 'Failed'],
    [`Dispute won: payment ${shop.id}`, 100, 'Allocated'],
  ])
  expect((await shop.client.get(`/v1/invoices/${shop.invoiceID}`)).body).toMatchObject({ Balance: 0 })
  await clean(shop.client)
})

test('neither the order of reports nor their repetition matters, nor two who apply them at once', async () => {
  const shop = await chargedPayment(service, '4000000000001976', { hasInvoice: true })
  await moveTo(shop.client, '2027-03-01')
  for (const name of ['won', 'returned', 'won-again', 'returned-again'])
    expect((await report(service, shop, charge(shop.id, name))).status).toBe(200)
  await Promise.all([workAt(service, shop.client), workAt(service, shop.client), workAt(service, shop.client)])
  await workAt(service, shop.client)
  expect(await paymentsOf(shop.client)).toEqual([
    [null, 100, 'Failed'],
    [`Dispute won: payment ${shop.id}`, 100, 'Allocated'],
  ])
  for (const kept of await keptReports(service, shop.client))
    expect(kept).toMatchObject({ isFinished: true, reason: null })
  await clean(shop.client)
})

test('killed before the sandbox has noted that a report is sent: it is sent again, and changes nothing twice', async () => {
  const shop = await chargedPayment(service, '4000000000000259')
  await moveTo(shop.client, '2027-01-11')
  await service.db.transaction(shop.client.id, (tx) =>
    tx.rows(sql`update sandbox_reports set sent_at = null where account_id = ${shop.client.id}`),
  )
  await workAt(service, shop.client)
  expect(await keptReports(service, shop.client)).toHaveLength(1)
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Failed']])
  // Killed before it was noted that the report is applied: it is applied again.
  await service.db.transaction(shop.client.id, (tx) =>
    tx.rows(sql`update gateway_reports set finished_at = null where account_id = ${shop.client.id}`),
  )
  await workAt(service, shop.client)
  expect(await keptReports(service, shop.client)).toMatchObject([{ isFinished: true, reason: null }])
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Failed']])
  await clean(shop.client)
})

test('a charge that was recorded as failed and succeeded is new money, once', async () => {
  const shop = await chargedPayment(service, undefined, { hasInvoice: true, isPending: true })
  const failure = { on: '2027-01-01', reason: 'No answer came.' }
  await acting(service, shop.client, async (tx, context) =>
    failPayment(tx, context, (await lockedPayment(tx, shop.id))!, failure),
  )
  for (const name of ['r-1', 'r-2']) await report(service, shop, charge(shop.id, name))
  await Promise.all([workAt(service, shop.client), workAt(service, shop.client)])
  expect(await paymentsOf(shop.client)).toEqual([
    [null, 100, 'Failed'],
    [`Late success: payment ${shop.id}`, 100, 'Allocated'],
  ])
  expect((await shop.client.get(`/v1/invoices/${shop.invoiceID}`)).body).toMatchObject({ Status: 'Paid' })
  await clean(shop.client)
})

test('what came late and is then returned fails again', async () => {
  const shop = await chargedPayment(service, '4000000000000259', { isPending: true })
  await acting(service, shop.client, async (tx, context) =>
    failPayment(tx, context, (await lockedPayment(tx, shop.id))!, { on: '2027-01-01', reason: 'No answer came.' }),
  )
  await moveTo(shop.client, '2027-01-20')
  expect(await paymentsOf(shop.client)).toEqual([
    [null, 100, 'Failed'],
    [`Late success: payment ${shop.id}`, 100, 'Failed'],
  ])
  await clean(shop.client)
})

test('a payment that is pending and of no try waits until it is settled', async () => {
  const shop = await chargedPayment(service, '4000000000000259', { isPending: true })
  await moveTo(shop.client, '2027-01-12')
  expect(await keptReports(service, shop.client)).toMatchObject([{ isFinished: false, reason: null }])
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Pending']])
  await acting(service, shop.client, async (tx, context) =>
    settlePayment(tx, context, (await lockedPayment(tx, shop.id))!, '2027-01-01'),
  )
  await workAt(service, shop.client)
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Failed']])
  await clean(shop.client)
})

test('an answer that was overtaken by the charge itself is asked for again', async () => {
  const shop = await chargedPayment(service, undefined, { isPending: true })
  const sandbox = service.calling.adapters.get('sandbox')!
  const answers: string[] = []
  const askCharge: typeof sandbox.askCharge = async (call, asked) => {
    answers.push(asked.reference)
    if (answers.length > 1) return sandbox.askCharge!(call, asked)
    await acting(service, shop.client, async (tx, context) =>
      settlePayment(tx, context, (await lockedPayment(tx, shop.id))!, '2027-01-01'),
    )
    return { outcome: { kind: 'none' }, changes: [] }
  }
  await report(service, shop, charge(shop.id))
  await workAt(service, shop.client, { adapters: new Map([['sandbox', { ...sandbox, askCharge }]]) })
  expect(answers).toHaveLength(2)
  expect(await keptReports(service, shop.client)).toMatchObject([{ isFinished: true, reason: null }])
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Unallocated']])
  await clean(shop.client)
})

test('a try whose outcome is not known is settled by the report of its charge', async () => {
  const { client } = await chargedPayment(service)
  const [{ gatewayID, GatewayToken }] = (await client.get('/v1/gateways')).body
  const customerID = await addCustomer(client, { PaymentMethod: 'credit_card' })
  const card = { Number: '4242424242424242', CardType: 'Visa', NameOnCard: 'Ada', LastNameOnCard: 'Lovelace' }
  const expiry = { ExpiryMonth: 12, ExpiryYear: 2030 }
  const method = await client.post('/v1/paymentmethods/creditcard', {
    customerID,
    isPrimary: true,
    CreditCard: { ...card, ...expiry },
  })
  expect(method.status).toBe(200)
  const { invoiceID } = (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 70 }] })).body
  await client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault: 'not_answered' } })
  const begun = await client.post(`/v1/invoices/${invoiceID}/collect`, {})
  expect([begun.status, begun.body.Status]).toEqual([202, 'Pending'])
  await client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault: null } })
  const { paymentID } = begun.body
  await report(service, { client, gatewayID, GatewayToken }, charge(BigInt(paymentID), 'of-try'))
  await workAt(service, client)
  expect((await client.get(`/v1/payments/${paymentID}`)).body).toMatchObject({ Status: 'Allocated' })
  expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({ Status: 'Paid' })
  expect(await keptReports(service, client)).toMatchObject([{ isFinished: true, reason: null }])
  await clean(client)
})

test('on real time a report wakes a try: not while somebody is at it, and one that its customer may confirm is left to them', async () => {
  const client = await service.newAccount({ clockAt: null })
  const [{ gatewayID, GatewayToken }] = (await client.get('/v1/gateways')).body
  const customerID = await addCustomer(client, { PaymentMethod: 'credit_card' })
  await addCard(client, customerID, '4242424242424242')
  const { invoiceID } = (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 70 }] })).body
  await client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault: 'not_answered' } })
  const { paymentID } = (await client.post(`/v1/invoices/${invoiceID}/collect`, {})).body
  await client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault: null } })
  await report(service, { client, gatewayID, GatewayToken }, charge(BigInt(paymentID)))
  const sandbox = service.calling.adapters.get('sandbox')!
  const asked: string[] = []
  const work = async (answer?: ChargeState) => {
    const askCharge: typeof sandbox.askCharge = async (call, facts) => {
      asked.push('asked')
      return answer ?? sandbox.askCharge!(call, facts)
    }
    const cancelCharge: typeof sandbox.cancelCharge = async (call, facts) => {
      asked.push('cancelled')
      return sandbox.cancelCharge!(call, facts)
    }
    await workAt(service, client, { adapters: new Map([['sandbox', { ...sandbox, askCharge, cancelCharge }]]) })
    return [asked.splice(0), (await client.get(`/v1/payments/${paymentID}`)).body.Status]
  }
  const ofTry = (assignments: ReturnType<typeof fragment>) =>
    service.db.transaction(client.id, (tx) =>
      tx.rows<{ minutesLeft: number }>(sql`
        update collection_tries set ${assignments} where account_id = ${client.id}
        returning (extract(epoch from next_try_at - now()) / 60)::float8 as "minutesLeft"`),
    )
  await ofTry(fragment`leased_until = now() + interval '20 seconds'`)
  expect(await work()).toEqual([[], 'Pending'])
  await ofTry(fragment`leased_until = null, awaits_customer = true, next_try_at = now() + interval '20 minutes'`)
  const outcome = { kind: 'requires_action', gatewayReference: 'x', url: null } as const
  expect(await work({ outcome, changes: [] })).toEqual([['asked'], 'Pending'])
  const [{ minutesLeft } = { minutesLeft: 0 }] = await ofTry(fragment`gateway_reference = null`)
  expect(minutesLeft).toBeGreaterThan(15)
  expect(minutesLeft).toBeLessThanOrEqual(20)
  expect(await work()).toEqual([['asked', 'asked'], 'Allocated'])
  expect(await keptReports(service, client)).toMatchObject([{ isFinished: true, reason: null }])
})

test('while the gateway is away a report waits, and is applied once it answers', async () => {
  const shop = await chargedPayment(service, '4000000000000259')
  const faulty = (Fault: string | null) => shop.client.put(`/v1/gateways/${shop.gatewayID}`, { Settings: { Fault } })
  await faulty('refused')
  await moveTo(shop.client, '2027-01-11')
  await workAt(service, shop.client)
  expect(await keptReports(service, shop.client)).toMatchObject([{ isFinished: false, attempts: 2 }])
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Unallocated']])
  await faulty(null)
  await workAt(service, shop.client)
  expect(await keptReports(service, shop.client)).toMatchObject([{ isFinished: true, reason: null }])
  expect(await paymentsOf(shop.client)).toEqual([[null, 100, 'Failed']])
  await clean(shop.client)
})

test('a refund that pends succeeds with its report; one that had succeeded and failed is new money, once', async () => {
  const pending = await chargedPayment(service, '4000000000007726')
  expect((await pending.refund({ Amount: 40 })).status).toBe(202)
  await moveTo(pending.client, '2027-01-02')
  expect(await pending.refunds()).toMatchObject([{ State: 'succeeded', Date: '2027-01-02T00:00:00Z' }])
  expect(await pending.balances()).toMatchObject({ Held: 0, Unallocated: 60 })

  const failing = await chargedPayment(service, '4000000000005126')
  expect((await failing.refund({ Amount: 40 })).status).toBe(201)
  await moveTo(failing.client, '2027-01-02')
  const [{ refundID }] = await failing.refunds()
  await report(service, failing, { id: 'again', about: 'refund', reference: String(refundID) })
  await workAt(service, failing.client)
  expect(await failing.refunds()).toMatchObject([{ State: 'failed' }])
  expect((await paymentsOf(failing.client)).map(([ref, amount]: unknown[]) => [ref, amount])).toEqual([
    [null, 100],
    [`Refund failed: payment ${failing.id}`, 40],
  ])
  expect(await keptReports(service, pending.client)).toMatchObject([{ reason: null }])
  expect(await keptReports(service, failing.client)).toMatchObject([{ reason: null }, { reason: null }])
  for (const { client } of [pending, failing]) await clean(client)
})

test('a refund that failed while its gateway was away is learned once it answers', async () => {
  const shop = await chargedPayment(service, '4000000000005126')
  await shop.refund({ Amount: 40 })
  await shop.client.put(`/v1/gateways/${shop.gatewayID}`, { Settings: { Fault: 'refused' } })
  await moveTo(shop.client, '2027-01-02')
  expect(await shop.refunds()).toMatchObject([{ State: 'succeeded' }])
  await shop.client.put(`/v1/gateways/${shop.gatewayID}`, { Settings: { Fault: null } })
  await workAt(service, shop.client)
  expect(await shop.refunds()).toMatchObject([{ State: 'failed' }])
  await clean(shop.client)
})

test('what cannot be applied is kept with the reason', async () => {
  const shop = await chargedPayment(service, '4000000000002685')
  const other = await chargedPayment(service)
  await moveTo(shop.client, '2027-01-11')
  const kept = (await shop.client.get('/v1/payments')).body[1].paymentID
  const eft = { customerID: shop.customerID, Amount: 5, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft' }
  const recorded = (await shop.client.post('/v1/payments', { ...eft, allocations: [] })).body.paymentID
  const strange = ['999999999', '0', '-1', '1e3', 'x', '9'.repeat(19), String(other.id), String(kept), String(recorded)]
  for (const [n, reference] of strange.entries()) {
    await report(service, shop, { id: `charge-${n}`, about: 'charge', reference })
    await report(service, shop, { id: `refund-${n}`, about: 'refund', reference })
    await report(service, shop, { id: `stored-${n}`, about: 'stored', reference })
  }
  const before = await paymentsOf(shop.client)
  await workAt(service, shop.client)
  const reports = (await keptReports(service, shop.client)).filter(({ externalId }) =>
    /^(charge|refund|stored)/.test(externalId),
  )
  // Tokens of cards that nobody here has are a stranger's.
  expect(reports).toHaveLength(strange.length * 2)
  for (const one of reports)
    expect(one).toMatchObject({ isFinished: true, reason: expect.stringMatching(/^The gateway/) })
  expect(await paymentsOf(shop.client)).toEqual(before)
  expect(await keptReports(service, other.client)).toEqual([])
  await clean(shop.client)
})

test('an answer about another debit is listed, with an event, and the line waits for its own; its name comes back by a report', async () => {
  const { client, gateway, must, batch, customer, line, build } = await account(service)
  const { BatchToken } = await batch()
  const ids: bigint[] = []
  for (let count = 0; count < 2; count += 1) {
    const { customerID, paymentMethodID, invoice } = await customer()
    const PaymentApplied = [{ invoiceID: await invoice(100), amount: 100 }]
    const added = await line(BatchToken, { customerID, paymentMethodID, Amount: 100, PaymentApplied })
    ids.push(BigInt(added.body.paymentID))
  }
  const [one, other] = ids as [bigint, bigint]
  await must('put', '/v1/batches/submit', { BatchToken, ActionDate: '2027-01-05' })
  await build()
  const sandbox = service.calling.adapters.get('sandbox')!
  let sent = 0
  const answered = async (id: bigint, answer: ChargeState | Unknown) => {
    const askCharge = async () => answer
    await report(service, { client, ...gateway }, charge(id, `line-${(sent += 1)}`))
    await workAt(service, client, { adapters: new Map([['sandbox', { ...sandbox, askCharge }]]) })
    return (await keptReports(service, client)).at(-1)
  }
  const succeeded = (gatewayReference: string): ChargeState => ({
    outcome: { kind: 'succeeded', gatewayReference, on: '2027-01-01' },
    changes: [],
  })
  const mismatch = 'The gateway answers about another amount.'
  expect(await answered(one, { kind: 'unknown', mismatch })).toMatchObject({ isFinished: true, reason: mismatch })
  expect((await paymentsOf(client)).map(([, , status]: unknown[]) => status)).toEqual(['Pending', 'Pending'])
  expect(await answered(one, succeeded('db_1'))).toMatchObject({ isFinished: true, reason: null })
  const reason = `The gateway answers about charge ${other} with db_1, which is the name of another charge.`
  expect(await answered(other, succeeded('db_1'))).toMatchObject({ isFinished: true, reason })
  expect((await client.get(`/v1/payments/${one}`)).body).toMatchObject({ Status: 'Allocated', transactionID: 'db_1' })
  expect((await client.get(`/v1/payments/${other}`)).body).toMatchObject({ Status: 'Pending', transactionID: null })
  const events = (await client.get('/v1/events?type=gateway.mismatch')).body
  expect(events.map(({ Reason }: any) => Reason).toSorted()).toEqual([mismatch, reason].toSorted())
  await clean(client)
})
