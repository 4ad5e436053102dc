import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { sandboxReport } from '../../src/features/gateways/sandbox.ts'
import { differencesOfBook } from '../support/sandbox-book.ts'
import { type Row, serveForeignShop } from './foreign-shop.ts'
import { type Answer, runProgram, serve, type Serving, startProgram } from './program.ts'

/**
 * Invoices are charged once, whatever is killed and when. A lock of the test holds each process at the place at which it is killed: two workers, and
 * a service that is asked to collect the same invoices.
 */

const INVOICES = 8
/** Of which the last ones have a card that is declined. */
const DECLINED = 2
const SECRET = 'signs reports of this test'

async function shop() {
  const served = await serveForeignShop()
  const { env, authorization } = served
  const send = async (
    to: Serving,
    method: string,
    path: string,
    body: object,
    headers: object = {},
  ): Promise<Answer> => {
    const response = await fetch(to.address + path, {
      method,
      headers: {
        authorization,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const work = () => startProgram(['work'], env)
  return { ...served, send, work }
}

type Shop = Awaited<ReturnType<typeof shop>>

const cardOf = (Number: string) => ({
  CardType: 'Visa',
  Number,
  NameOnCard: 'Ada',
  LastNameOnCard: 'Lovelace',
  ExpiryMonth: 12,
  ExpiryYear: 2099,
})

const GOOD = '4242424242424242'
const REFUSED = '4000000000000341'

/** Adds customers, each with a card of a number and an invoice that is due today. */
async function addInvoices({ send, first }: Shop, numbers: readonly string[]): Promise<number[]> {
  const ids: number[] = []
  for (const [n, number] of numbers.entries()) {
    const customer = { Name: `Acme ${n}`, isCompany: true, PaymentMethod: 'credit_card', PaymentTermDays: 0 }
    const { customerID } = (await send(first, 'POST', '/v1/customers', customer)).body
    const card = { customerID, isPrimary: true, CreditCard: cardOf(number) }
    expect((await send(first, 'POST', '/v1/paymentmethods/creditcard', card)).status).toBe(200)
    const invoice = { customerID, Charges: [{ UnitCostEx: 115 + n }] }
    ids.push((await send(first, 'POST', '/v1/invoices', invoice)).body.invoiceID)
  }
  return ids
}

/** Sends reports of all charges, the newest first, each twice and all at once. */
async function reportAll({ rows, account }: Shop, gateway: Row, to: Serving, round: string): Promise<void> {
  const charges = await rows(
    "select concat_ws('.', payment_id, nonce) as reference from collection_tries order by payment_id desc",
  )
  const whose = {
    accountId: BigInt(account),
    gatewayId: BigInt(gateway['gatewayID']),
    scope: gateway['GatewayToken'],
    isLive: false,
    settings: { EventSecret: SECRET },
  }
  const replies = [...charges, ...charges.toReversed()].map(async ({ reference }) => {
    const report = { id: `${round}-${reference}`, about: 'charge' as const, reference }
    const { raw, headers } = sandboxReport(whose, () => Buffer.alloc(0), [report], new Date().toISOString())
    const url = `${to.address}/gateways/${gateway['GatewayToken']}/events`
    return (await fetch(url, { method: 'POST', headers, body: new Uint8Array(raw) })).status
  })
  expect(new Set(await Promise.all(replies))).toEqual(new Set([200]))
}

/** Place at which the processes are killed; each waits for a lock there. */
type Place = 'before the gateway has the call' | 'while the call is on its way' | 'after the gateway has answered'

async function holdAt({ connect, until }: Shop, place: Place) {
  const [cards, customers] = [await connect(), await connect()]
  if (place !== 'while the call is on its way') await cards.query('begin; lock table sandbox_cards')
  return {
    reached: async () => {
      // On a machine so busy that the first has been answered by then, it is counted too.
      await until(`select count(*) from collection_tries`, INVOICES)
      if (place !== 'after the gateway has answered') return
      await customers.query('begin; select 1 from customers for update')
      await cards.query('rollback')
      await until(`select count(*) from sandbox_charges`, INVOICES)
    },
    letGo: async () => {
      for (const client of [cards, customers]) await client.query('rollback')
    },
  }
}

test.each<Place>(['before the gateway has the call', 'while the call is on its way', 'after the gateway has answered'])(
  'kill -9 %s, with two workers, collects and reports: the book of the gateway is our payments',
  async (place) => {
    const all = await shop()
    const { first, rows, until, send, work, env } = all
    const [gateway] = (await fetchJson(all, '/v1/gateways')) as Row[]
    const LatencyMs = place === 'while the call is on its way' ? 30_000 : 0
    const set = (to: Serving, Settings: object) =>
      send(to, 'PUT', `/v1/gateways/${gateway!['gatewayID']}`, { Settings })
    expect((await set(first, { EventSecret: SECRET })).status).toBe(204)
    const numbers = Array.from({ length: INVOICES }, (_, n) => (n < INVOICES - DECLINED ? GOOD : REFUSED))
    const ids = await addInvoices(all, numbers)
    await set(first, { LatencyMs })
    const keys = new Map(ids.slice(0, INVOICES / 2).map((id) => [id, randomUUID()]))
    const collect = (to: Serving, id: number) =>
      send(to, 'POST', `/v1/invoices/${id}/collect`, {}, { 'idempotency-key': keys.get(id) })

    const held = await holdAt(all, place)
    const collects = [...keys.keys()].map((id) => collect(first, id).catch(() => undefined))
    const workers = [work(), work()]
    await held.reached()
    expect((await rows(`select from collection_tries where state = 'open'`)).length).toBeGreaterThan(0)
    for (const { child } of [first, ...workers]) child.kill('SIGKILL')
    await Promise.all([first.ended, ...workers.map(({ ended }) => ended), ...collects])
    await held.letGo()
    // Leases of what was killed lapse after half a minute; the test does not wait for that.
    await rows(`update collection_tries set leased_until = null`)
    await rows(`update leases set leased_until = now() - interval '1 second'`)

    const second = await serve(env, ['--no-worker'])
    await set(second, { LatencyMs: 0 })
    const again = [work(), work()]
    await Promise.all([
      ...[...keys.keys()].flatMap((id) => [collect(second, id), collect(second, id)]),
      reportAll(all, gateway!, second, 'one'),
    ])
    await until(`select count(*) from collection_tries where state = 'open'`, 0)
    await until(`select count(*) from collection_tries`, INVOICES)
    // The same keys once more, and reports once all is known.
    const answers = await Promise.all([...keys.keys()].map(async (id) => [id, await collect(second, id)] as const))
    // Reports that came too early wait for half a minute; the test does not.
    await rows(`update gateway_reports set next_try_at = null`)
    await reportAll(all, gateway!, second, 'two')
    await until(`select count(*) from gateway_reports where finished_at is null`, 0)
    for (const { child } of again) child.kill('SIGTERM')
    await Promise.all(again.map(({ ended }) => ended))

    const tries = await rows(
      `select invoice_id::int as "invoiceID", payment_id::int as "paymentID", state from collection_tries`,
    )
    expect(tries.map(({ invoiceID }) => invoiceID).sort((a, b) => a - b)).toEqual(ids)
    for (const [id, { status, body }] of answers) {
      expect([id, status]).toEqual([id, 201])
      expect(body.paymentID).toBe(tries.find(({ invoiceID }) => invoiceID === id)?.['paymentID'])
    }
    expect(tries.filter(({ state }) => state === 'declined')).toHaveLength(DECLINED)
    expect(tries.filter(({ state }) => state === 'succeeded')).toHaveLength(INVOICES - DECLINED)
    expect(await rows(`select state, count(*)::int as n from sandbox_charges group by 1 order by 1`)).toEqual([
      { state: 'declined', n: DECLINED },
      { state: 'succeeded', n: INVOICES - DECLINED },
    ])
    await clean(all, new Date().toISOString().slice(0, 10))
  },
)

/** Cards of every conduct that a moved clock brings out: approved, declined, returned, won back, returned by half. */
const CONDUCTS = ['4242424242424242', '4000000000009995', '4000000000000259', '4000000000001976', '4000000000002685']
/** Figures at which the process that moves the clock is killed, one after the other. */
const FIGURES = [
  ['select count(*) from sandbox_charges', 2],
  [`select count(*) from collection_tries where state = 'succeeded'`, 4],
  ['select count(*) from charge_changes', 1],
  [`select count(*) from collection_tries where state = 'declined'`, 3],
  [`select count(*) from charge_changes where kind = 'dispute_won'`, 1],
] as const

test('kill -9 while a clock is moved over tries, disputes and steps: moved again, it goes on where it was', async () => {
  const all = await shop()
  const { first, rows, send, env, untilFigure } = all
  const clock = (to: Serving, day: string) => send(to, 'PUT', '/v1/clock', { Now: `${day}T12:00:00Z` })
  expect((await clock(first, '2027-01-01')).status).toBe(200)
  const ids = await addInvoices(all, CONDUCTS)
  let service: Serving = first
  for (const [figure, wanted] of FIGURES) {
    const moved = clock(service, '2027-02-10').catch(() => undefined)
    await untilFigure(figure, (n) => n >= wanted)
    service.child.kill('SIGKILL')
    await Promise.all([service.ended, moved])
    await rows(`update leases set leased_until = now() - interval '1 second'`)
    service = await serve(env, ['--no-worker'])
  }
  expect((await clock(service, '2027-02-10')).status).toBe(200)
  const tries = await rows(`select invoice_id::int as "invoiceID", state from collection_tries order by payment_id`)
  const triesOf = (n: number) => tries.filter(({ invoiceID }) => invoiceID === ids[n]).map(({ state }) => state)
  expect(triesOf(0)).toEqual(['succeeded'])
  expect(triesOf(1)).toEqual(['declined', 'declined', 'declined', 'declined'])
  const changes = await rows(`select kind, count(*)::int as n from charge_changes group by 1 order by 1`)
  // The three that were charged on 1 January are returned on the 11th, one by half, and one is won back on the 31st.
  expect(changes).toEqual([
    { kind: 'dispute_won', n: 1 },
    { kind: 'returned', n: 3 },
  ])
  await clean(all, '2027-02-10')
})

/** Expects the gateway's book to be our payments, no report to be left over, and the books to verify. */
async function clean({ rows, env, account }: Shop, today: string): Promise<void> {
  expect(await differencesOfBook(rows as never, account, today)).toEqual([])
  expect(await rows(`select reason from gateway_reports where reason is not null or finished_at is null`)).toEqual([])
  const verified = await runProgram(['verify'], env)
  expect(verified.out).toContain('0 differences')
  expect(verified.code).toBe(0)
}

async function fetchJson({ first }: Shop, path: string): Promise<unknown> {
  const authorization = `Basic ${Buffer.from(`${first.account}:${first.key}`).toString('base64')}`
  return (await fetch(first.address + path, { headers: { authorization } })).json()
}

test('kill -9 between the charge of a new card on the page of an invoice and our record of it: charged once, paid once, and the card kept', async () => {
  const all = await shop()
  const { first, rows, until, send, work, env, connect, account } = all
  const customer = { Name: 'Acme', isCompany: true, PaymentMethod: 'credit_card', PaymentTermDays: 30 }
  const { customerID } = (await send(first, 'POST', '/v1/customers', customer)).body
  const { invoiceID } = (await send(first, 'POST', '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 115 }] })).body
  const { Url } = (await fetchJson(all, `/v1/invoices/${invoiceID}/link`)) as Row
  const page = async (at: Serving, path: string) => (await fetch(at.address + path)).text()
  const { pathname } = new URL(Url)
  const [, path = ''] = /href="(\/p\/[^"]+)"/.exec(await page(first, pathname)) ?? []
  const hidden = [...(await page(first, path)).matchAll(/type="hidden" name="(\w+)" value="(\d+)"/g)]
  const form = new URLSearchParams({
    ...Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value])),
    ...{ number: GOOD, expiry: '12/40', givenName: 'Ada', familyName: 'Lovelace', keep: '1' },
  }).toString()
  const press = (to: Serving) =>
    fetch(to.address + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: to.address, 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    })

  // The charge waits until our record of it would wait too.
  const [charges, customers] = [await connect(), await connect()]
  await charges.query('begin; lock table sandbox_charges in exclusive mode')
  const pressed = press(first).catch(() => undefined)
  await until(`select count(*) from collection_tries where state = 'open'`, 1)
  await customers.query('begin; select 1 from customers for update')
  await charges.query('rollback')
  await until('select count(*) from sandbox_charges', 1)
  first.child.kill('SIGKILL')
  await Promise.all([first.ended, pressed])
  await customers.query('rollback')
  await rows(`update collection_tries set leased_until = null`)
  await rows(`update leases set leased_until = now() - interval '1 second'`)

  const second = await serve(env, ['--no-worker'])
  // The same form once more, while nobody knows yet what became of it.
  await press(second)
  const worker = work()
  await until(`select count(*) from collection_tries where state = 'open'`, 0)
  expect((await press(second)).status).toBe(303)
  worker.child.kill('SIGTERM')
  await worker.ended
  expect(await rows('select state from sandbox_charges')).toEqual([{ state: 'succeeded' }])
  expect(
    await rows('select amount_minor::int as "amount", settled_on is not null as "isSettled" from payments'),
  ).toEqual([{ amount: 11500, isSettled: true }])
  expect(await rows('select last_four as "lastFour", is_primary as "isPrimary" from payment_methods')).toEqual([
    { lastFour: '4242', isPrimary: true },
  ])
  expect(await page(second, pathname)).toContain('✓ Paid')
  expect(await differencesOfBook(rows as never, account, new Date().toISOString().slice(0, 10))).toEqual([])
  const verified = await runProgram(['verify'], env)
  expect(verified.out).toContain('0 differences')
})
