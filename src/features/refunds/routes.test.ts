import pino from 'pino'
import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf, moveTo } from '../../../test/support/shop.ts'
import { acting } from '../money/money.testing.ts'
import { chargedPayment } from './charged.testing.ts'
import { askAbout } from './ask.ts'
import { refundsDuty } from './duty.ts'
import { failPayment, lockedPayment } from '../money/payments.ts'
import { keptReports, report, workAt } from '../gateway-reports/reports.testing.ts'
import type { GatewayAdapter, Outcome } from '../gateways/contract.ts'

const service = await startTestService()

const charged = (number?: string) => chargedPayment(service, number)

const codeOf = ({ status, body }: { status: number; body: any }) => [status, body.Errors?.[0]?.Code]

test('a payment is refunded in parts until nothing is left of it, and each refund is an adjustment that it pays', async () => {
  const { client, customerID, id, path, refund, refunds, balances } = await charged()
  const first = await refund({ Amount: 40 })
  expect([first.status, first.body]).toEqual([201, { AdjustmentID: expect.any(Number) }])
  expect(await balances()).toMatchObject({ Balance: -60, Unallocated: 60, Held: 0 })
  const rest = await refund()
  expect(rest.status).toBe(201)
  expect(codeOf(await refund())).toEqual([409, 'too_little_unallocated'])
  expect(await refunds()).toEqual(
    [
      [40, first.body.AdjustmentID],
      [60, rest.body.AdjustmentID],
    ].map(([Amount, AdjustmentID]) => ({
      refundID: expect.any(Number),
      Amount,
      State: 'succeeded',
      AdjustmentID,
      Message: null,
      Date: '2027-01-01T00:00:00Z',
      isFromGateway: false,
      transactionID: expect.stringMatching(/^sandbox-refund-\d+\.[\w-]{12}$/),
    })),
  )
  expect((await client.get(path)).body).toMatchObject({ Status: 'Allocated', Amount: 100 })
  const shown = await client.get(
    `/v1/adjustment/get?type=positive&adjustmentID=${first.body.AdjustmentID}&customerID=${customerID}`,
  )
  expect(shown.body.adjustment).toMatchObject({
    Status: 'Paid',
    positiveAdjustmentType: 'refund',
    Ref: `Refund of payment ${id}`,
  })
  const events = (await client.get('/v1/events')).body.map(({ Type }: any) => Type)
  expect(events.filter((type: string) => type.startsWith('payment_refund'))).toEqual([
    'payment_refund.created',
    'payment_refund.succeeded',
    'payment_refund.created',
    'payment_refund.succeeded',
  ])
  expect(await differencesOf(service, client)).toEqual([])
})

test('what was refunded is not refunded again, also after its allocation is taken off the payment', async () => {
  const { client, path, refund, refunds, balances } = await charged()
  expect((await refund({ Amount: 70 })).status).toBe(201)
  const { body } = await client.get(path)
  expect((await client.put(path, { ...body, Allocations: [] })).status).toBe(204)
  expect(await balances()).toMatchObject({ Balance: -30, Unallocated: 100 })
  expect(codeOf(await refund({ Amount: 30.01 }))).toEqual([409, 'charge_refunded'])
  expect((await refund()).status).toBe(201)
  expect(codeOf(await refund({ Amount: 0.01 }))).toEqual([409, 'charge_refunded'])
  expect((await refunds()).map(({ Amount, State }: any) => [Amount, State])).toEqual([
    [70, 'succeeded'],
    [30, 'succeeded'],
  ])
  expect(await differencesOf(service, client)).toEqual([])
})

test('the same Idempotency-Key refunds once', async () => {
  const { refund, refunds } = await charged()
  const key = { 'idempotency-key': 'once' }
  const [first, again] = [await refund({ Amount: 10 }, key), await refund({ Amount: 10 }, key)]
  expect([again.status, again.body]).toEqual([first.status, first.body])
  expect(await refunds()).toHaveLength(1)
})

test('two at once never give back more than is there', async () => {
  const { client, refund, balances } = await charged()
  const replies = await Promise.all([refund({ Amount: 70 }), refund({ Amount: 70 })])
  expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 409])
  expect(await balances()).toMatchObject({ Unallocated: 30, Held: 0 })
  expect(await differencesOf(service, client)).toEqual([])
})

