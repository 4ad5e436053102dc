import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { updateMethodState } from '../payment-methods/queries.ts'
import { addAccount, bankAccount, debitShop } from './debit-shop.testing.ts'
import { addCard, CARDS } from './shop.testing.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'

/** Lines that the service makes, up to the submission of their batch. */

const service = await startTestService()
const clean = async (client: Parameters<typeof differencesOf>[1]) =>
  expect(await differencesOf(service, client)).toEqual([])

describe('an invoice that is collected from a bank account', () => {
  test('issued and due on Monday 1 February enters the batch of Wednesday, as a pending payment of its balance', async () => {
    const { client, invoice, read, move, batches, attempts } = await debitShop(service)
    const id = await invoice(115)
    expect(await read(id)).toMatchObject({ NextTryDate: '2027-02-01T00:00:00Z', NumTries: 0 })
    await move('2027-02-01')
    expect(await batches()).toEqual(['02-03 open 1 115.00'])
    const { invoiceNum } = await read(id)
    expect(await read(id)).toMatchObject({
      Status: 'Pending',
      Balance: 0,
      ActualBalance: 115,
      NumTries: 0,
      NextTryDate: '2027-02-03T00:00:00Z',
    })
    expect((await client.get('/v1/payments')).body).toMatchObject([
      {
        Status: 'Pending',
        Method: 'debit_order',
        Amount: 115,
        Ref: `Invoices ${invoiceNum}`,
        Date: '2027-02-03T00:00:00.000Z',
        Allocations: [{ invoiceID: id, amountApplied: 115 }],
      },
    ])
    expect(await attempts(id)).toMatchObject([{ Outcome: 'pending', isByHand: false, Amount: 115 }])
    await clean(client)
  })

  test.each(['ach', 'sepa'] as const)('by %s is a payment of the method bank_account', async (kind) => {
    const { client, invoice, move } = await debitShop(service, { kind })
    await invoice(115)
    await move('2027-02-02')
    expect((await client.get('/v1/payments')).body).toMatchObject([{ Method: 'bank_account', Status: 'Pending' }])
  })

  test('due later enters LeadDays before, on the way of a moved clock, and all of a day are one batch', async () => {
    const { client, invoice, move, batches } = await debitShop(service)
    await invoice(10, { DueDate: '2027-02-12' })
    await invoice(20, { DueDate: '2027-02-13' })
    await invoice(30, { DueDate: '2027-02-15' })
    await move('2027-02-09', '23:59')
    expect(await batches()).toEqual([])
    await move('2027-02-10')
    expect(await batches()).toEqual(['02-12 open 1 10.00'])
    await move('2027-02-11')
    expect(await batches()).toEqual(['02-12 open 1 10.00', '02-15 open 2 50.00'])
    await clean(client)
  })

  test('takes unallocated money first; what is left is debited', async () => {
    const { client, customerID, invoice, move, batches } = await debitShop(service)
    await invoice(115, { DueDate: '2027-02-10' })
    await client.post('/v1/payments', {
      customerID,
      Amount: 40,
      CurrencyCode: 'USD',
      Method: 'eft',
      Date: '2027-02-01',
      Allocations: [],
    })
    await move('2027-02-08')
    expect(await batches()).toEqual(['02-10 open 1 75.00'])
    await clean(client)
  })

  test('is not put into a batch that a person made', async () => {
    const { client, GatewayToken, invoice, move, batches } = await debitShop(service)
    const made = { GatewayToken, CurrencyCode: 'USD', ActionDate: '2027-02-03' }
    expect((await client.post('/v1/batches', made)).status).toBe(201)
    await invoice(115)
    await move('2027-02-01')
    expect(await batches()).toEqual(['02-03 open 0 0.00', '02-03 open 1 115.00'])
  })
})

