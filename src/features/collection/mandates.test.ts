import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf, moveTo } from '../../../test/support/shop.ts'
import { bankAccount } from './debit-shop.testing.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'

/** Mandates that lapse, 36 months after their signature or last debit, before the service would debit by them. */

const service = await startTestService()

/** A shop that debits by files for its bank, on 20 January 2027, whose customer signed on a day. */
async function signed(MandateDate: string, customer: object = {}) {
  const client = await service.newAccount({ clockAt: '2027-01-20T08:00:00.000Z' })
  const must = async (method: 'post' | 'put', path: string, body: object) => {
    const reply = await client[method](path, body)
    expect(reply.status, `${path} ${reply.text}`).toBeLessThan(300)
    return reply.body
  }
  await must('post', '/v1/currencies', { CurrencyCode: 'EUR' })
  await must('post', '/v1/gateways', { GatewayType: 'sepa-file', isPrimary: true, Settings: CREDITOR })
  const wish = {
    Name: 'Acme',
    isCompany: true,
    CurrencyCode: 'EUR',
    Email: 'a@example.com',
    PaymentMethod: 'bank_account',
    ...customer,
  }
  const { customerID } = await must('post', '/v1/customers', wish)
  const methodOf = (mandate: object) => ({ customerID, isPrimary: true, BankAccount: bankAccount('sepa', mandate) })
  const mandate = { MandateReference: 'M-1', MandateDate }
  const { paymentMethodID } = await must('post', '/v1/paymentmethods/bankaccount', methodOf(mandate))
  const sign = (MandateReference: string, MandateDate: string) =>
    must('put', `/v1/paymentmethods/bankaccount/${paymentMethodID}`, methodOf({ MandateReference, MandateDate }))
  const invoice = async (DueDate: string) =>
    (await must('post', '/v1/invoices', { customerID, DueDate, Charges: [{ UnitCostEx: 115 }] })).invoiceID as number
  const read = async (id: number) => (await client.get(`/v1/invoices/${id}`)).body
  const batches = async () =>
    ((await client.get('/v1/batches')).body as any[]).map(
      ({ ActionDate, State, NumberOfPayments }) => `${ActionDate.slice(0, 10)} ${State} ${NumberOfPayments}`,
    )
  const notices = async () =>
    ((await client.get('/v1/outbox')).body as any[]).filter(({ Template }) => Template === 'debit_notice').length
  /** Submits the first batch for a day, and has it built. */
  const submit = async (ActionDate: string): Promise<string> => {
    const [{ BatchToken }] = (await client.get('/v1/batches')).body
    await must('put', '/v1/batches/submit', { BatchToken, ActionDate })
    await moveTo(client, (await client.get('/v1/clock')).body.Now)
    return BatchToken
  }
  /** Names the payments that were deleted, and why. */
  const left = async () =>
    ((await client.get('/v1/events?type=payment.deleted')).body as any[]).map(({ Reason }) => Reason as string)
  return { client, must, customerID, methodOf, sign, invoice, read, batches, notices, submit, left, paymentMethodID }
}

test('a debit on the last day of a mandate is planned, one after it is not, nor announced', async () => {
  const { client, invoice, read, batches, notices } = await signed('2024-02-05')
  await invoice('2027-02-05')
  const late = await invoice('2027-02-08')
  await moveTo(client, '2027-01-27')
  expect(await batches()).toEqual(['2027-02-05 open 1'])
  expect(await notices()).toBe(1)
  expect(await read(late)).toMatchObject({ Status: 'Due', NextTryDate: null, NumTries: 0 })
  await moveTo(client, '2027-02-04')
  expect(await batches()).toHaveLength(1)
  expect(await differencesOf(service, client)).toEqual([])
})

test('collecting by a mandate that has lapsed by then is refused, and names it', async () => {
  const { client, invoice, paymentMethodID } = await signed('2024-01-21')
  const id = await invoice('2027-01-20')
  const refused = await client.post(`/v1/invoices/${id}/collect`)
  expect([refused.status, refused.body.Errors]).toMatchObject([409, [{ Code: 'mandate_lapsed', Field: 'invoiceID' }]])
  expect(refused.body.Errors[0].Message).toContain(`Payment method ${paymentMethodID} cannot be debited`)
})

test('an invoice that a lapsed mandate kept from being tried is tried once another is signed', async () => {
  const { client, sign, invoice, read, batches } = await signed('2024-01-10')
  const id = await invoice('2027-01-20')
  await moveTo(client, '2027-01-21')
  expect([await batches(), (await read(id)).NextTryDate]).toEqual([[], null])
  await sign('M-2', '2027-01-21')
  await moveTo(client, '2027-01-22')
  expect(await batches()).toEqual(['2027-02-05 open 1'])
  expect(await read(id)).toMatchObject({ Status: 'Pending', NextTryDate: '2027-02-05T00:00:00Z' })
  expect(await differencesOf(service, client)).toEqual([])
})

