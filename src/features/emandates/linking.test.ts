import { expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { MANDATE, SEPA } from './emandates.testing.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'

let now = Date.parse('2027-01-01T00:00:00Z')
const ORIGIN = 'https://pay.example.org'
const service = await startTestService({ now: () => now, publicUrl: ORIGIN })

const ACCOUNT = {
  Method: 'sepa',
  AccountType: 'Current',
  AccountHolder: 'Ada Lovelace',
  Bank: 'Commerzbank',
  IBAN: 'DE89370400440532013000',
  BIC: 'COBADEFFXXX',
}

async function ask(client: TestClient, body: object = SEPA) {
  const { Token, Url } = (await client.post('/v1/emandate', body)).body
  return { token: Token as string, path: new URL(Url).pathname, reference: `EM${Token.split('x')[1]}` }
}

async function sign(path: string) {
  const page = await service.app.server.inject({ url: path })
  const shown = /name="shown" value="([0-9a-f]{64})"/.exec(page.body)?.[1] ?? ''
  const done = await service.app.server.inject({
    method: 'POST',
    url: path,
    payload: new URLSearchParams({ decision: 'sign', consent: 'yes', signature: 'Ada', shown }).toString(),
    headers: { origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' },
  })
  return done.statusCode
}

const newCustomer = async (client: TestClient): Promise<number> =>
  (await client.post('/v1/customers', { Name: 'Ada', isCompany: true })).body.customerID

const add = async (client: TestClient, EMandateToken: string | null, change: object = {}) =>
  client.post('/v1/paymentmethods/bankaccount', {
    customerID: await newCustomer(client),
    isPrimary: true,
    BankAccount: { ...ACCOUNT, EMandateToken, ...change },
  })

const readMethod = async (client: TestClient, { paymentMethodID }: { paymentMethodID: number }) =>
  (await client.get(`/v1/paymentmethods/${paymentMethodID}`)).body

test('a signed eMandate gives the method reference, day and validity, and full keys alone read its token', async () => {
  const client = await service.newAccount()
  const { token, path, reference } = await ask(client)
  await sign(path)
  const added = await add(client, token)
  expect(added.status, added.text).toBe(200)
  expect(added.body.BankAccount).toMatchObject({ MandateReference: reference, EMandateToken: null })
  const method = await readMethod(client, added.body)
  expect(method.isValid).toBe(true)
  expect(method.BankAccount).toMatchObject({
    EMandateToken: token,
    MandateReference: reference,
    MandateDate: '2027-01-01T00:00:00Z',
  })
  const reader = await readOnlyClientOf(service, client)
  expect((await readMethod(reader, added.body)).BankAccount.EMandateToken).toBeNull()
  const tokens = async (by: TestClient) =>
    (await by.get('/v1/paymentmethods')).body.map(({ BankAccount }: any) => BankAccount.EMandateToken)
  expect([await tokens(client), await tokens(reader)]).toEqual([[token], [null]])
  const mandate = (await client.get(`/v1/emandate?Token=${token}`)).body
  expect(mandate.customerPaymentMethodID).toBe(added.body.paymentMethodID)
})

test('one that is not signed yet is linked, and signing it makes the method verified', async () => {
  const client = await service.newAccount()
  const { token, path, reference } = await ask(client)
  const added = (await add(client, token)).body
  const before = await readMethod(client, added)
  expect([before.isValid, before.BankAccount.EMandateToken, before.BankAccount.MandateReference]).toEqual([
    false,
    token,
    null,
  ])
  expect(await sign(path)).toBe(303)
  const after = await readMethod(client, added)
  expect([after.isValid, after.BankAccount.MandateReference]).toEqual([true, reference])
})

test('a signed one lets a SEPA file debit the method', async () => {
  const client = await service.newAccount()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const { GatewayToken } = (
    await client.post('/v1/gateways', {
      GatewayType: 'sepa-file',
      FriendlyName: 'Bank',
      isPrimary: true,
      Settings: CREDITOR,
    })
  ).body
  const { token, path } = await ask(client)
  const { paymentMethodID, customerID } = (await add(client, token)).body
  const batch = { CurrencyCode: 'EUR', GatewayToken, ActionDate: '2027-02-01' }
  const { BatchToken } = (await client.post('/v1/batches', batch)).body
  const line = { BatchToken, customerID, paymentMethodID, Amount: 10, PaymentApplied: [] }
  const refused = await client.post('/v1/batches/payments', line)
  expect([refused.status, refused.body.Errors?.[0].Code]).toEqual([409, 'mandate_missing'])
  await sign(path)
  expect((await client.post('/v1/batches/payments', line)).status).toBe(201)
})

test('a token that names nothing, another account, or is over is refused, and one serves one method', async () => {
  const client = await service.newAccount()
  const problem = (reply: { status: number; body: any }) => {
    const [{ Code, Field }] = reply.body.Errors
    return [reply.status, Code, Field]
  }
  const { token, path } = await ask(client)
  const field = 'BankAccount.EMandateToken'
  expect(problem(await add(client, 'abc'))).toEqual([400, 'mandate_unknown', field])
  expect(problem(await add(await service.newAccount(), token))).toEqual([400, 'mandate_unknown', field])
  const other = { IBAN: 'NL91ABNA0417164300' }
  expect(problem(await add(client, token, other))).toEqual([400, 'mandate_of_other_account', 'BankAccount.IBAN'])
  expect(problem(await add(client, token, { BIC: 'ABNANL2A' }))).toEqual([
    400,
    'mandate_of_other_account',
    'BankAccount.BIC',
  ])
  const debitOrder = await ask(client, MANDATE)
  expect(problem(await add(client, debitOrder.token))).toEqual([400, 'mandate_of_other_account', 'BankAccount.Method'])
  await sign(path)
  expect((await add(client, token)).status).toBe(200)
  expect(problem(await add(client, token))).toEqual([409, 'mandate_used', field])
  const late = await ask(client)
  now += 86_400_000
  expect(problem(await add(client, late.token))).toEqual([409, 'mandate_expired', field])
})

test('an edit links, keeps what is not sent, and ends the link with null or with another account', async () => {
  const client = await service.newAccount()
  const { token, path, reference } = await ask(client)
  await sign(path)
  const { paymentMethodID, customerID } = (await add(client, null)).body
  const edit = async (change: object) => {
    const BankAccount = { ...ACCOUNT, ...change }
    const url = `/v1/paymentmethods/bankaccount/${paymentMethodID}`
    const reply = await client.put(url, { customerID, isPrimary: true, BankAccount })
    expect(reply.status, reply.text).toBe(204)
    const { BankAccount: method, isValid } = await readMethod(client, { paymentMethodID })
    return [method.EMandateToken, method.MandateReference, isValid]
  }
  expect(await edit({ EMandateToken: token })).toEqual([token, reference, true])
  expect(await edit({ Bank: 'Another' })).toEqual([token, reference, true])
  expect(await edit({ EMandateToken: token })).toEqual([token, reference, true])
  expect(await edit({ EMandateToken: null })).toEqual([null, null, true])
  await edit({ EMandateToken: token })
  expect(await edit({ IBAN: 'NL91ABNA0417164300', BIC: 'ABNANL2A' })).toEqual([null, null, false])
})
