import { expect, test } from 'vitest'
import { lockCustomer } from '../../src/features/customers/queries.ts'
import { invoiceOf, paymentOf } from '../../src/features/money/money.testing.ts'
import { addComponent, TIERS } from '../../src/features/subscriptions/components.testing.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { addCustomer, differencesOf, readSubscription, shop } from '../support/shop.ts'

/** Customers, payments and usage that are sent at once, as the real operations take them: groups change nothing of what comes of each. */

const service = await startTestService()
const CUSTOMERS = 8
const ROUNDS = 3

interface Request {
  method: 'post' | 'put'
  path: string
  body: object
}

const send = (client: TestClient, { method, path, body }: Request, key: string) =>
  client[method](path, body, { 'idempotency-key': key })

/** An account whose customers have an invoice of 100.00 and a subscription with usage each. */
async function world() {
  const { client, add } = await shop(service, { price: 0 })
  const wish = { type: 'metered', scheme: 'tiered', brackets: TIERS, name: 'Calls' } as const
  const { componentID } = await addComponent(client, wish)
  const owed = []
  for (let place = 0; place < CUSTOMERS; place += 1) {
    const customerID = await addCustomer(client)
    const subscriptionID: number = (await add({ customerID, componentUsage: [{ componentID }] })).body.subscriptionID
    owed.push({ customerID, subscriptionID, invoiceID: await invoiceOf(client, customerID) })
  }
  return { client, componentID, owed }
}

const together = async (): Promise<number> => {
  const { text } = await service.anonymous.get('/metrics')
  return Number(/perennial_grouped_writes_total\{outcome="together"\} (\d+)/.exec(text)?.[1] ?? 0)
}

test('payments, usage and customers, each sent twice under its key among all others: each is done once, and the books verify', async () => {
  const { client, componentID, owed } = await world()
  const before = await together()
  const requests: Request[] = []
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { customerID, subscriptionID, invoiceID } of owed) {
      const Allocations = [{ invoiceID, amountApplied: 10 }]
      requests.push(
        { method: 'post', path: '/v1/payments', body: paymentOf(customerID, 10, { Allocations, Ref: `R${round}` }) },
        {
          method: 'put',
          path: `/v1/subscriptions/${subscriptionID}/components/recordusage`,
          body: { componentID, NumUnits: 2 },
        },
        { method: 'post', path: '/v1/customers', body: { Name: `New ${round} ${customerID}`, isCompany: true } },
      )
    }
  const invoiceID = owed[0]?.invoiceID
  const refused: [Request, number][] = [
    [{ method: 'post', path: '/v1/payments', body: paymentOf(999_999, 10, { Allocations: [] }) }, 400],
    [
      {
        method: 'post',
        path: '/v1/payments',
        body: paymentOf(owed[1]?.customerID ?? 0, 5, { Allocations: [{ invoiceID, amountApplied: 5 }] }),
      },
      409,
    ],
    [
      { method: 'put', path: '/v1/subscriptions/999999/components/recordusage', body: { componentID, NumUnits: 1 } },
      404,
    ],
    [{ method: 'post', path: '/v1/customers', body: { isCompany: true } }, 400],
  ]
  const twice = requests.flatMap((request, place) => [
    { request, key: `k${place}` },
    { request, key: `k${place}` },
  ])
  const [replies, refusals] = await Promise.all([
    Promise.all(twice.map(({ request, key }) => send(client, request, key))),
    Promise.all(refused.map(([request], place) => send(client, request, `refused ${place}`))),
  ])
  expect(refusals.map(({ status }) => status)).toEqual(refused.map(([, status]) => status))
  for (const [place] of requests.entries()) {
    const pair = replies.slice(2 * place, 2 * place + 2)
    const done = pair.filter(({ status }) => status === 201 || status === 204)
    expect(done.filter(({ headers }) => !headers['idempotency-replayed'])).toHaveLength(1)
    expect(new Set(done.map(({ text }) => text)).size).toBe(1)
    for (const { status, body } of pair.filter((reply) => !done.includes(reply)))
      expect([status, body.Errors[0].Code]).toEqual([409, 'idempotency_key_in_use'])
  }
  for (const one of owed) {
    const invoice = (await client.get(`/v1/invoices/${one.invoiceID}`)).body
    expect([invoice.TotalActualPaid, invoice.PaymentsApplied.length]).toEqual([10 * ROUNDS, ROUNDS])
    expect((await readSubscription(client, one.subscriptionID)).componentUsage[0].NumUnits).toBe(2 * ROUNDS)
  }
  const added = (await client.get('/v1/customers?page_size=200')).body.filter(({ Name }: any) =>
    Name.startsWith('New '),
  )
  expect(added).toHaveLength(ROUNDS * CUSTOMERS)
  expect(await differencesOf(service, client)).toEqual([])
  expect((await together()) - before).toBeGreaterThan(CUSTOMERS)
})

test('customers of whom two have one Reference: one of these is added, the other refused, and all others are added', async () => {
  const { client } = await shop(service)
  const bodies = ['A', 'B', 'C', 'B', 'D', 'E', 'F', 'G'].map((Reference) => ({
    Name: 'x',
    isCompany: true,
    Reference,
  }))
  const replies = await Promise.all(bodies.map((body) => client.post('/v1/customers', body)))
  expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 201, 201, 201, 201, 409])
  expect(replies.find(({ status }) => status === 409)?.body.Errors[0].Code).toBe('reference_taken')
})

test('50 payments under one key: one is recorded', async () => {
  const { client, owed } = await world()
  const body = paymentOf(owed[0]?.customerID ?? 0, 10, { Allocations: [] })
  const request: Request = { method: 'post', path: '/v1/payments', body }
  const replies = await Promise.all(Array.from({ length: 50 }, () => send(client, request, 'one')))
  const done = replies.filter(({ status }) => status === 201)
  expect(new Set(done.map(({ text }) => text)).size).toBe(1)
  expect(replies.filter(({ status }) => status !== 201).map(({ body: { Errors } }) => Errors[0].Code)).toEqual(
    Array.from({ length: 50 - done.length }, () => 'idempotency_key_in_use'),
  )
  expect((await client.get('/v1/payments')).body).toHaveLength(1)
  expect(await differencesOf(service, client)).toEqual([])
})

test('a payment and a report of usage of a customer who is held elsewhere wait for him, and no other waits with them', async () => {
  const { client, componentID, owed } = await world()
  const [first, ...others] = owed
  const requestsOf = ({ customerID, subscriptionID }: (typeof owed)[number]): Request[] => [
    { method: 'post', path: '/v1/payments', body: paymentOf(customerID, 10, { Allocations: [] }) },
    {
      method: 'put',
      path: `/v1/subscriptions/${subscriptionID}/components/recordusage`,
      body: { componentID, NumUnits: 1 },
    },
  ]
  const sendAll = (some: typeof owed) =>
    some.flatMap(requestsOf).map(({ method, path, body }) => client[method](path, body))
  let answered = 0
  const waiting = await service.db.transaction(client.id, async (tx) => {
    await lockCustomer(tx, tx.account, BigInt(first?.customerID ?? 0))
    const held = sendAll(first ? [first] : []).map((reply) => reply.finally(() => (answered += 1)))
    const statuses = (await Promise.all(sendAll(others))).map(({ status }) => status)
    expect(statuses).toEqual(others.flatMap(() => [201, 204]))
    expect(answered).toBe(0)
    return { held }
  })
  expect((await Promise.all(waiting.held)).map(({ status }) => status)).toEqual([201, 204])
  expect(await differencesOf(service, client)).toEqual([])
})
