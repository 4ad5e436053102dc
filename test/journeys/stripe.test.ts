import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import pino from 'pino'
import { releaseHeld } from '../../src/commands/gateway-hold.ts'
import { onReturn, withFollowUps } from '../../src/duties.ts'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { afterMethodOfCustomer } from '../../src/features/collection/actions.ts'
import { readCardFile } from '../../src/features/payment-methods/card-file.ts'
import { importCards } from '../../src/features/payment-methods/import-cards.ts'
import { collectDay } from '../../src/features/collection/day.ts'
import { askOpenRefunds } from '../../src/features/refunds/ask.ts'
import { getAccount } from '../../src/features/accounts/queries.ts'
import { askGateway } from '../../src/features/gateways/call.ts'
import type { GatewayAdapter } from '../../src/features/gateways/contract.ts'
import { stripeAdapter } from '../../src/features/gateways/stripe.ts'
import { keysDuty } from '../../src/features/gateways/keys-duty.ts'
import { findGateway } from '../../src/features/gateways/queries.ts'
import { DUNNING_KINDS } from '../../src/features/outbox/collection-templates.ts'
import { backgroundContext, momentOf } from '../../src/kernel/context.ts'
import { beginSession } from '../../src/features/capture-sessions/capture.testing.ts'
import { checkGatewayKeys } from '../../src/platform/checkup/gateway-keys.ts'
import { sql } from '../../src/platform/database/sql.ts'
import { keptReports, workAt } from '../../src/features/gateway-reports/reports.testing.ts'
import { StripeSimulator } from '../simulators/stripe.ts'
import { signatureOf } from '../simulators/stripe-webhooks.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { differencesOf, moveTo } from '../support/shop.ts'

/** Cards that others stored at Stripe, brought by their tokens and charged by this service, at a simulator of Stripe. */

const simulator = await StripeSimulator.start()
afterAll(async () => {
  await simulator.stop()
  expect(simulator.problems).toEqual([])
})
const service = await startTestService({ endpoints: { stripe: simulator.address } })

const CUSTOMER = { Name: 'Ada', LastName: 'Lovelace', isCompany: false, PaymentMethod: 'credit_card' }

/** A test account with a gateway at an account of Stripe of its own. */
async function shop() {
  const { test: stripe } = simulator.openAccount()
  const client = await service.newAccount()
  const added = await client.post('/v1/gateways', {
    GatewayType: 'stripe',
    Settings: { SecretKey: stripe.secretKey, PublishableKey: stripe.publishableKey },
  })
  expect(added.status, added.text).toBe(201)
  const gatewayID = added.body.gatewayID as number
  const customer = async () => {
    return (await client.post('/v1/customers', CUSTOMER)).body.customerID as number
  }
  const customerID = await customer()
  const bring = (Token: string, fields: object = {}) =>
    client.post('/v1/paymentmethods/gatewaytoken', { customerID, gatewayID, Token, ...fields })
  const invoice = async (amount: number) =>
    (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: amount }] })).body.invoiceID as number
  const read = async (id: number) => (await client.get(`/v1/invoices/${id}`)).body
  const paid = () => [...stripe.book.charges.values()].filter(({ paid }) => paid)
  return { stripe, client, gatewayID, customerID, customer, bring, invoice, read, paid }
}

const codesOf = (reply: { body: any }) =>
  reply.body.Errors.map(({ Code, Field }: { Code: string; Field: string }) => `${Code} ${Field}`)

describe('a card brought by its token', () => {
  test('is a method of its customer, by whichever name of it, and is made once', async () => {
    const { stripe, client, bring } = await shop()
    const { token, method, customer } = stripe.console.addCard('4242424242424242', { name: 'Augusta Ada King' })
    const first = await bring(token)
    expect(first.status, first.text).toBe(200)
    expect(first.body).toMatchObject({
      isPrimary: true,
      CreditCard: { CardType: 'Visa', LastFourDigits: '4242', NameOnCard: 'Augusta Ada', LastNameOnCard: 'King' },
    })
    for (const name of [method, customer]) {
      const again = await bring(name)
      expect(again.body.paymentMethodID).toBe(first.body.paymentMethodID)
    }
    expect((await client.get('/v1/paymentmethods')).body).toHaveLength(1)
    expect(first.text).not.toMatch(/pm_|cus_/)
  })

  test('that is unknown, of nobody, of several or of another customer is refused', async () => {
    const { stripe, client, gatewayID, customer, bring } = await shop()
    const one = stripe.console.addCard('4242424242424242')
    stripe.console.addCard('5555555555554444', { customer: one.customer })
    const refused = async (token: string) => {
      const reply = await bring(token)
      expect(reply.status, reply.text).toBe(400)
      expect(reply.text).not.toContain(token)
      return codesOf(reply)
    }
    const whole = stripe.console.addCard('4242424242424242')
    const cut = whole.token.slice(0, -1)
    const { token: ofMode } = simulator.openAccount().live.console.addCard('4242424242424242')
    for (const token of ['pm_nowhere', 'cus_nowhere', 'sk_test_x', 'cus_1/pm_2', 'something', cut, ofMode])
      expect(await refused(token)).toEqual(['token_unknown Token'])
    const before = simulator.sent.length
    for (const token of ['4242 4242 4242 4242', 'pm_4242424242424242'])
      expect(await refused(token)).toEqual(['card_number_misplaced Token'])
    expect(simulator.sent).toHaveLength(before)
    expect(await refused(one.customer)).toEqual(['token_ambiguous Token'])
    expect((await bring(one.token)).status).toBe(200)
    const other = { customerID: await customer(), gatewayID, Token: one.token }
    const taken = await client.post('/v1/paymentmethods/gatewaytoken', other)
    expect([taken.status, codesOf(taken)]).toEqual([409, ['token_taken Token']])
  })
})