describe('the notice of a sepa debit', () => {
  test('leaves when the line is made, 14 days before the debit, and names its day', async () => {
    const { client, invoice, move, mails, batches } = await debitShop(service, {
      kind: 'sepa',
      account: { MandateReference: 'M-1', MandateDate: '2027-01-01' },
      clockAt: '2027-03-01T08:00:00.000Z',
    })
    await invoice(115, { DueDate: '2027-03-26' })
    await move('2027-03-11', '23:59')
    expect(await batches()).toEqual([])
    await move('2027-03-12')
    // The sandbox knows no bank holidays: it debits on Good Friday.
    expect(await batches()).toEqual(['03-26 open 1 115.00'])
    expect(await mails()).toEqual(['03-12 debit_notice'])
    const mail = (await client.get('/v1/outbox')).body.find(({ Template }: any) => Template === 'debit_notice')
    expect(mail.Text).toMatch(/115\.00 on March 26, 2027, from the account ending in 3000, mandate M-1/)
  })

  test('issued and due at once: the debit is as many days later, and all invoices of a pass are in one mail', async () => {
    const { invoice, move, mails, batches } = await debitShop(service, { kind: 'sepa' })
    await invoice(10)
    await invoice(20)
    await move('2027-02-01')
    expect(await batches()).toEqual(['02-15 open 2 30.00'])
    expect(await mails()).toEqual(['02-01 debit_notice'])
  })

  test('leaves again, with the invoice at the new day, when a person chooses a later day, by an edit as with the submission', async () => {
    const { client, invoice, move, mails, read, tokens } = await debitShop(service, { kind: 'sepa' })
    const id = await invoice(115)
    await move('2027-02-01')
    const [BatchToken] = await tokens()
    const { CurrencyCode, GatewayToken } = (await client.get(`/v1/batches/${BatchToken}`)).body
    const edit = (ActionDate: string) =>
      client.put('/v1/batches', { BatchToken, CurrencyCode, GatewayToken, ActionDate })
    expect((await edit('2027-02-15')).status).toBe(204)
    expect(await mails()).toEqual(['02-01 debit_notice'])
    expect((await edit('2027-02-16')).status).toBe(204)
    expect(await read(id)).toMatchObject({ NextTryDate: '2027-02-16T00:00:00Z' })
    expect((await edit('2027-02-15')).body.Errors).toMatchObject([{ Code: 'announced_later', Field: 'ActionDate' }])
    const submitted = await client.put('/v1/batches/submit', { BatchToken, ActionDate: '2027-02-17' })
    expect([submitted.status, await mails()]).toEqual([204, Array(3).fill('02-01 debit_notice')])
    const notices = (await client.get('/v1/outbox')).body.filter(({ Template }: any) => Template === 'debit_notice')
    expect(notices.map(({ Text }: any) => /on (February \d+)/.exec(Text)?.[1])).toEqual(
      expect.arrayContaining(['February 15', 'February 16', 'February 17']),
    )
    await clean(client)
  })

  test('without an Email the debit goes on, with an event', async () => {
    const { invoice, move, mails, batches, events } = await debitShop(service, {
      kind: 'sepa',
      customer: { Email: null },
    })
    const id = await invoice(115)
    await move('2027-02-01')
    expect(await batches()).toEqual(['02-15 open 1 115.00'])
    expect(await mails()).toEqual([])
    expect(await events('invoice.debit_unannounced')).toMatchObject([{ RecordID: id }])
  })

  test('is sent as many days ahead as the gateway has been set to', async () => {
    const { invoice, move, batches } = await debitShop(service, {
      kind: 'sepa',
      settings: { PreNotificationDays: 1, LeadDays: 3 },
    })
    await invoice(115)
    await move('2027-02-01')
    expect(await batches()).toEqual(['02-04 open 1 115.00'])
  })
})

