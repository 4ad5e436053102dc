import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCard, CARDS, cardShop } from './shop.testing.ts'

/** Collection end to end: a card, an invoice that falls due, a clock that moves, and the sandbox that answers. */

const service = await startTestService()

const shop = (number: string | null, customer?: object) => cardShop(service, number, customer)

describe('an invoice that falls due', () => {
  test('is charged by its card on its due date, and paid', async () => {
    const { client, invoice, read, move, attempts } = await shop(CARDS.good)
    const id = await invoice(115)
    expect(await read(id)).toMatchObject({ NumTries: 0, NextTryDate: '2027-01-05T00:00:00Z' })
    expect(await move('2027-01-04')).toMatchObject({ Collected: 0 })
    expect((await read(id)).Status).toBe('Due')
    expect(await move('2027-01-05')).toMatchObject({ Collected: 1, Declined: 0, Unknown: 0 })
    const paid = await read(id)
    expect(paid).toMatchObject({ Status: 'Paid', NumTries: 1, NextTryDate: null, Balance: 0 })
    const [payment] = (await client.get('/v1/payments')).body
    expect(payment).toMatchObject({
      Method: 'credit_card',
      Amount: 115,
      Status: 'Allocated',
      Ref: `Invoices ${paid.invoiceNum}`,
    })
    expect(await attempts(id)).toMatchObject([
      {
        paymentID: payment.paymentID,
        Outcome: 'succeeded',
        Amount: 115,
        isByHand: false,
        Date: '2027-01-05T00:00:00Z',
      },
    ])
  })

  test('and is declined goes through the steps of the rules, to a suspension', async () => {
    const { client, customerID, invoice, read, move, mails, attempts } = await shop(CARDS.poor)
    const id = await invoice(115)
    expect(await move('2027-01-30')).toMatchObject({ Collected: 0, Declined: 4 })
    expect((await attempts(id)).map(({ Date, Class }) => `${Date.slice(5, 10)} ${Class}`)).toEqual([
      '01-05 insufficient_funds',
      '01-08 insufficient_funds',
      '01-12 insufficient_funds',
      '01-19 insufficient_funds',
    ])
    expect(await mails()).toEqual([
      '01-05 payment_unsuccessful',
      '01-08 warning',
      '01-12 final_warning',
      '01-19 account_suspended',
    ])
    expect(await read(id)).toMatchObject({ Status: 'Past Due', NumTries: 4, NextTryDate: null })
    expect((await client.get(`/v1/customers/${customerID}`)).body).toMatchObject({ comp_status: 'Suspended' })
    const payments = (await client.get('/v1/payments')).body
    expect(payments.map(({ Status, Memo }: any) => `${Status}: ${Memo}`)).toEqual(
      Array.from({ length: 4 }, () => 'Failed: The card has too little money.'),
    )
  })

  test('and is paid sends a receipt, once for each payment that the service collected', async () => {
    const { client, invoice, move } = await shop(CARDS.good)
    await invoice(115)
    const other = await invoice(20)
    await client.post(`/v1/invoices/${other}/collect`)
    await move('2027-01-10')
    const receipts = ((await client.get('/v1/outbox')).body as any[]).filter(
      ({ Template }) => Template === 'payment_receipt',
    )
    expect(receipts.map(({ CreatedDate }) => CreatedDate.slice(0, 10))).toEqual(['2027-01-01', '2027-01-05'])
    expect(receipts[1].Text).toContain('$115.00')
    expect(receipts[1].Text).not.toContain('Reference')
  })

  test('by a card that has expired stops the tries, not the steps', async () => {
    const { invoice, move, mails, attempts } = await shop(CARDS.expired)
    const id = await invoice(115)
    await move('2027-01-30')
    expect(await attempts(id)).toHaveLength(1)
    expect(await mails()).toEqual([
      '01-05 payment_unsuccessful',
      '01-08 warning',
      '01-12 final_warning',
      '01-19 account_suspended',
    ])
  })

  test('by a gateway that gives no answer is asked for a minute later, and never charged again meanwhile', async () => {
    const { invoice, read, move, attempts } = await shop(CARDS.byAmount)
    const charged = await invoice(115.91)
    const uncharged = await invoice(115.92)
    expect(await move('2027-01-05')).toMatchObject({ Collected: 1, Declined: 1, Unknown: 0 })
    expect(await read(charged)).toMatchObject({ Status: 'Paid' })
    expect(await attempts(uncharged)).toMatchObject([{ Outcome: 'declined', Class: 'unknown' }])
    await move('2027-01-30')
    expect((await attempts(uncharged)).map(({ Class }) => Class)).toEqual(['unknown', 'unknown'])
    expect(await attempts(charged)).toHaveLength(1)
  })

  test('that needs its customer to confirm is declined, and asks him to', async () => {
    const { invoice, move, mails, attempts } = await shop(CARDS.confirm)
    const id = await invoice(115)
    await move('2027-01-06')
    expect(await attempts(id)).toMatchObject([{ Outcome: 'declined', Class: 'action_required' }])
    expect(await mails()).toEqual(['01-05 payment_unsuccessful'])
  })

  test('takes unallocated money first, and only the rest is charged', async () => {
    const { client, customerID, invoice, read, move, attempts } = await shop(CARDS.good)
    const [part, whole] = [await invoice(115), await invoice(60, { DueDate: '2027-01-20' })]
    await client.post('/v1/payments', {
      customerID,
      Amount: 40,
      CurrencyCode: 'USD',
      Method: 'eft',
      Date: '2027-01-02',
      Allocations: [],
    })
    await move('2027-01-05')
    expect(await attempts(part)).toMatchObject([{ Amount: 75, Outcome: 'succeeded' }])
    expect(await read(part)).toMatchObject({ Status: 'Paid' })
    expect(await attempts(whole)).toEqual([])
  })
})

