import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { onReturn } from '../../duties.ts'
import { collectionDuty } from '../collection/duty.ts'
import { addCard, CARDS } from '../collection/shop.testing.ts'
import type { GatewayAdapter, Outcome } from '../gateways/contract.ts'
import { fieldsOf, open, ORIGIN, pathOf, press } from './pages.testing.ts'

/** Charges that a bank wants confirmed: at an address of its gateway, or never. */

const realClock = () => Date.parse('2027-02-01T08:00:00Z')
const service = await startTestService({ publicUrl: ORIGIN, now: realClock })
const pass = () =>
  collectionDuty({ ...service.calling, onReturn }).run(
    { db: service.db, log: pino({ level: 'silent' }), realClock },
    () => {},
  )

/** An invoice of 100 on real time, and its page. */
async function payable(card: string) {
  const client = await service.newAccount({ clockAt: null })
  const body = { Name: 'Acme', isCompany: true, PaymentMethod: 'credit_card', PaymentTermDays: 30 }
  const { customerID } = (await client.post('/v1/customers', body)).body
  await addCard(client, customerID, card)
  const made = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })
  const { invoiceID } = made.body
  const path = await pathOf(client, invoiceID)
  const pay = async (from: string) => press(service, `${path}/pay`, fieldsOf((await open(service, from)).text))
  const outcomes = async () =>
    (await client.get(`/v1/invoices/${invoiceID}/attempts`)).body.map(({ Outcome, Class }: any) => [Outcome, Class])
  const attempt = () => pay(`${path}/pay`)
  return { client, path, pay, attempt, outcomes }
}

test('one left for 30 minutes is ended at the gateway by the lane, and fails as action_required', async () => {
  const { client, path, attempt, outcomes } = await payable(CARDS.confirm)
  expect((await attempt()).seen).toContain('Your bank asks you to confirm this payment')
  const later = (minutes: number) =>
    service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        update collection_tries set next_try_at = next_try_at - interval '1 minute' * ${minutes}::integer where account_id = ${client.id}`),
    )
  await later(29)
  await pass()
  expect(await outcomes()).toEqual([['pending', null]])
  await later(1)
  await pass()
  expect(await outcomes()).toEqual([['declined', 'action_required']])
  const charges = await service.db
    .reader(client.id)
    .rows<{ state: string }>(sql`select state from sandbox_charges where account_id = ${client.id}`)
  expect(charges).toEqual([{ state: 'cancelled' }])
  const { seen } = await open(service, path)
  expect(seen).toContain('The payment was not confirmed, and nothing was charged.')
  expect(seen).toContain('Pay $100.00')
})

/**
 * Puts a gateway with an address for confirming in the place of the sandbox until the test ends, and returns what it was asked for and how to
 * confirm there.
 */
function confirmingGateway(url: string) {
  const adapters = service.calling.adapters as Map<string, GatewayAdapter>
  const sandbox = adapters.get('sandbox')!
  const charges = new Map<string, 'waiting' | 'confirmed' | 'ended'>()
  const returnUrls: unknown[] = []
  const outcomeOf = (reference: string): Outcome => {
    const gatewayReference = `pi_${reference}`
    switch (charges.get(reference)) {
      case 'confirmed':
        return { kind: 'succeeded', gatewayReference, on: '2027-02-01' }
      case 'ended':
        return { kind: 'declined', class: 'action_required', code: 'ended', message: 'Ended.', on: '2027-02-01' }
      default:
        return { kind: 'requires_action', gatewayReference, url }
    }
  }
  onTestFinished(() => void adapters.set('sandbox', sandbox))
  adapters.set('sandbox', {
    ...sandbox,
    charge: async (_call, { reference, returnUrl }) => {
      returnUrls.push(returnUrl)
      charges.set(reference, charges.get(reference) ?? 'waiting')
      return outcomeOf(reference)
    },
    askCharge: async (_call, { reference }) => ({ outcome: outcomeOf(reference), changes: [] }),
    cancelCharge: async (_call, { reference }) => {
      if (charges.get(reference) === 'waiting') charges.set(reference, 'ended')
      return outcomeOf(reference)
    },
  })
  return {
    returnUrls,
    charges,
    confirm: () => [...charges.keys()].forEach((reference) => charges.set(reference, 'confirmed')),
  }
}

test('one that is confirmed at an address of the gateway is linked there, led back, and charged once', async () => {
  const gateway = confirmingGateway('https://bank.example/confirm?charge=7&lang=de')
  const { path, attempt, pay, outcomes } = await payable(CARDS.good)
  await attempt()
  const shown = await service.anonymous.get(path)
  expect(shown.text).toContain('href="https://bank.example/confirm?charge=7&amp;lang=de"')
  // Nothing opens the address on its own, so the policy names nobody else.
  expect(shown.headers['content-security-policy']).toMatch(
    /form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  )
  expect(gateway.returnUrls).toEqual([ORIGIN + path])
  gateway.confirm()
  expect((await pay(path)).seen).toContain('✓ Paid')
  expect(await outcomes()).toEqual([['succeeded', null]])
  expect(gateway.charges.size).toBe(1)
})

test('one that is not confirmed there is ended by the press, and charged anew', async () => {
  const gateway = confirmingGateway('https://bank.example/confirm')
  const { path, attempt, pay, outcomes } = await payable(CARDS.good)
  await attempt()
  expect((await pay(path)).seen).toContain('Confirm at your bank')
  expect([...gateway.charges.values()]).toEqual(['ended', 'waiting'])
  gateway.confirm()
  expect((await pay(path)).seen).toContain('✓ Paid')
  expect(await outcomes()).toEqual([
    ['declined', 'action_required'],
    ['succeeded', null],
  ])
})

test.each(['javascript:alert(1)', 'http://bank.example/', '//bank.example'])(
  'an address like %s is no link',
  async (url) => {
    confirmingGateway(url)
    const { path, attempt } = await payable(CARDS.good)
    await attempt()
    const { text } = await open(service, path)
    expect(text).not.toContain(url)
    expect(text).toContain('Confirm the payment')
  },
)
