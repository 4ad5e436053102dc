import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, codesOf, moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { beginSession, CARD, complete, sendSale } from './capture.testing.ts'
import { APPROVED, BY_AMOUNT, DECLINED, eventsOf, ONLY, paymentsOf, salesOf } from './sales.testing.ts'

const service = await startTestService()
const { book, work, remove, faulty, letPass, differences } = salesOf(service)

const CHALLENGED = '4000002500003155'

describe('a sale', () => {
  test('charges the card once; complete links the method and records one payment', async () => {
    const client = await service.newAccount()
    const { session, frame, sent, read } = await sendSale(service, client, APPROVED)
    expect([sent.statusCode, sent.headers.location]).toEqual([303, frame.path])
    expect((await frame.get()).payload).toContain('$49.00 was paid')
    expect(await read()).toMatchObject({
      State: 'captured',
      VaultingType: 'VaultGateway',
      SaleType: 'VaultSale',
      Amount: 49,
      transactionID: expect.stringMatching(/^sandbox-charge-\d+\.[\w-]{12}$/),
    })
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    const { paymentMethodID, transactionID } = await read()
    expect((await client.get(`/v1/paymentmethods/${paymentMethodID}`)).body).toMatchObject({
      customerID,
      isValid: true,
    })
    const [payment, ...others] = await paymentsOf(client, customerID)
    expect(payment).toMatchObject({
      Amount: 49,
      CurrencyCode: 'USD',
      Method: 'credit_card',
      Ref: 'First month',
      Status: 'Unallocated',
      Allocations: [],
    })
    expect(payment.Date).toMatch(/^2027-01-01/)
    expect(others).toEqual([])
    expect(transactionID).not.toBe(`sandbox-charge-${payment.paymentID}`)
    expect(codesOf(await complete(client, customerID, session.SessionToken))).toEqual(['session_completed'])
    expect(await book(client)).toEqual({ charges: ['succeeded 4900'], refunds: 0, cards: 1 })
    const refunded = await client.post(`/v1/payments/${payment.paymentID}/refund`, {})
    expect([refunded.status, (await book(client)).refunds]).toEqual([201, 1])
    expect(await differences(client)).toEqual([])
  })

  test('alone keeps no card, and its payment is the customer’s all the same', async () => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, APPROVED, ONLY)
    expect(await read()).toMatchObject({ State: 'captured', VaultingType: 'VaultNone', paymentMethodID: null })
    await remove()
    expect(await book(client)).toEqual({ charges: ['succeeded 4900'], refunds: 0, cards: 0 })
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    expect(await paymentsOf(client, customerID)).toHaveLength(1)
    expect((await client.get(`/v1/customers/${customerID}/paymentmethods`)).body).toEqual([])
    expect(await differences(client)).toEqual([])
  })

  test('shows a form for a card alone, and its amount', async () => {
    const client = await service.newAccount()
    const { body } = await beginSession(client, { SaleType: 'VaultSale', Amount: 49 })
    const shown = (await service.app.server.inject({ method: 'GET', url: `/w/${body.HashToken}` })).payload
    expect(shown).toContain('Pay $49.00')
    expect(shown).not.toContain('/account')
  })

  test.each([
    ['VaultSale that keeps nothing', { isVaultOnlyOnSuccess: true }],
    ['SaleOnly', ONLY],
  ])(
    'of %s that is declined leaves the session open, and its card is removed; the fifth ends it',
    async (_, changes) => {
      const client = await service.newAccount()
      const { frame, sent, read } = await sendSale(service, client, DECLINED, changes)
      expect([sent.statusCode, sent.payload.includes('data-error="declined"')]).toEqual([400, true])
      expect(await read()).toMatchObject({ State: 'open', paymentMethodID: null, transactionID: null })
      for (let count = 2; count <= 4; count += 1)
        expect((await frame.post({ ...CARD, number: DECLINED })).statusCode).toBe(400)
      expect((await read()).State).toBe('open')
      expect((await frame.post({ ...CARD, number: DECLINED })).statusCode).toBe(303)
      expect((await read()).State).toBe('failed')
      await remove()
      expect((await book(client)).cards).toBe(0)
    },
  )

  test('that is returned at the gateway takes its payment back', async () => {
    const client = await service.newAccount()
    const { session } = await sendSale(service, client, '4000000000000259')
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    await moveTo(client, '2027-01-12')
    expect(await paymentsOf(client, customerID)).toMatchObject([{ Amount: 49, Status: 'Failed' }])
    expect((await client.get('/v1/resultfiles')).body).toEqual([])
    expect(await differences(client)).toEqual([])
  })

  test('after a declined one charges the next card', async () => {
    const client = await service.newAccount()
    const { frame, read } = await sendSale(service, client, DECLINED, { isVaultOnlyOnSuccess: true })
    expect((await frame.post(CARD)).statusCode).toBe(303)
    expect((await read()).State).toBe('captured')
    expect((await book(client)).charges).toEqual(['declined 4900', 'succeeded 4900'])
  })

  test('that is declined keeps the card where the session wants it so, without a payment', async () => {
    const client = await service.newAccount()
    const { session, frame, read } = await sendSale(service, client, DECLINED)
    expect(await read()).toMatchObject({ State: 'captured', transactionID: null, paymentMethodID: expect.any(Number) })
    expect((await frame.get()).payload).toContain('the payment was declined')
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    expect(await paymentsOf(client, customerID)).toEqual([])
    expect(await differences(client)).toEqual([])
  })

  test('whose books were closed meanwhile is dated the day after', async () => {
    const client = await service.newAccount()
    const { session } = await sendSale(service, client, APPROVED)
    await moveTo(client, '2027-01-02T00:30:00Z')
    expect((await client.put('/v1/account', { LockDate: '2027-01-01' })).status).toBe(204)
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    expect((await paymentsOf(client, customerID))[0].Date).toMatch(/^2027-01-02/)
  })
})