describe('what keeps an invoice from being tried', () => {
  test.each([
    ['a hold of its own', { isCollectionHold: true }, {}],
    ['a hold of its customer', {}, { isCollectionHold: true }],
    ['cash', { CollectionMethod: 'cash' }, {}],
  ])('%s', async (_, body, customer) => {
    const { invoice, move, mails, attempts, read } = await shop(CARDS.good, customer)
    const id = await invoice(115, body)
    expect((await read(id)).NextTryDate).toBeNull()
    expect(await move('2027-02-20')).toMatchObject({ Collected: 0, Declined: 0 })
    expect(await attempts(id)).toEqual([])
    expect(await mails()).toEqual([])
  })

  test('no card: nothing happens until one comes in time, and older ones are never charged because of it', async () => {
    const { client, customerID, invoice, read, move } = await shop(null)
    const old = await invoice(10)
    await move('2027-01-20')
    const fresh = await invoice(20)
    await move('2027-02-01')
    await addCard(client, customerID, CARDS.good)
    expect(await move('2027-02-20')).toMatchObject({ Collected: 1 })
    expect(await read(fresh)).toMatchObject({ Status: 'Paid' })
    expect(await read(old)).toMatchObject({ Status: 'Past Due', NumTries: 0 })
  })
})

describe('a new method', () => {
  test('is tried on the next day, also of a customer whom a rule has suspended, and brings him back', async () => {
    const { client, customerID, invoice, read, move } = await shop(CARDS.poor)
    const id = await invoice(115)
    await move('2027-01-25')
    await addCard(client, customerID, CARDS.good)
    expect(await move('2027-01-26')).toMatchObject({ Collected: 1 })
    expect(await read(id)).toMatchObject({ Status: 'Paid' })
    expect((await client.get(`/v1/customers/${customerID}`)).body).toMatchObject({ comp_status: 'Active' })
  })
})

