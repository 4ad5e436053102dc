import { afterAll, describe, expect, test } from 'vitest'
import { addCustomer, addTax } from '../support/shop.ts'
import { type Reply, startTestService, type TestClient } from '../support/app.ts'
import { openMoneyBooks } from '../support/money-books.ts'

/**
 * Many requests for the same money at once: nothing is allocated beyond what is open or what was given, nothing is lost, nobody gets a 500,
 * and whoever comes too late is told why. Chance decides who that is, never how the books look afterwards.
 */

const service = await startTestService()
const sql = await openMoneyBooks(service.connection)
afterAll(() => sql.close())

const AT_ONCE = 50
const DAY = '2027-01-01'

/** Who comes too late hears one of these. */
const TOO_LATE = new Set([
  'too_little_open',
  'too_little_unallocated',
  'over_allocated',
  'invoice_cancelled',
  'invoice_allocated',
  'credit_number_taken',
  'adjustment_allocated',
  'payment_failed',
  'payment_fixed',
])

/** An account with customers and, for each, invoices of 115.00. */
async function shop(customers: number, invoicesEach: number) {
  const client = await service.newAccount()
  await addTax(client, 'VAT', { Perc: 0.15 })
  const owners: { customerID: number; invoices: number[] }[] = []
  for (let n = 0; n < customers; n += 1) {
    const customerID = await addCustomer(client)
    const invoices: number[] = []
    for (let i = 0; i < invoicesEach; i += 1) invoices.push((await invoiceOf(client, customerID)).body.invoiceID)
    owners.push({ customerID, invoices })
  }
  return { client, owners }
}

const invoiceOf = (client: TestClient, customerID: number) =>
  client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })

const paymentBody = (customerID: number, Amount: number, more: object) => ({
  customerID,
  Amount,
  CurrencyCode: 'USD',
  Date: DAY,
  Method: 'eft',
  ...more,
})

const codeOf = ({ body }: Reply): string => body?.Errors?.[0]?.Code ?? ''

/** Each answer is a success, or a refusal that says why; a record that somebody deleted meanwhile is not there. */
function expectFair(replies: readonly Reply[]): void {
  for (const reply of replies) {
    expect([200, 201, 204, 404, 409], reply.text).toContain(reply.status)
    if (reply.status !== 409) continue
    expect(TOO_LATE, reply.text).toContain(codeOf(reply))
    expect(reply.body.Errors[0].Message.length).toBeGreaterThan(20)
  }
}

async function expectSoundBooks(client: TestClient): Promise<void> {
  expect(await sql.differences(client.id, false)).toEqual([])
}

async function allOf(client: TestClient, path: string): Promise<any[]> {
  const all: any[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await client.get(`${path}?page_size=200&page=${page}`)
    all.push(...body)
    if (body.length < 200) return all
  }
}

const sent = (count: number, one: (index: number) => Promise<Reply>): Promise<Reply[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => one(index)))

