import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { matchTaxes } from '../../engine/tax.ts'
import { sql } from '../../platform/database/sql.ts'
import { listTaxRules } from './queries.ts'

const service = await startTestService()

/** Fields of a rule that says nothing of its own in them. */
const NEWER = {
  Category: 'S',
  Area: null,
  AppliesTo: 'all',
  Reason: null,
  ReasonCode: null,
  GLCode: null,
  RevenueGLCode: null,
  DatevKey: null,
}

const rule = (Perc: number, changes: object = {}) => ({ Perc, ...changes })
const VAT = {
  Name: 'VAT',
  rules: [
    rule(0.14, { countryID: 710, TaxNumber: 4_123 }),
    rule(0.07, { countryID: 710, countryStateID: 71000601 }),
    rule(0),
  ],
}

const newSetting = async (client: TestClient, body: object = VAT) => {
  const added = await client.post('/v1/tax', body)
  expect(added.status).toBe(201)
  return added.body
}

const fieldsOf = (reply: { body: { Errors: { Field: string }[] } }) =>
  reply.body.Errors.map(({ Field }) => Field).sort()
const eventsOf = (client: TestClient) =>
  service.db
    .reader(client.id)
    .rows<{ type: string; record: unknown }>(
      sql`select type, record from event_rows where account_id = ${client.id} and type like 'tax%' order by event_id`,
    )

describe('POST /v1/tax', () => {
  test('a setting is answered with its identifiers and can be read again as it was answered', async () => {
    const client = await service.newAccount()
    const added = await client.post('/v1/tax', VAT)
    expect(added.status).toBe(201)
    expect(added.body).toEqual({
      taxSettingID: expect.any(Number),
      Name: 'VAT',
      rules: [
        {
          taxRuleID: expect.any(Number),
          Perc: 0.14,
          countryID: 710,
          countryStateID: null,
          TaxNumber: '4123',
          ...NEWER,
        },
        {
          taxRuleID: expect.any(Number),
          Perc: 0.07,
          countryID: 710,
          countryStateID: 71000601,
          TaxNumber: null,
          ...NEWER,
        },
        {
          taxRuleID: expect.any(Number),
          Perc: 0,
          countryID: null,
          countryStateID: null,
          TaxNumber: null,
          ...NEWER,
          Category: 'Z',
        },
      ],
    })
    const read = await client.get(`/v1/tax/${added.body.taxSettingID}`)
    expect(read.body).toEqual(added.body)
    expect(read.headers.etag).toBe(added.headers.etag)
    expect((await client.get('/v1/tax')).body).toEqual([added.body])
    expect(await eventsOf(client)).toEqual([{ type: 'tax_setting.created', record: added.body }])
  })

  test('a setting may have no rules, and a rate eight decimals', async () => {
    const client = await service.newAccount()
    expect((await newSetting(client, { Name: 'None' })).rules).toEqual([])
    expect((await newSetting(client, { Name: 'Fine', rules: [rule(0.12345678)] })).rules[0].Perc).toBe(0.12345678)
  })

  test('all problems are told together, each with its rule', async () => {
    const client = await service.newAccount()
    const refused = await client.post('/v1/tax', {
      rules: [
        rule(1.1),
        rule(0.1, { countryStateID: 71000601 }),
        rule(0.1, { countryID: 276 }),
        rule(0.2, { countryID: 276, countryStateID: 0 }),
        rule(0.123456789, { countryID: 528 }),
        { countryID: -1 },
        rule(0.3, { countryID: null }),
      ],
    })
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual([
      'Name',
      'rules[0].Perc',
      'rules[1].countryID',
      'rules[3].countryID',
      'rules[4].Perc',
      'rules[5].Perc',
      'rules[5].countryID',
      'rules[6].countryID',
    ])
    expect((await client.get('/v1/tax')).body).toEqual([])
  })

  test('a setting may have 500 rules and no more', async () => {
    const client = await service.newAccount()
    const rules = Array.from({ length: 501 }, (_, index) => rule(0.1, { countryID: index + 1 }))
    const refused = await client.post('/v1/tax', { Name: 'Many', rules })
    expect(refused.status).toBe(400)
    expect(refused.body.Errors[0].Message).toContain('500')
    expect((await newSetting(client, { Name: 'Many', rules: rules.slice(1) })).rules).toHaveLength(500)
  })
})