describe('a method that an invoice is not tried with', () => {
  test('brings it no try: another one that a request named, one that is not primary, the primary one made primary again', async () => {
    const { client, customerID, invoice, move, attempts } = await shop(CARDS.expired)
    const [{ paymentMethodID }] = (await client.get('/v1/paymentmethods')).body
    const named = await invoice(10, { CollectionMethod: 'credit_card', customerPaymentMethodID: paymentMethodID })
    const byDefault = await invoice(20)
    await move('2027-01-06')
    await addCard(client, customerID, CARDS.good, false)
    await client.put(`/v1/paymentmethods/${paymentMethodID}/setprimary`)
    await move('2027-01-08')
    expect([await attempts(named), await attempts(byDefault)].map(({ length }) => length)).toEqual([1, 1])
    await addCard(client, customerID, CARDS.good)
    await move('2027-01-10')
    expect(await attempts(named)).toHaveLength(1)
    expect(await attempts(byDefault)).toMatchObject([{ Outcome: 'declined' }, { Outcome: 'succeeded' }])
  })

  test('is another thing than a gateway that a request named: its invoice is tried with the primary card of the day', async () => {
    const { client, customerID, invoice, move, attempts } = await shop(CARDS.expired)
    const [{ gatewayID }] = (await client.get('/v1/gateways')).body
    const id = await invoice(10, { CollectionMethod: 'credit_card', gatewayID })
    await move('2027-01-06')
    await addCard(client, customerID, CARDS.good)
    await move('2027-01-07')
    expect(await attempts(id)).toMatchObject([{ Outcome: 'declined' }, { Outcome: 'succeeded' }])
  })

  test('brings it one as soon as the invoice names it', async () => {
    const { client, customerID, invoice, read, move, attempts } = await shop(CARDS.expired)
    const id = await invoice(10)
    await move('2027-01-06')
    const customerPaymentMethodID = await addCard(client, customerID, CARDS.good, false)
    const edited = { ...(await read(id)), customerPaymentMethodID }
    expect((await client.put(`/v1/invoices/${id}`, edited)).status).toBe(204)
    expect((await read(id)).NextTryDate).toBe('2027-01-07T00:00:00Z')
    await move('2027-01-07')
    expect(await attempts(id)).toMatchObject([{ Outcome: 'declined' }, { Outcome: 'succeeded' }])
  })
})

describe('a gateway that was not active', () => {
  test('brings the invoices that could not be tried meanwhile their try on the day after it is active again', async () => {
    const { client, invoice, read, move, attempts } = await shop(CARDS.good)
    const [{ gatewayID }] = (await client.get('/v1/gateways')).body
    const old = await invoice(10, { DueDate: '2027-01-02' })
    const fresh = await invoice(20, { DueDate: '2027-01-15' })
    await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })
    await move('2027-01-20')
    await client.put(`/v1/gateways/${gatewayID}`, { isActive: true })
    await move('2027-01-21')
    expect(await attempts(fresh)).toMatchObject([{ Outcome: 'succeeded', Date: '2027-01-21T00:00:00Z' }])
    expect(await read(old)).toMatchObject({ Status: 'Past Due', NumTries: 0 })
  })
})

test('NextTryDate is null while the gateway of a card is switched off, and names the day again once it is on', async () => {
  const { client, invoice, read, move } = await shop(CARDS.good)
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  const id = await invoice(10)
  expect((await read(id)).NextTryDate).toBe('2027-01-05T00:00:00Z')
  for (const [isActive, day] of [
    [false, null],
    [true, '2027-01-05T00:00:00Z'],
  ]) {
    expect((await client.put(`/v1/gateways/${gatewayID}`, { isActive })).status).toBe(204)
    await move('2027-01-02')
    expect((await read(id)).NextTryDate).toBe(day)
  }
  await move('2027-01-05')
  expect(await read(id)).toMatchObject({ Status: 'Paid', NumTries: 1 })
})