test('refused: the hold ends, and nothing is recorded but the refusal', async () => {
  const { client, refund, refunds, balances } = await charged('4000000000000077')
  const refused = await refund({ Amount: 10.05 })
  expect(codeOf(refused)).toEqual([409, 'refund_refused'])
  expect(await refunds()).toMatchObject([{ State: 'failed', AdjustmentID: null, Message: 'The refund was refused.' }])
  expect(await balances()).toMatchObject({ Balance: -100, Unallocated: 100, Held: 0 })
  expect(await differencesOf(service, client)).toEqual([])
})

test('while the gateway has not decided, the amount is held and counts as unallocated', async () => {
  const { client, customerID, refund, refunds, balances, path } = await charged('4000000000007726')
  const begun = await refund({ Amount: 40 })
  expect([begun.status, begun.body]).toEqual([202, { refundID: expect.any(Number) }])
  expect(await balances()).toMatchObject({ Balance: -100, Unallocated: 100, Held: 40 })
  expect(codeOf(await refund({ Amount: 61 }))).toEqual([409, 'too_little_unallocated'])
  const invoice = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 80 }] })
  const put = await client.put(path, {
    customerID,
    Amount: 100,
    CurrencyCode: 'USD',
    Date: '2027-01-01',
    Method: 'credit_card',
    Allocations: [{ invoiceID: invoice.body.invoiceID, amountApplied: 80 }],
  })
  expect(codeOf(put)).toEqual([409, 'held_for_refund'])
  const early = await client.put(`${path}/refunds/${begun.body.refundID}/result`, { Success: true })
  expect(codeOf(early)).toEqual([409, 'gateway_may_answer'])
  expect((await refunds())[0]).toMatchObject({ State: 'open' })
  expect(await differencesOf(service, client)).toEqual([])
})

test('where the payment fails meanwhile, the refund stays open and the customer owes it', async () => {
  const { client, id, path, refund, balances } = await charged('4000000000007726')
  const { body } = await refund({ Amount: 40 })
  const failure = { on: '2027-01-01', reason: 'returned' }
  await acting(service, client, async (tx, context) =>
    failPayment(tx, context, (await lockedPayment(tx, id))!, failure),
  )
  expect(await balances()).toMatchObject({ Balance: 0, Unallocated: 0, Held: 0 })
  expect((await client.get(`${path}/refunds`)).body[0].refundID).toBe(body.refundID)
})

test('what cannot be refunded says why: recorded by hand, failed, pending, of another account, a gateway that cannot', async () => {
  const { client, customerID, id, path, refund } = await charged()
  const eft = { customerID, Amount: 50, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft', allocations: [] }
  const recorded = (await client.post('/v1/payments', eft)).body.paymentID
  const byHand = await client.post(`/v1/payments/${recorded}/refund`, {})
  expect(codeOf(byHand)).toEqual([409, 'not_through_gateway'])
  expect(byHand.body.Errors[0].Message).toContain('/v1/adjustment/add')
  for (const Amount of [0, -1, 1.005, 'x', 1e13])
    expect([(await refund({ Amount })).status, (await refund({ Amount })).body.Errors[0].Field]).toEqual([
      400,
      'Amount',
    ])
  const other = await service.newAccount()
  expect((await other.post(`${path}/refund`, {})).status).toBe(404)
  expect((await other.get(`${path}/refunds`)).status).toBe(404)
  const failure = { on: '2027-01-01', reason: 'returned' }
  await acting(service, client, async (tx, context) =>
    failPayment(tx, context, (await lockedPayment(tx, id))!, failure),
  )
  expect(codeOf(await refund())).toEqual([409, 'payment_failed'])
})

test('a result by hand is taken after 24 hours of silence, once', async () => {
  const { client, gatewayID, path, refund, refunds, balances } = await charged()
  const faulty = (Fault: string) => client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault } })
  await faulty('not_answered')
  const { status, body } = await refund({ Amount: 40 })
  expect(status).toBe(202)
  // The gateway is away from now on: the refund stays as unknown as it is.
  await faulty('refused')
  const result = `${path}/refunds/${body.refundID}/result`
  expect(codeOf(await client.put(result, { Success: false }))).toEqual([409, 'gateway_may_answer'])
  await moveTo(client, '2027-01-03')
  expect((await client.put(result, { Success: true, Date: '2027-01-04' })).body.Errors[0].Field).toBe('Date')
  expect((await client.put(result, { Success: true, Reason: 'AC04' })).body.Errors[0].Field).toBe('Reason')
  expect((await client.put(result, { Success: false, Reason: 'They never got it.' })).status).toBe(204)
  expect(await refunds()).toMatchObject([{ State: 'failed', Message: 'They never got it.' }])
  expect(await balances()).toMatchObject({ Held: 0, Unallocated: 100 })
  expect(codeOf(await client.put(result, { Success: false }))).toEqual([409, 'refund_ended'])
  expect((await client.put(`${path}/refunds/999/result`, { Success: false })).status).toBe(404)
})

