import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, describe, expect } from 'vitest'
import { callOf } from '../../src/features/gateways/calls.testing.ts'
import { testContract } from '../../src/features/gateways/contract.testing.ts'
import type { ChargingCall } from '../../src/features/gateways/contract.ts'
import { dyingWith } from '../../src/features/gateways/rows.testing.ts'
import { stripeAdapter } from '../../src/features/gateways/stripe.ts'
import { networksFromText } from '../../src/platform/outbound/networks.ts'
import { makeOutbound, type Outbound } from '../../src/platform/outbound/outbound.ts'
import { type Side, StripeSimulator } from './stripe.ts'
import { signatureOf } from './stripe-webhooks.ts'

/** The adapter of Stripe is held to the one contract, at the simulator. */

const simulator = await StripeSimulator.start()
afterEach(() => expect(simulator.problems).toEqual([]))
afterAll(() => simulator.stop())

const network = makeOutbound({ allow: networksFromText('127.0.0.0/8') ?? [] })
const stripeOver = (outbound: Pick<Outbound, 'ask'>) =>
  stripeAdapter({
    outbound,
    endpoints: { stripe: simulator.address },
    takePlace: async () => true,
    measured: () => {},
    realNow: () => simulator.now() * 1000,
  })

const SECRET = 'whsec_contract'
const sides = new Map<string, Side>()
const sideOf = ({ settings }: Pick<ChargingCall, 'settings'>) => sides.get(String(settings['SecretKey'])) as Side

const newCall = async (): Promise<ChargingCall> => {
  const { test } = simulator.openAccount()
  sides.set(test.secretKey, test)
  const now = new Date(simulator.now() * 1000).toISOString()
  return callOf({
    accountId: BigInt(sides.size),
    gatewayId: 1n,
    scope: randomUUID(),
    settings: { SecretKey: test.secretKey, PublishableKey: test.publishableKey, WebhookSecrets: [SECRET] },
    now,
    today: now.slice(0, 10),
  })
}

describe('the contract of gateways', () => {
  testContract({
    type: 'stripe',
    make: () => stripeOver(network),
    newCall,
    cards: { approved: '4242424242424242', declined: '4000000000000341', refusedAtStoring: '4000000000000002' },
    enterCard: async ({ publishableKey: key, clientSecret }, number) => {
      const typed = { key, clientSecret, number, month: 12, year: 2030, name: 'Ann Lee' }
      await fetch(`${simulator.address}/browser/confirm`, { method: 'POST', body: JSON.stringify(typed) })
    },
    paid: async (call) => [...sideOf(call).book.charges.values()].filter(({ paid }) => paid).length,
    refundThere: async (call, { gatewayReference }, amountMinor) => {
      sideOf(call).console.refund(gatewayReference ?? '', Number(amountMinor))
    },
    requests: {
      count: 2,
      dying: (request, diesWith) => {
        const { send, died, wake } = dyingWith(request, diesWith)
        return { adapter: stripeOver({ ask: (url, question) => send(() => network.ask(url, question)) }), died, wake }
      },
    },
    passHours: (hours) => simulator.advance(hours * 3600),
    hasSharedBook: true,
    reportsARequest: 1,
    signed: (call, reports) => {
      const [event] = reports.map(({ id, reference }) => ({
        id,
        type: 'payment_intent.succeeded',
        livemode: false,
        data: { object: { id: `pi_${id}`, metadata: { perennial: `${call.scope}/charge/${reference}` } } },
      }))
      const raw = JSON.stringify(event)
      const signature = signatureOf(raw, SECRET, Math.floor(Date.parse(call.now) / 1000))
      return { raw: Buffer.from(raw), headers: { 'stripe-signature': signature } }
    },
    happens: (call, times) =>
      Array.from({ length: times }, () => {
        const { console } = sideOf(call)
        const { token, method } = console.addCard('4242424242424242')
        console.removeCard(method)
        return token
      }),
    secrets: [SECRET],
  })
})