describe('a batch that nobody submits', () => {
  test('moves to the next day at most three times, with its lines, and then waits for a person', async () => {
    const { client, invoice, read, move, batches, events } = await debitShop(service, {
      settings: { SubmitDays: 1, CutOff: '16:00' },
      clockAt: '2027-01-13T08:00:00.000Z',
    })
    const id = await invoice(115)
    await move('2027-01-14', '16:00')
    expect(await batches()).toEqual(['01-15 open 1 115.00'])
    await move('2027-01-14', '16:01')
    expect(await batches()).toEqual(['01-18 open 1 115.00'])
    expect(await read(id)).toMatchObject({ NextTryDate: '2027-01-18T00:00:00Z', Status: 'Pending' })
    expect((await client.get('/v1/payments')).body).toMatchObject([{ Date: '2027-01-18T00:00:00.000Z' }])
    await move('2027-01-31')
    expect(await batches()).toEqual(['01-20 open 1 115.00'])
    const moved = await events('batch.moved')
    expect(moved.map(({ Date }) => Date.slice(0, 10)).sort()).toEqual(['2027-01-14', '2027-01-15', '2027-01-18'])
    await clean(client)
  })

  test('of a day whose books are closed leaves that day as it is: what moves takes the day after the lock', async () => {
    const { client, customerID, invoice, move, batches, tokens } = await debitShop(service, { isManual: true })
    const id = await invoice(115)
    await move('2027-02-12')
    expect(await batches()).toEqual(['02-08 open 1 115.00'])
    const account = (await client.get('/v1/account')).body
    expect((await client.put('/v1/account', { ...account, LockDate: '2027-02-10' })).status).toBe(204)
    const entries = async () =>
      ((await client.get('/v1/ledger/entries?page_size=100')).body as any[])
        .slice(15)
        .map(({ Date, Event, Amount }) => `${Date.slice(5, 10)} ${Event} ${Amount}`)
    const eft = async (Amount: number) => {
      const Allocations = [{ invoiceID: id, amountApplied: Amount }]
      const body = { customerID, Amount, CurrencyCode: 'USD', Method: 'eft', Date: '2027-02-12', Allocations }
      expect((await client.post('/v1/payments', body)).status).toBe(201)
    }
    await eft(40)
    const lowered = [
      '02-11 payment_begun_reversed 115',
      '02-11 allocation_made_reversed 115',
      '02-11 payment_begun 75',
      '02-11 allocation_made 75',
      '02-12 payment_recorded 40',
      '02-12 allocation_made 40',
    ]
    expect(await entries()).toEqual(lowered)
    await clean(client)
    const [BatchToken] = await tokens()
    const batch = (await client.get(`/v1/batches/${BatchToken}`)).body
    expect((await client.put('/v1/account', { ...account, LockDate: '2027-02-11' })).status).toBe(204)
    expect((await client.put('/v1/batches', { ...batch, ActionDate: '2027-02-15' })).status).toBe(204)
    const moved = [
      '02-12 payment_begun_reversed 75',
      '02-12 allocation_made_reversed 75',
      '02-15 payment_begun 75',
      '02-15 allocation_made 75',
    ]
    expect((await entries()).slice(lowered.length)).toEqual(moved)
    await clean(client)
    await eft(75)
    expect((await entries()).slice(lowered.length + moved.length)).toEqual([
      '02-15 payment_begun_reversed 75',
      '02-15 allocation_made_reversed 75',
      '02-12 payment_recorded 75',
      '02-12 allocation_made 75',
    ])
    await clean(client)
  })

  test('is announced anew to sepa payers with each new day', async () => {
    const { invoice, move, mails } = await debitShop(service, {
      kind: 'sepa',
      settings: { PreNotificationDays: 2 },
    })
    await invoice(115)
    await move('2027-02-05')
    expect(await mails()).toEqual(['02-01 debit_notice', '02-03 debit_notice', '02-04 debit_notice'])
  })

  test('is given another day by a person: its invoices are planned for that, and sepa payers get the notice again', async () => {
    const { client, invoice, read, move, mails, tokens } = await debitShop(service, {
      kind: 'sepa',
      clockAt: '2027-01-01T08:00:00.000Z',
    })
    const id = await invoice(115)
    await move('2027-01-01')
    const [BatchToken] = await tokens()
    const batch = (await client.get(`/v1/batches/${BatchToken}`)).body
    const put = async (ActionDate: string) => {
      const { status, body } = await client.put('/v1/batches', { ...batch, ActionDate })
      return body?.Errors?.[0].Code ?? status
    }
    expect(await put('2027-01-14')).toBe('announced_later')
    expect(await put('2027-01-18')).toBe(204)
    expect(await read(id)).toMatchObject({ NextTryDate: '2027-01-18T00:00:00Z' })
    await move('2027-01-02')
    expect(await put('2027-01-18')).toBe(204)
    expect(await put('2027-01-15')).toBe('announced_later')
    const submit = { BatchToken, ActionDate: '2027-01-19' }
    expect((await client.put('/v1/batches/submit', submit)).status).toBe(204)
    expect(await read(id)).toMatchObject({ NextTryDate: '2027-01-19T00:00:00Z' })
    expect(await mails()).toEqual(['01-01 debit_notice', '01-01 debit_notice', '01-02 debit_notice'])
    const texts = ((await client.get('/v1/outbox')).body as any[])
      .filter(({ Template }) => Template === 'debit_notice')
      .map(({ Text }) => /1[589] Jan|Jan\w* 1[589]/.exec(Text)?.[0].replace(/\D/g, ''))
    expect(texts.sort()).toEqual(['15', '18', '19'])
    await clean(client)
  })

  test('is spoken of the day before its last moment, once for each day', async () => {
    const { invoice, move, events } = await debitShop(service)
    await invoice(115)
    await move('2027-02-01')
    expect(await events('batch.submission_awaited')).toEqual([])
    await move('2027-02-02')
    await move('2027-02-02', '13:00')
    expect(await events('batch.submission_awaited')).toHaveLength(1)
    await move('2027-02-04')
    expect(await events('batch.submission_awaited')).toHaveLength(2)
  })
})

