import Stripe from 'stripe'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ChargeToMake, GatewayCall } from '../../src/features/gateways/contract.ts'
import { stripeAdapter } from '../../src/features/gateways/stripe.ts'
import { networksFromText } from '../../src/platform/outbound/networks.ts'
import { makeOutbound } from '../../src/platform/outbound/outbound.ts'
import { StripeJudge, type Body } from './stripe-judge.ts'
import { operationOf } from './stripe-operations.ts'
import { StripeSimulator, type Sent, type Side } from './stripe.ts'

/** The adapter sends byte for byte what the official client sends for the same operation and facts; only headers of its own it lacks. */

let simulator: StripeSimulator
let side: Side

beforeEach(async () => {
  simulator = await StripeSimulator.start()
  side = simulator.openAccount().test
})

afterEach(async () => {
  await simulator.stop()
  expect(simulator.problems).toEqual([])
})

/** Signs and letters that are written in several ways in a form. */
const WORDS = "Invoice 702 & 15 % off: [café] (it's *new*!) ~ + = / ? # 日本"

test('for charges, their questions and ends, refunds, cards, reports and the account', async () => {
  await callAll()
  const ours = simulator.sent.splice(0)
  const calls = ours.map(({ call }) => call.replaceAll(/(?:pi|pm|cus|re|ch)_\w{24}/g, '*'))
  expect([...new Set(calls)].toSorted()).toEqual([
    'DELETE /v1/customers/*',
    'GET /v1/account',
    'GET /v1/customers/*',
    'GET /v1/customers/*/payment_methods',
    'GET /v1/disputes',
    'GET /v1/events',
    'GET /v1/payment_intents/*',
    'GET /v1/payment_methods/*',
    'GET /v1/refunds',
    'GET /v1/refunds/*',
    'POST /v1/payment_intents',
    'POST /v1/payment_intents/*/cancel',
    'POST /v1/payment_intents/*/confirm',
    'POST /v1/payment_methods/*/detach',
    'POST /v1/refunds',
  ])
  const { port } = new URL(simulator.address)
  const stripe = new Stripe(side.secretKey, { host: '127.0.0.1', port, protocol: 'http', telemetry: false })
  for (const sent of ours) await callAgain(stripe, sent)
  expect(ours.map(bytesOf)).toEqual(simulator.sent.map(bytesOf))
})

/** Has the adapter make each request that it knows. */
async function callAll(): Promise<void> {
  const { adapter, call } = adapterAt()
  const { token, customer } = side.console.addCard('4242424242424242')
  side.book.customers.get(customer)!.metadata = { perennial: `${call.scope}/card/1` }
  const charge = { ...CHARGE, token }
  await adapter.check(call)
  const paid = await adapter.charge({ ...call, keep: async () => true }, charge)
  const name = paid.kind === 'succeeded' ? (paid.gatewayReference ?? '') : ''
  side.console.refund(name, 100)
  side.console.dispute(name, { amount: 100, isEnquiry: true })
  await adapter.askCharge(call, { ...charge, gatewayReference: name })
  const refund = {
    reference: '3.aB',
    charge: { ...charge, gatewayReference: name },
    amountMinor: 4000n,
    currency: 'EUR',
  }
  const refunded = await adapter.refund(call, { ...refund, gatewayReference: null, sentAt: null })
  const refundName = refunded.kind === 'succeeded' ? refunded.gatewayReference : ''
  await adapter.askRefund(call, { ...refund, gatewayReference: refundName, sentAt: null })
  await adapter.askRefund(call, { ...refund, gatewayReference: null, sentAt: null })
  const asks = side.console.addCard('4000002760003184').token
  const returnUrl = 'https://example.com/i/a?b=c d&e=%20'
  const present = { ...charge, token: asks, isCustomerPresent: true, returnUrl }
  const waiting = await adapter.charge({ ...call, keep: async () => true }, present)
  const waitingName = waiting.kind === 'requires_action' ? waiting.gatewayReference : ''
  await adapter.cancelCharge(call, { ...present, gatewayReference: waitingName })
  await adapter.listReports(call, { cursor: null, since: new Date(0).toISOString() as GatewayCall['now'] })
  await adapter.findToken(call, customer)
  await adapter.askStored(call, token)
  await adapter.removeStored(call, token)
}