describe('a sale without an answer', () => {
  test('that was made is found, also after Expires, and has 24 hours from then; no second charge', async () => {
    const client = await service.newAccount()
    const { session, frame, sent, read } = await sendSale(service, client, BY_AMOUNT, { Amount: 49.91 })
    expect(sent.statusCode).toBe(303)
    expect((await frame.get()).payload).toContain('Your payment is being checked')
    const customerID = await addCustomer(client)
    expect(codesOf(await complete(client, customerID, session.SessionToken))).toEqual(['session_open'])
    const again = await frame.post(CARD)
    expect([again.statusCode, again.payload.includes('still being worked on')]).toEqual([400, true])
    await moveTo(client, '2027-01-01T03:00:00Z')
    expect(await read()).toMatchObject({ State: 'captured', transactionID: expect.any(String) })
    await moveTo(client, '2027-01-02T02:00:00Z')
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    expect(await paymentsOf(client, customerID)).toMatchObject([{ Amount: 49.91, Status: 'Unallocated' }])
    expect((await book(client)).charges).toEqual(['succeeded 4991'])
  })

  test('that was not made is none: the session takes another card', async () => {
    const client = await service.newAccount()
    const { frame, read } = await sendSale(service, client, BY_AMOUNT, { Amount: 49.92 })
    await moveTo(client, '2027-01-01T00:10:00Z')
    expect((await read()).State).toBe('open')
    expect((await frame.post(CARD)).statusCode).toBe(303)
    expect((await read()).State).toBe('captured')
    await remove()
    expect(await book(client)).toEqual({ charges: ['lost 4992', 'succeeded 4992'], refunds: 0, cards: 1 })
  })

  test('that its process has not made goes on with its own key, and is none after Expires', async () => {
    const client = await service.newAccount()
    const other = await service.newAccount()
    for (const one of [client, other]) {
      // As a process leaves it that was killed after the intent and before the call.
      const { read } = await sendSale(service, one, BY_AMOUNT, { Amount: 49.92 })
      await service.db.transaction(one.id, async (tx) => {
        await tx.rows(sql`update sandbox_charges set reference = 'x' || reference where account_id = ${one.id}`)
        await tx.rows(sql`update capture_sales set was_unanswered = false where account_id = ${one.id}`)
        await tx.rows(sql`update sandbox_cards set conduct = 'approved' where account_id = ${one.id}`)
      })
      if (one === other) await moveTo(other, '2027-01-01T01:00:00Z')
      await letPass(one)
      await work()
      await work()
      expect((await read()).State).toBe(one === other ? 'expired' : 'captured')
      expect((await book(one)).charges).toEqual(one === other ? ['lost 4992'] : ['lost 4992', 'succeeded 4992'])
    }
  })

  test('that surely did not arrive leaves the session open at once', async () => {
    const client = await service.newAccount()
    await faulty(client, 'refused')
    const { sent, read } = await sendSale(service, client, APPROVED)
    expect([sent.statusCode, sent.payload.includes('Nobody answered')]).toEqual([400, true])
    expect((await read()).State).toBe('open')
    expect((await book(client)).charges).toEqual([])
  })
})

