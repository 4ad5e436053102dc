import { afterAll, describe, expect, test } from 'vitest'
import { askGateway } from '../../src/features/gateways/call.ts'
import { connectGateway } from '../../src/features/gateways/connect.ts'
import type { GatewayAdapter, TriedStep } from '../../src/features/gateways/contract.ts'
import { findGateway } from '../../src/features/gateways/queries.ts'
import { EVENT_TYPES_READ } from '../../src/features/gateways/stripe-reports.ts'
import { getAccount } from '../../src/features/accounts/queries.ts'
import { backgroundContext, momentOf } from '../../src/kernel/context.ts'
import { StripeSimulator } from '../simulators/stripe.ts'
import { signatureOf } from '../simulators/stripe-webhooks.ts'
import { startTestService } from '../support/app.ts'

/** A gateway at Stripe as its operator sets it up: addresses for its reports, and a trial of its keys. */

const ORIGIN = 'https://pay.example.org'
const simulator = await StripeSimulator.start()
afterAll(async () => {
  await simulator.stop()
  expect(simulator.problems).toEqual([])
})
const endpoints = { stripe: simulator.address }
const service = await startTestService({ endpoints, publicUrl: ORIGIN })

async function shop(client = undefined as Awaited<ReturnType<typeof service.newAccount>> | undefined) {
  const { test: stripe } = simulator.openAccount()
  const owner = client ?? (await service.newAccount())
  const Settings = { SecretKey: stripe.secretKey, PublishableKey: stripe.publishableKey }
  const { body } = await owner.post('/v1/gateways', { GatewayType: 'stripe', Settings })
  const path = `/v1/gateways/${body.gatewayID}`
  const row = async () => (await findGateway(service.db.reader(owner.id), owner.id, BigInt(body.gatewayID)))!
  const account = await getAccount(service.db.reader(owner.id), owner.id)
  const context = backgroundContext(account, momentOf(account, Date.now), { actor: 'test' })
  /** Sends something that a secret signs, and returns the status. */
  const signedBy = async (secret: string) => {
    const headers = { 'stripe-signature': signatureOf('{}', secret, Math.floor(Date.now() / 1000)) }
    const to = `/gateways/${body.GatewayToken}/events`
    return (await service.anonymous.request('POST', to, '{}', headers)).status
  }
  const there = () => [...stripe.book.endpoints.values()]
  return { stripe, client: owner, path, token: body.GatewayToken as string, row, context, signedBy, there }
}

const codeOf = (reply: { status: number; body: any }) => [reply.status, reply.body?.Errors?.[0]?.Code]

describe('a gateway that is connected', () => {
  test('reports to an address that was made for it, and to no other of its own; the secret before serves on', async () => {
    const { stripe, client, path, token, signedBy, there } = await shop()
    const strange = stripe.console.addEndpoint('https://elsewhere.example/hook')
    await client.put(path, { Settings: { WebhookSecrets: ['whsec_by_hand'] } })
    expect((await client.put(`${path}/connect`)).status).toBe(204)
    const [, first] = there()
    expect(first).toMatchObject({
      url: `${ORIGIN}/gateways/${token}/events`,
      enabled_events: EVENT_TYPES_READ,
      metadata: { perennial: token },
    })
    expect((await client.get(path)).body.SettingsSet).toContain('WebhookSecrets')
    expect([await signedBy(first!.secret!), await signedBy('whsec_by_hand')]).toEqual([200, 200])
    expect((await client.put(`${path}/connect`)).status).toBe(204)
    const [kept, second, ...others] = there()
    expect([kept?.id, others]).toEqual([strange.id, []])
    expect(second?.id).not.toBe(first?.id)
    expect([await signedBy(second!.secret!), await signedBy(first!.secret!), await signedBy('whsec_by_hand')]).toEqual([
      200, 200, 400,
    ])
    const events = await client.get('/v1/events')
    expect(events.text).not.toContain('whsec_')
    expect((await client.delete(`${path}/connect`)).status).toBe(204)
    expect(there().map(({ id }) => id)).toEqual([strange.id])
  })

  test.each(['before its secret is kept', 'before others are deleted'] as const)(
    'killed %s and sent again, has one address, whose secret is the first',
    async (when) => {
      const { client, path, row, context, signedBy, there } = await shop()
      const stripe = service.calling.adapters.get('stripe') as Required<GatewayAdapter>
      const dying: GatewayAdapter =
        when === 'before its secret is kept'
          ? {
              ...stripe,
              connect: async (...asked) => (await stripe.connect(...asked), Promise.reject(new Error('killed'))),
            }
          : { ...stripe, disconnect: () => Promise.reject(new Error('killed')) }
      const adapters = new Map([...service.calling.adapters, ['stripe', dying] as const])
      const deps = { ...service.calling, db: service.db, adapters }
      await expect(connectGateway(deps, context, await row(), `${ORIGIN}/x`)).rejects.toThrow('killed')
      expect(there()).toHaveLength(1)
      expect((await client.put(`${path}/connect`)).status).toBe(204)
      expect(there()).toHaveLength(1)
      expect(await signedBy(there()[0]!.secret!)).toBe(200)
    },
  )

  test('needs an address of https, a right to make one, and a gateway that can', async () => {
    const { stripe, client, path, there } = await shop()
    const SecretKey = simulator.restrict(stripe, ['read Account'])
    await client.put(path, { Settings: { SecretKey } })
    const refused = await client.put(`${path}/connect`)
    expect([...codeOf(refused), refused.text]).toEqual([
      409,
      'gateway_refused',
      expect.stringContaining('rak_webhook_write'),
    ])
    const [{ gatewayID }] = (await client.get('/v1/gateways')).body
    expect(codeOf(await client.put(`/v1/gateways/${gatewayID}/connect`))).toEqual([409, 'gateway_unfit'])
    await client.put(path, { Settings: { SecretKey: stripe.secretKey } })
    simulator.faults.add({ kind: '503', on: 'POST /v1/webhook_endpoints' })
    expect(codeOf(await client.put(`${path}/connect`))).toEqual([503, 'gateway_no_answer'])
    expect(there()).toEqual([])
    const hidden = await startTestService({ endpoints, publicUrl: 'http://pay.example.org' })
    const owner = await hidden.newAccount()
    const Settings = { SecretKey: stripe.secretKey, PublishableKey: stripe.publishableKey }
    const { body } = await owner.post('/v1/gateways', { GatewayType: 'stripe', Settings })
    expect(codeOf(await owner.put(`/v1/gateways/${body.gatewayID}/connect`))).toEqual([409, 'public_url_missing'])
  })
})

