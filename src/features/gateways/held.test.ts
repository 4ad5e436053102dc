import pino from 'pino'
import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { batchesDuty } from '../batches/duty.ts'
import { beginSession, CARD, frameOf, readSession } from '../capture-sessions/capture.testing.ts'
import { eventsOf, salesOf } from '../capture-sessions/sales.testing.ts'
import { debitShop } from '../collection/debit-shop.testing.ts'
import { linesOfService } from '../collection/line-hooks.ts'
import { CARDS, cardShop } from '../collection/shop.testing.ts'
import { findTry } from '../collection/try-queries.ts'
import { fieldsOf, open, ORIGIN, pathOf, press } from '../invoice-pages/pages.testing.ts'
import { acting } from '../money/money.testing.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'
import { refundsDuty } from '../refunds/duty.ts'
import { holdByHand, releaseGateway } from './actions.ts'
import type { GatewayAdapter } from './contract.ts'
import type { GatewayType } from './facts.ts'
import { drawGatewayId, insertGateway, listHeldGateways } from './queries.ts'
import { gatewayFromWire } from './wire.ts'
import { askedRefund, callOf } from './calls.testing.ts'

/** The hold of a gateway: no money moves through it, and what waited for that comes after its release. */

const HOUR_MS = 3_600_000
/** By how much the clock of the service stands beside that of the database. */
let skewMs = 0
const realClock = () => Date.now() + skewMs
const service = await startTestService({ publicUrl: ORIGIN, now: realClock })
const duty = { db: service.db, log: pino({ level: 'silent' }), realClock }
const sales = salesOf(service)

const hold = (client: TestClient, id: number) =>
  acting(service, client, (tx, context) => holdByHand(tx, context, { id: BigInt(id) }))
const release = (client: TestClient, id: number) =>
  acting(service, client, (tx, context) => releaseGateway(tx, context, { id: BigInt(id) }))

async function gatewayOf(client: TestClient) {
  const [gateway] = (await client.get('/v1/gateways')).body
  return gateway
}

/** Lets the gateway of the next call be held only after whoever makes it has looked. */
function holdBeforeNext(type: GatewayType, call: 'charge' | 'buildBatch'): void {
  const adapters = service.calling.adapters as Map<GatewayType, GatewayAdapter>
  const adapter = adapters.get(type)!
  adapters.set(type, {
    ...adapter,
    [call]: async () => {
      adapters.set(type, adapter)
      return { kind: 'held' }
    },
  })
}

/** A second gateway that takes cards, which no account of this version can add. */
const secondSandbox = (client: TestClient) =>
  acting(service, client, async (tx, { moment }) => {
    const id = await drawGatewayId(tx)
    const none = { settings: null, settingNames: [], accountThere: null, keyEnding: null }
    await insertGateway(tx, tx.account, { ...gatewayFromWire({}, 'sandbox'), ...none, id, type: 'sandbox' }, moment.now)
    return Number(id)
  })

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

test('a refund is refused for as long as the hold lasts, and so is one whose caller has looked before', async () => {
  const { client, gatewayID, refund, refunds, id } = await chargedPayment(service)
  await hold(client, gatewayID)
  expect(refusal(await refund({ Amount: 10 }))).toEqual([409, 'gateway_held'])
  expect(await refunds()).toEqual([])
  const sandbox = service.calling.adapters.get('sandbox')!
  const now = '2027-01-01T00:00:00.000Z'
  const call = callOf({ accountId: client.id, gatewayId: BigInt(gatewayID), now, today: '2027-01-01' })
  const asked = askedRefund('77', 1_000n, String(id))
  expect(await sandbox.refund!(call, asked)).toEqual({ kind: 'held' })
  // Questions go on, but not without a name, which a restore may have lost.
  expect(await sandbox.askRefund!(call, asked)).toEqual({ kind: 'held' })
  expect(await sandbox.askRefund!(call, { ...asked, gatewayReference: 're_1' })).toEqual({ kind: 'none' })
  await release(client, gatewayID)
  expect((await refund({ Amount: 10 })).status).toBe(201)
})

test('a refund that has not reached its gateway goes on waiting past its 20 hours, and is made once after the release', async () => {
  skewMs = -21 * HOUR_MS
  const client = await service.newAccount({ clockAt: null })
  const now = new Date(realClock()).toISOString()
  const { gatewayID, refund, refunds } = await chargedPayment(service, CARDS.good, { client, now })
  const faulty = (Fault: string | null) => client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault } })
  await faulty('refused')
  expect((await refund({ Amount: 40 })).status).toBe(202)
  await faulty(null)
  await hold(client, gatewayID)
  const look = () => refundsDuty(service.calling).run(duty, () => {})
  skewMs = 0
  await look()
  expect(await refunds()).toMatchObject([{ State: 'open' }])
  await release(client, gatewayID)
  for (let looks = 0; looks < 2; looks += 1) {
    skewMs += HOUR_MS
    await look()
  }
  skewMs = 0
  expect(await refunds()).toMatchObject([{ State: 'succeeded', Amount: 40 }])
  const [made] = await service.db
    .reader(client.id)
    .rows<{ n: bigint }>(sql`select count(*) as "n" from sandbox_refunds where account_id = ${client.id}`)
  expect(made?.n).toBe(1n)
})

