import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { MANDATE, SEPA } from './emandates.testing.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'

const START = Date.parse('2027-01-01T00:00:00Z')
let now = START
const service = await startTestService({ now: () => now, publicUrl: 'https://pay.example.org' })

const problemsOf = (reply: { body: any }) =>
  reply.body.Errors.map(({ Field, Code }: { Field: string; Code: string }) => `${Field} ${Code}`).sort()

const read = (client: TestClient, token: string) => client.get(`/v1/emandate?Token=${token}`)

async function newAccountOf(client: TestClient, BankAccount: object) {
  const { customerID } = (await client.post('/v1/customers', { Name: 'Ada', isCompany: true })).body
  return (await client.post('/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })).body
    .paymentMethodID as number
}

const STORED = {
  Method: 'debit_order',
  AccountType: 'Savings',
  AccountHolder: 'Ada Lovelace',
  Bank: 'FNB',
  AccountNumber: '62001871490',
  BranchCode: '250655',
}
const withoutBank = () => Object.fromEntries(Object.entries(MANDATE).filter(([name]) => !name.startsWith('bank_')))

test('an eMandate is asked for, answers a token and the address of its page, and is read with its number masked', async () => {
  const client = await service.newAccount({ name: 'Engines Ltd', currency: 'ZAR' })
  await client.put('/v1/account', { Tel: '+27 21 555 0100', Email: 'hi@example.org', WebPage: 'https://example.org' })
  const added = await client.post('/v1/emandate', MANDATE)
  expect(added.status).toBe(201)
  const { Token, Url } = added.body
  expect(Token).toMatch(/^[a-z0-9]{30,80}$/)
  expect(Url).toMatch(/^https:\/\/pay\.example\.org\/m\/[a-z0-9-]+$/)
  const answer = await read(client, Token)
  expect(answer.body).toEqual({
    Token,
    customerPaymentMethodID: null,
    MandateState: 'open',
    MandateReference: expect.stringMatching(/^EM\d+$/),
    Name: 'Ada',
    LastName: 'Lovelace',
    Company: null,
    TradingAs: null,
    Tel: null,
    Email: 'ada@example.org',
    Address1: '12 Long Street',
    Address2: null,
    City: 'Cape Town',
    State: null,
    PostalCode: '8001',
    CountryISOCode: 'ZAF',
    bank_DebitMethod: 'debit_order',
    bank_Name: 'FNB',
    bank_BranchCode: '250655',
    bank_AccHolder: 'Ada Lovelace',
    bank_AccNumber: '****1490',
    bank_AccountType: 'Savings',
    debit_Frequency: 'Monthly',
    debit_NameOnStmt: 'ENGINES',
    debit_ContractRef: 'C-17',
    debit_StartDate: '2027-02-01T00:00:00Z',
    debit_ActionDay: 31,
    debit_EndDate: null,
    debit_Amt: 199.5,
    debit_MaxAmt: 400,
    debit_Escalation: '6 % a year',
    debit_VariableAmts: true,
    CurrencyCode: 'ZAR',
    AuthDomain: null,
    isCustomerEditable: false,
    isCompanySignee: false,
    DateCreated: '2027-01-01T00:00:00.000Z',
    DateSigned: null,
    BeneficiaryName: 'Engines Ltd',
    BeneficiaryContactNumber: '+27 21 555 0100',
    BeneficiaryWebPage: 'https://example.org',
    BeneficiaryEmail: 'hi@example.org',
  })
  const events = await client.get('/v1/events?Type=emandate.created')
  expect(events.text).not.toContain('Lovelace')
  expect(events.text).not.toContain(Token)
})

test('a SEPA mandate is in EUR and names the creditor of the gateway; company and trading name are those of a company', async () => {
  const client = await service.newAccount({ name: 'Engines Ltd' })
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const gateway = await client.post('/v1/gateways', {
    GatewayType: 'sepa-file',
    FriendlyName: 'Bank',
    isPrimary: true,
    Settings: CREDITOR,
  })
  expect(gateway.status).toBe(201)
  const about = { isCompanySignee: true, Company: 'Ada KG', TradingAs: 'Adas' }
  const { Token } = (await client.post('/v1/emandate', { ...SEPA, ...about })).body
  const { body } = await read(client, Token)
  expect(body).toMatchObject({
    CurrencyCode: 'EUR',
    BeneficiaryName: 'Engines GmbH',
    bank_BranchCode: 'COBADEFFXXX',
    bank_AccNumber: '****3000',
    Company: 'Ada KG',
    TradingAs: 'Adas',
  })
})

test('all that is wrong with a body is named by its field, and no number is repeated', async () => {
  const client = await service.newAccount()
  expect(problemsOf(await client.post('/v1/emandate', {}))).toEqual(
    [
      'Name',
      'Lastname',
      'bank_Name',
      'bank_BranchCode',
      'bank_AccHolder',
      'bank_AccNumber',
      'bank_AccountType',
      'debit_ActionDay',
      'debit_Amt',
      'debit_ContractRef',
      'debit_Frequency',
      'debit_NameOnStmt',
      'debit_StartDate',
    ]
      .map((field) => `${field} required`)
      .sort(),
  )
  const wrong = async (change: object, from: object = MANDATE) =>
    problemsOf(await client.post('/widget/emandate', { ...from, ...change }))
  expect(await wrong({ bank_AccNumber: '12', bank_BranchCode: '12' })).toEqual([
    'bank_AccNumber account_number_invalid',
    'bank_BranchCode branch_code_invalid',
  ])
  expect(await wrong({ bank_AccNumber: 'DE89370400440532013001' }, SEPA)).toEqual(['bank_AccNumber iban_invalid'])
  expect(await wrong({ bank_DebitMethod: 'cheque' }, SEPA)).toEqual(['bank_DebitMethod unknown_word'])
  expect(await wrong({ bank_BranchCode: 'X' }, SEPA)).toEqual(['bank_BranchCode bic_invalid'])
  expect(await wrong({ bank_DebitMethod: 'ach', bank_BranchCode: '011000016' })).toEqual([
    'bank_BranchCode routing_number_invalid',
  ])
  expect(await wrong({ debit_Amt: 0 })).toEqual(['debit_Amt out_of_range'])
  expect(await wrong({ debit_Amt: 500 })).toEqual(['debit_MaxAmt out_of_range'])
  expect(await wrong({ debit_Amt: 1.001 })).toEqual(['debit_Amt too_many_decimals'])
  expect(await wrong({ debit_EndDate: '2027-01-31' })).toEqual(['debit_EndDate dates_reversed'])
  expect(await wrong({ debit_ActionDay: 0 })).toEqual(['debit_ActionDay out_of_range'])
  expect(await wrong({ debit_ActionDay: -1 })).toEqual(['debit_ActionDay out_of_range'])
  expect(await wrong({ debit_ActionDay: 32 })).toEqual(['debit_ActionDay out_of_range'])
  expect(await wrong({ debit_Frequency: 'weekly', debit_ActionDay: 8 })).toEqual(['debit_ActionDay out_of_range'])
  expect(await wrong({ debit_Frequency: 'Hourly' })).toEqual(['debit_Frequency unknown_word'])
  expect(await wrong({ CountryISOCode: 'ZZZ' })).toEqual(['CountryISOCode invalid'])
  expect(await wrong({ Email: 'a@b.example\r\nBcc: c@d.example' })).toEqual(['Email control_character'])
  expect(await wrong({ Name: '4242424242424242' })).toEqual(['Name card_number_misplaced'])
  for (const RedirectUrl of ['http://example.org', 'javascript:alert(1)', 'https://a:b@example.org', 'here'])
    expect(await wrong({ RedirectUrl }), RedirectUrl).toEqual(['RedirectUrl return_url_unfit'])
  const live = await service.newAccount({ mode: 'live', clockAt: null })
  const local = { ...MANDATE, RedirectUrl: 'http://localhost:8080/back' }
  expect(problemsOf(await live.post('/widget/emandate', local))).toEqual(['RedirectUrl return_url_unfit'])
  expect((await client.post('/widget/emandate', local)).status).toBe(201)
  const numbers = await client.post('/v1/emandate', { ...MANDATE, bank_AccNumber: 62001871490, bank_BranchCode: 50655 })
  expect((await read(client, numbers.body.Token)).body.bank_BranchCode).toBe('050655')
})

test('days that a frequency has not are passed over, and its words are taken in any letter case', async () => {
  const client = await service.newAccount()
  for (const debit_Frequency of ['DAILY', 'once'])
    for (const debit_ActionDay of [0, -1, 32, 10_000])
      expect((await client.post('/v1/emandate', { ...MANDATE, debit_Frequency, debit_ActionDay })).status).toBe(201)
})

describe('states and tokens', () => {
  test('an unsigned eMandate ends after 24 hours of the clock or of real time, and is read on', async () => {
    now = START
    const following = await service.newAccount({ clockAt: null })
    const stopped = await service.newAccount({ clockAt: '2027-01-01T00:00:00.000Z' })
    const tokens = await Promise.all(
      [following, stopped].map(async (client) => (await client.post('/v1/emandate', MANDATE)).body.Token as string),
    )
    const states = async () =>
      Promise.all([following, stopped].map(async (client, n) => (await read(client, tokens[n]!)).body.MandateState))
    now = START + 86_399_999
    expect(await states()).toEqual(['open', 'open'])
    now += 1
    expect(await states()).toEqual(['expired', 'expired'])
    const moved = await service.newAccount({ clockAt: '2027-01-01T00:00:00.000Z' })
    const { Token } = (await moved.post('/v1/emandate', MANDATE)).body
    await moved.put('/v1/clock', { Now: '2027-01-02T00:00:00Z' })
    expect((await read(moved, Token)).body.MandateState).toBe('expired')
  })

  test('a token that is not exactly as it was made, or another account names, finds nothing', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()]
    const { Token, Url } = (await client.post('/v1/emandate', MANDATE)).body
    const path = Url.split('/m/')[1] as string
    for (const token of [
      Token.toUpperCase(),
      Token.slice(0, -1),
      `${Token}a`,
      path,
      `77${Token.slice(Token.indexOf('x'))}`,
      'x',
    ])
      expect((await read(client, token)).status, token).toBe(404)
    expect((await read(other, Token)).status).toBe(404)
    expect((await client.get('/v1/emandate')).status).toBe(400)
    const reader = await readOnlyClientOf(service, client)
    expect((await read(reader, Token)).status).toBe(200)
    expect((await reader.post('/v1/emandate', MANDATE)).status).toBe(403)
  })

  test('neither a token nor an account number is stored in the open', async () => {
    const client = await service.newAccount()
    const added = await client.post('/v1/emandate', MANDATE, { 'idempotency-key': 'a mandate' })
    const again = await client.post('/v1/emandate', MANDATE, { 'idempotency-key': 'a mandate' })
    expect(again.body).toEqual(added.body)
    const hash = added.body.Token.slice(added.body.Token.indexOf('x') + 1) as string
    for (const secret of [hash, MANDATE.bank_AccNumber]) {
      const rows = await service.db.reader(client.id).rows<{ text: string }>(sql`
        select e::text as "text" from emandates e where e.account_id = ${client.id}
        union all select k::text from idempotency_keys k where k.account_id = ${client.id}
        union all select v::text from event_rows v where v.account_id = ${client.id}`)
      expect(rows.length).toBeGreaterThan(2)
      expect(rows.filter(({ text }) => text.includes(secret))).toEqual([])
    }
  })
})

