import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

const service = await startTestService({})

/** Two values of every field that a caller can set, each other than what a customer has without it. */
const VALUES: Record<string, readonly [first: unknown, second: unknown]> = {
  Reference: ['A-1', 'A-2'],
  isCompany: [true, false],
  Name: ['Ada', 'Grace'],
  LastName: ['Lovelace', 'Hopper'],
  RegistrationNumber: ['R1', 'R2'],
  VatNo: ['V1', 'V2'],
  Company: ['Engines', 'Compilers'],
  Email: ['ada@example.com', 'grace@example.com'],
  EmailCC: ['cc1@example.com', 'cc2@example.com'],
  Cell: ['+1', '+2'],
  Tel: ['+3', '+4'],
  Fax: ['+5', '+6'],
  Address1: ['First 1', 'Second 1'],
  Address2: ['First 2', 'Second 2'],
  City: ['London', 'New York'],
  State: ['Somewhere', 'Elsewhere'],
  Country: ['Atlantis', 'Utopia'],
  ZipCode: ['1000', '2000'],
  CountryState: ['North', 'South'],
  countryID: [826, 840],
  countryStateID: [1, 2],
  CurrencyCode: ['EUR', 'ZAR'],
  isWaiveTaxes: [true, false],
  TaxCategory: ['E', 'O'],
  TaxReason: ['Embassy', 'School'],
  PaymentMethod: ['eft', 'cheque'],
  autoSendInvoice: [false, true],
  autoSendStatement: [true, false],
  PaymentTermDays: [7, 30],
  Locale: ['de', 'de-CH'],
  isCollectionHold: [true, false],
  StoppedReminders: [['end_near', 'payment_due'], ['card_expiring']],
  GLCode: ['10042', '10043'],
  CustomFields: [[{ Key: 'Industry', Value: 'Steam' }], [{ Key: 'Industry', Value: 'Ships' }]],
}
const first = Object.fromEntries(Object.entries(VALUES).map(([name, [value]]) => [name, value]))

const newShop = async () => {
  const client = await service.newAccount()
  for (const CurrencyCode of ['EUR', 'ZAR']) await client.post('/v1/currencies', { CurrencyCode })
  await client.post('/v1/customfields', { Key: 'Industry' })
  const added = await client.post('/v1/customers', first)
  expect([added.status, added.body.Errors]).toEqual([201, undefined])
  const path = `/v1/customers/${added.body.customerID}`
  const read = async () => {
    const { body } = await client.get('/v1/customers/with_customfields')
    return { fields: body[0], etag: (await client.get(path)).headers.etag as string }
  }
  return { client, path, added, read }
}

describe('fields of a customer', () => {
  test('the values below cover every field that the interface takes', () => {
    const { components } = JSON.parse(readFileSync('openapi.json', 'utf8')) as {
      components: { schemas: Record<string, { properties: object }> }
    }
    const taken = Object.keys(components.schemas['CustomerInput']!.properties)
    // PrimaryGatewayID names a record of the account; payment methods test it.
    expect(Object.keys(VALUES).sort()).toEqual(taken.filter((name) => name !== 'PrimaryGatewayID').sort())
  })

  test('each is answered as it was sent, by the add and by the lists', async () => {
    const { added, read } = await newShop()
    const { CustomFields: _, ...plain } = first
    expect(added.body).toMatchObject(plain)
    expect((await read()).fields).toMatchObject(first)
  })

  test.each(Object.entries(VALUES))('an edit of %s changes it, the ETag and nothing else', async (name, [, second]) => {
    const { client, path, read } = await newShop()
    const before = await read()
    // Who is taxed again has no reason to be exempt, and numbers of other countries are right in other ways.
    const { TaxCategory: _, TaxReason: __, ...taxed } = first
    const edited = await client.put(path, { ...(name === 'isWaiveTaxes' ? taxed : first), [name]: second })
    expect([edited.status, edited.body?.Errors]).toEqual([204, undefined])
    const after = await read()
    expect(after.etag).not.toBe(before.etag)
    expect(edited.headers.etag).toBe(after.etag)
    const follows =
      {
        autoSendStatement: { StatementDate: null },
        countryID: { VatNoStatus: 'unknown' },
        isWaiveTaxes: { TaxCategory: null, TaxReason: null },
      }[name] ?? {}
    expect(after.fields).toEqual({ ...before.fields, [name]: second, ...follows })
  })

  test('an edit without fields that other programs do not know keeps them, and null clears them', async () => {
    const { client, path, read } = await newShop()
    const { PaymentTermDays, Locale, isCollectionHold, StoppedReminders, CustomFields, ...known } = first
    await client.put(path, known)
    const kept = { PaymentTermDays, Locale, isCollectionHold, StoppedReminders, CustomFields }
    expect((await read()).fields).toMatchObject(kept)
    const nulls = { PaymentTermDays: null, Locale: null, isCollectionHold: null, StoppedReminders: null }
    await client.put(path, { ...known, ...nulls })
    expect((await read()).fields).toMatchObject({ ...nulls, isCollectionHold: false, StoppedReminders: [] })
  })

  test('reminders that are stopped are named in any letter case, each once', async () => {
    const { client, path, read } = await newShop()
    const put = (StoppedReminders: unknown) => client.put(path, { ...first, StoppedReminders })
    expect((await put(['Payment_Due', 'END_NEAR'])).status).toBe(204)
    expect((await read()).fields.StoppedReminders).toEqual(['payment_due', 'end_near'])
    const refusals = [
      [['end_near', 'End_Near'], 'StoppedReminders[1]'],
      [['birthday'], 'StoppedReminders[0]'],
      ['end_near', 'StoppedReminders'],
    ] as const
    for (const [sent, field] of refusals) {
      const reply = await put(sent)
      expect([reply.status, reply.body.Errors[0].Field]).toEqual([400, field])
    }
    expect((await read()).fields.StoppedReminders).toEqual(['payment_due', 'end_near'])
  })
})