test('a try that finds its gateway held was none: it is charged as soon as it is taken up again', async () => {
  const { client, invoice, move, attempts } = await cardShop(service, CARDS.good)
  const id = await invoice(100)
  holdBeforeNext('sandbox', 'charge')
  const begun = await client.post(`/v1/invoices/${id}/collect`)
  expect(begun.status).toBe(202)
  const [{ paymentID }] = await attempts(id)
  const open = { state: 'open', attempts: 0, wasCalled: false, wasUnanswered: false }
  expect(await findTry(service.db.reader(client.id), client.id, BigInt(paymentID))).toMatchObject(open)
  await move('2027-01-02')
  expect(await attempts(id)).toMatchObject([{ paymentID, Outcome: 'succeeded' }])
})

test('a sale that finds its gateway held waits, and its card is charged once', async () => {
  const client = await service.newAccount()
  const { body: session } = await beginSession(client, { SaleType: 'VaultSale', Amount: 49 })
  holdBeforeNext('sandbox', 'charge')
  expect((await frameOf(service, session.HashToken, ORIGIN).post(CARD)).statusCode).toBe(303)
  expect(await readSession(client, session.SessionToken)).toMatchObject({ State: 'open' })
  await sales.letPass(client)
  await sales.work()
  expect(await readSession(client, session.SessionToken)).toMatchObject({ State: 'captured' })
  expect(await sales.book(client)).toMatchObject({ charges: ['succeeded 4900'], cards: 1 })
})

test('a sale is given back after the release, and its gateway was not silent meanwhile', async () => {
  const client = await service.newAccount()
  const { body: session } = await beginSession(client, { SaleType: 'VaultSale', Amount: 49 })
  expect((await frameOf(service, session.HashToken, ORIGIN).post(CARD)).statusCode).toBe(303)
  const { gatewayID } = await gatewayOf(client)
  await hold(client, gatewayID)
  await moveTo(client, '2027-01-04')
  await moveTo(client, '2027-01-06')
  expect(await sales.book(client)).toMatchObject({ charges: ['succeeded 4900'], refunds: 0 })
  await release(client, gatewayID)
  await sales.faulty(client, 'not_received')
  await moveTo(client, '2027-01-06T08:00:00Z')
  expect(await eventsOf(client, 'capture_session.sale_silent')).toEqual([])
  expect(await sales.book(client)).toMatchObject({ refunds: 0 })
  await sales.faulty(client, 'none')
  await moveTo(client, '2027-01-06T20:00:00Z')
  expect(await sales.book(client)).toMatchObject({ refunds: 1 })
  expect(await readSession(client, session.SessionToken)).toMatchObject({ State: 'expired' })
})

test('a batch that finds its gateway held is built as soon as it is taken up again', async () => {
  const { client, invoice, move, tokens, submit } = await debitShop(service, { isManual: true })
  await invoice(115)
  await move('2027-02-01')
  const [token = ''] = await tokens()
  await submit(token)
  const state = async () => (await client.get(`/v1/batches/${token}`)).body.State
  const look = () => batchesDuty({ ...service.calling, linesOfService }).run(duty, () => {})
  holdBeforeNext('manual', 'buildBatch')
  await look()
  expect(await state()).toBe('build')
  await look()
  expect(await state()).toBe('submitted')
})

test('two gateways: a customer pays by the one that is not held, with the card that it takes', async () => {
  const { client, customerID, invoice, attempts } = await cardShop(service, CARDS.good)
  const first = (await gatewayOf(client)).gatewayID
  const second = await secondSandbox(client)
  const customer = (await client.get(`/v1/customers/${customerID}`)).body
  const put = await client.put(`/v1/customers/${customerID}`, { ...customer, PrimaryGatewayID: second })
  expect(put.status, put.text).toBe(204)
  const pages = async (id: number) => {
    const path = await pathOf(client, id)
    const { text, seen } = await open(service, path)
    return { path, seen, cardPath: /href="(\/p\/[^"]+)"/.exec(text)?.[1], isPayable: text.includes(`${path}/pay`) }
  }
  const [one, other] = [await invoice(100), await invoice(50)]
  const { path: onFile } = await pages(other)
  const asked = fieldsOf((await open(service, `${onFile}/pay`)).text)

  await hold(client, first)
  const { cardPath = '', isPayable } = await pages(one)
  expect([isPayable, (await open(service, `${onFile}/pay`)).text.includes('<form')]).toEqual([false, false])
  expect((await press(service, `${onFile}/pay`, asked)).status).toBe(409)
  const seen = fieldsOf((await open(service, cardPath)).text)
  expect((await press(service, cardPath, { ...CARD, ...seen })).seen).toContain('✓ Paid')
  expect(await attempts(one)).toMatchObject([{ gatewayID: second, Outcome: 'succeeded' }])

  await hold(client, second)
  expect((await pages(other)).seen).toContain('No payment by card is taken here at the moment')
  await release(client, first)
  expect(await pages(other)).toMatchObject({ cardPath: undefined, isPayable: true })
  expect((await press(service, `${onFile}/pay`, asked)).seen).toContain('✓ Paid')
  expect(await attempts(other)).toMatchObject([{ gatewayID: first, Outcome: 'succeeded' }])
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
