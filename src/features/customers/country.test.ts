import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { checkCountries } from '../../platform/checkup/countries.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { APP_ROLE } from '../../platform/database/roles.ts'
import { sql } from '../../platform/database/sql.ts'

/** Countries of customers that are written in their own languages, which decide their taxes. */

const service = await startTestService()

async function germanSeller(country = 'Germany'): Promise<TestClient> {
  const client = await service.newAccount({ currency: 'EUR', clockAt: '2027-01-10T12:00:00Z' })
  expect((await client.put('/v1/account', { Country: country })).status).toBe(204)
  const rules = [
    { Perc: 0.19, countryID: 276 },
    { Perc: 0.19, Area: 'EU', AppliesTo: 'consumer' },
    { Perc: 0, Area: 'EU', AppliesTo: 'business', Category: 'AE' },
    { Perc: 0, Area: 'nonEU', Category: 'O' },
  ]
  const added = await client.post('/v1/tax', { Name: 'USt', rules })
  expect(added.status, added.text).toBe(201)
  return client
}

const warningOf = ({ headers }: { headers: Record<string, unknown> }) => headers['perennial-warning']
const person = { Name: 'Ada', LastName: 'Lovelace', isCompany: false }

async function billed(client: TestClient, Country: string) {
  const added = await client.post('/v1/customers', { ...person, Country })
  expect(added.status, added.text).toBe(201)
  const { body } = await client.post('/v1/invoices', {
    customerID: added.body.customerID,
    InvoiceDate: '2027-01-10',
    Charges: [{ Descrip: 'Work', Qty: 1, UnitCostEx: 100 }],
  })
  return [added.body.countryID, body.Total, body.Taxes.map(({ Category }: any) => Category).join(), warningOf(added)]
}

describe('a country in its own language', () => {
  test.each([
    ['Deutschland', 276, 119, 'S'],
    ['Austria', 40, 119, 'S'],
    ['France', 250, 119, 'S'],
    ['Österreich', 40, 119, 'S'],
    ['Italia', 380, 119, 'S'],
    ['Nederland', 528, 119, 'S'],
    ['Polska', 616, 119, 'S'],
    ['España', 724, 119, 'S'],
    ['België', 56, 119, 'S'],
    ['Belgique', 56, 119, 'S'],
    ['Danmark', 208, 119, 'S'],
    ['Sverige', 752, 119, 'S'],
    ['Česko', 203, 119, 'S'],
    ['Ελλάδα', 300, 119, 'S'],
    ['Frankreich', 250, 119, 'S'],
    ['Italien', 380, 119, 'S'],
    ['Niederlande', 528, 119, 'S'],
    ['Polen', 616, 119, 'S'],
    ['Griechenland', 300, 119, 'S'],
    ['Schweiz', 756, 100, 'O'],
    ['Suisse', 756, 100, 'O'],
    ['Svizzera', 756, 100, 'O'],
    ['Norge', 578, 100, 'O'],
    ['Großbritannien', 826, 100, 'O'],
    ['Vereinigte Staaten', 840, 100, 'O'],
  ])('%s has the taxes of %i', async (country, countryID, total, category) => {
    const client = await seller
    expect(await billed(client, country)).toEqual([countryID, total, category, undefined])
  })
  const seller = germanSeller()

  test('of the account itself leaves the rules of areas to others', async () => {
    const client = await germanSeller('Österreich')
    expect(await billed(client, 'Austria')).toEqual([40, 100, '', undefined])
    expect(await billed(client, 'Italia')).toEqual([380, 119, 'S', undefined])
  })
})

