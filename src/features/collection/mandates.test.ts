import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf, moveTo } from '../../../test/support/shop.ts'
import { bankAccount } from './debit-shop.testing.ts'

/** Mandates that lapse, 36 months after their signature or last debit, before the service would debit by them. */

const service = await startTestService()

/** A shop that debits by files for its bank, on 20 January 2027, whose customer signed on a day. */
async function signed(MandateDate: string) {
  const client = await service.newAccount({ clockAt: '2027-01-20T08:00:00.000Z' })
  const must = async (method: 'post' | 'put', path: string, body: object) => {
    const reply = await client[method](path, body)
    expect(reply.status, `${path} ${reply.text}`).toBeLessThan(300)
    return reply.body
  }
  await must('post', '/v1/currencies', { CurrencyCode: 'EUR' })
  const Settings = {
    CreditorName: 'Analytical Engines',
    CreditorIBAN: 'DE89370400440532013000',
    CreditorBIC: 'COBADEFFXXX',
    CreditorIdentifier: 'DE98ZZZ09999999999',
  }
  await must('post', '/v1/gateways', { GatewayType: 'sepa-file', isPrimary: true, Settings })
  const wish = {
    Name: 'Acme',
    isCompany: true,
    CurrencyCode: 'EUR',
    Email: 'a@example.com',
    PaymentMethod: 'bank_account',
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
  return { client, sign, invoice, read, batches, notices, paymentMethodID }
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