describe('a trial', () => {
  async function tried(at: Awaited<ReturnType<typeof shop>>) {
    const steps: TriedStep[] = []
    const ended = await askGateway(service.calling, at.context, await at.row(), async (adapter, call) =>
      adapter.tryOut!(call, { currency: 'USD', onStep: (step) => steps.push(step) }),
    )
    return { ended, steps }
  }

  test('charges, asks, refunds and is reported, names every request, and leaves nothing here nor a customer there', async () => {
    const at = await shop()
    const { ended, steps } = await tried(at)
    expect(ended).toEqual({ kind: 'tried', isRight: true })
    expect(steps.map(({ what }) => what)).toEqual([
      'the key is accepted',
      'a customer is made',
      'the card pm_card_visa is attached to them',
      'the card is charged',
      'the charge is there when it is asked for',
      'it is refunded',
      'the charge is reported',
      'the customer is deleted',
    ])
    for (const { requests } of steps) expect(requests.join()).toMatch(/^((GET|POST|DELETE) \/v1\/\S+ req_\w{14},?)+$/)
    const { book } = at.stripe
    expect([...book.charges.values()]).toMatchObject([{ amount: 50, amount_refunded: 50 }])
    expect([...book.customers.values()].filter((one) => !('deleted' in one))).toEqual([])
    for (const list of ['payments', 'paymentmethods', 'resultfiles', 'customers'])
      expect((await at.client.get(`/v1/${list}`)).body, list).toEqual([])
  })

  test('tells which step went wrong, and gives back and deletes what it made', async () => {
    const at = await shop()
    const rights = [
      'write Customers',
      'write PaymentMethods',
      'write PaymentIntents',
      'read Charges and Refunds',
    ] as const
    const SecretKey = simulator.restrict(at.stripe, [...rights, 'read Events', 'read Disputes'])
    await at.client.put(at.path, { Settings: { SecretKey } })
    const { ended, steps } = await tried(at)
    expect(ended).toEqual({ kind: 'tried', isRight: false })
    expect(steps.filter(({ isRight }) => !isRight).map(({ what }) => what)).toEqual(['it is refunded'])
    expect(steps.at(-1)).toMatchObject({ what: 'the customer is deleted', isRight: true })
  })

  test('ends where the key is not accepted', async () => {
    const at = await shop()
    simulator.revoke(at.stripe.secretKey)
    const { ended, steps } = await tried(at)
    expect([ended, steps.map(({ what, isRight }) => [what, isRight])]).toEqual([
      { kind: 'tried', isRight: false },
      [['the key is accepted', false]],
    ])
  })
})