/** Collects in a process that dies where `dies` says, then in another one once the lease of the first is over. */
async function killed(client: TestClient, dies: (adapter: GatewayAdapter, died: () => void) => GatewayAdapter) {
  const account = await getAccount(service.db.reader(client.id), client.id)
  const context = backgroundContext(account, momentOf(account, Date.now), { actor: 'test' })
  const stripe = service.calling.adapters.get('stripe') as GatewayAdapter
  const collect = (adapter: GatewayAdapter) => {
    const adapters = new Map([...service.calling.adapters, ['stripe', adapter] as const])
    return collectDay({ ...service.calling, db: service.db, adapters, onReturn }, context, { isClock: false })
  }
  await new Promise<void>((died) => void collect(dies(stripe, died)).catch(() => {}))
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update collection_tries set leased_until = null where account_id = ${client.id}`),
  )
  return collect(stripe)
}
const never = () => new Promise<never>(() => {})

describe('an invoice', () => {
  test('is charged once by a brought card, and what Stripe gets names nobody', async () => {
    const { stripe, client, bring, invoice, read, paid } = await shop()
    await bring(stripe.console.addCard('4242424242424242').token)
    const invoiceID = await invoice(115)
    const reply = await client.post(`/v1/invoices/${invoiceID}/collect`)
    expect(reply.status, reply.text).toBe(201)
    expect(await read(invoiceID)).toMatchObject({ Status: 'Paid', NumTries: 1 })
    expect(paid()).toMatchObject([{ amount: 11500, currency: 'usd' }])
    const [payment] = (await client.get('/v1/payments')).body
    expect(payment).toMatchObject({ Status: 'Allocated', transactionID: paid()[0]?.payment_intent })
    expect(simulator.sent.map(({ form }) => decodeURIComponent(form)).join()).not.toMatch(/Lovelace|Ada/)
  })

  test('whose card is refused stays open with the reason of the bank', async () => {
    const { stripe, client, bring, invoice, read, paid } = await shop()
    await bring(stripe.console.addCard('4000000000009995').token)
    const invoiceID = await invoice(115)
    await client.post(`/v1/invoices/${invoiceID}/collect`)
    expect(await read(invoiceID)).toMatchObject({ Status: expect.stringMatching(/Due|Past/) })
    expect((await client.get(`/v1/invoices/${invoiceID}/attempts`)).body).toMatchObject([
      { Outcome: 'declined', Class: 'insufficient_funds' },
    ])
    expect(paid()).toEqual([])
  })

  test.each(['before', 'between', 'after'] as const)(
    'is charged once by whoever comes next, where the process dies %s the two requests',
    async (when) => {
      const { stripe, client, bring, invoice, read, paid } = await shop()
      await bring(stripe.console.addCard('4242424242424242').token)
      const invoiceID = await invoice(115)
      await killed(client, (adapter, died) => ({
        ...adapter,
        charge: async (call, charge) => {
          if (when === 'after') await adapter.charge!(call, charge)
          if (when === 'between')
            await Promise.race([
              adapter.charge!(
                { ...call, keep: async (name) => ((await call.keep(name)) ? (died(), never()) : false) },
                charge,
              ),
              never(),
            ])
          died()
          return never()
        },
      }))
      expect(await read(invoiceID)).toMatchObject({ Status: 'Paid', NumTries: 1 })
      expect(paid()).toHaveLength(1)
    },
  )

  test.each([
    ...(['cut before', 'cut after', 'cut in the answer', '500 after', '502', '409 in use', '429'] as const),
    ...(['HTML before', 'HTML after', '2 MiB', 'redirect'] as const),
    ...(['another object', 'another amount', 'another currency'] as const),
  ])('is charged once where confirming meets %s', async (kind) => {
    const { stripe, client, bring, invoice, read, paid } = await shop()
    await bring(stripe.console.addCard('4242424242424242').token)
    const invoiceID = await invoice(115)
    simulator.faults.add({ kind, on: 'POST /v1/payment_intents/*/confirm' })
    await client.post(`/v1/invoices/${invoiceID}/collect`)
    for (let look = 0; look < 3 && (await read(invoiceID)).Status !== 'Paid'; look += 1) {
      await service.db.transaction(client.id, (tx) =>
        tx.rows(sql`
            update collection_tries set leased_until = null, next_try_at = null where account_id = ${client.id}`),
      )
      await killed(client, (adapter, died) => ({
        ...adapter,
        charge: () => (died(), never()),
        askCharge: () => (died(), never()),
      }))
    }
    expect(await read(invoiceID)).toMatchObject({ Status: 'Paid' })
    expect(paid()).toHaveLength(1)
  })
})

test('a card that was detached there is declined at once, and its method is rejected', async () => {
  const { stripe, client, bring, invoice } = await shop()
  const { token, method } = stripe.console.addCard('4242424242424242')
  const { paymentMethodID } = (await bring(token)).body
  stripe.console.removeCard(method)
  // Nothing of it was reported: the charge meets it.
  const invoiceID = await invoice(115)
  expect((await client.post(`/v1/invoices/${invoiceID}/collect`)).status).toBe(201)
  expect((await client.get(`/v1/invoices/${invoiceID}/attempts`)).body).toMatchObject([
    { Outcome: 'declined', Class: 'invalid_account', Message: 'The gateway does not keep this card any more.' },
  ])
  await workAt(service, client)
  expect((await client.get('/v1/events?type=payment_method.updated')).body).toMatchObject([
    { RecordID: paymentMethodID, Record: { isValid: false } },
  ])
  expect((await client.get('/v1/events?type=gateway.refused')).body).toEqual([])
})

describe('a refund whose answer was an error', () => {
  /** A charged payment of which 40.00 were unallocated, and a way to look at its refunds some time later. */
  async function refunded(fault: '500 before' | '500 after') {
    const made = await shop()
    const { stripe, client, customerID, bring, invoice } = made
    await bring(stripe.console.addCard('4242424242424242').token)
    const invoiceID = await invoice(115)
    await client.post(`/v1/invoices/${invoiceID}/collect`)
    const [{ paymentID, Amount, Date: day }] = (await client.get('/v1/payments')).body
    const Allocations = [{ invoiceID, amountApplied: 75 }]
    const payment = { customerID, Amount, CurrencyCode: 'USD', Date: day, Method: 'credit_card', Allocations }
    expect((await client.put(`/v1/payments/${paymentID}`, payment)).status).toBe(204)
    simulator.faults.add({ kind: fault, on: 'POST /v1/refunds' })
    const begun = await client.post(`/v1/payments/${paymentID}/refund`, { Amount: 40 })
    expect(begun.status, begun.text).toBe(202)
    const account = await getAccount(service.db.reader(client.id), client.id)
    const context = backgroundContext(account, momentOf(account, Date.now), { actor: 'test' })
    const look = async () => {
      await service.db.transaction(client.id, (tx) =>
        tx.rows(sql`
          update payment_refunds set sent_at = moment('-11 minutes'), next_ask_at = ${context.moment.now}
           where account_id = ${client.id} and state = 'open'`),
      )
      await askOpenRefunds(service.db, context, service.calling)
      return (await client.get(`/v1/payments/${paymentID}/refunds`)).body.map(({ State }: { State: string }) => State)
    }
    return { look, book: () => [...stripe.book.refunds.values()].map(({ amount }) => amount) }
  }

  test('waits for a day, for which Stripe repeats the error under its key, and is then made once', async () => {
    const { look, book } = await refunded('500 before')
    for (let looks = 0; looks < 3; looks += 1) expect(await look()).toEqual(['open'])
    expect(book()).toEqual([])
    simulator.advance(24 * 3600 + 1)
    await look()
    expect(await look()).toEqual(['succeeded'])
    expect(book()).toEqual([4000])
  })

  test('is found where it was made nevertheless', async () => {
    const { look, book } = await refunded('500 after')
    expect(await look()).toEqual(['succeeded'])
    expect(book()).toEqual([4000])
  })
})

/** Sends the events of a book that were not sent before to the gateway, signed, and has the reports applied. */
async function deliver({ stripe, client, gatewayID }: Awaited<ReturnType<typeof shop>>, secret: string) {
  const { GatewayToken } = (await client.get(`/v1/gateways/${gatewayID}`)).body
  for (const event of stripe.book.events.splice(0)) {
    const raw = JSON.stringify(event)
    const headers = {
      'content-type': 'application/json',
      'stripe-signature': signatureOf(raw, secret, Math.floor(Date.now() / 1000)),
    }
    const reply = await service.anonymous.request('POST', `/gateways/${GatewayToken}/events`, raw, headers)
    expect(reply.status, reply.text).toBe(200)
  }
  await workAt(service, client)
}

describe('what happens at Stripe after a charge', () => {
  async function charged() {
    const made = await shop()
    const { stripe, client, gatewayID, bring, invoice } = made
    await client.put(`/v1/gateways/${gatewayID}`, { Settings: { WebhookSecrets: ['whsec_test'] } })
    await bring(stripe.console.addCard('4242424242424242').token)
    const invoiceID = await invoice(115)
    expect((await client.post(`/v1/invoices/${invoiceID}/collect`)).status).toBe(201)
    const intent = [...stripe.book.charges.values()][0]?.payment_intent as string
    return { ...made, invoiceID, intent }
  }

  test('a dispute fails the payment by its part, and one that is won is new money', async () => {
    const made = await charged()
    const { stripe, client, invoiceID, read, intent } = made
    const { id } = stripe.console.dispute(intent, { amount: 6000 })
    await deliver(made, 'whsec_test')
    expect(await doctorOf(made.gatewayID)).toMatchObject({
      state: 'ok',
      text: expect.stringMatching(/of acct_\w+; the last report came 20\S+ by webhook$/),
    })
    expect(await read(invoiceID)).toMatchObject({ Status: expect.stringMatching(/Due|Past/), TotalActualPaid: 55 })
    stripe.console.win(id)
    await deliver(made, 'whsec_test')
    expect((await client.get('/v1/payments')).body.map(({ Amount, Status }: any) => [Amount, Status])).toEqual(
      expect.arrayContaining([
        [115, 'Failed'],
        [55, 'Allocated'],
        [60, 'Allocated'],
      ]),
    )
    expect(await read(invoiceID)).toMatchObject({ Status: 'Paid' })
    // Every event comes twice, in whichever order.
    const before = (await client.get('/v1/payments')).text
    await deliver(made, 'whsec_test')
    expect((await client.get('/v1/payments')).text).toBe(before)
  })

  test('40.00 that were refunded at its console are in the books and leave the attempt, by polling alone, and once', async () => {
    const made = await charged()
    const { stripe, client, customerID, invoiceID, read, intent } = made
    const [{ paymentID }] = (await client.get('/v1/payments')).body
    const move = async () => {
      const { Now } = (await client.get('/v1/clock')).body
      await moveTo(client, new Date(Date.parse(Now) + 1000).toISOString())
    }
    const refunds = async () => (await client.get(`/v1/payments/${paymentID}/refunds`)).body
    const owed = async () => (await client.get(`/v1/customers/${customerID}/balances`)).body[0].Balance
    const { id } = stripe.console.refund(intent, 4000)
    await move()
    expect(await refunds()).toMatchObject([{ Amount: 40, State: 'succeeded', isFromGateway: true, transactionID: id }])
    expect(await owed()).toBe(40)
    expect(await read(invoiceID)).toMatchObject({ Status: 'Paid', NumTries: 1 })
    const attempts = async () => (await client.get(`/v1/invoices/${invoiceID}/attempts`)).body
    expect(await attempts()).toMatchObject([{ Outcome: 'succeeded', paymentID }])
    expect((await client.get('/v1/outbox')).body.map(({ Template }: any) => Template)).not.toContain(
      'payment_unsuccessful',
    )
    // Its webhooks come as well, and change nothing.
    await deliver(made, 'whsec_test')
    expect(await refunds()).toHaveLength(1)
    const credit = { Amount: 40, Reason: 'A part was not delivered' }
    expect((await client.post(`/v1/invoices/${invoiceID}/credit`, credit)).status).toBe(201)
    expect(await owed()).toBe(0)
    // The rest is disputed: what is kept pays the refund, which a note has paid, and so waits.
    stripe.console.dispute(intent, { amount: 7500 })
    await move()
    expect(await owed()).toBe(75)
    expect(await attempts()).toMatchObject([{ Outcome: 'returned' }])
    stripe.console.failRefund(id)
    await move()
    expect(await refunds()).toMatchObject([{ State: 'failed' }])
    expect(
      (await client.get('/v1/payments')).body.map(({ Ref, Amount, Status }: any) => [Ref, Amount, Status]),
    ).toEqual([
      [expect.any(String), 115, 'Failed'],
      [`Kept of payment ${paymentID}`, 40, 'Allocated'],
      [`Refund failed: payment ${paymentID}`, 40, 'Unallocated'],
    ])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('is found without any request of it as the clock moves, as often as it does', async () => {
    const { stripe, client, invoiceID, read, intent } = await charged()
    const moveBy = async (seconds: number) => {
      const { Now } = (await client.get('/v1/clock')).body
      const moved = await client.put('/v1/clock', { Now: new Date(Date.parse(Now) + seconds * 1000).toISOString() })
      expect(moved.status, moved.text).toBe(200)
    }
    await moveBy(1)
    expect(await read(invoiceID)).toMatchObject({ Status: 'Paid' })
    const { id } = stripe.console.dispute(intent)
    await moveBy(1)
    expect(await read(invoiceID)).toMatchObject({ TotalActualPaid: 0 })
    stripe.console.win(id)
    await moveBy(40 * 86_400)
    expect(await read(invoiceID)).toMatchObject({ Status: 'Paid' })
    const looks = simulator.sent.filter(
      ({ call, headers }) => call === 'GET /v1/events' && headers.authorization === `Bearer ${stripe.secretKey}`,
    )
    expect(looks).toHaveLength(3)
  })

  test('a webhook that another secret signed is refused', async () => {
    const { client, gatewayID } = await charged()
    const { GatewayToken } = (await client.get(`/v1/gateways/${gatewayID}`)).body
    const headers = { 'stripe-signature': signatureOf('{}', 'whsec_other', Math.floor(Date.now() / 1000)) }
    const reply = await service.anonymous.request('POST', `/gateways/${GatewayToken}/events`, '{}', headers)
    expect(reply.status).toBe(400)
  })
})

/** Has the gateways be asked about their keys whose next question is due by now, or, with `isLater`, later. */
async function askAboutKeys({ client }: { client: TestClient }, isLater = true) {
  if (isLater)
    await service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update gateways set key_ask_at = moment() where account_id = ${client.id} and key_ask_at is not null`,
      ),
    )
  const duty = { db: service.db, log: pino({ level: 'silent' }), realClock: Date.now }
  await keysDuty(service.calling).run(duty, () => {})
}