/** Moves the clock, which asks the gateways on its way. */
const pass = ({ client }: { client: TestClient }, to: string) => moveTo(client, to)

test('one that pends succeeds the next day; one that was not sent is sent again under its own key, for 20 hours', async () => {
  const pending = await charged('4000000000007726')
  await pending.refund({ Amount: 40 })
  await pass(pending, '2027-01-02')
  expect(await pending.refunds()).toMatchObject([{ State: 'succeeded', Date: '2027-01-02T00:00:00Z' }])

  const away = await charged()
  await away.client.put(`/v1/gateways/${away.gatewayID}`, { Settings: { Fault: 'refused' } })
  expect((await away.refund({ Amount: 40 })).status).toBe(202)
  await away.client.put(`/v1/gateways/${away.gatewayID}`, { Settings: { Fault: null } })
  await pass(away, '2027-01-01T10:00:00Z')
  expect(await away.refunds()).toMatchObject([{ State: 'succeeded' }])

  const gone = await charged()
  await gone.client.put(`/v1/gateways/${gone.gatewayID}`, { Settings: { Fault: 'refused' } })
  await gone.refund({ Amount: 40 })
  await pass(gone, '2027-01-02')
  expect(await gone.refunds()).toMatchObject([{ State: 'failed', Message: 'The refund never reached the gateway.' }])
  for (const { client } of [pending, away, gone]) expect(await differencesOf(service, client)).toEqual([])
})

test('one that surely did not arrive is sent again, whatever a question about it was answered', async () => {
  const { client, gatewayID, refund, refunds } = await charged()
  const faulty = (Fault: string | null) => client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault } })
  await faulty('refused')
  const { refundID } = (await refund({ Amount: 40 })).body
  await faulty(null)
  const context = await acting(service, client, async (_tx, context) => context)
  const sandbox = service.calling.adapters.get('sandbox')!
  const ask = (askRefund: typeof sandbox.askRefund) =>
    askAbout(
      service.db,
      context,
      { ...service.calling, adapters: new Map([['sandbox', { ...sandbox, askRefund: askRefund! }]]) },
      BigInt(refundID),
    )
  await ask(async () => ({ kind: 'unknown' }))
  expect(await refunds()).toMatchObject([{ State: 'open' }])
  // A gateway that says none only of what cannot be under way any more.
  await ask(async (call, asked) => (asked.sentAt === null ? sandbox.askRefund!(call, asked) : { kind: 'unknown' }))
  expect(await refunds()).toMatchObject([{ State: 'succeeded' }])
})

test('one without an answer is asked about: made, or not received and failed', async () => {
  const rows = [
    ['not_answered', 'succeeded'],
    ['not_received', 'failed'],
  ] as const
  for (const [Fault, State] of rows) {
    const shop = await charged()
    const faulty = (Settings: object) => shop.client.put(`/v1/gateways/${shop.gatewayID}`, { Settings })
    await faulty({ Fault })
    expect((await shop.refund({ Amount: 40 })).status).toBe(202)
    await faulty({ Fault: null })
    await pass(shop, '2027-01-01T10:00:00Z')
    expect(await shop.refunds()).toMatchObject([{ State }])
    expect(await shop.balances()).toMatchObject({ Held: 0, Unallocated: State === 'failed' ? 100 : 60 })
    expect(await differencesOf(service, shop.client)).toEqual([])
  }
})