describe('PUT /v1/tax/{taxSettingID}', () => {
  test('rules with an identifier are edited, others added, those left out deleted', async () => {
    const client = await service.newAccount()
    const { taxSettingID, rules } = await newSetting(client)
    const [country, state] = rules
    const edited = await client.put(`/v1/tax/${taxSettingID}`, {
      Name: 'BTW',
      rules: [{ ...state, Perc: 0.08 }, rule(0.21, { countryID: 528 })],
    })
    expect(edited.status).toBe(204)
    const read = await client.get(`/v1/tax/${taxSettingID}`)
    expect(read.body.Name).toBe('BTW')
    expect(read.body.rules).toEqual([
      { ...state, Perc: 0.08 },
      { taxRuleID: expect.any(Number), Perc: 0.21, countryID: 528, countryStateID: null, TaxNumber: null, ...NEWER },
    ])
    expect(read.body.rules[1].taxRuleID).toBeGreaterThan(country.taxRuleID)
    expect(read.headers.etag).toBe(edited.headers.etag)
  })

  test('two rules may change places with each other', async () => {
    const client = await service.newAccount()
    const { taxSettingID, rules } = await newSetting(client, {
      Name: 'X',
      rules: [rule(0.1, { countryID: 1 }), rule(0.2, { countryID: 2 })],
    })
    const swapped = [
      { ...rules[0], countryID: 2 },
      { ...rules[1], countryID: 1 },
    ]
    expect((await client.put(`/v1/tax/${taxSettingID}`, { Name: 'X', rules: swapped })).status).toBe(204)
    expect((await client.get(`/v1/tax/${taxSettingID}`)).body.rules).toEqual(swapped)
  })

  test('rules that are not sent stay, an empty list empties', async () => {
    const client = await service.newAccount()
    const setting = await newSetting(client)
    const path = `/v1/tax/${setting.taxSettingID}`
    expect((await client.put(path, { Name: 'New' })).status).toBe(204)
    expect((await client.get(path)).body).toEqual({ ...setting, Name: 'New' })
    expect((await client.put(path, { Name: 'New', rules: [] })).status).toBe(204)
    expect((await client.get(path)).body.rules).toEqual([])
  })

  test('a rule of another setting, and one rule twice, are refused', async () => {
    const client = await service.newAccount()
    const [mine, other] = [await newSetting(client), await newSetting(client, { Name: 'Other', rules: [rule(0.5)] })]
    const [first] = mine.rules
    const refused = await client.put(`/v1/tax/${mine.taxSettingID}`, {
      Name: 'VAT',
      rules: [first, { ...first, countryID: 1 }, other.rules[0]],
    })
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual(['rules[1].taxRuleID', 'rules[2].taxRuleID'])
    expect((await client.get(`/v1/tax/${mine.taxSettingID}`)).body).toEqual(mine)
  })

  test('a stale tag is refused and the present one is not', async () => {
    const client = await service.newAccount()
    const { taxSettingID } = await newSetting(client)
    const path = `/v1/tax/${taxSettingID}`
    const { headers } = await client.get(path)
    const tag = headers.etag as string
    expect((await client.put(path, { Name: 'A' }, { 'if-match': tag })).status).toBe(204)
    expect((await client.put(path, { Name: 'B' }, { 'if-match': tag })).status).toBe(412)
    expect((await client.delete(path, undefined, { 'if-match': tag })).status).toBe(412)
  })
})

test('a deleted setting is gone with its rules and taxes nothing any more', async () => {
  const client = await service.newAccount()
  const { taxSettingID } = await newSetting(client)
  expect((await client.delete(`/v1/tax/${taxSettingID}`)).status).toBe(204)
  expect((await client.get(`/v1/tax/${taxSettingID}`)).status).toBe(404)
  expect((await client.delete(`/v1/tax/${taxSettingID}`)).status).toBe(404)
  expect((await listTaxRules(service.db.reader(client.id), client.id)).rules).toEqual([])
  expect((await eventsOf(client)).map(({ type }) => type)).toEqual(['tax_setting.created', 'tax_setting.deleted'])
})

test('stored rules are what the engine matches to a place', async () => {
  const client = await service.newAccount()
  await newSetting(client)
  const rules = await listTaxRules(service.db.reader(client.id), client.id)
  const percOf = (place: { countryId: number | null; countryStateId: number | null }) =>
    matchTaxes(rules, { ...place, isBusiness: false }).map(({ rate, settingName, taxNumber }) => [
      settingName,
      Number(rate.coefficient),
      rate.scale,
      taxNumber,
    ])
  expect(percOf({ countryId: 710, countryStateId: 71000601 })).toEqual([['VAT', 7, 2, null]])
  expect(percOf({ countryId: 710, countryStateId: null })).toEqual([['VAT', 14, 2, '4123']])
  expect(percOf({ countryId: null, countryStateId: null })).toEqual([['VAT', 0, 0, null]])
})

test("another account's setting is missing, and a key that may only read changes none", async () => {
  const [owner, other] = [await service.newAccount(), await service.newAccount()]
  const { taxSettingID } = await newSetting(owner)
  const path = `/v1/tax/${taxSettingID}`
  expect((await other.get('/v1/tax')).body).toEqual([])
  for (const reply of [await other.get(path), await other.put(path, {}), await other.delete(path)])
    expect(reply.status).toBe(404)
  const reader = await readOnlyClientOf(service, owner)
  expect((await reader.get(path)).status).toBe(200)
  for (const reply of [await reader.post('/v1/tax', {}), await reader.put(path, {}), await reader.delete(path)])
    expect(reply.status).toBe(403)
})

test('settings come page by page', async () => {
  const client = await service.newAccount()
  for (const Name of ['A', 'B', 'C']) await newSetting(client, { Name })
  const page = await client.get('/v1/tax?page=1&page_size=2')
  expect(page.body.map(({ Name }: { Name: string }) => Name)).toEqual(['A', 'B'])
  expect(page.headers['link']).toContain('rel="next"')
  expect((await client.get('/v1/tax?page=7&page_size=2')).body).toEqual([])
})