const CHARGE: ChargeToMake = {
  ...{ reference: '9.Qm3kz0aXw1Yb', token: '', amountMinor: 11_500n, currency: 'EUR', gatewayReference: null },
  ...{ sentAt: null, isCustomerPresent: false, returnUrl: null, description: WORDS, invoiceNumbers: ['702', '703'] },
  payer: null,
}

function adapterAt() {
  const adapter = stripeAdapter({
    ...{
      outbound: makeOutbound({ allow: networksFromText('127.0.0.0/8') ?? [] }),
      endpoints: { stripe: simulator.address },
    },
    ...{ takePlace: async () => true, measured: () => undefined, realNow: Date.now },
  })
  const call: GatewayCall = {
    ...{ accountId: 1n as GatewayCall['accountId'], gatewayId: 3n, scope: '0f8b1c52-a7d9-4c52-a91c-3f0e8c2d7b11' },
    ...{ isLive: false, timeZone: 'UTC', isCustomerPresent: false, signal: new AbortController().signal },
    ...{ now: '2027-01-31T12:00:00.000Z' as GatewayCall['now'], today: '2027-01-31' as GatewayCall['today'] },
    settings: {
      ...{ SecretKey: side.secretKey, PublishableKey: side.publishableKey, StatementSuffix: 'INVOICE 702' },
    },
  }
  return { adapter: adapter as Required<typeof adapter>, call }
}

type Again = (stripe: Stripe, id: string, body: never, options: Stripe.RequestOptions) => Promise<unknown>

/** The methods of the official client, by the operations that they are for. */
const CLIENT: Record<string, Again> = {
  AccountRetrieveCurrent: (stripe) => stripe.accounts.retrieveCurrent(),
  CustomerDelete: (stripe, id) => stripe.customers.del(id),
  CustomerRetrieve: (stripe, id) => stripe.customers.retrieve(id),
  CustomerListPaymentMethods: (stripe, id, body) => stripe.customers.listPaymentMethods(id, body),
  DisputeList: (stripe, _id, body) => stripe.disputes.list(body),
  EventList: (stripe, _id, body) => stripe.events.list(body),
  PaymentIntentCreate: (stripe, _id, body, options) => stripe.paymentIntents.create(body, options),
  PaymentIntentConfirm: (stripe, id, body, options) => stripe.paymentIntents.confirm(id, body, options),
  PaymentIntentCancel: (stripe, id, body, options) => stripe.paymentIntents.cancel(id, body, options),
  PaymentIntentRetrieve: (stripe, id, body) => stripe.paymentIntents.retrieve(id, body),
  PaymentMethodDetach: (stripe, id, body, options) => stripe.paymentMethods.detach(id, body, options),
  PaymentMethodRetrieve: (stripe, id) => stripe.paymentMethods.retrieve(id),
  RefundCreate: (stripe, _id, body, options) => stripe.refunds.create(body, options),
  RefundList: (stripe, _id, body) => stripe.refunds.list(body),
  RefundRetrieve: (stripe, id) => stripe.refunds.retrieve(id),
}

/** Has the official client send what a request of ours meant: its facts as the judge reads them, under its key. Most are refused now, for they were done. */
async function callAgain(stripe: Stripe, { call, form, headers }: Sent): Promise<void> {
  const [method = '', path = ''] = call.split(' ')
  const { operation, id } = operationOf(method, path)!
  const { body } = (await StripeJudge.read()).judgeRequest(operation, form)
  const key = headers['idempotency-key']
  const options = { maxNetworkRetries: 0, ...(typeof key === 'string' && { idempotencyKey: key }) }
  const again = CLIENT[operation.parameters]
  if (again === undefined) throw new Error(`The official client is not asked for ${operation.parameters}`)
  await again(stripe, id, body as Body as never, options).catch((error: unknown) => {
    if (!(error instanceof Stripe.errors.StripeError)) throw error
  })
}

/** Compared of a request: all but the headers by which a client names itself and counts its tries. */
const bytesOf = ({ call, form, headers }: Sent) => ({
  ...{ call, form, authorization: headers.authorization, version: headers['stripe-version'] },
  ...{ key: headers['idempotency-key'], type: headers['content-type'] },
})
