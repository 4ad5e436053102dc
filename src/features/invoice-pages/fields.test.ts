import pino from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { answerChallenge } from '../../../test/simulators/stripe-intents.ts'
import { StripeSimulator } from '../../../test/simulators/stripe.ts'
import { startTestService } from '../../../test/support/app.ts'
import { onReturn } from '../../duties.ts'
import { sql } from '../../platform/database/sql.ts'
import { leavingOf, LIVE_CLIENT, LIVE_STRIPE } from '../capture-sessions/fields.testing.ts'
import { collectionDuty } from '../collection/duty.ts'
import { payableByFields } from './fields.testing.ts'
import { fieldsOf, open, ORIGIN, press } from './pages.testing.ts'

/** Invoices that are paid by a card which is entered into fields of the gateway's own, and confirmed to the customer's bank by its script. */

const simulator = await StripeSimulator.start()
afterAll(async () => {
  await simulator.stop()
  expect(simulator.problems).toEqual([])
})
const service = await startTestService({ endpoints: { stripe: simulator.address }, publicUrl: ORIGIN })
const { look, remove, letPass } = leavingOf(service)
const payable = () => payableByFields(service, simulator)
const ASKS = '4000002760003184'

describe('a card that is entered into the fields of the gateway', () => {
  test('pays once, by a form that holds no number, and is kept only where that is wanted', async () => {
    const { path, cardPath, facts, enter, send, paid, read, methods, stripe } = await payable()
    const page = await open(service, cardPath)
    expect(page.text).not.toMatch(/name="(number|expiry)"/)
    expect(page.seen).toContain('Back to the invoice, with its other ways to pay')
    const { body } = await facts('/fields')
    expect(body.client.clientSecret).toMatch(/^seti_/)
    enter('4242424242424242')
    expect((await facts('/fields')).body).toEqual({ stored: 'Visa ending in 4242' })
    const [one, other] = await Promise.all([send(), send()])
    expect([one.at, other.at]).toEqual([path, path])
    expect(paid()).toHaveLength(1)
    expect(await read()).toMatchObject({ Status: 'Paid' })
    expect(await methods()).toEqual([])
    await remove()
    expect([...stripe.book.methods.values()].filter(({ customer }) => customer !== null)).toEqual([])
    expect((await facts('/fields')).body).toEqual({ next: cardPath })
    // Nothing of the gateway's is on the page of the invoice, and nobody's name or mail at the gateway but that on the card.
    expect((await open(service, path)).text).not.toMatch(/<script|stripe|_secret_/i)
  })

  test('that is wanted becomes the primary one; the next card is entered for the same customer there', async () => {
    const { client, customerID, facts, enter, send, methods, setups, paid } = await payable()
    await facts('/fields')
    enter('4242424242424242')
    await send({ keep: '1' })
    expect(await methods()).toMatchObject([{ isPrimary: true }])
    expect(paid()).toHaveLength(1)
    const { invoiceID } = (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 50 }] })).body
    const next = (await client.get(`/v1/invoices/${invoiceID}/link`)).body.Url.replace(`${ORIGIN}/i/`, '')
    const { text } = await open(service, `/i/${next}`)
    const card = /href="(\/p\/[^"/]+)/.exec(text)?.[1] ?? ''
    const begun = await service.anonymous.post(`${card}/fields`, '', {
      origin: ORIGIN,
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect(begun.status).toBe(200)
    expect(setups()[1]?.customer).toBe(setups()[0]?.customer)
  })

  test('is refused five times a day at most, and left alone for an hour is removed without a charge', async () => {
    const { client, cardPath, facts, enter, setups, paid, send } = await payable()
    await facts('/fields')
    enter('4242424242424242')
    await letPass(client)
    await look()
    await remove()
    expect(paid()).toEqual([])
    expect((await send()).at).toBe(cardPath)
    await facts('/fields')
    for (const expected of [{}, {}, {}, { next: cardPath }]) expect((await facts('/refused')).body).toEqual(expected)
    expect((await facts('/fields')).body).toEqual({ refusal: expect.stringContaining('Too many cards') })
    await remove()
    expect(setups().map(({ status }) => status)).toEqual(['succeeded', 'canceled'])
  })
})