describe('a line leaves its batch', () => {
  async function waiting(kind: 'debit_order' | 'sepa' = 'debit_order') {
    const shop = await debitShop(service, { kind })
    const id = await shop.invoice(115)
    await shop.move('2027-02-01')
    expect((await shop.batches()).map((text) => text.slice(6))).toEqual(['open 1 115.00'])
    return { ...shop, id }
  }

  test.each<[string, (shop: Awaited<ReturnType<typeof waiting>>) => Promise<{ status: number }>]>([
    ['when its invoice is put on hold', ({ edit, id }) => edit(id, { isCollectionHold: true })],
    [
      'when it is collected by eft',
      ({ edit, id }) => edit(id, { CollectionMethod: 'eft', gatewayID: null, customerPaymentMethodID: null }),
    ],
    [
      'when its customer is suspended',
      ({ client, customerID }) => client.put(`/v1/customers/${customerID}/suspend`, {}),
    ],
    [
      'when its customer is archived',
      ({ client, customerID }) => client.put(`/v1/customers/${customerID}/archive`, {}),
    ],
    [
      'when its customer is put on hold',
      async ({ client, customerID }) => {
        const { body } = await client.get(`/v1/customers/${customerID}`)
        return client.put(`/v1/customers/${customerID}`, { ...body, isCollectionHold: true })
      },
    ],
  ])('%s, at once, and the batch that is left without lines is cancelled', async (_name, change) => {
    const shop = await waiting()
    const changed = await change(shop)
    expect(changed.status).toBeLessThan(300)
    expect(await shop.batches()).toEqual(['02-03 cancelled 0 0.00'])
    expect((await shop.client.get('/v1/payments')).body).toEqual([])
    expect(await shop.attempts(shop.id)).toEqual([])
    await shop.move('2027-02-20')
    expect(await shop.batches()).toEqual(['02-03 cancelled 0 0.00'])
    await clean(shop.client)
  })

  test('and is made again by the new primary account, with another notice', async () => {
    const shop = await waiting('sepa')
    const { client, customerID, move, batches, mails, attempts, id } = shop
    const other = await addAccount(client, customerID, bankAccount('sepa', { IBAN: 'FR1420041010050500013M02606' }))
    expect(await batches()).toEqual(['02-15 cancelled 0 0.00'])
    await move('2027-02-02')
    expect(await batches()).toEqual(['02-15 cancelled 0 0.00', '02-15 open 1 115.00'])
    expect(await attempts(id)).toMatchObject([{ paymentMethodID: other }])
    expect(await mails()).toEqual(['02-01 debit_notice', '02-01 debit_notice'])
    await clean(client)
  })

  test('when the number of its account changes, and stays when only the name does', async () => {
    const { client, customerID, paymentMethodID, batches, move } = await waiting()
    const edit = (account: object) =>
      client.put(`/v1/paymentmethods/bankaccount/${paymentMethodID}`, {
        customerID,
        isPrimary: true,
        BankAccount: bankAccount('debit_order', account),
      })
    expect((await edit({ AccountHolder: 'Ada L.' })).status).toBe(204)
    expect(await batches()).toEqual(['02-03 open 1 115.00'])
    expect((await edit({ AccountNumber: '62009999' })).status).toBe(204)
    expect(await batches()).toEqual(['02-03 cancelled 0 0.00'])
    await move('2027-02-01', '13:00')
    expect(await batches()).toEqual(['02-03 cancelled 0 0.00', '02-03 open 1 115.00'])
  })

  test('when its gateway is switched off, with the next pass', async () => {
    const { client, gatewayID, batches, move } = await waiting()
    expect((await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })).status).toBe(204)
    await move('2027-02-01', '13:00')
    expect(await batches()).toEqual(['02-03 cancelled 0 0.00'])
  })

  test('when it is to be collected by a card from now on', async () => {
    const { client, customerID, id, batches, move, read, edit } = await waiting()
    await addCard(client, customerID, CARDS.good)
    const toCard = { CollectionMethod: 'credit_card', gatewayID: null, customerPaymentMethodID: null }
    expect((await edit(id, toCard)).status).toBe(204)
    expect(await batches()).toEqual(['02-03 cancelled 0 0.00'])
    await move('2027-02-02')
    expect(await read(id)).toMatchObject({ Status: 'Paid' })
    await clean(client)
  })
})

