import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { onReturn } from '../../duties.ts'
import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { sql } from '../../platform/database/sql.ts'
import { getAccount } from '../accounts/queries.ts'
import type { GatewayAdapter } from '../gateways/contract.ts'
import { collectDay } from './day.ts'
import { collectionDuty } from './duty.ts'

/**
 * An invoice is charged once, wherever a process dies. A process that dies is one whose gateway call never comes back: what it had committed
 * stands, and nothing of it happens any more.
 */

const service = await startTestService()
const sandbox = service.calling.adapters.get('sandbox') as GatewayAdapter

const never = () => new Promise<never>(() => {})

/** A sandbox that calls `reached` and then never answers, before it has charged or after. */
const dying = (when: 'before' | 'after', reached: () => void): GatewayAdapter => ({
  ...sandbox,
  charge: async (call, charge) => {
    if (when === 'after') await sandbox.charge!(call, charge)
    reached()
    return never()
  },
})

async function shop(wish: { clockAt?: null } = {}) {
  const client = await service.newAccount(wish)
  const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, PaymentMethod: 'credit_card' })
  const card = await client.post('/v1/paymentmethods/creditcard', {
    customerID: body.customerID,
    isPrimary: true,
    CreditCard: {
      Number: '4242424242424242',
      CardType: 'Visa',
      ExpiryMonth: 12,
      ExpiryYear: 2030,
      NameOnCard: 'Ada',
      LastNameOnCard: 'L',
    },
  })
  expect(card.status).toBe(200)
  const invoice = await client.post('/v1/invoices', {
    customerID: body.customerID,
    Charges: [{ UnitCostEx: 115 }],
  })
  return { client, invoiceID: invoice.body.invoiceID as number }
}

const chargesOf = async (client: TestClient) =>
  service.db
    .reader(client.id)
    .rows<{ reference: string; state: string }>(
      sql`select split_part(reference, '.', 1) as "reference", state from sandbox_charges where account_id = ${client.id}`,
    )

/** Collects the account's day with the adapters of a process. */
async function collect(client: TestClient, adapter: GatewayAdapter, isClock = false) {
  const account = await getAccount(service.db.reader(client.id), client.id)
  const context = backgroundContext(account, momentOf(account, Date.now), { actor: 'test' })
  const adapters = new Map([...service.calling.adapters, ['sandbox', adapter] as const])
  return collectDay({ ...service.calling, db: service.db, adapters, onReturn }, context, { isClock })
}

/** Collects in a process that dies at its call. A real one would do nothing more; this one gives up waiting when the tests are over. */
const collectAndDie = (client: TestClient, when: 'before' | 'after', isClock = false) =>
  new Promise<void>((reached) => void collect(client, dying(when, reached), isClock).catch(() => {}))

/** The lease of a process that died lapses. */
const lapse = (client: TestClient) =>
  service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update collection_tries set leased_until = null where account_id = ${client.id}`),
  )

async function paidOnce(client: TestClient, invoiceID: number) {
  const { body } = await client.get(`/v1/invoices/${invoiceID}`)
  expect(body).toMatchObject({ Status: 'Paid', NumTries: 1 })
  const payments = (await client.get('/v1/payments')).body
  expect(payments).toMatchObject([{ Status: 'Allocated' }])
  expect(await chargesOf(client)).toEqual([{ reference: String(payments[0].paymentID), state: 'succeeded' }])
}

describe('a try whose process dies', () => {
  test.each(['before', 'after'] as const)('%s the gateway has charged goes on with its own key', async (when) => {
    const { client, invoiceID } = await shop()
    await collectAndDie(client, when)
    expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({ Status: 'Pending', NumTries: 1 })
    // Nobody else tries while the lease lasts, and nobody begins another try after it.
    expect(await collect(client, sandbox)).toEqual({ collected: 0, declined: 0, unknown: 0 })
    await lapse(client)
    expect(await collect(client, sandbox)).toEqual({ collected: 1, declined: 0, unknown: 0 })
    await paidOnce(client, invoiceID)
    expect(await collect(client, sandbox)).toEqual({ collected: 0, declined: 0, unknown: 0 })
  })

  test.each(['before', 'after'] as const)('%s the call, in a moved clock: the same move goes on', async (when) => {
    const { client, invoiceID } = await shop()
    await collectAndDie(client, when, true)
    expect((await client.put('/v1/clock', { Now: '2027-01-01T12:00:00Z' })).body).toMatchObject({ Collected: 1 })
    await paidOnce(client, invoiceID)
  })
})

test('two workers side by side make one try', async () => {
  const { client, invoiceID } = await shop()
  const done = await Promise.all([collect(client, sandbox), collect(client, sandbox), collect(client, sandbox)])
  expect(done.reduce((sum, { collected }) => sum + collected, 0)).toBe(1)
  await paidOnce(client, invoiceID)
})

test('a collect beside the lane is one try', async () => {
  const { client, invoiceID } = await shop()
  const [, reply] = await Promise.all([
    collect(client, sandbox),
    client.post(`/v1/invoices/${invoiceID}/collect`),
    collect(client, sandbox),
  ])
  expect([201, 409]).toContain(reply.status)
  await paidOnce(client, invoiceID)
})

describe('a gateway that cannot be reached', () => {
  const away: GatewayAdapter = { ...sandbox, charge: async () => ({ kind: 'not_sent' }) }

  test('is tried again later with the same key, and the outage uses up no step', async () => {
    const { client, invoiceID } = await shop()
    expect(await collect(client, away)).toEqual({ collected: 0, declined: 0, unknown: 1 })
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update collection_tries set next_try_at = null where account_id = ${client.id}`),
    )
    expect(await collect(client, sandbox)).toMatchObject({ collected: 1 })
    await paidOnce(client, invoiceID)
  })

  test('for the whole of its time leaves the step as it was, counts no try, and writes no mail', async () => {
    const { client, invoiceID } = await shop()
    await collect(client, away, true)
    expect(await chargesOf(client)).toEqual([])
    expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({
      Status: 'Due',
      NumTries: 0,
      NextTryDate: '2027-01-02T00:00:00Z',
    })
    expect((await client.get(`/v1/invoices/${invoiceID}/attempts`)).body).toMatchObject([{ Outcome: 'not_sent' }])
    const mails = (await client.get('/v1/outbox')).body
    expect(mails.map(({ Template }: any) => Template)).not.toContain('payment_unsuccessful')
    expect((await client.put('/v1/clock', { Now: '2027-01-02T12:00:00Z' })).body).toMatchObject({ Collected: 1 })
  })
})

describe('the lane', () => {
  test('collects on accounts of real time, and not where the clock stands', async () => {
    const standing = await shop()
    const live = await shop({ clockAt: null })
    const duty = collectionDuty({ ...service.calling, onReturn })
    await duty.run({ db: service.db, log: silent, realClock: Date.now }, () => {})
    await paidOnce(live.client, live.invoiceID)
    expect((await standing.client.get(`/v1/invoices/${standing.invoiceID}`)).body.NumTries).toBe(0)
  })
})

const silent = { error: () => {}, info: () => {}, warn: () => {} } as never
