import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { fieldsOf, newGroup } from '../packages/packages.testing.ts'
import { attach, bracket, componentOf, newComponent, prices, version } from './components.testing.ts'

const service = await startTestService()

const LISTS = 'ComponentVersion.ComponentVersionCurrencies'

describe('POST /v1/components', () => {
  test('a component is answered whole, with version 1 default and active, and can be read again as it was answered', async () => {
    const client = await service.newAccount()
    const group = await newGroup(client)
    const brackets = [bracket(0.12345678, 0, 10), bracket(4, 11, '')]
    const added = await client.post(
      '/v1/components',
      componentOf(group, {
        Type: 'Opt-In',
        Scheme: 'VOLUME',
        ComponentVersion: {
          VersionName: 'First',
          isActive: false,
          isDefault: false,
          ComponentVersionCurrencies: [prices('USD', brackets)],
        },
      }),
    )
    expect(added.status).toBe(201)
    const { componentID } = added.body
    const [first] = added.body.ComponentVersions
    const currencyID = first.ComponentVersionCurrencies[0].componentVersionCurrencyID
    expect(added.body).toEqual({
      componentID,
      ComponentCode: 'SEAT',
      Name: 'Seats',
      Descrip: 'People who may sign in',
      isActive: true,
      GLCode: null,
      packageGroupID: group,
      UnitName: 'per seat',
      Term: 1,
      TermType: 'months',
      Type: 'opt-in',
      Scheme: 'volume',
      ComponentVersions: [
        {
          componentVersionID: expect.any(Number),
          componentID,
          VersionNo: 1,
          VersionName: 'First',
          isDefault: true,
          isActive: true,
          ComponentVersionCurrencies: [
            {
              componentVersionCurrencyID: currencyID,
              componentVersionID: first.componentVersionID,
              CurrencyCode: 'USD',
              ComponentBracketPrices: [
                {
                  componentBracketID: expect.any(Number),
                  componentVersionCurrencyID: currencyID,
                  Price: 0.12345678,
                  QtyFrom: 0,
                  QtyTill: 10,
                },
                {
                  componentBracketID: expect.any(Number),
                  componentVersionCurrencyID: currencyID,
                  Price: 4,
                  QtyFrom: 11,
                  QtyTill: null,
                },
              ],
            },
          ],
        },
      ],
    })
    const read = await client.get(`/v1/components/${componentID}`)
    expect(read.body).toEqual(added.body)
    expect(read.headers.etag).toBe(added.headers.etag)
    expect(added.headers.location).toBe(`/v1/components/${componentID}`)
  })

  test('what may be left out is null, inactive, and without prices', async () => {
    const client = await service.newAccount()
    const { Descrip: _, isActive: __, ...least } = componentOf(await newGroup(client))
    const added = await client.post('/v1/components', { ...least, ComponentVersion: { VersionName: 'First' } })
    expect(added.status).toBe(201)
    expect(added.body).toMatchObject({ Descrip: null, isActive: false })
    expect(added.body.ComponentVersions[0].ComponentVersionCurrencies).toEqual([])
    expect((await client.get(`/v1/components/${added.body.componentID}`)).body).toEqual(added.body)
  })

  test('all problems are told together, each with its place, and nothing is stored', async () => {
    const client = await service.newAccount()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const refused = await client.post('/v1/components', {
      Name: 'Seats',
      Type: 'seats',
      Scheme: 'graduated',
      UnitName: ' ',
      packageGroupID: 999_999,
      Term: 1_201,
      TermType: 'months',
      isActive: 'yes',
      ComponentVersion: {
        ComponentVersionCurrencies: [
          prices('USD', [bracket(1, 2, 3), bracket(-1, 4, 10), bracket(1, 12, 5), bracket(1, 6)]),
          prices('USD', [bracket(1, 1, null), bracket(1, 2.5, 3)]),
          prices('EUR', []),
          prices('GBP', [bracket(1, 0, 'many'), { QtyFrom: 20 }]),
        ],
      },
    })
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual(
      [
        'ComponentCode',
        'Type',
        'Scheme',
        'UnitName',
        'packageGroupID',
        'Term',
        'isActive',
        'ComponentVersion.VersionName',
        `${LISTS}[0].ComponentBracketPrices[0].QtyFrom`,
        `${LISTS}[0].ComponentBracketPrices[1].Price`,
        `${LISTS}[0].ComponentBracketPrices[2].QtyFrom`,
        `${LISTS}[0].ComponentBracketPrices[2].QtyTill`,
        `${LISTS}[1].CurrencyCode`,
        `${LISTS}[1].ComponentBracketPrices[0].QtyTill`,
        `${LISTS}[1].ComponentBracketPrices[1].QtyFrom`,
        `${LISTS}[2].ComponentBracketPrices`,
        `${LISTS}[3].CurrencyCode`,
        `${LISTS}[3].ComponentBracketPrices[0].QtyTill`,
        `${LISTS}[3].ComponentBracketPrices[1].Price`,
      ].sort(),
    )
    expect((await client.get('/v1/components')).body).toEqual([])
  })

  test('a hundred brackets are taken, one more is told with the number', async () => {
    const client = await service.newAccount()
    const group = await newGroup(client)
    const list = (count: number) => Array.from({ length: count }, (_, n) => bracket(1, n * 10 + 1, n * 10 + 10))
    const send = (count: number) =>
      client.post(
        '/v1/components',
        componentOf(group, {
          ComponentVersion: { VersionName: 'First', ComponentVersionCurrencies: [prices('USD', list(count))] },
        }),
      )
    const refused = await send(101)
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual([`${LISTS}[0].ComponentBracketPrices`])
    expect(refused.body.Errors[0].Message).toContain('100')
    expect((await send(100)).status).toBe(201)
  })

  test.each([
    ['no version', { ComponentVersion: undefined }, 'ComponentVersion'],
    ['a group 0', { packageGroupID: 0 }, 'packageGroupID'],
    ['a term of 0', { Term: 0 }, 'Term'],
    ['a term in weeks', { TermType: 'weeks' }, 'TermType'],
    ['a field in other letter case', { componentcode: 'x' }, 'componentcode'],
  ])('%s is refused with the field', async (_what, changes, field) => {
    const client = await service.newAccount()
    const refused = await client.post('/v1/components', componentOf(await newGroup(client), changes))
    expect([refused.status, fieldsOf(refused)]).toEqual([400, [field]])
  })

  test('a ComponentCode is taken whatever its letter case', async () => {
    const client = await service.newAccount()
    const first = await newComponent(client)
    const again = componentOf(first.packageGroupID, { ComponentCode: 'seat' })
    const refused = await client.post('/v1/components', again)
    expect(refused.status).toBe(409)
    expect(refused.body.Errors[0]).toMatchObject({ Code: 'component_code_taken', Field: 'ComponentCode' })
  })

  test('the group of another account is unknown here', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()]
    const refused = await client.post('/v1/components', componentOf(await newGroup(other)))
    expect([refused.status, fieldsOf(refused)]).toEqual([400, ['packageGroupID']])
  })

  test('a component read can be sent back, also with strict handling', async () => {
    const client = await service.newAccount()
    const added = await newComponent(client)
    const strict = { prefer: 'handling=strict' }
    const path = `/v1/components/${added.componentID}`
    expect((await client.put(path, added, strict)).status).toBe(200)
    expect((await client.put(`${path}/versions/1`, added.ComponentVersions[0], strict)).status).toBe(204)
    expect((await client.get(path)).body).toEqual(added)
  })

  test('every change is an event with the component as it then was', async () => {
    const client = await service.newAccount()
    const added = await newComponent(client)
    const path = `/v1/components/${added.componentID}`
    await client.put(path, { ...added, Name: 'Places' })
    await client.delete(path)
    const events = await service.db
      .reader(client.id)
      .rows<{ type: string; record: unknown }>(
        sql`select type, record from event_rows where account_id = ${client.id} and type like 'component.%' order by event_id`,
      )
    const renamed = { ...added, Name: 'Places' }
    expect(events).toEqual([
      { type: 'component.created', record: added },
      { type: 'component.updated', record: renamed },
      { type: 'component.deleted', record: renamed },
    ])
  })
})