test('a line leaves its batch when that moves past the end of the mandate: no try is planned and no notice names the new day', async () => {
  const { client, invoice, read, batches, notices, left } = await signed('2024-02-05')
  const id = await invoice('2027-02-05')
  await moveTo(client, '2027-01-27')
  expect(await batches()).toEqual(['2027-02-05 open 1'])
  const [{ BatchToken }] = (await client.get('/v1/batches')).body
  const late = await client.put('/v1/batches/submit', { BatchToken, ActionDate: '2027-02-08' })
  expect([late.status, late.body.Errors[0].Code]).toEqual([409, 'batch_empty'])
  await moveTo(client, '2027-02-05')
  expect(await batches()).toEqual(['2027-02-08 cancelled 0'])
  expect(await read(id)).toMatchObject({ Status: 'Due', Balance: 115, NextTryDate: null, NumTries: 0 })
  expect(await notices()).toBe(1)
  expect(await left()).toEqual([expect.stringMatching(/2024-02-05, more than 36 months before 2027-02-08/)])
  expect(await differencesOf(service, client)).toEqual([])
})

test('a person who moves a batch past the end of a mandate takes its line out, and leaves the others in it', async () => {
  const { client, must, methodOf, customerID, invoice, read, batches, notices } = await signed('2024-02-05')
  const lapsed = await invoice('2027-02-05')
  const other = { ...methodOf({ MandateReference: 'M-9', MandateDate: '2027-01-20' }), isPrimary: false }
  const { paymentMethodID: customerPaymentMethodID } = await must('post', '/v1/paymentmethods/bankaccount', other)
  const more = { customerID, DueDate: '2027-02-05', CollectionMethod: 'debit_order', customerPaymentMethodID }
  const { invoiceID } = await must('post', '/v1/invoices', { ...more, Charges: [{ UnitCostEx: 30 }] })
  await moveTo(client, '2027-01-27')
  expect(await batches()).toEqual(['2027-02-05 open 2'])
  const [{ BatchToken }] = (await client.get('/v1/batches')).body
  const batch = (await client.get(`/v1/batches/${BatchToken}`)).body
  await must('put', '/v1/batches', { ...batch, ActionDate: '2027-02-09' })
  expect(await batches()).toEqual(['2027-02-09 open 1'])
  expect((await read(invoiceID)).NextTryDate).toBe('2027-02-09T00:00:00Z')
  await moveTo(client, '2027-01-28')
  // A notice of today would name 11 February.
  expect(await batches()).toEqual(['2027-02-09 open 1'])
  expect(await read(lapsed)).toMatchObject({ Status: 'Due', Balance: 115, NextTryDate: null, NumTries: 0 })
  expect(await notices()).toBe(2)
  expect(await differencesOf(service, client)).toEqual([])
})

test('a line that cannot be built leaves the batch with an event, and is made again from the next day on; the others go to the bank', async () => {
  const { client, must, methodOf, customerID, invoice, read, batches, submit, left } = await signed('2027-01-20')
  const good = await invoice('2027-02-05')
  const british = { IBAN: 'GB29NWBK60161331926819', BIC: 'NWBKGB2L', MandateReference: 'M-9' }
  const abroad = { ...methodOf({ ...british, MandateDate: '2027-01-20' }), isPrimary: false }
  const { paymentMethodID: customerPaymentMethodID } = await must('post', '/v1/paymentmethods/bankaccount', abroad)
  const more = { customerID, DueDate: '2027-02-05', CollectionMethod: 'debit_order', customerPaymentMethodID }
  const { invoiceID: refused } = await must('post', '/v1/invoices', { ...more, Charges: [{ UnitCostEx: 30 }] })
  await moveTo(client, '2027-01-27')
  expect(await batches()).toEqual(['2027-02-05 open 2'])
  const token = await submit('2027-02-05')
  expect(await batches()).toEqual(['2027-02-05 submitted 1'])
  expect(await left()).toEqual([expect.stringContaining('no city and country')])
  expect(await read(good)).toMatchObject({ Status: 'Pending', NumTries: 1 })
  expect(await read(refused)).toMatchObject({ Balance: 30, NumTries: 0 })
  const file = (await client.get(`/v1/batches/${token}/file`)).text
  expect(file).toContain('<CtrlSum>115.00</CtrlSum>')
  expect(file).not.toContain('GB29NWBK')
  await moveTo(client, '2027-01-28')
  // Its notice, of 14 days, is given anew.
  expect(await batches()).toEqual(['2027-02-05 submitted 1', '2027-02-11 open 1'])
  await must('put', `/v1/invoices/${refused}`, { ...(await read(refused)), isCollectionHold: true })
  await moveTo(client, '2027-02-01')
  expect((await batches()).slice(1)).toEqual(['2027-02-11 cancelled 0'])
  expect(await differencesOf(service, client)).toEqual([])
})
