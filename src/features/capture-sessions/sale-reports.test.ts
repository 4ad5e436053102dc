import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer, moveTo } from '../../../test/support/shop.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { keptReports, report, workAt } from '../gateway-reports/reports.testing.ts'
import type { GatewayAdapter, Outcome } from '../gateways/contract.ts'
import { CARD, complete, sendSale } from './capture.testing.ts'
import { APPROVED, BY_AMOUNT, DECLINED, eventsOf, ONLY, paymentsOf, salesOf } from './sales.testing.ts'

const service = await startTestService()
const { book, work, remove, letPass, differences } = salesOf(service)

describe('a gateway that finds otherwise later', () => {
  /** Has the book of the sandbox report something of a charge or refund on the day of the account. */
  const reported = (client: TestClient, type: string) =>
    service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        insert into sandbox_reports (account_id, gateway_id, report_type, reference, due_on)
        select account_id, gateway_id, ${type}, reference, charged_on from sandbox_charges where account_id = ${client.id} order by split_part(reference, '.', 1)::bigint limit 1`),
    )

  test('has a refund pending: the session is expired, and its card removed once the refund is made, once', async () => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, '4000000000007726')
    await moveTo(client, '2027-01-03')
    expect((await read()).State).toBe('expired')
    expect(await eventsOf(client, 'capture_session.expired')).toEqual([])
    await moveTo(client, '2027-01-04')
    await remove()
    expect(await book(client)).toEqual({ charges: ['succeeded 4900'], refunds: 1, cards: 0 })
    expect(await eventsOf(client, 'capture_session.expired')).toEqual([session.iframeCapturePayID])
    expect((await client.get('/v1/resultfiles')).body).toEqual([])
    expect(await differences(client)).toEqual([])
  })

  test.each([
    ['VaultSale', {}],
    ['SaleOnly', ONLY],
  ])('takes the refund of %s back: captured again, with an event, and its payment can be had', async (_, changes) => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, '4000000000005126', changes)
    await moveTo(client, '2027-01-03')
    expect((await read()).State).toBe('expired')
    await moveTo(client, '2027-01-20')
    expect(await read()).toMatchObject({ State: 'captured', paymentMethodID: null, paymentMethodToken: null })
    const events = (await client.get('/v1/events?type=capture_session.give_back_refused')).body
    expect(events).toMatchObject([{ RecordID: session.iframeCapturePayID, Reason: 'The refund came back.' }])
    expect((await client.get('/v1/resultfiles')).body).toEqual([])
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    expect(await paymentsOf(client, customerID)).toMatchObject([{ Amount: 49, Status: 'Unallocated' }])
    expect((await client.get(`/v1/customers/${customerID}/paymentmethods`)).body).toEqual([])
    expect(await differences(client)).toEqual([])
  })

  /** Has the console of the sandbox refund the charge of a session, whole or in part, on the day of the account. */
  async function refundThere(client: TestClient, amountMinor: bigint) {
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        update sandbox_charges set refunded_on = charged_on, refunded_minor = ${amountMinor} where account_id = ${client.id}`),
    )
    await reported(client, 'charge.refunded')
  }

  test('has refunded the charge at its console: a customer who completes the session has the payment, and owes the refund', async () => {
    const client = await service.newAccount()
    const { session } = await sendSale(service, client, APPROVED)
    await refundThere(client, 4900n)
    await workAt(service, client)
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    await workAt(service, client)
    const [payment] = await paymentsOf(client, customerID)
    expect(payment).toMatchObject({ Amount: 49, Status: 'Allocated' })
    const refunds = (await client.get(`/v1/payments/${payment.paymentID}/refunds`)).body
    expect(refunds).toMatchObject([{ Amount: 49, State: 'succeeded', isFromGateway: true }])
    expect((await client.get('/v1/resultfiles?isOpen=true')).body).toEqual([])
    expect(await differences(client)).toEqual([])
  })

  test('has refunded the whole charge at its console: that gives it back when the session ends', async () => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, APPROVED)
    await refundThere(client, 4900n)
    await moveTo(client, '2027-01-05')
    await remove()
    expect((await read()).State).toBe('expired')
    expect(await book(client)).toEqual({ charges: ['succeeded 4900'], refunds: 0, cards: 0 })
    expect(await eventsOf(client, 'capture_session.expired')).toEqual([session.iframeCapturePayID])
    expect(await eventsOf(client, 'capture_session.give_back_refused')).toEqual([])
    expect(await differences(client)).toEqual([])
  })

  test('has refunded a part of the charge at its console: a person gives back the rest', async () => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, APPROVED)
    await refundThere(client, 4000n)
    await moveTo(client, '2027-01-05')
    expect((await read()).State).toBe('captured')
    expect(await eventsOf(client, 'capture_session.give_back_refused')).toEqual([session.iframeCapturePayID])
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    await workAt(service, client)
    const [{ paymentID }] = await paymentsOf(client, customerID)
    expect((await client.get(`/v1/payments/${paymentID}/refunds`)).body).toMatchObject([
      { Amount: 40, isFromGateway: true },
    ])
    expect(await differences(client)).toEqual([])
  })

  test.each([
    ['before another was captured', false],
    ['after a customer has the session', true],
  ])(
    'has made a charge that was found not made, %s: it is refunded, and the session goes on',
    async (_, isCompleted) => {
      const client = await service.newAccount()
      const { session, frame, read } = await sendSale(service, client, BY_AMOUNT, { Amount: 49.92 })
      await moveTo(client, '2027-01-01T00:10:00Z')
      const customerID = await addCustomer(client)
      if (isCompleted) {
        expect((await frame.post(CARD)).statusCode).toBe(303)
        expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
      }
      await service.db.transaction(client.id, (tx) =>
        tx.rows(sql`update sandbox_charges set state = 'succeeded' where account_id = ${client.id} and state = 'lost'`),
      )
      await reported(client, 'charge.settled')
      await workAt(service, client)
      expect(await differences(client)).toEqual([])
      await work()
      expect((await read()).State).toBe(isCompleted ? 'completed' : 'open')
      expect((await book(client)).refunds).toBe(1)
      expect(await eventsOf(client, 'capture_session.expired')).toEqual([])
      expect(await paymentsOf(client, customerID)).toHaveLength(isCompleted ? 1 : 0)
      expect(await differences(client)).toEqual([])
    },
  )

  test.each([
    ['the card is kept', false],
    ['a customer has it', true],
  ])('has made a charge that was declined, where %s: it is refunded, and the card stays', async (_, isCompleted) => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, DECLINED)
    const customerID = await addCustomer(client)
    if (isCompleted) expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update sandbox_charges set state = 'succeeded', code = null where account_id = ${client.id}`),
    )
    await reported(client, 'charge.settled')
    await workAt(service, client)
    await work()
    await remove()
    expect(await read()).toMatchObject({ State: isCompleted ? 'completed' : 'captured', transactionID: null })
    expect(await book(client)).toEqual({ charges: ['succeeded 4900'], refunds: 1, cards: 1 })
    expect(await paymentsOf(client, customerID)).toEqual([])
    expect(await eventsOf(client, 'capture_session.expired')).toEqual([])
    expect(await differences(client)).toEqual([])
  })
})

test('on real time a report wakes an open sale: not while somebody is at it, and one that its customer may confirm is left to them', async () => {
  const adapters = service.calling.adapters as Map<string, GatewayAdapter>
  const sandbox = adapters.get('sandbox') as GatewayAdapter
  onTestFinished(() => void adapters.set('sandbox', sandbox))
  const calls: string[] = []
  let outcome: Outcome = { kind: 'unknown' }
  adapters.set('sandbox', {
    ...sandbox,
    charge: async () => outcome,
    askCharge: async () => {
      calls.push('asked')
      return { outcome, changes: [] } as never
    },
    cancelCharge: async () => {
      calls.push('cancelled')
      return outcome
    },
  })
  const client = await service.newAccount({ clockAt: null })
  const [gateway] = (await client.get('/v1/gateways')).body
  const { read } = await sendSale(service, client, APPROVED)
  const change = (assignments: ReturnType<typeof fragment>) =>
    service.db.transaction(client.id, (tx) =>
      tx.rows<{ id: bigint; minutesLeft: number }>(sql`
        update capture_sales set ${assignments} where account_id = ${client.id}
        returning charge_id as "id", (extract(epoch from next_ask_at - now()) / 60)::float8 as "minutesLeft"`),
    )
  const [sale] = await change(
    fragment`leased_until = now() + interval '1 minute', next_ask_at = now() + interval '20 minutes'`,
  )
  await report(service, { client, ...gateway }, { id: 'r-1', about: 'charge', reference: String(sale?.id) })
  const woken = async () => {
    await workAt(service, client)
    return [calls.splice(0), (await read()).State]
  }
  expect(await woken()).toEqual([[], 'open'])
  outcome = { kind: 'requires_action', gatewayReference: 'pi_1', url: null }
  await change(fragment`leased_until = null, confirm_by = now() + interval '20 minutes'`)
  expect(await woken()).toEqual([['asked'], 'open'])
  const [{ minutesLeft } = { minutesLeft: 0 }] = await change(fragment`asks = asks`)
  expect(minutesLeft).toBeGreaterThan(15)
  expect(minutesLeft).toBeLessThanOrEqual(20)
  outcome = { kind: 'succeeded', gatewayReference: 'pi_1', on: '2027-01-01' }
  expect(await woken()).toEqual([['asked'], 'captured'])
  expect(await keptReports(service, client)).toMatchObject([{ isFinished: false, reason: null }])
  expect(await differences(client)).toEqual([])
})

describe('an answer about another', () => {
  const adapters = service.calling.adapters as Map<string, GatewayAdapter>
  const sandbox = adapters.get('sandbox') as GatewayAdapter
  let charged: Outcome = { kind: 'unknown' }
  let refunded: Outcome = { kind: 'unknown' }
  const answering = () => {
    const asked = async () => (charged.kind === 'unknown' ? charged : { outcome: charged, changes: [] }) as never
    const refund = async () => refunded
    adapters.set('sandbox', { ...sandbox, charge: async () => charged, askCharge: asked, refund, askRefund: refund })
  }
  afterEach(() => void adapters.set('sandbox', sandbox))

  const named = (gatewayReference: string): Outcome => ({ kind: 'succeeded', gatewayReference, on: '2027-01-01' })
  const reasonsOf = async (client: TestClient) =>
    (await client.get('/v1/events?type=gateway.mismatch')).body.map(({ Reason }: any) => Reason).toSorted()
  const saleOf = async ({ id }: TestClient) =>
    (
      await service.db.reader(id).rows<any>(sql`
        select charge_id as "id", refund_id as "refundId", refund_state as "refundState", refund_gateway_reference as "refundName"
          from capture_sales where account_id = ${id} order by charge_id desc limit 1`)
    )[0]

  test('charge leaves the sale open, with one event; after the outcome it is listed', async () => {
    const client = await service.newAccount()
    const [gateway] = (await client.get('/v1/gateways')).body
    charged = { kind: 'unknown' }
    answering()
    const { read } = await sendSale(service, client, APPROVED)
    charged = { kind: 'unknown', mismatch: 'The gateway answers about another amount.' }
    for (let count = 0; count < 2; count += 1) {
      await letPass(client)
      await work()
    }
    expect((await read()).State).toBe('open')
    expect(await reasonsOf(client)).toEqual(['The gateway answers about another amount.'])
    charged = named('pi_1')
    await letPass(client)
    await work()
    expect(await read()).toMatchObject({ State: 'captured', transactionID: 'pi_1' })
    const other = await sendSale(service, client, APPROVED)
    expect((await other.read()).State).toBe('open')
    const { id } = await saleOf(client)
    charged = { kind: 'declined', class: 'declined', code: 'x', message: 'No.', on: '2027-01-01' }
    await letPass(client)
    await work()
    charged = { kind: 'unknown', mismatch: 'The gateway answers about another currency.' }
    await report(service, { client, ...gateway }, { id: 'r-1', about: 'charge', reference: String(id) })
    await workAt(service, client)
    expect(await keptReports(service, client)).toMatchObject([{ isFinished: true, reason: charged.mismatch }])
    expect(await reasonsOf(client)).toEqual(
      [
        `The gateway answers about sale ${id} with pi_1, which is the name of another charge.`,
        'The gateway answers about another amount.',
        'The gateway answers about another currency.',
      ].toSorted(),
    )
    expect(await differences(client)).toEqual([])
  })

  test('refund leaves it open, with one event, and it keeps its name; after the outcome it is listed', async () => {
    const client = await service.newAccount()
    const [gateway] = (await client.get('/v1/gateways')).body
    charged = named('pi_1')
    refunded = { kind: 'pending', gatewayReference: 're_1' }
    answering()
    await sendSale(service, client, APPROVED)
    await moveTo(client, '2027-01-03')
    const { refundId } = await saleOf(client)
    const next = async (answer: Outcome) => {
      refunded = answer
      await letPass(client)
      await work()
      return saleOf(client)
    }
    expect(await saleOf(client)).toMatchObject({ refundState: 'open', refundName: 're_1' })
    const mismatch = 'The gateway answers about another amount.'
    for (const answer of [named('re_2'), { kind: 'unknown', mismatch }, { kind: 'unknown', mismatch }] as const)
      expect(await next(answer)).toMatchObject({ refundState: 'open', refundName: 're_1' })
    expect(await next(named('re_1'))).toMatchObject({ refundState: 'made' })
    refunded = { kind: 'unknown', mismatch: 'The gateway answers about another currency.' }
    await report(service, { client, ...gateway }, { id: 'r-1', about: 'refund', reference: String(refundId) })
    await workAt(service, client)
    expect(await keptReports(service, client)).toMatchObject([{ isFinished: true, reason: refunded.mismatch }])
    expect(await reasonsOf(client)).toEqual(
      [
        mismatch,
        'The gateway answers about another currency.',
        `The gateway answers about refund ${refundId} with re_2, and its refund is re_1.`,
      ].toSorted(),
    )
  })
})