describe('a charge that its customer has to confirm', () => {
  test('is made when he does', async () => {
    const client = await service.newAccount()
    const { frame, sent, read } = await sendSale(service, client, CHALLENGED)
    expect(sent.statusCode).toBe(303)
    const shown = await frame.get()
    expect(shown.payload).toContain(`<iframe class="bank" src="${frame.path}/bank"`)
    expect(shown.headers['content-security-policy']).toContain("frame-src 'self'; ")
    const bank = await frame.get('/bank')
    expect(bank.headers['content-security-policy']).toContain("frame-ancestors 'self' https://shop.example")
    const early = await frame.post({ answer: 'confirmed' }, '/confirm')
    expect(early.payload).toContain('No confirmation has arrived from your bank yet.')
    expect(early.payload).toContain(`src="${frame.path}/bank"`)
    expect(early.headers['content-security-policy']).toContain("frame-src 'self'; ")
    expect((await read()).State).toBe('open')
    expect((await frame.post({ answer: 'confirm' }, '/bank')).payload).toContain('data-answered')
    await frame.post({ answer: 'confirmed' }, '/confirm')
    expect(await read()).toMatchObject({ State: 'captured', transactionID: expect.any(String) })
    expect((await book(client)).charges).toEqual(['succeeded 4900'])
    expect((await frame.post({ answer: 'refuse' }, '/bank')).statusCode).toBe(200)
    expect((await book(client)).charges).toEqual(['succeeded 4900'])
  })

  test.each([
    ['his bank is told no', 'refuse', 'confirmed'],
    ['he does not want to pay', null, 'cancel'],
  ])('is declined when %s', async (_, atBank, answer) => {
    const client = await service.newAccount()
    const { frame, read } = await sendSale(service, client, CHALLENGED, { isVaultOnlyOnSuccess: true })
    if (atBank !== null) await frame.post({ answer: atBank }, '/bank')
    await frame.post({ answer }, '/confirm')
    expect(await read()).toMatchObject({ State: 'open', transactionID: null })
    expect((await book(client)).charges).toEqual(['cancelled 4900'])
    expect((await frame.get()).payload).toContain('Card number')
  })

  test('is ended at the gateway after 30 minutes, and stays until then', async () => {
    const client = await service.newAccount()
    const { read } = await sendSale(service, client, CHALLENGED, { isVaultOnlyOnSuccess: true })
    await letPass(client)
    await work()
    expect((await book(client)).charges).toEqual(['requires_action 4900'])
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update capture_sales set confirm_by = moment() where account_id = ${client.id}`),
    )
    await letPass(client)
    await work()
    expect((await book(client)).charges).toEqual(['cancelled 4900'])
    expect((await read()).State).toBe('open')
  })

  test('has no bank where nothing waits, and no page wider than others', async () => {
    const client = await service.newAccount()
    const { body } = await beginSession(client)
    const get = (below: string) => service.app.server.inject({ method: 'GET', url: `/w/${body.HashToken}${below}` })
    expect((await get('/bank')).payload).not.toContain('<button')
    expect((await get('')).headers['content-security-policy']).not.toContain('frame-src')
  })
})

test('verification finds a completed sale without its payment', async () => {
  const client = await service.newAccount()
  const { sent } = await sendSale(service, client, APPROVED)
  expect(sent.statusCode).toBe(303)
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update capture_sessions set completed_at = now(), method = null where account_id = ${client.id}`),
  )
  expect(await differences(client)).toMatchObject([
    { check: 'sales of capture sessions', stored: 'none', expected: '49.00 USD' },
  ])
})