describe('fifty at once', () => {
  test('pay one invoice in full: one does, the others are told what is open', async () => {
    const { client, owners } = await shop(1, 1)
    const [{ customerID, invoices }] = owners as [(typeof owners)[0]]
    const Allocations = [{ invoiceID: invoices[0], amountApplied: 115 }]
    const replies = await sent(AT_ONCE, () =>
      client.post('/v1/payments', paymentBody(customerID, 115, { Allocations })),
    )
    expectFair(replies)
    const won = replies.filter(({ status }) => status === 201)
    expect(won).toHaveLength(1)
    for (const reply of replies.filter(({ status }) => status === 409)) {
      expect(codeOf(reply)).toBe('too_little_open')
      expect(reply.body.Errors[0].Message).toContain('0.00 USD open')
    }
    expect((await client.get(`/v1/invoices/${invoices[0]}`)).body).toMatchObject({
      Status: 'Paid',
      TotalActualPaid: 115,
    })
    expect(await allOf(client, '/v1/payments')).toHaveLength(1)
    await expectSoundBooks(client)
  })

  test('AutoApply the same customer: all are recorded, and together they pay exactly what was open', async () => {
    const { client, owners } = await shop(1, 4)
    const [{ customerID }] = owners as [(typeof owners)[0]]
    const replies = await sent(AT_ONCE, () =>
      client.post('/v1/payments', paymentBody(customerID, 10.01, { AutoApply: true })),
    )
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201))
    const payments = await allOf(client, '/v1/payments')
    const applied = payments
      .flatMap(({ Allocations }) => Allocations)
      .reduce((sum, a) => sum + a.amountApplied * 100, 0)
    expect(Math.round(applied)).toBe(4 * 11_500)
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(460 - 500.5)
    await expectSoundBooks(client)
  })

  test('cancel, pay and credit one invoice: it ends either cancelled with nothing on it or standing with what it took', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { client, owners } = await shop(1, 1)
      const [{ customerID, invoices }] = owners as [(typeof owners)[0]]
      const Allocations = [{ invoiceID: invoices[0], amountApplied: 40 }]
      const credit = { customerID, Amount: 40, CurrencyCode: 'USD', Date: DAY, Allocations }
      const replies = await sent(AT_ONCE, (index) =>
        index % 3 === 0
          ? client.delete(`/v1/invoices/${invoices[0]}`)
          : index % 3 === 1
            ? client.post('/v1/payments', paymentBody(customerID, 40, { Allocations }))
            : client.post('/v1/credits', { ...credit, CreditNumber: `C${index}` }),
      )
      expectFair(replies)
      const invoice = (await client.get(`/v1/invoices/${invoices[0]}`)).body
      const applied = [...invoice.PaymentsApplied, ...invoice.NegativeAdjustmentsApplied]
      expect(applied).toHaveLength(invoice.isCancelled ? 0 : 2)
      expect(replies.filter(({ status }) => status === 201)).toHaveLength(applied.length)
      await expectSoundBooks(client)
    }
  })

  test('give a credit note the same number: one has it', async () => {
    const { client, owners } = await shop(5, 0)
    const replies = await sent(AT_ONCE, (index) => {
      const { customerID } = owners[index % 5]!
      const body = { customerID, Amount: 1, CurrencyCode: 'USD', Date: DAY, Allocations: [] }
      return client.post('/v1/credits', { ...body, CreditNumber: index % 2 === 0 ? 'cn' : 'CN' })
    })
    expectFair(replies)
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1)
    await expectSoundBooks(client)
  })

  test('take the same unallocated money for refunds and for invoices: it is given once', async () => {
    const { client, owners } = await shop(1, 0)
    const [{ customerID }] = owners as [(typeof owners)[0]]
    await client.post('/v1/payments', paymentBody(customerID, 100, { Allocations: [] }))
    const refund = {
      Type: 'positive',
      AdjustmentType: 'refund',
      customerID,
      Amount: 7,
      Date: DAY,
      DueDate: DAY,
      Ref: 'R',
    }
    const replies = await sent(AT_ONCE, () => client.post('/v1/adjustment/add', refund))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201))
    const [payment] = await allOf(client, '/v1/payments')
    expect(payment.Status).toBe('Allocated')
    const applied = payment.Allocations.map(({ amountApplied }: any) => amountApplied)
    expect(applied.toSorted((a: number, b: number) => a - b)).toEqual([2, ...Array.from({ length: 14 }, () => 7)])
    await expectSoundBooks(client)
  })
})

