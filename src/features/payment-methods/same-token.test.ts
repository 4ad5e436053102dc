import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { beginSession, CARD, complete, frameOf } from '../capture-sessions/capture.testing.ts'
import { addCard, cardShop } from '../collection/shop.testing.ts'
import type { GatewayAdapter, Outcome } from '../gateways/contract.ts'
import { SANDBOX } from '../gateways/facts.ts'
import { fieldsOf, open, ORIGIN, pathOf, press } from '../invoice-pages/pages.testing.ts'
import { removalDuty } from './removal.ts'

/** A gateway that gives one card one token, however often it is stored, in the place of the sandbox. */

const GOOD = '4242424242424242'
/** References of storing and their tokens, by account: what the gateway keeps. */
const kept = new Map<string, string>()
const keptOf = ({ id }: TestClient) => new Set([...kept].filter(([at]) => at.startsWith(`${id} `)).map(([, t]) => t))
const asked: string[] = []
let charge: 'succeeded' | 'unknown' = 'succeeded'
let isStoreAnswered = true
/** Waits of the gateway once a card is stored, and before one is removed. */
const pauses = { stored: async () => {}, removing: async () => {} }

const outcome = (reference: string, on: string): Outcome =>
  charge === 'succeeded' ? { kind: 'succeeded', gatewayReference: reference, on } : { kind: 'unknown' }
const cardOf = (token: string) => ({
  kind: 'stored' as const,
  token,
  fingerprint: null,
  cardType: 'Visa' as const,
  lastFour: token.slice(-4),
  expiryMonth: 12,
  expiryYear: 2030,
})

const adapter: GatewayAdapter = {
  ...SANDBOX,
  check: async () => ({ kind: 'accepted' }),
  storeCard: async ({ accountId }, { number, reference }) => {
    const token = `${accountId} card ${number.reveal()}`
    kept.set(`${accountId} ${reference}`, token)
    await pauses.stored()
    return isStoreAnswered ? cardOf(token) : { kind: 'unknown' }
  },
  findStored: async ({ accountId }, { reference }) => {
    const token = kept.get(`${accountId} ${reference}`)
    return token === undefined ? { kind: 'none' } : cardOf(token)
  },
  removeStored: async (_call, token) => {
    asked.push(token)
    await pauses.removing()
    for (const [at, stored] of kept) if (stored === token) kept.delete(at)
    return { kind: 'removed' }
  },
  charge: async ({ today }, { reference }) => outcome(reference, today),
  askCharge: async ({ today }, { reference }) => ({ outcome: outcome(reference, today), changes: [] }),
}

const service = await startTestService({ adapters: [adapter], publicUrl: ORIGIN })
const duty = { db: service.db, log: pino({ level: 'silent' }), realClock: Date.now }
const remove = () => removalDuty(service.calling).run(duty, () => {})
const removals = async ({ id }: TestClient) =>
  service.db
    .reader(id)
    .rows<{ n: number }>(sql`select 1 as "n" from card_removals where account_id = ${id} and finished_at is null`)

/** A customer whose card 4242 is a method, beside their primary one; `drop` deletes the method and has its card removed. */
async function shop() {
  const { client, customerID, invoice } = await cardShop(service, null)
  const first = await addCard(client, customerID, GOOD)
  await addCard(client, customerID, '5555555555554444')
  const token = `${client.id} card ${GOOD}`
  const drop = async (id = first) => {
    expect((await client.delete(`/v1/paymentmethods/${id}`)).status).toBe(204)
    await remove()
  }
  const isKept = () => keptOf(client).has(token)
  return { client, customerID, invoice, token, drop, isKept }
}

async function captureIn(client: TestClient, changes: object = {}) {
  const { body: session } = await beginSession(client, changes)
  expect((await frameOf(service, session.HashToken, ORIGIN).post(CARD)).statusCode).toBe(303)
  return session
}
const SALE = { SaleType: 'VaultSale', Amount: 49 }

