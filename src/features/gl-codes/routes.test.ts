import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

const service = await startTestService()

const ACCOUNTS = [
  'receivable',
  'unapplied',
  'clearing',
  'cash',
  'revenue',
  'tax',
  'bad_debt',
  'interest',
  'opening_balance',
  'unsettled',
]
const METHODS = ['cash', 'cheque', 'credit_card', 'debit_order', 'eft', 'bank_account']
const nothingFor = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]))
const DATEV = {
  Consultant: null,
  Client: null,
  YearStartMonth: 1,
  AccountLength: 4,
  KeyWithoutTax: '40',
  AutomaticAccounts: [],
  Initials: null,
  Chart: null,
}
const BLANK = { ...nothingFor(ACCOUNTS), Debtor: null, Methods: nothingFor(METHODS), Datev: DATEV }

test('a new account has no codes, and the settings of DATEV that every account starts with', async () => {
  const client = await service.newAccount()
  expect((await client.get('/v1/glcodes')).body).toEqual(BLANK)
})

test('a change of codes touches only what it names; null takes a code away; another account sees nothing', async () => {
  const client = await service.newAccount()
  const first = await client.put('/v1/glcodes', {
    revenue: 4400,
    Debtor: '10000',
    Methods: { eft: '1800', cash: '1600' },
    Datev: { Consultant: 29098, AutomaticAccounts: ['4400'], KeyWithoutTax: 41 },
  })
  expect(first.status).toBe(204)
  const { headers } = await client.get('/v1/glcodes')
  expect(headers['etag']).toBe(first.headers['etag'])
  const second = {
    unsettled: '1499',
    revenue: null,
    Methods: { cash: null },
    Datev: { Client: 55003, KeyWithoutTax: null },
  }
  expect((await client.put('/v1/glcodes', second)).status).toBe(204)
  expect((await client.get('/v1/glcodes')).body).toEqual({
    ...BLANK,
    unsettled: '1499',
    Debtor: '10000',
    Methods: { ...nothingFor(METHODS), eft: '1800' },
    Datev: { ...DATEV, Consultant: 29098, Client: 55003, AutomaticAccounts: ['4400'] },
  })
  expect((await (await service.newAccount()).get('/v1/glcodes')).body).toEqual(BLANK)
  const { body } = await client.get('/v1/events?type=gl_codes.updated')
  expect(body).toHaveLength(2)
})

test.for<[body: object, field: string]>([
  [{ tax: 'x'.repeat(101) }, 'tax'],
  [{ Methods: { eft: true } }, 'Methods.eft'],
  [{ Datev: { Consultant: 1000 } }, 'Datev.Consultant'],
  [{ Datev: { Client: 100_000 } }, 'Datev.Client'],
  [{ Datev: { YearStartMonth: 13 } }, 'Datev.YearStartMonth'],
  [{ Datev: { AccountLength: 9 } }, 'Datev.AccountLength'],
  [{ Datev: { KeyWithoutTax: 'x' } }, 'Datev.KeyWithoutTax'],
  [{ Datev: { AutomaticAccounts: ['4400', '44 00'] } }, 'Datev.AutomaticAccounts[1]'],
  [{ Datev: { Initials: 'ABC' } }, 'Datev.Initials'],
  [{ Datev: { Initials: 'A' } }, 'Datev.Initials'],
  [{ Datev: { Chart: 'SKR03' } }, 'Datev.Chart'],
])('refuses %j by its field', async ([body, field]) => {
  const client = await service.newAccount()
  const refused = await client.put('/v1/glcodes', body)
  expect([refused.status, refused.body.Errors[0].Field]).toEqual([400, field])
})

test('packages, components and customers keep a code that an edit does not name, and lose it by null', async () => {
  const client = await service.newAccount()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const { packageGroupID } = (await client.post('/v1/packagegroups', { GroupName: 'All' })).body
  const pack = { packageGroupID, packageCode: 'P', Name: 'P', Descrip: 'P', isActive: true }
  const term = { ChargePrice: 1, ChargeTerm: 1, ChargeTermType: 'months' }
  const rate = {
    CurrencyCode: 'EUR',
    SetupFee: 0,
    TrialFee: 0,
    TrialPeriod: 0,
    TrialPeriodType: 'days',
    PackageRateTerms: [term],
  }
  const PackageVersion = { VersionName: 'V', isActive: true, isDefault: true, packageVersionRates: [rate] }
  const component = {
    ComponentCode: 'C',
    Name: 'C',
    Type: 'metered',
    Scheme: 'unit',
    UnitName: 'u',
    packageGroupID,
    Term: 1,
    TermType: 'months',
  }
  const records = [
    ['/v1/packages', 'packageID', { ...pack, PackageVersion }, pack],
    ['/v1/components', 'componentID', { ...component, ComponentVersion: { VersionName: 'V' } }, component],
    ['/v1/customers', 'customerID', { Name: 'Ada', isCompany: true }, { Name: 'Ada', isCompany: true }],
  ] as const
  for (const [path, id, added, edited] of records) {
    const { status, body } = await client.post(path, { ...added, GLCode: 4400 })
    expect([path, status, body.Errors]).toEqual([path, 201, undefined])
    const code = async () => {
      const read = (await client.get(`${path}/${body[id]}`)).body
      return (Array.isArray(read) ? read[0] : read).GLCode
    }
    expect(await code()).toBe('4400')
    await client.put(`${path}/${body[id]}`, edited)
    expect(await code()).toBe('4400')
    await client.put(`${path}/${body[id]}`, { ...edited, GLCode: null })
    expect(await code()).toBeNull()
    const refused = await client.put(`${path}/${body[id]}`, { ...edited, GLCode: 'x'.repeat(101) })
    expect([refused.status, refused.body.Errors[0].Field]).toEqual([400, 'GLCode'])
  }
})
