import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { newPackage } from '../packages/packages.testing.ts'

const service = await startTestService()
const PATH = '/v1/currencies'

const codesOf = async (client: TestClient) =>
  (await client.get(PATH)).body.map(({ CurrencyCode }: { CurrencyCode: string }) => CurrencyCode)

describe('POST /v1/currencies', () => {
  test('a new account has its default currency; an added one is answered with an empty body and listed with its name', async () => {
    const client = await service.newAccount({ currency: 'USD' })
    expect((await client.get(PATH)).body).toEqual([{ CurrencyCode: 'USD', Name: 'US Dollar' }])
    const added = await client.post(PATH, { CurrencyCode: 'EUR' })
    expect([added.status, added.text]).toEqual([201, ''])
    expect(await codesOf(client)).toEqual(['EUR', 'USD'])
  })

  test.each([
    [{}],
    [{ CurrencyCode: 'XAU' }],
    [{ CurrencyCode: 'eur' }],
    [{ CurrencyCode: null }],
    [{ CurrencyCode: 978 }],
  ])('%j adds no currency', async (body) => {
    const client = await service.newAccount()
    const refused = await client.post(PATH, body)
    expect(refused.status).toBe(400)
    expect(refused.body.Errors).toMatchObject([{ Field: 'CurrencyCode' }])
  })

  test('a currency is added once', async () => {
    const client = await service.newAccount()
    const refused = await client.post(PATH, { CurrencyCode: 'USD' })
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'currency_exists'])
  })
})

describe('DELETE /v1/currencies', () => {
  test('a currency named in the body or in the query goes, and an unknown one is missing', async () => {
    const client = await service.newAccount()
    for (const CurrencyCode of ['EUR', 'GBP']) await client.post(PATH, { CurrencyCode })
    expect((await client.delete(PATH, { CurrencyCode: 'EUR' })).status).toBe(204)
    expect((await client.delete(`${PATH}?CurrencyCode=GBP`)).status).toBe(204)
    expect((await client.delete(PATH, { CurrencyCode: 'EUR' })).status).toBe(404)
    expect((await client.delete(PATH)).status).toBe(400)
    expect(await codesOf(client)).toEqual(['USD'])
  })

  test('the default, and one that a rate or a customer uses, stays', async () => {
    const client = await service.newAccount()
    for (const CurrencyCode of ['EUR', 'GBP']) await client.post(PATH, { CurrencyCode })
    const rate = {
      CurrencyCode: 'EUR',
      SetupFee: 0,
      TrialFee: 0,
      TrialPeriod: 0,
      TrialPeriodType: 'days',
      PackageRateTerms: [{ ChargePrice: 1, ChargeTerm: 1, ChargeTermType: 'months' }],
    }
    const version = { VersionName: 'First', isActive: true, isDefault: true, packageVersionRates: [rate] }
    await newPackage(client, { PackageVersion: version })
    await client.post('/v1/customers', { Name: 'Ada', isCompany: true, CurrencyCode: 'GBP' })
    const codeOf = async (CurrencyCode: string) => {
      const reply = await client.delete(PATH, { CurrencyCode })
      return [reply.status, reply.body.Errors[0].Code]
    }
    expect(await codeOf('USD')).toEqual([409, 'currency_default'])
    expect(await codeOf('EUR')).toEqual([409, 'currency_used'])
    expect(await codeOf('GBP')).toEqual([409, 'currency_used'])
  })

  test('a currency that a rate is being added in goes before it or stays', async () => {
    const client = await service.newAccount()
    await client.post(PATH, { CurrencyCode: 'EUR' })
    const { packageID } = await newPackage(client)
    const before = (await client.get(`/v1/packages/${packageID}/versions/1`)).body
    const [rate] = before.packageVersionRates
    const more = { ...before, packageVersionRates: [rate, { ...rate, CurrencyCode: 'EUR' }] }
    const [edited, deleted] = await Promise.all([
      client.put(`/v1/packages/${packageID}/versions/1`, more),
      client.delete(PATH, { CurrencyCode: 'EUR' }),
    ])
    expect([
      [204, 409],
      [400, 204],
    ]).toContainEqual([edited.status, deleted.status])
  })
})

test('a key that may only read changes no currency, and accounts have their own', async () => {
  const [client, other] = [await service.newAccount(), await service.newAccount({ currency: 'ZAR' })]
  const reader = await readOnlyClientOf(service, client)
  expect((await reader.get(PATH)).status).toBe(200)
  expect((await reader.post(PATH, { CurrencyCode: 'EUR' })).status).toBe(403)
  expect((await reader.delete(PATH, { CurrencyCode: 'USD' })).status).toBe(403)
  expect(await codesOf(other)).toEqual(['ZAR'])
})
