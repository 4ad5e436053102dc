import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer, addPackage, moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { addDays } from '../../kernel/calendar.ts'

/** Reminders end to end: rules that are switched on, a clock that moves, and the outbox. */

const service = await startTestService()

const KINDS = ['upcoming_renewal', 'card_expiring', 'trial_expiring', 'end_near', 'payment_due'] as const
type Kind = (typeof KINDS)[number]

const START = '2027-01-01'

interface Shop {
  client: TestClient
  customerID: number
  on(...kinds: (Kind | { Kind: Kind; DaysBefore?: number; isActive?: boolean })[]): Promise<void>
  invoice(amount: number, body?: object): Promise<number>
  subscription(body?: object): Promise<number>
  recurring(body?: object): Promise<number>
  card(month: number, year: number, wish?: { isPrimary?: boolean; CardType?: string }): Promise<number>
  /** Changes the customer, by its record as it is. */
  change(fields: object): Promise<void>
  /** The reminders in the outbox: the day, the kind, and what the mail lists. */
  mails(): Promise<string[]>
}

const CUSTOMER = { Name: 'Acme', LastName: null, isCompany: true, Email: 'a@example.com', PaymentTermDays: 10 }

const sent = async (reply: Promise<{ status: number; text: string; body: any }>) => {
  const { status, text, body } = await reply
  expect(status, text).toBeLessThan(300)
  return body
}

async function shop(customer: object = {}): Promise<Shop> {
  const client = await service.newAccount({ clockAt: `${START}T08:00:00.000Z` })
  const { packageID } = await addPackage(client, { name: 'Gold' })
  const customerID = await addCustomer(client, { ...CUSTOMER, ...customer })
  return {
    client,
    customerID,
    on: async (...kinds) => {
      const Reminders = kinds.map((kind) => ({ isActive: true, ...(typeof kind === 'string' ? { Kind: kind } : kind) }))
      await sent(client.put('/v1/collectionrules', { Reminders }))
    },
    invoice: async (amount, body = {}) =>
      (await sent(client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: amount }], ...body }))).invoiceID,
    subscription: async (body = {}) =>
      (await sent(client.post('/v1/subscriptions', { customerID, packageID, ...body }))).subscriptionID,
    recurring: async (body = {}) =>
      (
        await sent(
          client.post('/v1/recurring-invoices', {
            customerID,
            CurrencyCode: 'USD',
            Term: 1,
            TermType: 'months',
            StartDate: START,
            RecurInvoiceCharges: [{ Line: 'Hosting', Qty: 1, UnitCostEx: 5 }],
            ...body,
          }),
        )
      ).recurInvoiceID,
    card: async (ExpiryMonth, ExpiryYear, { isPrimary = true, CardType = 'Visa' } = {}) => {
      const CreditCard = { Number: '4242424242424242', CardType, NameOnCard: 'Ada', LastNameOnCard: 'L' }
      const body = { customerID, isPrimary, CreditCard: { ...CreditCard, ExpiryMonth, ExpiryYear } }
      return (await sent(client.post('/v1/paymentmethods/creditcard', body))).paymentMethodID
    },
    change: async (fields) => {
      await sent(client.put(`/v1/customers/${customerID}`, { ...CUSTOMER, ...customer, ...fields }))
    },
    mails: async () =>
      ((await client.get('/v1/outbox?page_size=200')).body as any[])
        .filter(({ Template }) => KINDS.includes(Template))
        .map(({ Template, CreatedDate, Text }) =>
          [CreatedDate.slice(5, 10), Template, ...linesOf(Text).map((line) => `[${line}]`)].join(' '),
        ),
  }
}

/** The lines of a mail that list what it is about. */
const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => /: .*20\d\d/.test(line))
    .map((line) => line.trim())

/** Moves a clock to a day: in one leap, or through every day on the way. */
const MOVES = {
  'in one leap': (client: TestClient, day: string) => moveTo(client, day),
  'day by day': async (client: TestClient, until: string) => {
    const now = (await client.get('/v1/clock')).body.Now.slice(0, 10)
    for (let day = addDays(now, 1); day <= until; day = addDays(day, 1)) await moveTo(client, day)
  },
}