describe('collecting at once', () => {
  test('from a bank account enters the batch of the day, 202; asked again it answers the line that waits', async () => {
    const { client, invoice, batches, read, attempts } = await debitShop(service)
    const id = await invoice(115, { DueDate: '2027-02-20' })
    const collected = await client.post(`/v1/invoices/${id}/collect`, {})
    expect([collected.status, collected.body.Status]).toEqual([202, 'Pending'])
    expect(await batches()).toEqual(['02-03 open 1 115.00'])
    const again = await client.post(`/v1/invoices/${id}/collect`, {})
    expect([again.status, again.body.paymentID]).toEqual([202, collected.body.paymentID])
    expect(await read(id)).toMatchObject({ NextTryDate: '2027-02-03T00:00:00Z' })
    expect(await attempts(id)).toMatchObject([{ isByHand: true }])
    await clean(client)
  })

  test('works for a suspended customer, whose line stays', async () => {
    const { client, customerID, invoice, batches, move } = await debitShop(service)
    const id = await invoice(115, { DueDate: '2027-02-20' })
    expect((await client.put(`/v1/customers/${customerID}/suspend`, {})).status).toBeLessThan(300)
    expect((await client.post(`/v1/invoices/${id}/collect`, {})).status).toBe(202)
    await move('2027-02-02')
    expect(await batches()).toEqual(['02-03 open 1 115.00'])
  })
})

test('collecting names what is missing: the first choice among gateways, any gateway, a mandate, a method', async () => {
  const { client, gatewayID, invoice } = await debitShop(service)
  const collect = async (id: number) => {
    const { status, body } = await client.post(`/v1/invoices/${id}/collect`)
    return [status, body.Errors?.[0]?.Message.replace(/^Invoice \d+ is collected by /, '')]
  }
  const id = await invoice(115)
  expect(await collect(await invoice(1, { CollectionMethod: 'cash' }))).toEqual([409, 'cash, which is never tried.'])
  const { gatewayID: other } = (await client.post('/v1/gateways', { GatewayType: 'manual' })).body
  const none = 'and none of the gateways that take debit_order in USD is the first choice'
  expect(await collect(id)).toEqual([409, `debit_order, ${none}: make one primary (isPrimary).`])
  for (const one of [gatewayID, other]) await client.put(`/v1/gateways/${one}`, { isActive: false })
  const inactive = 'debit_order, and no gateway that is active and enabled takes debit_order in USD.'
  expect(await collect(id)).toEqual([409, inactive])
  await client.put(`/v1/gateways/${gatewayID}`, { isActive: true })
  expect((await collect(id))[0]).toBe(202)

  const { customerID } = (
    await client.post('/v1/customers', { Name: 'Eve', isCompany: true, PaymentMethod: 'bank_account' })
  ).body
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  await client.post('/v1/gateways', { GatewayType: 'sepa-file', isPrimary: true, Settings: CREDITOR })
  const body = { customerID, CurrencyCode: 'EUR', Charges: [{ UnitCostEx: 1 }] }
  const ofEve = (await client.post('/v1/invoices', body)).body.invoiceID
  expect(await collect(ofEve)).toEqual([409, 'debit_order, and the customer has no primary payment method for that.'])
  const paymentMethodID = await addAccount(client, customerID, bankAccount('sepa'))
  const unsigned = `and payment method ${paymentMethodID} cannot be debited: it has no MandateReference and MandateDate`
  expect(await collect(ofEve)).toEqual([409, `debit_order, ${unsigned}.`])
  await service.db.transaction(client.id, (tx) => updateMethodState(tx, BigInt(paymentMethodID), 'rejected'))
  expect(await collect(ofEve)).toEqual([409, `debit_order, and payment method ${paymentMethodID} was rejected.`])
})