describe('a country that nobody knows', () => {
  test('is told where it decides the tax, on add and edit, also on the kept answer of a repeat', async () => {
    const client = await germanSeller()
    const body = { ...person, Country: 'Atlantis' }
    const key = { 'idempotency-key': 'atlantis' }
    const added = await client.post('/v1/customers', body, key)
    expect([added.status, added.body.countryID, warningOf(added)]).toEqual([
      201,
      null,
      'country_unknown;value="Atlantis"',
    ])
    const again = await client.post('/v1/customers', body, key)
    expect([again.headers['idempotency-replayed'], warningOf(again)]).toEqual([
      'true',
      'country_unknown;value="Atlantis"',
    ])
    const path = `/v1/customers/${added.body.customerID}`
    const edited = await client.put(path, { ...body, Country: 'Île "X"\n' })
    expect([edited.status, warningOf(edited)]).toEqual([204, String.raw`country_unknown;value="%C3%8Ele \"X\""`])
    const answered = await client.put(path, body, { prefer: 'return=representation' })
    expect([answered.status, warningOf(answered)]).toEqual([200, 'country_unknown;value="Atlantis"'])
    expect(warningOf(await client.put(path, { ...body, countryID: 40 }))).toBeUndefined()
    expect(warningOf(await client.put(path, { ...body, Country: null }))).toBeUndefined()
  })

  test('is not told where no rule has a place', async () => {
    const client = await service.newAccount()
    expect((await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })).status).toBe(201)
    expect(warningOf(await client.post('/v1/customers', { ...person, Country: 'Atlantis' }))).toBeUndefined()
  })
})

describe('customers without a country', () => {
  test('are found by hasCountry=false, and counted by the doctor if a PUT would fill it in; an upgrade fills in nothing', async () => {
    const client = await germanSeller()
    const add = async (fields: object) => (await client.post('/v1/customers', { ...person, ...fields })).body.customerID
    const [austrian, atlantic, none, french] = [
      await add({ Country: 'Österreich' }),
      await add({ Country: 'Atlantis' }),
      await add({}),
      await add({ countryID: 250 }),
    ]
    // As a former version left it, which did not know the name.
    await service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update customers set country_id = null where account_id = ${tx.account} and customer_id = ${BigInt(austrian)}`,
      ),
    )
    const listed = async (query: string) =>
      (await client.get(`/v1/customers?${query}`)).body.map(({ customerID }: any) => customerID)
    expect(await listed('hasCountry=false')).toEqual([austrian, atlantic])
    expect(await listed('hasCountry=true')).toEqual([french])
    expect(await listed('')).toEqual([austrian, atlantic, none, french])
    expect(await listed('hasCountry=true&countryID=250')).toEqual([french])
    const both = await client.get('/v1/customers?hasCountry=false&countryID=250')
    expect([both.status, both.body.Errors[0].Code, both.body.Errors[0].Field]).toEqual([
      400,
      'contradiction',
      'hasCountry',
    ])
    expect((await client.get('/v1/customers?hasCountry=perhaps')).status).toBe(400)

    const doctor = new pg.Client(clientConfig(service.connection, APP_ROLE))
    await doctor.connect()
    expect(await checkCountries(doctor)).toMatchObject([
      { about: 'countries', state: 'warn', text: expect.stringMatching(/^1 customer has a Country that names one/) },
    ])

    const { body } = await client.get(`/v1/customers/${austrian}`)
    expect([body.Country, body.countryID]).toEqual(['Österreich', null])
    expect((await client.put(`/v1/customers/${austrian}`, body)).status).toBe(204)
    expect((await client.get(`/v1/customers/${austrian}`)).body.countryID).toBe(40)
    expect(await listed('hasCountry=false')).toEqual([atlantic])
    expect(await checkCountries(doctor)).toEqual([])
    await doctor.end()
  })
})

test('characters that no font of papers has are told by the field that has them, of customers and of the account', async () => {
  const client = await service.newAccount()
  const added = await client.post('/v1/customers', { ...person, Name: '李明', City: 'Łódź', Address1: '東京' })
  const both = 'glyphs_missing;field="Customer.Name", glyphs_missing;field="Customer.Address1"'
  expect([added.status, warningOf(added)]).toEqual([201, both])
  const path = `/v1/customers/${added.body.customerID}`
  expect(warningOf(await client.put(path, { ...person, Name: 'Ελλάδα שלום Спасибо €\u202e\u200b' }))).toBeUndefined()
  expect(warningOf(await client.put(path, { ...person, City: '北京' }))).toBe('glyphs_missing;field="Customer.City"')
  expect(warningOf(await client.put('/v1/account', { Name: '株式会社' }))).toBe('glyphs_missing;field="Account.Name"')
  expect(warningOf(await client.put('/v1/account', { Name: 'Acme' }))).toBeUndefined()
})