describe('a card that a gateway keeps under one token, and whose method is deleted', () => {
  test('stays while another method has it, and goes with the last of two that are deleted at once', async () => {
    const { client, customerID, drop, isKept } = await shop()
    const [second, third] = [
      await addCard(client, customerID, GOOD, false),
      await addCard(client, customerID, GOOD, false),
    ]
    await drop()
    expect(isKept()).toBe(true)
    const gone = await Promise.all([second, third].map((id) => client.delete(`/v1/paymentmethods/${id}`)))
    expect(gone.map(({ status }) => status)).toEqual([204, 204])
    await remove()
    expect([isKept(), await removals(client)]).toEqual([false, []])
  })

  test('stays for a session that has captured it, whose customer gets it', async () => {
    const { client, drop, isKept } = await shop()
    const session = await captureIn(client)
    await drop()
    expect([isKept(), await removals(client)]).toEqual([true, []])
    const other = await addCustomer(client)
    expect((await complete(client, other, session.SessionToken)).status).toBe(204)
    const [method] = (await client.get(`/v1/customers/${other}/paymentmethods`)).body
    await addCard(client, other, '5555555555554444')
    expect(isKept()).toBe(true)
    await drop(method.paymentMethodID)
    expect(isKept()).toBe(false)
  })

  test('stays for the sale of a session whose outcome is not known', async () => {
    const { client, drop, isKept } = await shop()
    charge = 'unknown'
    await captureIn(client, SALE)
    charge = 'succeeded'
    await drop()
    expect([isKept(), await removals(client)]).toEqual([true, []])
  })

  test('stays for a try with the card that a customer has entered', async () => {
    const { client, invoice, drop, isKept } = await shop()
    const page = await pathOf(client, await invoice(100))
    const cardPath = /href="(\/p\/[^"]+)"/.exec((await open(service, page)).text)?.[1] ?? ''
    const hidden = fieldsOf((await open(service, cardPath)).text)
    charge = 'unknown'
    await press(service, cardPath, { ...CARD, ...hidden })
    charge = 'succeeded'
    await drop()
    expect([isKept(), await removals(client)]).toEqual([true, []])
  })

  test('stays, where a store of it got no answer and is given up', async () => {
    const { client, isKept } = await shop()
    isStoreAnswered = false
    const { body: session } = await beginSession(client)
    const sent = await frameOf(service, session.HashToken, ORIGIN).post(CARD)
    expect([sent.statusCode, sent.payload.includes('data-error="gateway_unavailable"')]).toEqual([400, true])
    isStoreAnswered = true
    await remove()
    expect([isKept(), await removals(client)]).toEqual([true, []])
  })
})

describe('a card that is removed while it is stored once more', () => {
  /** A point at which the gateway stands until it may go on. */
  function stand() {
    let goOn = () => {}
    let arrive = () => {}
    const arrived = new Promise<void>((resolve) => (arrive = resolve))
    const released = new Promise<void>((resolve) => (goOn = resolve))
    const pause = () => {
      arrive()
      return released
    }
    return { pause, arrived, goOn }
  }

  test('is not kept where it was gone before the answer came: the gateway gave none, and the next form keeps it', async () => {
    const { client, drop, isKept } = await shop()
    const { body: session } = await beginSession(client)
    const frame = frameOf(service, session.HashToken, ORIGIN)
    const at = stand()
    pauses.stored = at.pause
    const sent = frame.post(CARD)
    await at.arrived
    pauses.stored = async () => {}
    await drop()
    expect(isKept()).toBe(false)
    at.goOn()
    expect((await sent).payload).toContain('data-error="gateway_unavailable"')
    await remove()
    expect((await frame.post(CARD)).statusCode).toBe(303)
    expect([isKept(), await removals(client)]).toEqual([true, []])
  })

  test('is not kept while the gateway is at removing it', async () => {
    const { client, customerID, drop, isKept, token } = await shop()
    const at = stand()
    pauses.removing = at.pause
    const dropped = drop()
    await at.arrived
    pauses.removing = async () => {}
    const body = {
      customerID,
      isPrimary: false,
      CreditCard: {
        Number: GOOD,
        CardType: 'Visa',
        ExpiryMonth: 12,
        ExpiryYear: 2030,
        NameOnCard: 'A',
        LastNameOnCard: 'B',
      },
    }
    const add = () => client.post('/v1/paymentmethods/creditcard', body, { 'idempotency-key': 'again' })
    const refused = await add()
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([503, 'gateway_no_answer'])
    at.goOn()
    await dropped
    await remove()
    expect((await add()).status).toBe(200)
    await remove()
    expect([isKept(), asked.filter((one) => one === token).length]).toEqual([true, 1])
  })
})