describe('GET /v1/components', () => {
  test('components come in the order of creation, page by page, each with its own versions', async () => {
    const client = await service.newAccount()
    const group = await newGroup(client)
    for (const code of ['A', 'B', 'C']) {
      const ComponentVersion = { VersionName: code, ComponentVersionCurrencies: [prices()] }
      await client.post('/v1/components', componentOf(group, { ComponentCode: code, ComponentVersion }))
    }
    const page = await client.get('/v1/components?page=1&page_size=2')
    expect(page.body.map((one: any) => [one.ComponentCode, one.ComponentVersions[0].VersionName])).toEqual([
      ['A', 'A'],
      ['B', 'B'],
    ])
    expect(page.headers['link']).toContain('rel="next"')
    const last = await client.get('/v1/components?page=2&page_size=2')
    expect(last.body.map((one: any) => one.ComponentCode)).toEqual(['C'])
    expect(last.headers['link']).not.toContain('rel="next"')
    expect((await client.get('/v1/components?page=9')).body).toEqual([])
    expect((await client.get('/v1/components?page=0')).status).toBe(400)
  })

  test("another account's components are neither listed nor found", async () => {
    const [owner, other] = [await service.newAccount(), await service.newAccount()]
    const { componentID } = await newComponent(owner)
    expect((await other.get('/v1/components')).body).toEqual([])
    const path = `/v1/components/${componentID}`
    for (const reply of [
      await other.get(path),
      await other.put(path, {}),
      await other.delete(path),
      await other.get(`${path}/versions`),
      await other.get(`${path}/versions/1`),
      await other.post(`${path}/versions`, version()),
      await other.put(`${path}/versions/1`, version()),
      await other.delete(`${path}/versions/1`),
    ])
      expect([reply.status, reply.body.Errors[0].Code]).toEqual([404, 'component_unknown'])
    expect((await owner.get(path)).status).toBe(200)
  })
})

