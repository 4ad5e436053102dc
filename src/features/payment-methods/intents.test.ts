import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import type { GatewayAdapter, StoredCard, StoreOutcome } from '../gateways/contract.ts'
import { SANDBOX } from '../gateways/facts.ts'
import { abandoningDuty, removalDuty } from './removal.ts'

/** Cards at a gateway that fails as the tests say, in the place of the sandbox. */

const book = new Map<string, StoredCard & { accountId: bigint }>()
const removed: string[] = []
type Way = 'answers' | 'stores, without an answer' | 'gets nothing' | 'refuses connections' | 'declines'
let way: Way = 'answers'
let removes: 'removed' | 'unknown' = 'removed'
let stored = 0
/** Waits before the card of a token is removed. */
const waits = new Map<string, () => Promise<void>>()

const adapter: GatewayAdapter = {
  ...SANDBOX,
  check: async () => ({ kind: 'accepted' }),
  storeCard: async ({ accountId, today }, card): Promise<StoreOutcome> => {
    if (way === 'refuses connections') return { kind: 'not_sent' }
    if (way === 'gets nothing') return { kind: 'unknown' }
    if (way === 'declines') return { kind: 'declined', class: 'declined', code: '05', message: 'No.', on: today }
    const { cardType, expiryMonth, expiryYear, number } = card
    if (!book.has(card.reference)) {
      const token = `tok_${(stored += 1)}`
      book.set(card.reference, {
        token,
        fingerprint: null,
        cardType,
        lastFour: number.lastFour,
        expiryMonth,
        expiryYear,
        accountId,
      })
    }
    const { accountId: _, ...kept } = book.get(card.reference)!
    return way === 'answers' ? { kind: 'stored', ...kept } : { kind: 'unknown' }
  },
  findStored: async (_call, { reference }) => {
    const kept = book.get(reference)
    if (!kept) return { kind: 'none' }
    const { accountId: _, ...card } = kept
    return { kind: 'stored', ...card }
  },
  removeStored: async (_call, token) => {
    await waits.get(token)?.()
    if (removes === 'unknown') return { kind: 'unknown' }
    removed.push(token)
    for (const [reference, card] of book) if (card.token === token) book.delete(reference)
    return { kind: 'removed' }
  },
}

const service = await startTestService({ adapters: [adapter] })
const duty = { db: service.db, log: pino({ level: 'silent' }), realClock: Date.now }
const removeAll = () => removalDuty(service.calling).run(duty, () => {})
const abandonAll = () => abandoningDuty.run(duty, () => {})

const key = { 'idempotency-key': 'k' }
async function newCustomer() {
  const client = await service.newAccount()
  const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body
  const CreditCard = {
    CardType: 'Visa',
    Number: '4242424242424242',
    NameOnCard: 'Ada',
    LastNameOnCard: 'Lovelace',
    ExpiryMonth: 11,
    ExpiryYear: 2027,
  }
  const add = (now: Way, headers = {}) => {
    way = now
    return client.post('/v1/paymentmethods/creditcard', { customerID, isPrimary: true, CreditCard }, headers)
  }
  return { client, customerID, add }
}

const cardsOf = ({ id }: TestClient) =>
  [...book.values()].filter(({ accountId }) => accountId === id).map(({ token }) => token)
const methodsOf = async (client: TestClient) => (await client.get('/v1/paymentmethods')).body.length
const count = async ({ id }: TestClient, table: 'card_removals' | 'open intents') => {
  const [row] = await service.db
    .reader(id)
    .rows<{ n: bigint }>(
      table === 'card_removals'
        ? sql`select count(*) as "n" from card_removals where account_id = ${id} and finished_at is null`
        : sql`select count(*) as "n" from card_intents where account_id = ${id} and closed_at is null`,
    )
  return Number(row?.n)
}
/** Makes the intents of an account older, as the database counts. */
const age = ({ id }: TestClient, hours: number) =>
  service.db.transaction(id, (tx) =>
    tx.rows(sql`
      update card_intents set created_at = created_at - interval '1 hour' * ${hours}::integer, held_until = held_until - interval '1 hour' * ${hours}::integer
       where account_id = ${id}`),
  )