/** A request of any kind for some customer's money; `n` decides which. */
function anything(client: TestClient, owners: Awaited<ReturnType<typeof shop>>['owners'], ids: number[][], n: number) {
  const { customerID, invoices } = owners[n % owners.length]!
  const [payments, credits] = ids as [number[], number[]]
  const invoiceID = invoices[(n * 7) % invoices.length]
  const other = invoices[(n * 11) % invoices.length]
  const mine = payments[n % payments.length]
  const Allocations = [
    { invoiceID, amountApplied: 20 + (n % 30) },
    { invoiceID: other, amountApplied: 5 },
  ]
  const kinds: (() => Promise<Reply>)[] = [
    () => client.post('/v1/payments', paymentBody(customerID, 60, { Allocations })),
    () => client.put(`/v1/payments/${mine}`, paymentBody(customerID, 40 + (n % 40), { Allocations })),
    () => client.put(`/v1/payments/${mine}`, paymentBody(customerID, 30, { AutoApply: true })),
    () => client.delete(`/v1/payments/${mine}`),
    () => client.put(`/v1/payments/${mine}/fail`, { Date: DAY, Reason: 'bounced' }),
    () => client.delete(`/v1/invoices/${invoiceID}`),
    () => invoiceOf(client, customerID),
    () =>
      client.post('/v1/credits', {
        ...{ customerID, Amount: 55, CurrencyCode: 'USD', Date: DAY, CreditNumber: `X${n}` },
        Allocations,
      }),
    () =>
      client.put(`/v1/credits/${credits[n % credits.length]}`, {
        ...{ customerID, Amount: 60, CurrencyCode: 'USD', Date: DAY, CreditNumber: `E${n}` },
        Allocations,
      }),
    () => client.delete(`/v1/credits/${credits[n % credits.length]}`),
    () =>
      client.post('/v1/adjustment/add', {
        ...{ Type: 'negative', AdjustmentType: 'bad_debt', customerID, Amount: 9, Date: DAY, Ref: 'B' },
        AutoApply: true,
      }),
  ]
  return kinds[n % kinds.length]!()
}

test('a hundred and fifty mixed requests for three customers leave sound books, gapless numbers and every acknowledged record', async () => {
  const { client, owners } = await shop(3, 5)
  const ids: number[][] = [[], []]
  // As many payments and credit notes of each customer, in turn, so that edits find their own customer's.
  for (let n = 0; n < 9; n += 1) {
    const { customerID } = owners[n % 3]!
    const payment = await client.post('/v1/payments', paymentBody(customerID, 50, { AutoApply: true }))
    ids[0]!.push(payment.body.paymentID)
    const credit = { customerID, Amount: 20, CurrencyCode: 'USD', Date: DAY, CreditNumber: `S${n}`, AutoApply: true }
    ids[1]!.push((await client.post('/v1/credits', credit)).body.creditNoteID)
  }
  const replies: Reply[] = []
  for (let round = 0; round < 3; round += 1)
    replies.push(...(await sent(AT_ONCE, (index) => anything(client, owners, ids, round * AT_ONCE + index))))
  expectFair(replies)
  expect(replies.filter(({ status }) => status < 300).length).toBeGreaterThan(30)
  await expectSoundBooks(client)

  const made = (name: string) =>
    replies.flatMap(({ status, body }) => (status === 201 && body[name] !== undefined ? [body[name]] : []))
  // Payments and credit notes made here are not deleted by anybody; all of them are there, and nothing else was made.
  const payments = (await allOf(client, '/v1/payments')).map(({ paymentID }) => paymentID)
  expect(payments.filter((id) => !ids[0]!.includes(id)).toSorted()).toEqual(made('paymentID').toSorted())
  const credits = (await allOf(client, '/v1/credits')).map(({ creditNoteID }) => creditNoteID)
  expect(credits.filter((id) => !ids[1]!.includes(id)).toSorted()).toEqual(made('creditNoteID').toSorted())
  const invoices = await allOf(client, '/v1/invoices')
  expect(invoices.map(({ invoiceNum }) => invoiceNum).toSorted((a, b) => a - b)).toEqual(invoices.map((_, n) => n + 1))
  // Credit notes name an invoice and its number too: the one that they correct.
  expect(invoices).toHaveLength(15 + made('DueDate').length)
})