describe('PUT /v1/components/{componentID}', () => {
  test('the answer is 200 without a body; what is left out returns to its default, and ComponentCode stays', async () => {
    const client = await service.newAccount()
    const added = await newComponent(client)
    const path = `/v1/components/${added.componentID}`
    const fields = {
      Name: 'Messages',
      Type: 'Metered',
      Scheme: 'stairstep',
      UnitName: 'per sms',
      packageGroupID: await newGroup(client, 'Others'),
      Term: 10,
      TermType: 'days',
    }
    const edited = await client.put(path, fields)
    expect([edited.status, edited.text]).toEqual([200, ''])
    const read = await client.get(path)
    expect(read.body).toEqual({ ...added, ...fields, Type: 'metered', Descrip: null, isActive: false })
    expect(read.headers.etag).toBe(edited.headers.etag)
  })

  test('a ComponentCode that is sent is applied when it is free, and its own letter case can change', async () => {
    const client = await service.newAccount()
    const first = await newComponent(client)
    await client.post('/v1/components', componentOf(first.packageGroupID, { ComponentCode: 'SMS' }))
    const path = `/v1/components/${first.componentID}`
    const refused = await client.put(path, { ...first, ComponentCode: 'sms' })
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'component_code_taken'])
    for (const ComponentCode of ['seat', 'PLACE']) {
      expect((await client.put(path, { ...first, ComponentCode })).status).toBe(200)
      expect((await client.get(path)).body.ComponentCode).toBe(ComponentCode)
    }
  })

  test('missing fields, an unknown group and a stale tag are refused', async () => {
    const client = await service.newAccount()
    const first = await newComponent(client)
    const path = `/v1/components/${first.componentID}`
    expect(fieldsOf(await client.put(path, {}))).toEqual(
      ['Name', 'Type', 'Scheme', 'UnitName', 'packageGroupID', 'Term', 'TermType'].sort(),
    )
    expect(fieldsOf(await client.put(path, { ...first, packageGroupID: 12_345 }))).toEqual(['packageGroupID'])
    expect((await client.put(path, first, { 'if-match': '"other"' })).status).toBe(412)
    expect((await client.put('/v1/components/999999', {})).status).toBe(404)
  })

  test('a component that even an ended subscription names keeps how it is counted and charged, and takes the rest', async () => {
    const client = await service.newAccount()
    const added = await newComponent(client)
    const { componentID, ComponentVersions } = added
    const versionID = ComponentVersions[0].componentVersionID
    await attach(service, client, { componentID, versionID }, { cancelled: '2026-12-01' })
    const path = `/v1/components/${componentID}`
    for (const change of [{ Type: 'metered' }, { Scheme: 'volume' }, { Term: 2 }, { TermType: 'days' }]) {
      const refused = await client.put(path, { ...added, ...change })
      const [{ Code, Field }] = refused.body.Errors
      expect([refused.status, Code, Field]).toEqual([409, 'component_used', Object.keys(change)[0]])
    }
    const rest = { ComponentCode: 'PLACE', Name: 'Places', UnitName: 'per place', Descrip: null, isActive: false }
    expect((await client.put(path, { ...added, ...rest, Type: 'QUANTITY' })).status).toBe(200)
    expect((await client.get(path)).body).toEqual({ ...added, ...rest })
  })
})