test('a live account takes a card for an invoice, too', async () => {
  const live = await startTestService({ publicUrl: ORIGIN, adapters: [LIVE_STRIPE] })
  const client = await live.newAccount({ mode: 'live', clockAt: null })
  const Settings = { SecretKey: 'sk_live_1', PublishableKey: 'pk_live_1' }
  await client.post('/v1/gateways', { GatewayType: 'stripe', isPrimary: true, Settings })
  const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body
  const { invoiceID } = (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 50 }] })).body
  const path = new URL((await client.get(`/v1/invoices/${invoiceID}/link`)).body.Url).pathname
  const card = /href="(\/p\/[^"/]+)/.exec((await open(live, path)).text)?.[1] ?? ''
  const page = await open(live, card)
  expect(page.text).toContain('data-gateway="https://js.stripe.com/endive/stripe.js"')
  const headers = { origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' }
  expect((await live.anonymous.post(`${card}/fields`, '', headers)).body).toEqual({ client: LIVE_CLIENT })
  const paid = await press(live, card, { givenName: 'Ada', familyName: 'Lovelace', ...fieldsOf(page.text) })
  expect(paid.seen).toContain('✓ Paid')
})

describe('a charge that the bank wants confirmed', () => {
  /** Pays by a new card whose bank asks at the charge. */
  async function asked() {
    const shop = await payable()
    const { facts, enter, send, cardPath, setups, stripe } = shop
    await facts('/fields')
    enter(ASKS)
    const [setup] = setups()
    answerChallenge(stripe.book, setup?.id ?? '', true)
    const sent = await send()
    expect(sent.at).toBe(`${cardPath}/confirm`)
    expect(sent.seen).toContain('Your bank asks you to confirm this payment')
    const answer = (word: string) => press(service, `${cardPath}/confirm`, { answer: word })
    return { ...shop, answer }
  }

  test('is confirmed by the script of its page, to which the invoice links', async () => {
    const { path, cardPath, facts, answerBank, answer, read, paid } = await asked()
    expect((await open(service, path)).text).toContain(`href="${cardPath}/confirm"`)
    expect((await facts('/step')).body.client.clientSecret).toMatch(/^pi_/)
    const early = await answer('confirmed')
    expect([early.at, early.seen.includes('No confirmation has arrived')]).toEqual([`${cardPath}/confirm`, true])
    expect(paid()).toEqual([])
    answerBank(true)
    expect((await facts('/step')).body).toEqual({})
    const done = await answer('confirmed')
    expect([done.at, done.seen.includes('✓ Paid')]).toEqual([path, true])
    expect(await read()).toMatchObject({ Status: 'Paid' })
    expect(paid()).toHaveLength(1)
    expect((await facts('/step')).body).toEqual({ next: path })
    expect((await open(service, `${cardPath}/confirm`)).seen).toContain('nothing to confirm')
  })

  test.each([
    ['refused at the bank', 'confirmed'],
    ['not wanted any more', 'cancel'],
  ])('and that is %s is charged never', async (_, word) => {
    const { path, answerBank, answer, outcomes, paid, stripe } = await asked()
    if (word === 'confirmed') answerBank(false)
    const done = await answer(word)
    expect(done.at).toBe(path)
    expect(await outcomes()).toEqual(['declined action_required'])
    expect(paid()).toEqual([])
    expect([...stripe.book.intents.values()].map(({ status }) => status)).toEqual(['canceled'])
  })

  test('after which nobody came back is found by the question after 30 minutes', async () => {
    const { client, answerBank, read } = await asked()
    answerBank(true)
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        update collection_tries set next_try_at = next_try_at - interval '30 minutes' where account_id = ${client.id}`),
    )
    const log = pino({ level: 'silent' })
    await collectionDuty({ ...service.calling, onReturn }).run({ db: service.db, log, realClock: Date.now }, () => {})
    expect(await read()).toMatchObject({ Status: 'Paid' })
  })

  test('by a card on file is finished on that page, too', async () => {
    const { client, stripe, gatewayID, customerID, path, cardPath, facts, answerBank, read } = await payable()
    const { token: Token } = stripe.console.addCard(ASKS)
    const brought = await client.post('/v1/paymentmethods/gatewaytoken', {
      customerID,
      gatewayID,
      Token,
      isPrimary: true,
    })
    expect(brought.status, brought.text).toBe(200)
    const pressed = await press(service, `${path}/pay`, fieldsOf((await open(service, `${path}/pay`)).text))
    expect([pressed.at, pressed.text.includes(`href="${cardPath}/confirm"`)]).toEqual([path, true])
    expect((await facts('/step')).body.client.clientSecret).toMatch(/^pi_/)
    answerBank(true)
    expect((await press(service, `${cardPath}/confirm`, { answer: 'confirmed' })).seen).toContain('✓ Paid')
    expect(await read()).toMatchObject({ Status: 'Paid' })
  })
})
