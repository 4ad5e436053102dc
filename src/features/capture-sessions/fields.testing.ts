import { expect } from 'vitest'
import { confirmSetupIntent } from '../../../test/simulators/stripe-intents.ts'
import { cardOf } from '../../../test/simulators/stripe-cards.ts'
import { signatureOf } from '../../../test/simulators/stripe-webhooks.ts'
import { workAt } from '../gateway-reports/reports.testing.ts'
import type { Side, StripeSimulator } from '../../../test/simulators/stripe.ts'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import pino from 'pino'
import { sql } from '../../platform/database/sql.ts'
import { removalDuty } from '../payment-methods/removal.ts'
import type { GatewayAdapter, StoredCard } from '../gateways/contract.ts'
import { STRIPE } from '../gateways/facts.ts'
import { beginSession, frameOf, readSession } from './capture.testing.ts'
import { leftFieldsDuty } from './left-fields.ts'

/** Sessions of a gateway with card fields of its own, at a simulator of Stripe whose browser part a test plays. */

const SECRET = 'whsec_test'
export const HOLDER = { givenName: 'Ada', familyName: 'Lovelace' }

const LIVE_CARD: StoredCard = {
  ...{ fingerprint: null, cardType: 'Visa', lastFour: '4242', expiryMonth: 12, expiryYear: 2031 },
  ...{ token: 'cus_1/pm_1', holderName: 'Augusta Ada King' },
}
export const LIVE_CLIENT = { publishableKey: 'pk_live_1', clientSecret: 'seti_1_secret_1' }
/** A Stripe for live accounts, for which no simulator stands: every card that is entered is stored and charged. */
export const LIVE_STRIPE: GatewayAdapter = {
  ...STRIPE,
  check: async () => ({ kind: 'accepted' }),
  beginStore: async () => ({ kind: 'begun', gatewayReference: 'seti_1', client: LIVE_CLIENT }),
  findStored: async () => ({ kind: 'stored', ...LIVE_CARD }),
  charge: async ({ keep, today: on }) => {
    await keep('pi_1')
    return { kind: 'succeeded', gatewayReference: 'pi_1', on }
  },
  askCharge: async () => ({ kind: 'unknown' }),
}

/** Adds a gateway at an account of Stripe of its own to a test account. */
export async function addStripe(client: TestClient, simulator: StripeSimulator, more: object = {}) {
  const { test: stripe } = simulator.openAccount()
  const added = await client.post('/v1/gateways', {
    GatewayType: 'stripe',
    ...more,
    Settings: { SecretKey: stripe.secretKey, PublishableKey: stripe.publishableKey, WebhookSecrets: [SECRET] },
  })
  expect(added.status, added.text).toBe(201)
  const { gatewayID, GatewayToken } = added.body
  return { stripe, gatewayID: gatewayID as number, GatewayToken: GatewayToken as string }
}

/** Has a card stored under an intent, as a browser does by the gateway's own fields. */
export function enterCard({ book }: Side, setup: string, number: string, name = 'Augusta Ada King'): void {
  const method = book.addMethod(cardOf(number), { name, expMonth: 12, expYear: 2031 })
  confirmSetupIntent(book, setup, { payment_method: method.id })
}

/** Begins a session at a gateway of Stripe. */
export async function fieldsSession(service: TestService, simulator: StripeSimulator, changes: object = {}) {
  const client = await service.newAccount({ clockAt: null })
  const { stripe, gatewayID, GatewayToken } = await addStripe(client, simulator)
  const begun = await beginSession(client, { GatewayToken, ...changes })
  expect(begun.status, begun.text).toBe(200)
  const session = begun.body
  const frame = frameOf(service, session.HashToken)
  const read = () => readSession(client, session.SessionToken)
  const told = async (below: string) => {
    const answer = await frame.post({}, below)
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
  }
  const setups = () => [...stripe.book.setups.values()]
  /** Sends events of Stripe, signed, and has the reports applied. */
  async function reported(events = stripe.book.events) {
    for (const event of events) {
      const raw = JSON.stringify(event)
      const signature = signatureOf(raw, SECRET, Math.floor(Date.now() / 1000))
      const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
      const reply = await service.anonymous.request('POST', `/gateways/${GatewayToken}/events`, raw, headers)
      expect(reply.status, reply.text).toBe(200)
    }
    await workAt(service, client)
  }
  return { client, stripe, gatewayID, session, frame, read, told, setups, reported, enter: enterOf(stripe) }
}

const enterOf = (side: Side) => (number: string, name?: string) => {
  const open = [...side.book.setups.values()].at(-1)
  if (!open) throw new Error('nothing was begun')
  enterCard(side, open.id, number, name)
}

/** Makes the means to let pass the time of pages that nobody comes back to. */
export function leavingOf(service: TestService) {
  const duty = { db: service.db, log: pino({ level: 'silent' }), realClock: Date.now }
  const look = () => leftFieldsDuty(service.calling).run(duty, () => {})
  const remove = () => removalDuty(service.calling).run(duty, () => {})
  const letPass = ({ id }: TestClient, span = '1 hour') =>
    service.db.transaction(id, async (tx) => {
      // An UPDATE may not compute with a column and an interval on Citus.
      const intents = await tx.rows<{ id: bigint; until: string }>(sql`
        select card_intent_id as "id", (fields_until - ${span}::interval)::text as "until" from card_intents
         where account_id = ${id} and fields_until is not null`)
      for (const { id: intent, until } of intents)
        await tx.rows(sql`
          update card_intents set fields_until = ${until}::timestamptz where account_id = ${id} and card_intent_id = ${intent}`)
    })
  return { look, remove, letPass }
}