/** Finds the line of the doctor about a gateway. */
async function doctorOf(gatewayID: number) {
  const client = new pg.Client({ ...service.connection })
  await client.connect()
  const found = await checkGatewayKeys(client).finally(() => client.end())
  return found.find(({ text }) => text.startsWith(`gateway ${gatewayID} `))
}

describe('a key that Stripe does not accept', () => {
  const refusal = (reply: { status: number; body: any }) => [reply.status, reply.body?.Errors?.[0]?.Code]

  test('charges nobody and warns no customer; what was wanted comes once it is accepted again, however late', async () => {
    const at = await shop()
    const { stripe, client, gatewayID, bring, read, paid } = at
    const gateway = async () => (await client.get(`/v1/gateways/${gatewayID}`)).body
    expect(await gateway()).toMatchObject({
      isEnabled: true,
      SettingsSet: ['PublishableKey', 'SecretKey'],
      KeyEnding: stripe.secretKey.slice(-4),
    })
    await bring(stripe.console.addCard('4242424242424242').token)
    const one = await at.invoice(115)
    simulator.revoke(stripe.secretKey)
    // Settings are asked about at each PUT, whether its key is another or not.
    const put = await client.put(`/v1/gateways/${gatewayID}`, { Settings: { StatementSuffix: 'SHOP' } })
    expect([put.status, put.body.Errors[0]]).toMatchObject([400, { Code: 'key_refused', Field: 'Settings.SecretKey' }])
    expect((await client.post(`/v1/invoices/${one}/collect`)).status).toBe(202)
    expect(await gateway()).toMatchObject({ isActive: true, isEnabled: false, HeldFor: null })
    const other = await at.invoice(20)
    expect(refusal(await client.post(`/v1/invoices/${other}/collect`))).toEqual([409, 'key_refused'])
    expect(refusal(await bring('pm_another'))).toEqual([409, 'key_refused'])
    const { GatewayToken } = await gateway()
    expect(refusal(await beginSession(client, { GatewayToken }))).toEqual([409, 'key_refused'])
    await askAboutKeys(at)
    expect(await doctorOf(gatewayID)).toMatchObject({
      state: 'warn',
      text: expect.stringMatching(
        /^gateway \d+ of account \d+ \(stripe\) has keys of the test mode, of acct_\w+, which it does not accept: /,
      ),
    })
    const told = (await client.get('/v1/events?type=gateway.refused')).body
    expect(told).toMatchObject([
      { Reason: expect.stringContaining('does not accept the key'), Record: { isEnabled: false } },
    ])
    const before = simulator.sent.length
    await moveTo(client, '2027-01-20')
    expect(simulator.sent).toHaveLength(before)
    expect((await client.get(`/v1/invoices/${other}/attempts`)).body).toEqual([])
    const mails = (await client.get('/v1/outbox')).body.map(({ Template }: { Template: string }) => Template)
    expect(mails).not.toContain('payment_unsuccessful')

    simulator.restore(stripe.secretKey)
    // It is asked hourly, not before.
    await askAboutKeys(at, false)
    expect(await gateway()).toMatchObject({ isEnabled: false })
    await askAboutKeys(at)
    expect(await gateway()).toMatchObject({ isEnabled: true })
    await moveTo(client, '2027-01-21')
    for (const id of [one, other]) expect(await read(id)).toMatchObject({ Status: 'Paid' })
    expect(paid()).toHaveLength(2)
    expect((await client.get('/v1/events?type=gateway.accepted')).body).toHaveLength(1)
  })

  test('is replaced by one that it accepts, which a late answer about the old one does not end', async () => {
    const at = await shop()
    const { stripe, client, gatewayID, bring } = at
    const path = `/v1/gateways/${gatewayID}`
    const gateway = await findGateway(service.db.reader(client.id), client.id, BigInt(gatewayID))
    simulator.revoke(stripe.secretKey)
    expect(refusal(await bring('pm_another'))).toEqual([409, 'key_refused'])
    const fresh = simulator.restrict(stripe, ['read Account', 'read PaymentMethods', 'read Customers'])
    expect((await client.put(path, { Settings: { SecretKey: fresh } })).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({ isEnabled: true, KeyEnding: fresh.slice(-4) })
    expect((await client.get('/v1/events?type=gateway.accepted')).body).toHaveLength(1)
    const account = await getAccount(service.db.reader(client.id), client.id)
    const about = { account, moment: momentOf(account, Date.now) }
    const late = await askGateway(service.calling, about, gateway!, async (adapter, call) =>
      adapter.findToken!(call, 'pm_another'),
    )
    expect(late).toMatchObject({ kind: 'not_sent', refused: { by: 'key' } })
    expect((await client.get(path)).body).toMatchObject({ isEnabled: true })
    expect((await bring(stripe.console.addCard('4242424242424242').token)).status).toBe(200)
  })

  test('is written where Stripe does not answer about it, and used once it has', async () => {
    const { test: stripe } = simulator.openAccount()
    const client = await service.newAccount()
    simulator.faults.add({ kind: '503', on: 'GET /v1/account' })
    const Settings = { SecretKey: stripe.secretKey, PublishableKey: stripe.publishableKey }
    const added = await client.post('/v1/gateways', { GatewayType: 'stripe', Settings })
    expect([added.status, added.body.isEnabled]).toEqual([201, false])
    const customerID = (await client.post('/v1/customers', CUSTOMER)).body.customerID
    const { gatewayID } = added.body
    const bring = () =>
      client.post('/v1/paymentmethods/gatewaytoken', {
        customerID,
        gatewayID,
        Token: stripe.console.addCard('4242424242424242').token,
      })
    expect(refusal(await bring())).toEqual([409, 'key_unanswered'])
    simulator.faults.add({ kind: '503', on: 'GET /v1/account' })
    await askAboutKeys({ client })
    expect((await client.get(`/v1/gateways/${gatewayID}`)).body.isEnabled).toBe(false)
    await askAboutKeys({ client })
    expect((await client.get(`/v1/gateways/${gatewayID}`)).body.isEnabled).toBe(true)
    expect((await bring()).status).toBe(200)
  })
})

test('a right that the key lacks is told once a day, and the gateway stays', async () => {
  const { stripe, client, gatewayID, bring } = await shop()
  const path = `/v1/gateways/${gatewayID}`
  const SecretKey = simulator.restrict(stripe, ['read Account'])
  expect((await client.put(path, { Settings: { SecretKey } })).status).toBe(204)
  for (let n = 0; n < 2; n += 1) expect((await bring('pm_another')).status).toBe(503)
  expect((await client.get('/v1/events?type=gateway.refused')).body).toMatchObject([
    { Reason: "The key of the gateway's Settings lacks a right (rak_payment_method_read)." },
  ])
  expect((await client.get(path)).body).toMatchObject({ isEnabled: true })
})

describe('a file of cards', () => {
  const LINES = ['customerID,Token,isPrimary,NameOnCard,LastNameOnCard']
  /** A shop, a file for it, and what its import makes of each line. */
  async function file() {
    const at = await shop()
    const folder = await mkdtemp(join(tmpdir(), 'cards-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const path = join(folder, 'cards.csv')
    const bring = async (lines: readonly string[], isDryRun = false) => {
      await writeFile(path, lines.join('\n'))
      const account = await getAccount(service.db.reader(at.client.id), at.client.id)
      const gateway = (await findGateway(service.db.reader(at.client.id), at.client.id, BigInt(at.gatewayID)))!
      const deps = { ...service.calling, db: service.db, onMethodChanged: afterMethodOfCustomer }
      const results: string[] = []
      for await (const one of importCards(deps, { account, gateway, isDryRun, now: Date.now }, readCardFile(path)))
        results.push(`${one.line} ${one.kind}${one.kind === 'error' ? ` ${one.code}` : ''}`)
      return results
    }
    const methods = async () => (await at.client.get('/v1/paymentmethods')).body
    return { ...at, bring, methods }
  }

  test('is brought line by line, told what became of each, and can be brought again', async () => {
    const { stripe, client, customerID, customer, bring, methods } = await file()
    const [one, two, three] = [0, 1, 2].map(() => stripe.console.addCard('4242424242424242', { name: 'Ada King' }))
    stripe.console.addCard('5555555555554444', { customer: three!.customer })
    const other = await customer()
    const lines = [
      ...LINES,
      `${customerID},${one!.token},true,Augusta,King`,
      `${customerID},${two!.method},,,`,
      `${customerID},${two!.customer},false,,`,
      `${other},${one!.token},,,`,
      `${other},${three!.customer},,,`,
      `${other},pm_nowhere,,,`,
      `${other},=HYPERLINK("http://x"),,,`.replaceAll('"', '""').replace('=', '"=').replace('),', ')",'),
      `${other},${three!.token},yes,,`,
      `${other},${three!.token},,=1+1,@SUM(A1)`,
      `${other},4242424242424242,,,`,
      `${other},,,,`,
      `999999,${three!.token},,,`,
      `x,${three!.token},,,`,
    ]
    const ended = [
      '2 stored',
      '3 stored',
      '4 already',
      '5 error token_taken',
      '6 error token_ambiguous',
      '7 error token_unknown',
      '8 error token_unknown',
      '9 error wrong_type',
      '10 stored',
      '11 error card_number_misplaced',
      '12 error required',
      '13 error customer_unknown',
      '14 error wrong_type',
    ]
    expect(await bring(lines, true)).toEqual(ended)
    expect(await methods()).toEqual([])
    expect(await bring(lines)).toEqual(ended)
    expect(await bring(lines)).toEqual(ended.map((line) => line.replace('stored', 'already')))
    const kept = await methods()
    expect(kept).toHaveLength(3)
    expect((await client.get(`/v1/paymentmethods/${kept[0].paymentMethodID}`)).body).toMatchObject({
      isPrimary: true,
      CreditCard: { NameOnCard: 'Augusta', LastNameOnCard: 'King' },
    })
    expect((await client.get('/v1/events?type=payment_method.created')).body[0]).toMatchObject({
      Actor: 'command line',
    })
  })

  test('names customers by their Reference, too, and ends where Stripe does not accept the key', async () => {
    const { stripe, client, bring } = await file()
    await client.post('/v1/customers', { ...CUSTOMER, Reference: 'OLD-1' })
    const token = () => stripe.console.addCard('4242424242424242').token
    const lines = ['Reference,Token', `OLD-1,${token()}`, `OLD-2,${token()}`]
    simulator.faults.add({ kind: '503', on: 'GET /v1/payment_methods/*' })
    expect(await bring(lines)).toEqual(['2 error gateway_no_answer', '3 error customer_unknown'])
    expect(await bring(lines)).toEqual(['2 stored', '3 error customer_unknown'])
    simulator.revoke(stripe.secretKey)
    await expect(bring(lines)).rejects.toMatchObject({ problems: [{ code: 'key_refused' }] })
  })
})

test('an amount below the least that Stripe takes puts its invoice on hold, and nobody is charged', async () => {
  const { stripe, client, bring, invoice, read, paid } = await shop()
  await bring(stripe.console.addCard('4242424242424242', {}).token)
  const [method] = (await client.get('/v1/paymentmethods')).body
  // Stripe has no holder: it is the customer.
  expect((await client.get(`/v1/paymentmethods/${method.paymentMethodID}`)).body.CreditCard).toMatchObject({
    NameOnCard: 'Ada',
    LastNameOnCard: 'Lovelace',
  })
  const invoiceID = await invoice(0.49)
  await client.post(`/v1/invoices/${invoiceID}/collect`)
  expect((await client.get(`/v1/invoices/${invoiceID}/attempts`)).body).toMatchObject([
    { Outcome: 'declined', Class: 'format', Code: 'amount_too_small' },
  ])
  expect(await read(invoiceID)).toMatchObject({ isCollectionHold: true })
  const least = await invoice(0.5)
  await client.post(`/v1/invoices/${least}/collect`)
  expect([(await read(least)).Status, paid().map(({ amount }) => amount)]).toEqual(['Paid', [50]])
})

test('a brought card stays at Stripe when its customer is anonymised', async () => {
  const { stripe, client, customer, gatewayID } = await shop()
  const customerID = await customer()
  const { token: Token, method, customer: there } = stripe.console.addCard('4242424242424242')
  const brought = await client.post('/v1/paymentmethods/gatewaytoken', { customerID, gatewayID, Token })
  expect(brought.status, brought.text).toBe(200)
  const anonymised = await client.post(`/v1/customers/${customerID}/anonymise`)
  expect(anonymised.status, anonymised.text).toBeLessThan(300)
  const removals = await service.db
    .reader(client.id)
    .rows(sql`select 1 from card_removals where account_id = ${client.id}`)
  expect([removals, stripe.book.methods.get(method)?.customer]).toEqual([[], there])
  const kept = await service.db
    .reader(client.id)
    .rows(sql`select 1 from payment_methods where account_id = ${client.id} and gateway_token is not null`)
  expect(kept).toEqual([])
})

test('an API that answers 400 to everything holds no invoice, warns and suspends nobody, is one event, and all goes on when it ends', async () => {
  const { stripe, client, customerID, bring, invoice, read, paid } = await shop()
  await bring(stripe.console.addCard('4242424242424242').token)
  await client.put(`/v1/customers/${customerID}`, {
    ...{ Name: 'Ada', LastName: 'Lovelace', isCompany: false, PaymentMethod: 'credit_card', Email: 'a@example.com' },
    PaymentTermDays: 0,
  })
  const Attempts = [
    { DaysAfterDue: 0, Action: 'payment_unsuccessful' },
    { DaysAfterDue: 1, Action: 'suspend' },
  ]
  expect((await client.put('/v1/collectionrules', { Attempts })).status).toBe(204)
  const invoiceID = await invoice(10)
  const before = simulator.sent.length
  simulator.faults.add({ kind: '400 to everything', times: 10_000 })
  onTestFinished(() => simulator.faults.clear())
  await client.post(`/v1/invoices/${invoiceID}/collect`)
  expect(simulator.sent.length).toBeGreaterThan(before)
  const refusals = async () => (await client.get('/v1/events?type=gateway.refused')).body
  expect(await refusals()).toMatchObject([{ Reason: expect.stringContaining('does not understand') }])
  // As long as there are steps that warn and suspend.
  await moveTo(client, '2027-01-03')
  expect(await read(invoiceID)).toMatchObject({ isCollectionHold: false, NumTries: 0 })
  expect((await client.get(`/v1/customers/${customerID}`)).body).toMatchObject({ isSuspended: false })
  const mails = (await client.get('/v1/outbox?page_size=200')).body.map(({ Template }: any) => Template)
  expect(mails.filter((template: string) => DUNNING_KINDS.some((kind) => kind === template))).toEqual([])
  // Once a day, as each refusal of a kind.
  const days = (await refusals()).map(({ Date: day }: any) => String(day).slice(0, 10))
  expect(new Set(days).size).toBe(days.length)
  simulator.faults.clear()
  await moveTo(client, '2027-01-05')
  expect(await read(invoiceID)).toMatchObject({ Status: 'Paid' })
  expect(paid()).toHaveLength(1)
})

test('a brought card stays at Stripe when its method is deleted, unless that is asked for', async () => {
  const { stripe, client, bring } = await shop()
  await bring(stripe.console.addCard('4242424242424242').token)
  const kept = (await bring(stripe.console.addCard('5555555555554444').token)).body.paymentMethodID
  const removed = (await bring(stripe.console.addCard('378282246310005').token)).body.paymentMethodID
  expect((await client.delete(`/v1/paymentmethods/${kept}`)).status).toBe(204)
  expect((await client.delete(`/v1/paymentmethods/${removed}?isRemovedAtGateway=true`)).status).toBe(204)
  const removals = await service.db
    .reader(client.id)
    .rows<{ token: string }>(sql`select gateway_token as "token" from card_removals where account_id = ${client.id}`)
  expect(removals).toHaveLength(1)
})

describe('another secret key', () => {
  /** A shop with a way to change its key, and another account of Stripe. */
  async function keys() {
    const at = await shop()
    const { test: other } = simulator.openAccount()
    const path = `/v1/gateways/${at.gatewayID}`
    const put = async (SecretKey: string) => {
      const reply = await at.client.put(path, { Settings: { SecretKey } })
      expect(reply.text).not.toContain(SecretKey)
      return reply.status === 204 ? 204 : [reply.status, ...codesOf(reply)]
    }
    const card = async () => at.bring(at.stripe.console.addCard('4242424242424242').token)
    return { ...at, other, put, card }
  }
  const FIXED = [409, 'setting_fixed Settings.SecretKey']
  const RIGHTS = ['write PaymentIntents', 'read PaymentMethods'] as const

  test('is taken of the same account of Stripe, and of another one only while nothing is stored', async () => {
    const { stripe, other, put, card } = await keys()
    expect(await put(other.secretKey)).toBe(204)
    expect(await put(stripe.secretKey)).toBe(204)
    await card()
    expect(await put(other.secretKey)).toEqual(FIXED)
    expect(await put(simulator.restrict(stripe, ['read Account']))).toBe(204)
    expect(await put(other.secretKey)).toEqual(FIXED)
  })

  test('that may not read its account is known by the newest card', async () => {
    const { stripe, other, put, card } = await keys()
    await card()
    expect(await put(simulator.restrict(other, [...RIGHTS]))).toEqual(FIXED)
    expect(await put(simulator.restrict(stripe, [...RIGHTS]))).toBe(204)
    expect(await put(other.secretKey)).toEqual(FIXED)
  })

  test('that Stripe does not accept is refused, and one that it does not answer for is not written', async () => {
    const { other, put, card } = await keys()
    expect(await put('sk_test_nobody')).toEqual([400, 'key_refused Settings.SecretKey'])
    await card()
    simulator.faults.add({ kind: '503', on: 'GET /v1/account' })
    expect(await put(other.secretKey)).toEqual([503, 'gateway_no_answer Settings.SecretKey'])
    expect(await put(other.secretKey)).toEqual(FIXED)
  })

  test('of another account charges nobody twice while the outcome of a charge is not known', async () => {
    const { client, other, put, card, invoice, read, paid } = await keys()
    await card()
    simulator.faults.add({ kind: '500 after', on: 'POST /v1/payment_intents/*/confirm' })
    const invoiceID = await invoice(115)
    await client.post(`/v1/invoices/${invoiceID}/collect`)
    expect(await put(other.secretKey)).toEqual(FIXED)
    expect(paid()).toHaveLength(1)
    expect((await read(invoiceID)).Status).not.toBe('Failed')
  })

  test('is refused where a gateway is made', async () => {
    const client = await service.newAccount()
    const Settings = { SecretKey: 'rk_test_nobody', PublishableKey: 'pk_test_nobody' }
    const reply = await client.post('/v1/gateways', { GatewayType: 'stripe', Settings })
    expect([reply.status, codesOf(reply)]).toEqual([400, ['key_refused Settings.SecretKey']])
    expect(reply.text).not.toContain('nobody')
  })
})

describe('a gateway that is held because this database is a copy', () => {
  /** Loses the name of a charge that was made: the row is as a restore to right before that was kept leaves it. */
  async function namelessCharge() {
    const made = await shop()
    await made.bring(made.stripe.console.addCard('4242424242424242').token)
    const invoiceID = await made.invoice(115)
    await killed(made.client, (adapter, died) => ({
      ...adapter,
      charge: async (call, charge) => {
        await adapter.charge!({ ...call, keep: async () => true }, charge)
        await hold(made.client)
        died()
        return never()
      },
    }))
    expect(made.paid()).toHaveLength(1)
    return { ...made, invoiceID }
  }

  const hold = ({ id }: TestClient, ago = '0') =>
    service.db.transaction(id, (tx) =>
      tx.rows(sql`
        update gateways set held_for = 'restore', held_at = now(), held_from = now() - ${ago}::interval
         where account_id = ${id} and type = 'stripe'`),
    )
  const release = async ({ id }: TestClient, isAnyway = false) => {
    const deps = { ...withFollowUps(service.calling), db: service.db, realClock: Date.now }
    return releaseHeld(deps, { account: id, gateway: undefined, isAnyway })
  }
  const refusal = (releasing: Promise<unknown>) =>
    releasing.then(
      () => 'released',
      (error: any) => [error.problems[0].code, error.problems[0].message],
    )
  const collectLater = async (client: TestClient) => {
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update collection_tries set leased_until = null, next_try_at = null where account_id = ${client.id}`),
    )
    const account = await getAccount(service.db.reader(client.id), client.id)
    const context = backgroundContext(account, momentOf(account, Date.now), { actor: 'test' })
    return collectDay({ ...service.calling, db: service.db, onReturn }, context, { isClock: false })
  }

  test.each([
    ['was not answered', true],
    ['was cut off', false],
  ])(
    'asks about no charge without a name that %s, and its report names it: it is not made again',
    async (_, wasUnanswered) => {
      const { stripe, client, invoiceID, read, paid } = await namelessCharge()
      await service.db.transaction(client.id, (tx) =>
        tx.rows(sql`update collection_tries set was_unanswered = ${wasUnanswered} where account_id = ${client.id}`),
      )
      for (let days = 0; days < 2; days += 1) await collectLater(client)
      expect((await client.get(`/v1/invoices/${invoiceID}/attempts`)).body).toMatchObject([{ Outcome: 'pending' }])
      const [charge] = paid()
      const { id } = stripe.console.dispute(String(charge?.payment_intent), { amount: 1500 })
      expect(id).toMatch(/^dp_|^du_/)
      const [released] = await release(client)
      expect(released).toMatchObject({
        read: { isRead: true, isForgotten: false, named: 1, unanswered: [] },
        unknown: [],
      })
      // What befell it since is known by its name alone, and is learned, too.
      expect(await read(invoiceID)).toMatchObject({ TotalActualPaid: 100, NumTries: 1 })
      expect((await client.get(`/v1/gateways`)).body.map(({ HeldFor }: any) => HeldFor)).toEqual([null, null])
      await collectLater(client)
      expect(paid()).toHaveLength(1)
    },
  )

  test('lists a charge whose whole try was lost, and is released once it is recorded: nobody is charged again', async () => {
    const { stripe, client, gatewayID, customerID, bring, invoice, read, paid } = await shop()
    const { token } = stripe.console.addCard('4242424242424242')
    await bring(token)
    const invoiceID = await invoice(115)
    const { GatewayToken } = (await client.get(`/v1/gateways/${gatewayID}`)).body
    const reference = '987654321.Qm3kz0aXw1Yb'
    await chargeAs({ stripe, client, scope: GatewayToken, reference, token })
    await hold(client)
    await collectLater(client)
    expect(paid()).toHaveLength(1)
    expect(await refusal(release(client))).toEqual(['charges_unknown', expect.stringContaining(`charge ${reference}`)])
    expect((await client.get('/v1/gateways')).body).toContainEqual(expect.objectContaining({ HeldFor: 'restore' }))
    const payment = { customerID, Amount: 115, CurrencyCode: 'USD', Method: 'credit_card', Date: '2027-01-01' }
    const recorded = await client.post('/v1/payments', { ...payment, Allocations: [{ invoiceID, amountApplied: 115 }] })
    expect(recorded.status, recorded.text).toBe(201)
    const [file] = (await client.get('/v1/resultfiles')).body
    const [line] = (await client.get(`/v1/resultfiles/${file.resultFileID}`)).body.Lines
    expect(line).toMatchObject({ Code: 'charge', paymentID: null, State: 'open' })
    const path = `/v1/resultfiles/${file.resultFileID}/lines/${line.lineID}`
    expect((await client.put(path, { isClosed: true })).status).toBe(204)
    expect(await release(client)).toMatchObject([{ unknown: [] }])
    await collectLater(client)
    expect(await read(invoiceID)).toMatchObject({ Status: 'Paid' })
    expect(paid()).toHaveLength(1)
  })

  test('stays held where Stripe does not list its reports, or has forgotten some, unless somebody has compared them', async () => {
    const { client } = await shop()
    await hold(client)
    simulator.faults.add({ kind: '503', on: 'GET /v1/events' })
    expect(await refusal(release(client))).toEqual(['reports_unread', expect.stringContaining('Run this again later')])
    await hold(client, '31 days')
    expect(await refusal(release(client))).toEqual(['reports_forgotten', expect.stringContaining('after 30 days')])
    expect(await release(client, true)).toMatchObject([{ read: { isForgotten: true, isRead: true } }])
    expect(await release(client)).toEqual([])
  })

  /** Charges a card as another installation does, or another copy of this one, at the same account of Stripe. */
  async function chargeAs({
    stripe,
    client,
    scope,
    reference,
    token,
  }: Pick<Awaited<ReturnType<typeof shop>>, 'stripe' | 'client'> & Record<'scope' | 'reference' | 'token', string>) {
    const account = await getAccount(service.db.reader(client.id), client.id)
    const adapter = stripeAdapter({
      outbound: service.calling.outbound,
      endpoints: { stripe: simulator.address },
      takePlace: async () => true,
      measured: () => {},
      realNow: Date.now,
    })
    const call = {
      accountId: client.id,
      gatewayId: 0n,
      scope,
      isLive: false,
      timeZone: 'UTC',
      isCustomerPresent: false,
      settings: { SecretKey: stripe.secretKey },
      ...momentOf(account, Date.now),
      signal: new AbortController().signal,
      keep: async () => true,
    }
    const charged = await adapter.charge!(call as never, {
      reference,
      token,
      amountMinor: 11500n,
      currency: 'USD',
      gatewayReference: null,
      sentAt: null,
      isCustomerPresent: false,
      returnUrl: null,
      description: 'Invoice 1',
      invoiceNumbers: ['1'],
      payer: null,
    })
    expect(charged.kind).toBe('succeeded')
  }

  test('shares its account of Stripe with another installation and with another copy: none takes the answer of another', async () => {
    const { stripe, client, gatewayID, bring, invoice, read, paid } = await shop()
    const { token } = stripe.console.addCard('4242424242424242')
    await bring(token)
    const { GatewayToken: scope } = (await client.get(`/v1/gateways/${gatewayID}`)).body
    const invoiceID = await invoice(115)
    const charged = await client.post(`/v1/invoices/${invoiceID}/collect`)
    const [intent] = [...stripe.book.intents.values()] as any[]
    const id = charged.body.paymentID
    const elsewhere = '0f8b1c52-a7d9-4c52-a91c-3f0e8c2d7b11'
    const reference = String(intent.metadata.perennial).split('/').at(-1) as string
    expect(reference).toMatch(new RegExp(`^${id}\\.`))
    // The other installation draws the same identifier, and its nonce might even be the same.
    await chargeAs({ stripe, client, scope: elsewhere, reference, token })
    await chargeAs({ stripe, client, scope, reference: `${id}.Qm3kz0aXw1Yb`, token })
    await hold(client)
    expect(await refusal(release(client))).toEqual([
      'charges_unknown',
      expect.stringContaining(`charge ${id}.Qm3kz0aXw1Yb`),
    ])
    expect(await read(invoiceID)).toMatchObject({ Status: 'Paid', TotalActualPaid: 115 })
    expect(paid()).toHaveLength(3)
    const kept = await keptReports(service, client)
    expect(kept.filter(({ reason }) => reason !== null)).toHaveLength(1)
    expect((await client.get('/v1/payments')).body).toHaveLength(1)
  })
})