describe('a customer whom a rule has suspended', () => {
  test.each([
    ['his invoice is put on hold', `invoices`],
    ['he is put on hold himself', `customers`],
  ])('comes back where %s: what is on hold does not count', async (_name, records) => {
    const { client, customerID, invoice, move } = await shop(CARDS.poor)
    const id = await invoice(115)
    await move('2027-01-19')
    const path = `/v1/${records}/${records === 'invoices' ? id : customerID}`
    const present = (await client.get(path)).body
    expect((await client.put(path, { ...present, isCollectionHold: true })).status).toBe(204)
    await move('2027-01-20')
    expect((await client.get(`/v1/customers/${customerID}`)).body).toMatchObject({ comp_status: 'Active' })
  })
})

describe('a step on the due date that suspends', () => {
  test('holds until the invoice is paid, though that is past due only on the next day', async () => {
    const { client, customerID, invoice, move } = await shop(CARDS.poor)
    await client.put('/v1/collectionrules', { Attempts: [{ DaysAfterDue: 0, Action: 'suspend' }] })
    await invoice(115)
    const status = async () => (await client.get(`/v1/customers/${customerID}`)).body.comp_status
    for (const day of ['2027-01-05', '2027-01-06']) {
      await move(day)
      expect(await status()).toBe('Suspended')
    }
    await addCard(client, customerID, CARDS.good)
    await move('2027-01-07')
    expect(await status()).toBe('Active')
  })
})

describe('money lost again', () => {
  test('makes the newest step the one that failed, and the later ones follow', async () => {
    const { client, customerID, invoice, move, mails, read } = await shop(CARDS.poor)
    const id = await invoice(115)
    await move('2027-01-05')
    const paid = await client.post('/v1/payments', {
      customerID,
      Amount: 115,
      CurrencyCode: 'USD',
      Method: 'cheque',
      Date: '2027-01-06',
      Allocations: [{ invoiceID: id, positiveAdjustmentID: 0, amountApplied: 115 }],
    })
    expect(paid.status, paid.text).toBe(201)
    await move('2027-01-20')
    expect(
      (await client.put(`/v1/payments/${paid.body.paymentID}/fail`, { Date: '2027-01-20', Reason: 'bounced' })).status,
    ).toBe(204)
    expect((await read(id)).NextTryDate).toBe('2027-01-23T00:00:00Z')
    await move('2027-02-10')
    expect(await mails()).toEqual([
      '01-05 payment_unsuccessful',
      '01-20 payment_unsuccessful',
      '01-23 warning',
      '01-27 final_warning',
      '02-03 account_suspended',
    ])
  })
})