describe('giving back', () => {
  test.each([
    ['VaultSale', {}],
    ['SaleOnly', ONLY],
  ])(
    'refunds the charge of %s after 24 hours and removes the card, once, with an event, by a moved clock',
    async (_, changes) => {
      const client = await service.newAccount()
      const { session, read } = await sendSale(service, client, APPROVED, changes)
      await moveTo(client, '2027-01-02T00:59:59Z')
      expect((await read()).State).toBe('captured')
      await moveTo(client, '2027-01-05T00:00:00Z')
      await remove()
      await work()
      expect((await read()).State).toBe('expired')
      expect(await book(client)).toEqual({ charges: ['succeeded 4900'], refunds: 1, cards: 0 })
      expect(await eventsOf(client, 'capture_session.expired')).toEqual([session.iframeCapturePayID])
      const customerID = await addCustomer(client)
      expect(codesOf(await complete(client, customerID, session.SessionToken))).toEqual(['session_expired'])
      expect(await paymentsOf(client, customerID)).toEqual([])
      expect(await differences(client)).toEqual([])
    },
  )

  test('by a moved clock removes a card that was captured without a sale', async () => {
    const client = await service.newAccount()
    const { body } = await beginSession(client)
    const sent = await service.app.server.inject({
      method: 'POST',
      url: `/w/${body.HashToken}`,
      headers: { origin: 'http://localhost:80', 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(CARD).toString(),
    })
    expect(sent.statusCode).toBe(303)
    await moveTo(client, '2027-01-10')
    const [event] = (await client.get('/v1/events?type=capture_session.expired')).body
    expect(event).toMatchObject({ RecordID: body.iframeCapturePayID })
    await remove()
    expect((await book(client)).cards).toBe(0)
  })

  test('waits for a refund without an answer, which is made once; nobody can have the charge meanwhile', async () => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, APPROVED)
    await faulty(client, 'not_answered')
    await moveTo(client, '2027-01-03')
    await faulty(client, 'refused')
    await letPass(client)
    await work()
    const customerID = await addCustomer(client)
    expect(codesOf(await complete(client, customerID, session.SessionToken))).toEqual(['session_expired'])
    expect(await eventsOf(client, 'capture_session.expired')).toEqual([])
    await faulty(client, 'none')
    await letPass(client)
    await work()
    expect((await read()).State).toBe('expired')
    expect((await book(client)).refunds).toBe(1)
    expect(await eventsOf(client, 'capture_session.expired')).toHaveLength(1)
  })

  test('that the gateway refuses for good leaves the session captured, with an event for a person, who can complete it', async () => {
    const client = await service.newAccount()
    const { session, read } = await sendSale(service, client, BY_AMOUNT, { Amount: 50 })
    // The sandbox refuses refunds that end in 05, and charges as well: the amount is made to be one afterwards.
    await service.db.transaction(client.id, async (tx) => {
      await tx.rows(sql`update sandbox_charges set amount_minor = 4905 where account_id = ${client.id}`)
      await tx.rows(sql`update capture_sales set amount_minor = 4905 where account_id = ${client.id}`)
      await tx.rows(sql`update capture_sessions set amount_minor = 4905 where account_id = ${client.id}`)
    })
    await moveTo(client, '2027-01-03')
    expect((await read()).State).toBe('captured')
    const [event] = (await client.get('/v1/events?type=capture_session.give_back_refused')).body
    expect(event).toMatchObject({ RecordID: session.iframeCapturePayID, Reason: 'The refund was refused.' })
    await moveTo(client, '2027-01-20')
    await work()
    expect(await eventsOf(client, 'capture_session.give_back_refused')).toHaveLength(1)
    const customerID = await addCustomer(client)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    expect(await paymentsOf(client, customerID)).toMatchObject([{ Amount: 49.05 }])
    expect(await differences(client)).toEqual([])
  })
})