describe('a card without an answer of its gateway', () => {
  test.each(['stores, without an answer', 'gets nothing', 'refuses connections'] as const)(
    'is 503 with Retry-After and no method; the same key goes on with the same intent (gateway %s)',
    async (how) => {
      const { client, add } = await newCustomer()
      const none = await add(how, key)
      expect([none.status, none.headers['retry-after'], none.body.Errors[0].Code]).toEqual([
        503,
        '5',
        'gateway_no_answer',
      ])
      expect([await methodsOf(client), await count(client, 'open intents')]).toEqual([0, 1])
      const again = await add('answers', key)
      expect([again.status, await methodsOf(client), await count(client, 'open intents')]).toEqual([200, 1, 0])
      expect(cardsOf(client)).toHaveLength(1)
      expect((await add('answers', key)).headers['idempotency-replayed']).toBe('true')
      await removeAll()
      expect(cardsOf(client)).toHaveLength(1)
    },
  )

  test('and without a key is closed at once, and removed at the gateway', async () => {
    const { client, add } = await newCustomer()
    expect((await add('stores, without an answer')).status).toBe(503)
    expect([await count(client, 'open intents'), cardsOf(client).length]).toEqual([0, 1])
    await removeAll()
    expect([cardsOf(client), await count(client, 'card_removals')]).toEqual([[], 0])
  })

  test('is closed after 24 hours and removed; the key begins anew then', async () => {
    const { client, add } = await newCustomer()
    await add('stores, without an answer', key)
    await age(client, 23)
    await abandonAll()
    expect(await count(client, 'open intents')).toBe(1)
    await age(client, 2)
    await abandonAll()
    expect([await count(client, 'open intents'), await count(client, 'card_removals')]).toEqual([0, 1])
    const [before] = cardsOf(client)
    expect((await add('answers', key)).status).toBe(200)
    await removeAll()
    expect([cardsOf(client).includes(before as string), cardsOf(client).length]).toEqual([false, 1])
  })

  test('left by a process that died without a key is looked after once nobody holds it', async () => {
    const { client, customerID } = await newCustomer()
    const [{ gatewayID }] = (await client.get('/v1/gateways')).body
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        insert into card_intents (account_id, customer_id, gateway_id, reference, is_keyed, held_until, created_at)
        values (${client.id}, ${customerID}, ${gatewayID}, 'dead', false, now() + interval '1 minute', now())`),
    )
    await abandonAll()
    expect(await count(client, 'open intents')).toBe(1)
    await age(client, 1)
    await abandonAll()
    expect(await count(client, 'open intents')).toBe(0)
    await removeAll()
    expect(await count(client, 'card_removals')).toBe(0)
  })
})

test('a refused card ends its intent and leaves the key free', async () => {
  const { client, add } = await newCustomer()
  expect((await add('declines', key)).status).toBe(400)
  expect(await count(client, 'open intents')).toBe(0)
  expect((await add('answers', key)).status).toBe(200)
})

describe('a card whose method is gone', () => {
  test('is removed at its gateway by a job that tries again', async () => {
    const { client, add } = await newCustomer()
    const first = (await add('answers')).body.paymentMethodID
    await add('answers')
    const [token] = cardsOf(client)
    expect((await client.delete(`/v1/paymentmethods/${first}`)).status).toBe(204)
    removes = 'unknown'
    await removeAll()
    expect([cardsOf(client).length, await count(client, 'card_removals')]).toEqual([2, 1])
    // It waits now, and is not tried at once.
    removes = 'removed'
    await removeAll()
    expect(cardsOf(client)).toHaveLength(2)
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update card_removals set next_try_at = now() - interval '1 second' where account_id = ${client.id}`),
    )
    await removeAll()
    expect([cardsOf(client).includes(token as string), await count(client, 'card_removals')]).toEqual([false, 0])
  })

  test('is removed while the gateway of another does not answer', async () => {
    const { client, add } = await newCustomer()
    const ids: number[] = []
    for (let count = 0; count < 3; count += 1) ids.push((await add('answers')).body.paymentMethodID)
    const [first = '', second = ''] = cardsOf(client)
    let goOn = () => {}
    const isSecondAsked = new Promise<void>((resolve) => (goOn = resolve))
    waits.set(first, () => isSecondAsked)
    // The other one is what the first waits for: in turns neither would ever be removed.
    waits.set(second, async () => goOn())
    // The card that was added last is primary.
    for (const id of ids.slice(0, 2)) expect((await client.delete(`/v1/paymentmethods/${id}`)).status).toBe(204)
    await removeAll()
    expect(cardsOf(client)).toHaveLength(1)
  })

  test('is removed once by two workers at a time', async () => {
    const { client, add } = await newCustomer()
    const first = (await add('answers')).body.paymentMethodID
    await add('answers')
    const [token] = cardsOf(client)
    await client.delete(`/v1/paymentmethods/${first}`)
    await Promise.all([removeAll(), removeAll(), removeAll()])
    expect(removed.filter((one) => one === token)).toEqual([token])
  })

  test.each(['anonymise', 'delete'])('because its customer is gone, is removed too (%s)', async (how) => {
    const { client, customerID, add } = await newCustomer()
    await add('answers')
    await add('stores, without an answer', key)
    expect(cardsOf(client)).toHaveLength(2)
    const path = `/v1/customers/${customerID}`
    const gone = await (how === 'delete' ? client.delete(path) : client.post(`${path}/anonymise`))
    expect([gone.status, await methodsOf(client)]).toEqual([204, 0])
    await removeAll()
    expect([cardsOf(client), await count(client, 'open intents'), await count(client, 'card_removals')]).toEqual([
      [],
      0,
      0,
    ])
    const events = await client.get(`/v1/events?customerID=${customerID}`)
    if (how === 'anonymise') expect(events.text).not.toMatch(/Ada|Lovelace/)
  })
})

test('a gateway with a card to be removed stays', async () => {
  const { client, add } = await newCustomer()
  await add('stores, without an answer')
  // The sandbox stays anyway: the row is what would be missed.
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  const deletion = service.db.transaction(client.id, (tx) =>
    tx.rows(sql`delete from gateways where account_id = ${client.id} and gateway_id = ${gatewayID}`),
  )
  await expect(deletion).rejects.toThrow(/card_(intents|removals)_gateway_fkey/)
})