describe('DELETE /v1/components/{componentID}', () => {
  test('a component goes with its versions, and its group and currency are free again', async () => {
    const client = await service.newAccount()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const ComponentVersion = { VersionName: 'First', ComponentVersionCurrencies: [prices('EUR')] }
    const { componentID, packageGroupID } = await newComponent(client, { ComponentVersion })
    const codesOf = async () =>
      [
        await client.delete(`/v1/packagegroups/${packageGroupID}`),
        await client.delete('/v1/currencies', { CurrencyCode: 'EUR' }),
      ].map(({ status, body }) => [status, body?.Errors[0].Code])
    expect(await codesOf()).toEqual([
      [409, 'package_group_used'],
      [409, 'currency_used'],
    ])
    expect((await client.delete(`/v1/components/${componentID}`)).status).toBe(204)
    expect((await client.get(`/v1/components/${componentID}`)).status).toBe(404)
    expect((await client.get(`/v1/components/${componentID}/versions/1`)).status).toBe(404)
    expect(await codesOf()).toEqual([
      [204, undefined],
      [204, undefined],
    ])
  })

  test('a component that an ended subscription names stays, and so does one of another tag', async () => {
    const client = await service.newAccount()
    const { componentID, ComponentVersions } = await newComponent(client)
    const path = `/v1/components/${componentID}`
    expect((await client.delete(path, undefined, { 'if-match': '"other"' })).status).toBe(412)
    const versionID = ComponentVersions[0].componentVersionID
    await attach(service, client, { componentID, versionID }, { cancelled: '2026-12-01' })
    const refused = await client.delete(path)
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'component_used'])
    expect((await client.get(path)).status).toBe(200)
  })
})

test('a key that may only read changes no component', async () => {
  const client = await service.newAccount()
  const { componentID } = await newComponent(client)
  const reader = await readOnlyClientOf(service, client)
  const path = `/v1/components/${componentID}`
  expect((await reader.get(path)).status).toBe(200)
  for (const reply of [
    await reader.post('/v1/components', {}),
    await reader.put(path, {}),
    await reader.delete(path),
    await reader.post(`${path}/versions`, {}),
    await reader.put(`${path}/versions/1`, {}),
    await reader.delete(`${path}/versions/1`),
  ])
    expect(reply.status).toBe(403)
})