describe.each(Object.entries(MOVES))('lived through %s', (_, move) => {
  test('a renewal is reminded of 7 days before nextRenewDate, each time once', async () => {
    const { client, on, subscription, mails } = await shop()
    await on('upcoming_renewal')
    await subscription()
    await move(client, '2027-03-10')
    expect(await mails()).toEqual([
      '01-25 upcoming_renewal [Gold: February 1, 2027]',
      '02-22 upcoming_renewal [Gold: March 1, 2027]',
    ])
  })

  test('a period shorter than the days before is reminded of as soon as it is the next', async () => {
    const { client, on, subscription, mails } = await shop()
    await on('upcoming_renewal')
    const { packageID } = await addPackage(client, { name: 'Days', term: 5, termType: 'days' })
    await subscription({ packageID })
    await move(client, '2027-01-09')
    expect(await mails()).toEqual([
      '01-01 upcoming_renewal [Days: January 6, 2027]',
      '01-06 upcoming_renewal [Days: January 11, 2027]',
    ])
  })

  test('a card is reminded of 30 days before the last day of its month, only the primary one', async () => {
    const { client, on, card, mails } = await shop()
    await on('card_expiring')
    await card(3, 2027, { isPrimary: false })
    await card(2, 2027)
    await move(client, '2027-04-10')
    expect(await mails()).toEqual(['01-29 card_expiring [Visa ending in 4242: February 28, 2027]'])
  })

  test('the end of a trial is reminded of 3 days before', async () => {
    const { client, on, subscription, mails } = await shop()
    await on('trial_expiring')
    const { packageID } = await addPackage(client, { name: 'Gold', trialPeriod: 14 })
    await subscription({ packageID })
    await move(client, '2027-02-10')
    expect(await mails()).toEqual(['01-12 trial_expiring [Gold: January 15, 2027]'])
  })

  test('the end of a subscription and of a recurring invoice is reminded of 7 days before, in one mail where it is one day', async () => {
    const { client, on, subscription, recurring, mails } = await shop()
    await on('end_near')
    await subscription({ EndDate: '2027-03-01' })
    await recurring({ EndDate: '2027-03-01' })
    await recurring({ EndDate: '2027-03-04' })
    await move(client, '2027-03-20')
    expect(await mails()).toEqual([
      '02-22 end_near [Hosting: March 1, 2027] [Gold: March 1, 2027]',
      '02-25 end_near [Hosting: March 4, 2027]',
    ])
  })

  test('an open invoice is reminded of 3 days before DueDate, with what is still open', async () => {
    const { client, customerID, on, invoice, mails } = await shop()
    await on('payment_due')
    const id = await invoice(115)
    const [{ invoiceNum }] = (await client.get('/v1/invoices')).body
    const allocations = [{ invoiceID: id, positiveAdjustmentID: 0, amountApplied: 15 }]
    await sent(client.post('/v1/payments', payment(customerID, 15, allocations)))
    await move(client, '2027-01-20')
    expect(await mails()).toEqual([`01-08 payment_due [Invoice ${invoiceNum}: $100.00, due on January 11, 2027]`])
  })

  test('two invoices of one day are one mail, and all kinds keep to their days', async () => {
    const { client, on, invoice, subscription, card, mails } = await shop()
    await on(...KINDS)
    await invoice(1)
    await invoice(2)
    await invoice(3, { DueDate: '2027-01-12' })
    const { packageID } = await addPackage(client, { trialPeriod: 9 })
    await subscription({ packageID, EndDate: '2027-02-10' })
    await card(1, 2027)
    await move(client, '2027-02-20')
    const shown = (await mails()).map((mail) => mail.replace(/\[.*/, '') + (mail.match(/\[/g) ?? []).length)
    expect(shown.toSorted()).toEqual(
      [
        '01-01 card_expiring 1',
        '01-03 upcoming_renewal 1',
        '01-07 trial_expiring 1',
        '01-08 payment_due 2',
        '01-09 payment_due 1',
        '02-03 end_near 1',
        // The invoice of the period is due on 20 January; nothing renews on the day of the end.
        '01-17 payment_due 1',
      ].toSorted(),
    )
  })

  test('what is switched on inside the window goes out once, on the next pass; what is over sends nothing', async () => {
    const { client, on, invoice, mails } = await shop()
    await invoice(1, { DueDate: '2027-01-05' })
    await invoice(2, { DueDate: '2027-01-11' })
    await move(client, '2027-01-09')
    expect(await mails()).toEqual([])
    await on('payment_due')
    await moveTo(client, '2027-01-09')
    const once = [expect.stringContaining('01-09 payment_due [Invoice 2: $2.00')]
    expect(await mails()).toEqual(once)
    await on({ Kind: 'payment_due', DaysBefore: 10 })
    await move(client, '2027-01-20')
    expect(await mails()).toEqual(once)
  })

  test('a date that moved is reminded of anew, and one that moved back is not', async () => {
    const { client, on, subscription, mails } = await shop()
    await on('end_near')
    const id = await subscription({ EndDate: '2027-01-15' })
    const to = (EndDate: string) => sent(client.put(`/v1/subscriptions/${id}/changeenddate`, { EndDate }))
    await move(client, '2027-01-09')
    await to('2027-01-19')
    await to('2027-01-15')
    await move(client, '2027-01-10')
    expect(await mails()).toHaveLength(1)
    await to('2027-01-20')
    await move(client, '2027-01-14')
    await to('2027-01-19')
    await move(client, '2027-01-30')
    expect(await mails()).toEqual([
      '01-08 end_near [Gold: January 15, 2027]',
      '01-13 end_near [Gold: January 20, 2027]',
      '01-14 end_near [Gold: January 19, 2027]',
    ])
  })

  test('nobody is reminded of what is paid, pending, cancelled or a draft', async () => {
    const { client, customerID, on, invoice, mails } = await shop()
    await on('payment_due')
    await invoice(1, { isDraft: true })
    await sent(client.delete(`/v1/invoices/${await invoice(2)}`))
    const [paid, pending, failing] = [await invoice(3), await invoice(4), await invoice(5)]
    const pay = (id: number, amount: number) =>
      sent(
        client.post(
          '/v1/payments',
          payment(customerID, amount, [{ invoiceID: id, positiveAdjustmentID: 0, amountApplied: amount }]),
        ),
      )
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        update invoices set pending_minor = total_minor where account_id = ${tx.account} and invoice_id = ${BigInt(pending)}`),
    )
    const { paymentID } = await pay(failing, 5)
    await move(client, '2027-01-07')
    await pay(paid, 3)
    await move(client, '2027-01-09')
    expect(await mails()).toEqual([])
    await sent(client.put(`/v1/payments/${paymentID}/fail`, { Date: '2027-01-09', Reason: 'bounced' }))
    await move(client, '2027-01-20')
    expect(await mails()).toEqual([expect.stringMatching(/^01-09 payment_due \[Invoice \d+: \$5\.00/)])
  })

  test('a suspended customer is reminded of nothing, and of what is still to come once back', async () => {
    const { client, customerID, on, invoice, mails } = await shop()
    await on('payment_due')
    await invoice(1, { DueDate: '2027-01-08' })
    await invoice(2)
    await sent(client.put(`/v1/customers/${customerID}/suspend`))
    await move(client, '2027-01-09')
    expect(await mails()).toEqual([])
    await sent(client.put(`/v1/customers/${customerID}/unsuspend`))
    await move(client, '2027-01-20')
    expect(await mails()).toEqual([expect.stringMatching(/^01-09 payment_due \[Invoice \d+: \$2\.00/)])
  })

  test('a kind that the customer has stopped is not sent, the others are', async () => {
    const { client, on, invoice, subscription, change, mails } = await shop({ StoppedReminders: ['payment_due'] })
    await on('payment_due', 'end_near')
    await invoice(1)
    await subscription({ EndDate: '2027-01-20' })
    await move(client, '2027-01-14')
    expect(await mails()).toEqual(['01-13 end_near [Gold: January 20, 2027]'])
    await invoice(2, { DueDate: '2027-01-25' })
    await change({ StoppedReminders: [] })
    await move(client, '2027-02-10')
    expect((await mails()).slice(1)).toEqual([expect.stringMatching(/^01-22 payment_due \[Invoice \d+: \$2\.00/)])
  })

  test('a contract that is cancelled is reminded of neither its renewal nor its end', async () => {
    const { client, on, subscription, mails } = await shop()
    await on('upcoming_renewal', 'end_near', 'trial_expiring')
    const now = await subscription({ EndDate: '2027-02-20' })
    const { packageID } = await addPackage(client, { trialPeriod: 19 })
    const atRenewal = await subscription({ packageID })
    await sent(client.put(`/v1/subscriptions/${now}/cancel/norefund`, {}))
    await sent(client.put(`/v1/subscriptions/${atRenewal}/cancel/renewal`, {}))
    await move(client, '2027-03-10')
    expect(await mails()).toEqual([])
  })

  test('an invoice issued after the day of its reminder has named the date itself', async () => {
    const { client, on, invoice, mails } = await shop()
    await on('payment_due')
    await invoice(1, { DueDate: '2027-01-03' })
    await invoice(2, { DueDate: '2027-01-04' })
    await move(client, '2027-01-10')
    expect(await mails()).toEqual([expect.stringMatching(/^01-01 payment_due \[Invoice \d+: \$2\.00/)])
  })
})

const payment = (customerID: number, Amount: number, Allocations: object[]) => ({
  customerID,
  Amount,
  CurrencyCode: 'USD',
  Method: 'cheque',
  Date: START,
  Allocations,
})

test('on the day itself a reminder comes after the tries: what a card has paid is not reminded of', async () => {
  const { client, on, invoice, card, mails } = await shop()
  await on({ Kind: 'payment_due', DaysBefore: 0 })
  await card(12, 2030)
  await invoice(1, { CollectionMethod: 'credit_card' })
  await invoice(2, { CollectionMethod: 'cash' })
  await moveTo(client, '2027-01-20')
  expect(await mails()).toEqual([expect.stringMatching(/^01-11 payment_due \[Invoice \d+: \$2\.00, [^[]*$/)])
})

test('a mail is in the language of the customer, goes to both addresses, and leaves an event', async () => {
  const { client, customerID, on, subscription } = await shop({ Locale: 'de', EmailCC: 'b@example.com' })
  await on('upcoming_renewal')
  const subscriptionID = await subscription()
  await moveTo(client, '2027-01-25')
  const mail = (await client.get('/v1/outbox')).body.find(({ Template }: any) => Template === 'upcoming_renewal')
  expect(mail).toMatchObject({ To: 'a@example.com', Subject: 'Ihr Vertrag mit Test verlängert sich bald' })
  expect(mail.Text).toContain('Gold: 1. Februar 2027')
  const events = (await client.get('/v1/events?type=customer.reminder_queued')).body
  expect(events.map(({ Record }: any) => Record)).toEqual([
    {
      customerID,
      Kind: 'upcoming_renewal',
      About: [
        {
          Date: '2027-02-01T00:00:00Z',
          subscriptionID,
          recurInvoiceID: null,
          paymentMethodID: null,
          invoiceID: null,
        },
      ],
    },
  ])
})

test('a customer without an Email gets none, and the next pass after one is set sends it', async () => {
  const { client, on, invoice, change, mails } = await shop({ Email: null })
  await on('payment_due')
  await invoice(1)
  await moveTo(client, '2027-01-09')
  expect(await mails()).toEqual([])
  await change({ Email: 'late@example.com' })
  await moveTo(client, '2027-01-10')
  expect(await mails()).toEqual([expect.stringContaining('01-09 payment_due')])
})

test('without an active reminder nothing is sent, and no account is reminded by the rules of another', async () => {
  const quiet = await shop()
  const { client, on, invoice, mails } = await shop()
  await on({ Kind: 'payment_due', isActive: true })
  await quiet.on({ Kind: 'payment_due', isActive: false })
  await quiet.invoice(1)
  await invoice(1)
  await moveTo(quiet.client, '2027-01-20')
  await moveTo(client, '2027-01-20')
  expect([await quiet.mails(), (await mails()).length]).toEqual([[], 1])
})

test('a card whose brand is not known is named without one', async () => {
  const { client, on, card, mails } = await shop()
  await on('card_expiring')
  await card(2, 2027, { CardType: 'Unknown' })
  await moveTo(client, '2027-02-01')
  expect(await mails()).toEqual(['01-29 card_expiring [Card ending in 4242: February 28, 2027]'])
})
