import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { beginSession, CARD, frameOf } from '../capture-sessions/capture.testing.ts'
import { debitShop } from '../collection/debit-shop.testing.ts'
import { CARDS, cardShop } from '../collection/shop.testing.ts'
import { fieldsOf, open, ORIGIN, pathOf, press } from '../invoice-pages/pages.testing.ts'
import { acting } from '../money/money.testing.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'
import { holdByHand, releaseGateway } from './actions.ts'
import { listHeldGateways } from './queries.ts'

/** The hold of a gateway: no money moves through it, and what waited for that comes after its release. */

const service = await startTestService({ publicUrl: ORIGIN })

const hold = (client: TestClient, id: number) =>
  acting(service, client, (tx, context) => holdByHand(tx, context, { id: BigInt(id) }))
const release = (client: TestClient, id: number) =>
  acting(service, client, (tx, context) => releaseGateway(tx, context, { id: BigInt(id) }))

async function gatewayOf(client: TestClient) {
  const [gateway] = (await client.get('/v1/gateways')).body
  return gateway
}

const refusal = ({ status, body }: { status: number; body: any }) => [status, body?.Errors?.[0]?.Code]

test('cards: nothing is tried or charged, by whomever, and the step that was wanted comes once it is released', async () => {
  const { client, invoice, move, read, attempts } = await cardShop(service, CARDS.good)
  const id = await invoice(100)
  const path = await pathOf(client, id)
  const seen = fieldsOf((await open(service, `${path}/pay`)).text)
  const { gatewayID } = await gatewayOf(client)
  await hold(client, gatewayID)
  expect(await gatewayOf(client)).toMatchObject({ HeldFor: 'by_hand', isActive: true })
  expect((await listHeldGateways(service.db.unscoped)).map(({ account }) => account)).toEqual([client.id])
  expect(refusal(await client.post(`/v1/invoices/${id}/collect`))).toEqual([409, 'gateway_held'])
  expect((await open(service, path)).seen).toContain('No payment by card is taken here at the moment')
  const pressed = await press(service, `${path}/pay`, seen)
  expect([pressed.status, pressed.seen]).toEqual([409, expect.stringContaining('Please come back later')])

  const session = (await beginSession(client, { SaleType: 'VaultSale', Amount: 10 })).body
  const frame = frameOf(service, session.HashToken, ORIGIN)
  expect((await frame.get()).body).toContain('No payment is taken here at the moment')
  expect((await frame.post(CARD)).statusCode).toBe(400)

  await move('2027-02-20')
  expect(await attempts(id)).toEqual([])
  expect(await read(id)).toMatchObject({ Balance: 100, NumTries: 0 })
  await release(client, gatewayID)
  expect(await gatewayOf(client)).toMatchObject({ HeldFor: null })
  await move('2027-02-21')
  expect(await attempts(id)).toMatchObject([{ Outcome: 'succeeded' }])
  const types = (await client.get('/v1/events?page_size=500')).body.map(({ Type }: any) => Type)
  expect(types.filter((type: string) => type === 'gateway.updated')).toHaveLength(2)
})

test('a refund is refused, and one that waits for its gateway goes on waiting, for as long as the hold lasts', async () => {
  const { client, gatewayID, refund, refunds, id } = await chargedPayment(service)
  await hold(client, gatewayID)
  expect(refusal(await refund({ Amount: 10 }))).toEqual([409, 'gateway_held'])
  expect(await refunds()).toEqual([])
  const sandbox = service.calling.adapters.get('sandbox')!
  const call = {
    accountId: client.id,
    gatewayId: BigInt(gatewayID),
    settings: {},
    now: '2027-01-01T00:00:00.000Z',
    today: '2027-01-01',
    signal: new AbortController().signal,
  }
  const asked = { reference: '77', chargeReference: String(id), amountMinor: 1_000n, currency: 'USD' }
  expect(await sandbox.refund!(call, asked)).toEqual({ kind: 'held' })
  expect(await sandbox.askRefund!(call, '77')).toEqual({ kind: 'none' })
  await release(client, gatewayID)
  expect((await refund({ Amount: 10 })).status).toBe(201)
})

test('batches: none is submitted, released, built or handed out, nor moved to another day, until the release', async () => {
  const { client, gatewayID, invoice, move, tokens, batches } = await debitShop(service, { isManual: true })
  await invoice(115)
  await move('2027-02-01')
  const [BatchToken = ''] = await tokens()
  await hold(client, gatewayID)
  const submitted = await client.put('/v1/batches/submit', { BatchToken, ActionDate: '2027-02-03' })
  expect(refusal(submitted)).toEqual([409, 'gateway_held'])
  const waiting = await invoice(30)
  expect(refusal(await client.post(`/v1/invoices/${waiting}/collect`))).toEqual([409, 'gateway_held'])
  await move('2027-02-08')
  expect(await batches()).toEqual(['02-03 open 1 115.00'])
  await release(client, gatewayID)
  await move('2027-02-09')
  expect((await batches())[0]).toMatch(/^02-(09|1\d) open 1 115.00$/)

  expect((await client.put('/v1/batches/submit', { BatchToken, ActionDate: '2027-02-12' })).status).toBe(204)
  await hold(client, gatewayID)
  await move('2027-02-10')
  expect((await client.get(`/v1/batches/${BatchToken}`)).body.State).toBe('build')
  expect(refusal(await client.get(`/v1/batches/${BatchToken}/file`))).toEqual([409, 'gateway_held'])
  await release(client, gatewayID)
  await move('2027-02-11')
  expect((await client.get(`/v1/batches/${BatchToken}`)).body.State).toBe('submitted')
})