describe('for a stored method', () => {
  test('its account is taken over, what is sent beside it must fit, and another one ends the open one', async () => {
    const client = await service.newAccount()
    const customerPaymentMethodID = await newAccountOf(client, STORED)
    const body = { ...withoutBank(), customerPaymentMethodID }
    const first = await client.post('/v1/emandate', body)
    expect(first.status).toBe(201)
    expect((await read(client, first.body.Token)).body).toMatchObject({
      customerPaymentMethodID,
      bank_AccNumber: '****1490',
      bank_AccHolder: 'Ada Lovelace',
      bank_BranchCode: '250655',
      bank_DebitMethod: 'debit_order',
    })
    const second = await client.post('/v1/emandate', { ...MANDATE, customerPaymentMethodID })
    expect(second.status).toBe(201)
    expect((await read(client, first.body.Token)).body.MandateState).toBe('expired')
    expect((await read(client, second.body.Token)).body.MandateState).toBe('open')
    for (const [field, value] of Object.entries({
      bank_AccNumber: '62001871491',
      bank_BranchCode: '250656',
      bank_AccHolder: 'Grace',
      bank_Name: 'ABSA',
      bank_AccountType: 'Cheque',
      bank_DebitMethod: 'sepa',
    }))
      expect(problemsOf(await client.post('/v1/emandate', { ...body, [field]: value })), field).toEqual([
        `${field} not_of_stored_account`,
      ])
  })

  test('one that is unknown, a card, or has a mandate is refused', async () => {
    const client = await service.newAccount()
    const ask = (customerPaymentMethodID: number) =>
      client.post('/v1/emandate', { ...withoutBank(), customerPaymentMethodID })
    const other = await service.newAccount()
    expect((await ask(await newAccountOf(other, STORED))).status).toBe(400)
    const mandated = { ...STORED, MandateReference: 'M1', MandateDate: '2027-01-01' }
    expect((await ask(await newAccountOf(client, mandated))).body.Errors[0].Code).toBe('payment_method_has_mandate')
    const { customerID } = (await client.post('/v1/customers', { Name: 'Ada', isCompany: true })).body
    const CreditCard = {
      CardType: 'Visa',
      Number: '4242424242424242',
      NameOnCard: 'Ada',
      LastNameOnCard: 'L',
      ExpiryMonth: 12,
      ExpiryYear: 2030,
    }
    const card = await client.post('/v1/paymentmethods/creditcard', { customerID, isPrimary: true, CreditCard })
    expect((await ask(card.body.paymentMethodID)).body.Errors[0].Code).toBe('payment_method_is_card')
  })
})