describe('POST /v1/invoices/{invoiceID}/collect', () => {
  test('tries now, counts as a try, and moves no step', async () => {
    const { client, invoice, read, attempts } = await shop(CARDS.good)
    const id = await invoice(115)
    const reply = await client.post(`/v1/invoices/${id}/collect`)
    expect(reply.status, reply.text).toBe(201)
    expect(reply.body).toMatchObject({ Status: 'Allocated', Amount: 115 })
    expect(await read(id)).toMatchObject({ Status: 'Paid', NumTries: 1 })
    expect(await attempts(id)).toMatchObject([{ isByHand: true, Outcome: 'succeeded' }])
    expect((await client.post(`/v1/invoices/${id}/collect`)).body.Errors).toMatchObject([
      { Code: 'nothing_to_collect' },
    ])
  })

  test('refuses what unallocated money covers, and says that this is to be allocated: it stays unallocated', async () => {
    const { client, customerID, invoice, read } = await shop(CARDS.good)
    const id = await invoice(115)
    const money = { customerID, Amount: 200, CurrencyCode: 'USD', Method: 'eft', Date: '2027-01-02', Allocations: [] }
    const { paymentID } = (await client.post('/v1/payments', money)).body
    const reply = await client.post(`/v1/invoices/${id}/collect`)
    expect([reply.status, reply.body.Errors[0].Code]).toEqual([409, 'nothing_to_collect'])
    expect(reply.body.Errors[0].Message).toContain('Allocate that')
    expect(await read(id)).toMatchObject({ Status: 'Due', Balance: 115 })
    expect((await client.put(`/v1/payments/${paymentID}`, { ...money, AutoApply: true })).status).toBe(204)
    expect(await read(id)).toMatchObject({ Status: 'Paid' })
  })

  test('answers the failed payment where the card is declined, and the steps come as planned', async () => {
    const { client, invoice, read, move, attempts } = await shop(CARDS.poor)
    const id = await invoice(115)
    const reply = await client.post(`/v1/invoices/${id}/collect`)
    expect(reply.status).toBe(201)
    expect(reply.body).toMatchObject({ Status: 'Failed', Allocations: [] })
    expect(await read(id)).toMatchObject({ Status: 'Due', NumTries: 1, NextTryDate: '2027-01-05T00:00:00Z' })
    await move('2027-01-05')
    expect(await attempts(id)).toHaveLength(2)
  })

  test('answers 202 while nobody knows, and refuses a second try meanwhile', async () => {
    const { client, invoice, read, move } = await shop(CARDS.byAmount)
    const id = await invoice(115.91)
    const reply = await client.post(`/v1/invoices/${id}/collect`)
    expect(reply.status, reply.text).toBe(202)
    expect(reply.body).toMatchObject({ Status: 'Pending' })
    expect(await read(id)).toMatchObject({ Status: 'Pending', NextTryDate: null })
    const again = await client.post(`/v1/invoices/${id}/collect`)
    expect(again.status).toBe(409)
    expect(again.body.Errors).toMatchObject([{ Code: 'try_open' }])
    await move('2027-01-02')
    expect(await read(id)).toMatchObject({ Status: 'Paid' })
  })

  test('with the same Idempotency-Key answers the same and charges once', async () => {
    const { client, invoice, attempts } = await shop(CARDS.good)
    const id = await invoice(115)
    const headers = { 'idempotency-key': 'collect 1' }
    const first = await client.post(`/v1/invoices/${id}/collect`, undefined, headers)
    const second = await client.post(`/v1/invoices/${id}/collect`, undefined, headers)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.text).toBe(first.text)
    expect(await attempts(id)).toHaveLength(1)
  })

  test('is 409 for what cannot be collected', async () => {
    const { client, customerID, invoice } = await shop(CARDS.good)
    const codeOf = async (id: number) => {
      const reply = await client.post(`/v1/invoices/${id}/collect`)
      expect(reply.status).toBe(409)
      return reply.body.Errors[0].Code
    }
    expect(await codeOf(await invoice(1, { isDraft: true }))).toBe('invoice_draft')
    expect(await codeOf(await invoice(1, { CollectionMethod: 'cash' }))).toBe('payment_method_missing')
    expect(await codeOf(await invoice(1, { isCollectionHold: true }))).toBe('collection_held')
    const cancelled = await invoice(1)
    await client.delete(`/v1/invoices/${cancelled}`)
    expect(await codeOf(cancelled)).toBe('invoice_cancelled')
    const archived = await invoice(1)
    await client.put(`/v1/customers/${customerID}/archive`)
    expect(await codeOf(archived)).toBe('customer_archived')
    expect((await client.post('/v1/invoices/999999/collect')).status).toBe(404)
  })
})

