import { expect, test } from 'vitest'
import { type Row, serveForeignShop } from './foreign-shop.ts'
import { runProgram, serve, type Serving, startProgram } from './program.ts'

/**
 * The card of a capture session is charged once, and its money never lost, whatever is killed and when. A lock of the test holds the process at the
 * step at which it is killed.
 */

const CARD = { number: '4242 4242 4242 4242', expiry: '12/29', givenName: 'Ada', familyName: 'Lovelace' }

async function shop({ clock }: { clock?: string } = {}) {
  const served = await serveForeignShop()
  const { env, authorization, first } = served
  const send = async (to: Serving, method: string, path: string, body?: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(to.address + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  if (clock !== undefined) expect((await send(first, 'PUT', '/v1/clock', { Now: clock })).status).toBe(200)
  const [gateway] = (await send(first, 'GET', '/v1/gateways')).body
  const begun = await send(first, 'POST', '/v1/widgets/capturepaymethod/create', {
    VaultingType: 'VaultGateway',
    SaleType: 'VaultSale',
    Amount: 49,
    ExpiresIn: '01:00:00',
    isVaultOnlyOnSuccess: true,
    CurrencyCode: 'USD',
    GatewayToken: gateway.GatewayToken,
    AuthDomain: 'shop.example',
  })
  expect([begun.status, begun.body.Errors]).toEqual([200, undefined])
  const session: Row = begun.body
  const enter = async (to: Serving) =>
    fetch(`${to.address}/w/${session['HashToken']}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: to.address, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(CARD).toString(),
    })
  const complete = (to: Serving, customerID: number) =>
    send(to, 'PUT', '/v1/widgets/capturepaymethod/complete', { customerID, SessionToken: session['SessionToken'] })
  const stateOf = async (to: Serving): Promise<string> =>
    (await send(to, 'GET', `/v1/widgets/capturepaymethod/get/${session['SessionToken']}`)).body.State
  const work = () => startProgram(['work'], env)
  return { ...served, send, enter, complete, stateOf, work }
}

type Shop = Awaited<ReturnType<typeof shop>>

/** Leases of what was killed lapse, and waits for a gateway pass; the test does not wait for that. */
async function letPass({ rows }: Shop): Promise<void> {
  await rows(`update leases set leased_until = now() - interval '1 second'`)
  await rows(`update capture_sales set leased_until = null, next_ask_at = now() where next_ask_at is not null`)
}

/** Kills the service at the step that a lock holds it at, and serves the account again, with a worker. */
async function killAndGoOn(all: Shop, sent: Promise<unknown>, letGo: () => Promise<unknown>) {
  const { first, env, work } = all
  first.child.kill('SIGKILL')
  await Promise.all([first.ended, sent])
  await letGo()
  await letPass(all)
  const second = await serve(env, ['--no-worker'])
  return { second, worker: work() }
}

async function clean({ env }: Shop): Promise<void> {
  const verified = await runProgram(['verify'], env)
  expect(verified.out).toContain('0 differences')
  expect(verified.code).toBe(0)
}

type Step = 'before the gateway has the charge' | 'after the gateway has charged'

test.each<Step>(['before the gateway has the charge', 'after the gateway has charged'])(
  'kill -9 %s of a capture session: charged once, captured, and one payment of the customer who gets it',
  async (step) => {
    const all = await shop()
    const { first, rows, until, connect, enter, complete, send, stateOf } = all
    const [charges, sessions] = [await connect(), await connect()]
    await charges.query('begin; lock table sandbox_charges')
    const sent = enter(first).catch(() => undefined)
    await until('select count(*) from capture_sales', 1)
    if (step === 'after the gateway has charged') {
      await sessions.query('begin; select 1 from capture_sessions for update')
      await charges.query('rollback')
      await until('select count(*) from sandbox_charges', 1)
    }
    const { second, worker } = await killAndGoOn(all, sent, async () => {
      await charges.query('rollback')
      await sessions.query('rollback')
    })
    await until(`select count(*) from capture_sales where state = 'charged'`, 1)
    expect(await stateOf(second)).toBe('captured')
    const { customerID } = (await send(second, 'POST', '/v1/customers', { Name: 'Acme', isCompany: true })).body
    const completed = await Promise.all([complete(second, customerID), complete(second, customerID)])
    expect(completed.map(({ status }) => status).toSorted()).toEqual([204, 409])
    const payments = (await send(second, 'GET', `/v1/customers/${customerID}/payments`)).body
    expect(payments).toMatchObject([{ Amount: 49, Status: 'Unallocated' }])
    expect(await rows('select state, amount_minor::int as amount from sandbox_charges')).toEqual([
      { state: 'succeeded', amount: 4900 },
    ])
    worker.child.kill('SIGTERM')
    await worker.ended
    await clean(all)
  },
)

test('kill -9 between the refund of a charge that nobody took over and our record of it: given back once', async () => {
  const all = await shop({ clock: '2027-01-01T00:00:00Z' })
  const { first, rows, until, connect, enter, send, stateOf } = all
  expect((await enter(first)).status).toBe(303)
  const refunds = await connect()
  await refunds.query('begin; lock table sandbox_refunds')
  const moved = send(first, 'PUT', '/v1/clock', { Now: '2027-01-05T00:00:00Z' }).catch(() => undefined)
  await until(`select count(*) from capture_sales where refund_state = 'open'`, 1)
  const sessions = await connect()
  await sessions.query('begin; select 1 from capture_sessions for update')
  await refunds.query('rollback')
  await until('select count(*) from sandbox_refunds', 1)
  const { second, worker } = await killAndGoOn(all, moved, () => sessions.query('rollback'))
  await until(`select count(*) from capture_sales where refund_state = 'made'`, 1)
  expect(await stateOf(second)).toBe('expired')
  expect(await rows('select state, amount_minor::int as amount from sandbox_refunds')).toEqual([
    { state: 'succeeded', amount: 4900 },
  ])
  worker.child.kill('SIGTERM')
  await worker.ended
  await clean(all)
})
