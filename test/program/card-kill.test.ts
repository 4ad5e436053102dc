import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { connectionTo } from '../../src/platform/postgres/connection.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { serve, type Serving, startedFolder } from './program.ts'

const TIMES = 3
const CARDS = 24
/** Killed after so many answers, in the middle of the others. */
const ANSWERS = [3, 7, 12]

const CARD = {
  CardType: 'Visa',
  Number: '4242424242424242',
  NameOnCard: 'Ada',
  LastNameOnCard: 'Lovelace',
  ExpiryMonth: 12,
  ExpiryYear: 2099,
}

test('kill -9 among cards that are stored: each key has one method, and the gateway keeps one card for each', async () => {
  const DATA_DIR = startedFolder()
  const env = { DATA_DIR, LOG_LEVEL: 'warn' }
  const connection = connectionTo(join(DATA_DIR, 'postgres'))
  const rowsOf = async (statement: string): Promise<any[]> => {
    const owner = new pg.Client(clientConfig(connection, undefined))
    await owner.connect()
    try {
      return (await owner.query(statement)).rows
    } finally {
      await owner.end()
    }
  }
  let first: Serving | undefined
  let customerID = 0
  const send = async ({ address }: Serving, path: string, body: object, key: string): Promise<any> => {
    const response = await fetch(address + path, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${first?.account}:${first?.key}`).toString('base64')}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: await response.json() }
  }
  const add = (service: Serving, key: string) =>
    send(service, '/v1/paymentmethods/creditcard', { customerID, isPrimary: false, CreditCard: CARD }, key)
  const open = new Set<string>()
  const methods = new Map<string, number>()
  const note = (key: string, { status, body }: any) => {
    expect([key, status, body.Errors]).toEqual([key, 200, undefined])
    // A card that was answered before the end of the process is the one that is answered afterwards.
    expect(methods.get(key) ?? body.paymentMethodID).toBe(body.paymentMethodID)
    methods.set(key, body.paymentMethodID)
  }
  /** Sends again what was sent before, as a client does that got no answer, or lost it. */
  const sendAgain = async (service: Serving) => {
    // Leases of the process that was killed lapse after half a minute; the test does not wait for that.
    await rowsOf(`update perennial.leases set leased_until = now() - interval '1 second'`)
    // No more at a time than an account may have on their way to gateways.
    const keys = [...open]
    for (let from = 0; from < keys.length; from += CARDS)
      await Promise.all(keys.slice(from, from + CARDS).map(async (key) => note(key, await add(service, key))))
  }
  for (let round = 0; round < TIMES; round += 1) {
    const service = await serve(env)
    first ??= service
    if (round === 0)
      customerID = (await send(service, '/v1/customers', { Name: 'Acme', isCompany: true }, 'customer')).body.customerID
    await sendAgain(service)
    let answers = 0
    const sent = Array.from({ length: CARDS }, async (_, n) => {
      const key = `${round} ${n}`
      open.add(key)
      const reply = await add(service, key).catch(() => undefined)
      if (!reply) return
      note(key, reply)
      answers += 1
      if (answers === ANSWERS[round]) service.child.kill('SIGKILL')
    })
    await Promise.all(sent)
    await service.ended
  }
  const last = await serve(env)
  await sendAgain(last)
  expect(methods.size).toBe(TIMES * CARDS)
  expect(new Set(methods.values()).size).toBe(TIMES * CARDS)
  const [counts] = await rowsOf(`
    select (select count(*)::int from perennial.payment_methods) as methods, (select count(*)::int from perennial.sandbox_cards) as cards,
           (select count(*)::int from perennial.card_intents where closed_at is null) as open, (select count(*)::int from perennial.card_removals where finished_at is null) as removals`)
  expect(counts).toEqual({ methods: TIMES * CARDS, cards: TIMES * CARDS, open: 0, removals: 0 })
})