describe('rules that change', () => {
  test('count from the step that has come, and the next is the first with more days', async () => {
    const { client, invoice, move, mails } = await shop(CARDS.poor)
    await invoice(115)
    await move('2027-01-12')
    const Attempts = [
      { DaysAfterDue: 0, Action: 'none' },
      { DaysAfterDue: 5, Action: 'warning' },
      { DaysAfterDue: 10, Action: 'initial_warning' },
    ]
    expect((await client.put('/v1/collectionrules', { Attempts })).status).toBe(204)
    await move('2027-02-20')
    expect((await mails()).slice(3)).toEqual(['01-15 initial_warning'])
  })

  test('and act on untried invoices warn for those that fall due from then on, and suspend', async () => {
    const { client, customerID, invoice, move, mails } = await shop(null, { PaymentMethod: 'eft' })
    await invoice(10)
    await move('2027-01-10')
    await client.put('/v1/collectionrules', { isForUntried: true })
    await invoice(20)
    await move('2027-02-20')
    expect(await mails()).toEqual([
      '01-14 friendly_warning',
      '01-17 warning',
      '01-21 final_warning',
      '01-28 account_suspended',
    ])
    expect((await client.get(`/v1/customers/${customerID}`)).body.comp_status).toBe('Suspended')
    await client.post('/v1/payments', {
      customerID,
      Amount: 30,
      CurrencyCode: 'USD',
      Method: 'eft',
      Date: '2027-02-20',
      AutoApply: true,
    })
    await move('2027-02-20')
    await move('2027-02-21')
    expect((await client.get(`/v1/customers/${customerID}`)).body.comp_status).toBe('Active')
  })
})

describe('a hold', () => {
  test('that is lifted lets what is due be tried with the next move', async () => {
    const { client, customerID, invoice, move, read } = await shop(CARDS.good, { isCollectionHold: true })
    const id = await invoice(115)
    const own = await invoice(50, { isCollectionHold: true })
    await move('2027-01-20')
    const customer = (await client.get(`/v1/customers/${customerID}`)).body
    await client.put(`/v1/customers/${customerID}`, { ...customer, isCollectionHold: false })
    expect(await move('2027-01-21')).toMatchObject({ Collected: 1 })
    expect(await read(id)).toMatchObject({ Status: 'Paid' })
    await client.put(`/v1/invoices/${own}`, { ...(await read(own)), isCollectionHold: false })
    expect(await move('2027-01-22')).toMatchObject({ Collected: 1 })
  })
})

describe('a customer suspended by hand', () => {
  test('is not tried; on the day after he is back, what is due is', async () => {
    const { client, customerID, invoice, move, read } = await shop(CARDS.good)
    const id = await invoice(115)
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect(await move('2027-01-20')).toMatchObject({ Collected: 0 })
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    expect(await move('2027-01-20')).toMatchObject({ Collected: 0 })
    expect(await move('2027-01-21')).toMatchObject({ Collected: 1 })
    expect(await read(id)).toMatchObject({ Status: 'Paid' })
  })
})

test('what a caller opens again after a try has paid it is not charged by itself', async () => {
  const { client, customerID, invoice, move, read, attempts } = await shop(CARDS.good)
  const id = await invoice(115)
  await move('2027-01-05')
  const [payment] = (await client.get('/v1/payments')).body
  const [allocation] = payment.Allocations
  const edited = { ...payment, customerID, Allocations: [{ ...allocation, amountApplied: 75 }] }
  const reply = await client.put(`/v1/payments/${payment.paymentID}`, edited)
  expect(reply.status, reply.text).toBe(204)
  await move('2027-02-20')
  expect(await read(id)).toMatchObject({ Status: 'Past Due', Balance: 40, NextTryDate: null })
  expect(await attempts(id)).toHaveLength(1)
})

test('a method is not deleted while a try of it has no outcome', async () => {
  const { client, customerID, invoice, move, read } = await shop('4000000000000077')
  const [{ paymentMethodID }] = (await client.get(`/v1/customers/${customerID}/paymentmethods`)).body
  const id = await invoice(100.91)
  expect((await client.post(`/v1/invoices/${id}/collect`, {})).status).toBe(202)
  await addCard(client, customerID, CARDS.good)
  const other = (await client.get(`/v1/customers/${customerID}/paymentmethods`)).body.at(-1).paymentMethodID
  await client.put(`/v1/paymentmethods/${other}/setprimary`)
  const refused = await client.delete(`/v1/paymentmethods/${paymentMethodID}`)
  expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'payment_method_pending'])
  await move('2027-01-02')
  expect((await read(id)).Status).toBe('Paid')
  expect((await client.delete(`/v1/paymentmethods/${paymentMethodID}`)).status).toBe(204)
})