test('an answer about another refund is unknown, with one event; after the outcome it is listed', async () => {
  const adapters = service.calling.adapters as Map<string, GatewayAdapter>
  const sandbox = adapters.get('sandbox') as GatewayAdapter
  let answer: Outcome = { kind: 'unknown' }
  adapters.set('sandbox', { ...sandbox, refund: async () => answer, askRefund: async () => answer })
  try {
    const shop = await charged()
    const named = (gatewayReference: string): Outcome => ({ kind: 'succeeded', gatewayReference, on: '2027-01-01' })
    expect((await shop.refund({ Amount: 10 })).status).toBe(202)
    answer = { kind: 'unknown', mismatch: 'The gateway answers about another amount.' }
    for (const hour of ['10', '12']) await pass(shop, `2027-01-01T${hour}:00:00Z`)
    expect(await shop.refunds()).toMatchObject([{ State: 'open', transactionID: null }])
    answer = named('re_1')
    await pass(shop, '2027-01-01T14:00:00Z')
    expect((await shop.refund({ Amount: 20 })).status).toBe(202)
    expect(await shop.refunds()).toMatchObject([
      { State: 'succeeded', transactionID: 're_1' },
      { State: 'open', transactionID: null },
    ])
    const [{ refundID }] = await shop.refunds()
    answer = { kind: 'unknown', mismatch: 'The gateway answers about another currency.' }
    await report(service, shop, { id: 'r-1', about: 'refund', reference: String(refundID) })
    await workAt(service, shop.client)
    expect(await keptReports(service, shop.client)).toMatchObject([{ isFinished: true, reason: answer.mismatch }])
    const events = (await shop.client.get('/v1/events?type=gateway.mismatch')).body
    expect(events.map(({ Reason }: any) => Reason).toSorted()).toEqual([
      'The gateway answers about another amount.',
      'The gateway answers about another currency.',
      expect.stringMatching(/with re_1, which is the name of another refund\.$/),
    ])
    expect(await differencesOf(service, shop.client)).toEqual([])
  } finally {
    adapters.set('sandbox', sandbox)
  }
})

test('one that failed after it had succeeded is new money, once', async () => {
  const { client, id, refund, refunds, balances } = await charged('4000000000005126')
  expect((await refund({ Amount: 40 })).status).toBe(201)
  await moveTo(client, '2027-01-02')
  const { refundID } = (await refunds())[0]
  const context = await acting(service, client, async (_tx, context) => context)
  for (let times = 0; times < 2; times += 1) await askAbout(service.db, context, service.calling, BigInt(refundID))
  expect(await refunds()).toMatchObject([{ State: 'failed', AdjustmentID: expect.any(Number) }])
  expect((await client.get('/v1/payments')).body.map(({ Ref, Amount }: any) => [Ref, Amount])).toEqual([
    [null, 100],
    [`Refund failed: payment ${id}`, 40],
  ])
  expect(await balances()).toMatchObject({ Balance: -100, Unallocated: 100 })
  expect(await differencesOf(service, client)).toEqual([])
})

test('on real time a worker asks about what is open, whatever number of workers there are', async () => {
  let nowMs = Date.parse('2027-01-01T12:00:00.000Z')
  const timed = await startTestService({ now: () => nowMs })
  const client = await timed.newAccount({ clockAt: null })
  const shop = await chargedPayment(timed, undefined, { client, now: '2027-01-01T12:00:00.000Z' })
  const faulty = (Fault: string | null) => client.put(`/v1/gateways/${shop.gatewayID}`, { Settings: { Fault } })
  await faulty('not_answered')
  expect((await shop.refund({ Amount: 40 })).status).toBe(202)
  await faulty(null)
  const look = () =>
    refundsDuty(timed.calling).run({ db: timed.db, log: pino({ level: 'silent' }), realClock: () => nowMs }, () => {})
  await look()
  expect(await shop.refunds()).toMatchObject([{ State: 'open' }])
  nowMs += 5 * 60_000
  await Promise.all([look(), look()])
  expect(await shop.refunds()).toMatchObject([{ State: 'succeeded' }])
  expect(await shop.balances()).toMatchObject({ Held: 0, Unallocated: 60 })
  expect(await differencesOf(timed, client)).toEqual([])
})
