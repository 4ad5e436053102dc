import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { SEPA } from '../emandates/emandates.testing.ts'

/** Numbers in bodies are read as forms read them, and none that is taken in its field is kept in another. */

const service = await startTestService()
const CARD = '/v1/paymentmethods/creditcard'
const BANK = '/v1/paymentmethods/bankaccount'

async function withCustomer(): Promise<{ client: TestClient; customerID: number }> {
  const client = await service.newAccount({ currency: 'EUR' })
  const { body } = await client.post('/v1/customers', { Name: 'Ada', isCompany: true })
  return { client, customerID: body.customerID }
}

const cardOf = (customerID: number, more: object) => ({
  ...{ customerID, isPrimary: true },
  CreditCard: {
    ...{ CardType: 'Visa', Number: '4242424242424242', NameOnCard: 'Ada', LastNameOnCard: 'Lovelace' },
    ...{ ExpiryMonth: 12, ExpiryYear: 2030, ...more },
  },
})

test('a card is taken with its number and expiry as they are pasted', async () => {
  const { client, customerID } = await withCustomer()
  const added = await client.post(
    CARD,
    cardOf(customerID, { Number: '\u202A４２４２ 4242.4242–4242\u202C', ExpiryMonth: '０９', ExpiryYear: '２０３０' }),
  )
  expect(added.status, added.text).toBe(200)
  const { body } = await client.get(`/v1/paymentmethods/${added.body.paymentMethodID ?? added.body.ID}`)
  expect(body.CreditCard).toMatchObject({ LastFourDigits: '4242', ExpiryMonth: 9, ExpiryYear: 2030 })
  for (const wrong of [
    { Number: '4242/4242/4242/4242' },
    { ExpiryMonth: '13' },
    { ExpiryYear: '30' },
    { ExpiryMonth: 'x' },
  ])
    expect((await client.post(CARD, cardOf(customerID, wrong))).status).toBe(400)
})

test('a number that the field would take is refused in a name, a label and a field that nobody knows', async () => {
  const { client, customerID } = await withCustomer()
  for (const number of [
    '4242.4242.4242.4242',
    '٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢',
    '4242\u200B4242\u200B4242\u200B4242',
    '4242\u2014424242424242',
  ])
    for (const more of [{ NameOnCard: number }, { Memo: number }, { [number]: 1 }]) {
      const { status, body, text } = await client.post(CARD, cardOf(customerID, more))
      expect([status, body.Errors[0].Code]).toEqual([400, 'card_number_misplaced'])
      expect(text).not.toContain(number)
    }
})

test('an IBAN and a BIC are stored without what they were pasted with', async () => {
  const { client, customerID } = await withCustomer()
  const BankAccount = {
    ...{ Method: 'sepa', AccountType: 'Current', AccountHolder: 'Ada Lovelace', Bank: 'Bank' },
    ...{ IBAN: '\u202ADE89.3704–0044 0532 0130 ００\u202C', BIC: 'cobade\u200Bffxxx' },
    ...{ MandateReference: 'M-1', MandateDate: '2027-01-01' },
  }
  const added = await client.post(BANK, { customerID, isPrimary: true, BankAccount })
  expect(added.status, added.text).toBe(200)
  const { body } = await client.get(`/v1/paymentmethods/${added.body.paymentMethodID ?? added.body.ID}`)
  expect(body.BankAccount).toMatchObject({ IBAN: 'DE89370400440532013000', BIC: 'COBADEFFXXX' })
})

test('a holder of whom SEPA has no letter is told by a warning, at add and edit, and of an eMandate', async () => {
  const { client, customerID } = await withCustomer()
  const bodyOf = (AccountHolder: string, method: object = {}) => ({
    ...{ customerID, isPrimary: true },
    BankAccount: {
      ...{ Method: 'sepa', AccountType: 'Current', Bank: 'Bank', IBAN: 'DE89370400440532013000', BIC: 'COBADEFFXXX' },
      ...{ MandateReference: 'M-1', MandateDate: '2027-01-01', AccountHolder, ...method },
    },
  })
  const warned = async (method: string, path: string, body: object) => {
    const { status, headers, text } = await client.request(method, path, body)
    expect([200, 201, 204], text).toContain(status)
    return headers['perennial-warning']
  }
  expect(await warned('POST', BANK, bodyOf('李明'))).toBe('holder_unreadable')
  const { body } = await client.get('/v1/paymentmethods')
  const path = `${BANK}/${body[0].paymentMethodID}`
  expect(await warned('PUT', path, bodyOf('שלום'))).toBe('holder_unreadable')
  expect(await warned('PUT', path, bodyOf('Łódź'))).toBeUndefined()
  expect(await warned('PUT', path, bodyOf('Иван Petrov'))).toBeUndefined()
  const mandate = { ...SEPA, bank_AccHolder: '李明' }
  expect(await warned('POST', '/v1/emandate', mandate)).toMatch(/^holder_unreadable, glyphs_missing;/)
  expect(await warned('POST', '/v1/emandate', SEPA)).toBeUndefined()
})
