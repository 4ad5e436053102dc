import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { fieldsOf } from '../packages/packages.testing.ts'
import { accountWith, attach, bracket, newComponent, prices, version } from './components.testing.ts'

const service = await startTestService()

const versionsOf = (componentID: number) => `/v1/components/${componentID}/versions`

const summaryOf = async (client: TestClient, componentID: number) =>
  (await client.get(versionsOf(componentID))).body.map((one: any) => [one.VersionNo, one.isDefault])

const currencies = (...codes: string[]) => codes.map((code) => prices(code))

describe('POST /v1/components/{componentID}/versions', () => {
  test('a version gets the next number and can be read again as it was answered', async () => {
    const client = await service.newAccount()
    const { componentID } = await newComponent(client)
    const added = await client.post(versionsOf(componentID), version({ VersionName: 'Second', isDefault: false }))
    expect(added.status).toBe(201)
    expect(added.body).toMatchObject({ componentID, VersionNo: 2, VersionName: 'Second', isDefault: false })
    const read = await client.get(`${versionsOf(componentID)}/2`)
    expect(read.body).toEqual(added.body)
    expect(read.headers.etag).toBe(added.headers.etag)
    expect(added.headers.location).toBe(`${versionsOf(componentID)}/2`)
    expect((await client.get(versionsOf(componentID))).body[1]).toEqual(added.body)
  })

  test.each([
    [
      'takes the default when it is active and has every currency of it',
      { ComponentVersionCurrencies: currencies('EUR', 'USD', 'GBP') },
      true,
    ],
    [
      'does not take it when inactive',
      { isActive: false, ComponentVersionCurrencies: currencies('EUR', 'USD') },
      false,
    ],
    ['does not take it without one of its currencies', { ComponentVersionCurrencies: currencies('USD', 'GBP') }, false],
    ['does not take it unasked', { isDefault: false, ComponentVersionCurrencies: currencies('EUR', 'USD') }, false],
  ])('a version %s', async (_what, changes, isDefault) => {
    const client = await accountWith(service, 'EUR', 'GBP')
    const { componentID } = await newComponent(client, {
      ComponentVersion: { VersionName: 'First', ComponentVersionCurrencies: currencies('USD', 'EUR') },
    })
    const added = await client.post(versionsOf(componentID), version(changes))
    expect([added.status, added.body.isDefault]).toEqual([201, isDefault])
    expect(await summaryOf(client, componentID)).toEqual([
      [1, !isDefault],
      [2, isDefault],
    ])
  })

  test('every change is an event, and the version that loses the default has one of its own', async () => {
    const client = await service.newAccount()
    const { componentID } = await newComponent(client)
    await client.post(versionsOf(componentID), version())
    await client.put(`${versionsOf(componentID)}/1`, version({ isDefault: false }))
    await client.delete(`${versionsOf(componentID)}/1`)
    const events = await service.db
      .reader(client.id)
      .rows<{ type: string; record: { VersionNo: number; isDefault: boolean } }>(
        sql`select type, record from event_rows where account_id = ${client.id} and type like 'component_version%' order by event_id`,
      )
    expect(events.map(({ type, record }) => [type, record.VersionNo, record.isDefault])).toEqual([
      ['component_version.created', 2, true],
      ['component_version.updated', 1, false],
      ['component_version.updated', 1, false],
      ['component_version.deleted', 1, false],
    ])
  })

  test('a deleted number is never given again', async () => {
    const client = await service.newAccount()
    const { componentID } = await newComponent(client)
    await client.post(versionsOf(componentID), version({ isDefault: false }))
    expect((await client.delete(`${versionsOf(componentID)}/2`)).status).toBe(204)
    const added = await client.post(versionsOf(componentID), version({ isDefault: false }))
    expect(added.body.VersionNo).toBe(3)
  })

  test('problems are told with their place, and an unknown component comes before them', async () => {
    const client = await service.newAccount()
    const { componentID } = await newComponent(client)
    const at = 'ComponentVersionCurrencies'
    const refused = await client.post(versionsOf(componentID), {
      isActive: 1,
      ComponentVersionCurrencies: [prices('USD', [bracket(1, 1, 10), bracket(2, 12)]), ...currencies('EUR')],
    })
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual(
      [
        `${at}[0].ComponentBracketPrices[1].QtyFrom`,
        `${at}[1].CurrencyCode`,
        'VersionName',
        'isActive',
        'isDefault',
      ].sort(),
    )
    const told = refused.body.Errors.find(({ Code }: { Code: string }) => Code === 'bracket_sequence')
    expect(told.Message).toBe(
      `${at}[0].ComponentBracketPrices[1].QtyFrom must be 11, one above the QtyTill before it; 12 was sent.`,
    )
    expect((await client.post(versionsOf(999_999), {})).status).toBe(404)
  })
})

describe('GET versions', () => {
  test.each(['0', '7', 'x', '1.5', '99999999999999999999'])(
    'version %s of a component is missing',
    async (versionNo) => {
      const client = await service.newAccount()
      const { componentID } = await newComponent(client)
      const reply = await client.get(`${versionsOf(componentID)}/${versionNo}`)
      expect([reply.status, reply.body.Errors[0].Code]).toEqual([404, 'component_version_unknown'])
    },
  )

  test('versions come page by page', async () => {
    const client = await service.newAccount()
    const { componentID } = await newComponent(client)
    for (const VersionName of ['B', 'C'])
      await client.post(versionsOf(componentID), version({ VersionName, isDefault: false }))
    const page = await client.get(`${versionsOf(componentID)}?page_size=2`)
    expect(page.body.map((one: any) => one.VersionNo)).toEqual([1, 2])
    expect(page.headers['link']).toContain('rel="next"')
    expect((await client.get(`${versionsOf(componentID)}?page_size=2&page=2`)).body[0].VersionName).toBe('C')
  })
})

describe('PUT /v1/components/{componentID}/versions/{versionno}', () => {
  test('identifiers of currencies and brackets survive an edit in another order', async () => {
    const client = await accountWith(service, 'EUR')
    const { componentID, ComponentVersions } = await newComponent(client, {
      ComponentVersion: { VersionName: 'First', ComponentVersionCurrencies: currencies('USD', 'EUR') },
    })
    const [usd, eur] = ComponentVersions[0].ComponentVersionCurrencies
    const path = `${versionsOf(componentID)}/1`
    const edited = await client.put(
      path,
      version({
        VersionName: 'Renamed',
        ComponentVersionCurrencies: [
          prices('EUR', [bracket(6, 0, 10), bracket(4, 11)]),
          prices('USD', [bracket(5, 1, 10), bracket(3, 11, 20), bracket(2, 21)]),
        ],
      }),
    )
    expect([edited.status, edited.text]).toEqual([204, ''])
    const read = await client.get(path)
    expect(read.headers.etag).toBe(edited.headers.etag)
    expect(read.body.VersionName).toBe('Renamed')
    const [usd1, usd2] = usd.ComponentBracketPrices
    const [eur1, eur2] = eur.ComponentBracketPrices
    const { componentVersionCurrencyID } = usd
    expect(read.body.ComponentVersionCurrencies).toEqual([
      {
        ...usd,
        ComponentBracketPrices: [
          usd1,
          { ...usd2, Price: 3, QtyTill: 20 },
          { componentBracketID: expect.any(Number), componentVersionCurrencyID, ...bracket(2, 21) },
        ],
      },
      { ...eur, ComponentBracketPrices: [{ ...eur1, Price: 6, QtyFrom: 0 }, eur2] },
    ])
  })

  test('what is not sent stays; an empty list empties, and a new currency needs brackets', async () => {
    const client = await accountWith(service, 'EUR')
    const { componentID } = await newComponent(client)
    const path = `${versionsOf(componentID)}/1`
    const before = (await client.get(path)).body
    await client.post(versionsOf(componentID), version({ isDefault: false }))
    expect((await client.put(path, { VersionName: 'First', isActive: true })).status).toBe(204)
    const bare = [{ CurrencyCode: 'USD' }]
    expect((await client.put(path, version({ ComponentVersionCurrencies: bare }))).status).toBe(204)
    expect((await client.get(path)).body).toEqual(before)
    const sent = [...bare, { CurrencyCode: 'EUR' }, prices('GBP', [])]
    const refused = await client.put(path, version({ ComponentVersionCurrencies: sent }))
    expect(fieldsOf(refused)).toEqual([
      'ComponentVersionCurrencies[1].ComponentBracketPrices',
      'ComponentVersionCurrencies[2].ComponentBracketPrices',
      'ComponentVersionCurrencies[2].CurrencyCode',
    ])
    expect((await client.put(path, version({ ComponentVersionCurrencies: [] }))).status).toBe(204)
    expect((await client.get(path)).body).toEqual({ ...before, ComponentVersionCurrencies: [] })
  })

  test('the default is passed on by an edit and cannot be given up', async () => {
    const client = await service.newAccount()
    const { componentID } = await newComponent(client)
    const path = versionsOf(componentID)
    expect((await client.put(`${path}/1`, version({ isDefault: false }))).status).toBe(204)
    expect(await summaryOf(client, componentID)).toEqual([[1, true]])
    await client.post(path, version({ isDefault: false }))
    const refused = await client.put(`${path}/1`, version({ isDefault: false }))
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'default_version'])
    expect((await client.put(`${path}/1`, version({ isActive: false }))).status).toBe(204)
    expect(await summaryOf(client, componentID)).toEqual([
      [1, true],
      [2, false],
    ])
    expect((await client.put(`${path}/2`, version())).status).toBe(204)
    expect(await summaryOf(client, componentID)).toEqual([
      [1, false],
      [2, true],
    ])
  })

  test('a version in use, ended or pending, keeps the prices it was sold for and takes another currency', async () => {
    const client = await accountWith(service, 'EUR')
    const { componentID, ComponentVersions } = await newComponent(client)
    const path = versionsOf(componentID)
    const second = await client.post(path, version({ isDefault: false }))
    const versionID = ComponentVersions[0].componentVersionID
    const pendingID = second.body.componentVersionID
    await attach(service, client, { componentID, versionID, pendingID }, { cancelled: '2026-12-01' })
    for (const versionNo of [1, 2]) {
      for (const list of [
        [prices('USD', [bracket(6, 1, 10), bracket(4, 11)])],
        [prices('USD', [bracket(5, 1, 20), bracket(4, 21)])],
        [prices('USD', [bracket(5, 1, 10), bracket(4, 11, 20)])],
        [prices('USD', [bracket(5, 1, 10), bracket(4, 11, 20), bracket(3, 21)])],
        [prices('USD', [bracket(5, 1)])],
        currencies('EUR'),
        [],
      ]) {
        const body = version({ isDefault: versionNo === 1, ComponentVersionCurrencies: list })
        const refused = await client.put(`${path}/${versionNo}`, body)
        expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'component_version_used'])
      }
      const more = [prices('USD', [bracket(5, 0, 10), bracket(4, 11)]), prices('EUR')]
      const taken = version({ VersionName: 'More', isDefault: versionNo === 1, ComponentVersionCurrencies: more })
      expect((await client.put(`${path}/${versionNo}`, taken)).status).toBe(204)
    }
  })

  test('a stale tag is refused, and being attached does not make one stale', async () => {
    const client = await service.newAccount()
    const { componentID, ComponentVersions } = await newComponent(client)
    const path = `${versionsOf(componentID)}/1`
    const tag = (await client.get(path)).headers.etag as string
    await attach(service, client, { componentID, versionID: ComponentVersions[0].componentVersionID })
    expect((await client.put(path, version({ VersionName: 'A' }), { 'if-match': tag })).status).toBe(204)
    expect((await client.put(path, version({ VersionName: 'B' }), { 'if-match': tag })).status).toBe(412)
  })
})

describe('DELETE /v1/components/{componentID}/versions/{versionno}', () => {
  test('the last version, the default one, and a used one stay', async () => {
    const client = await service.newAccount()
    const { componentID } = await newComponent(client)
    const path = versionsOf(componentID)
    const codeOf = async (versionNo: number) => {
      const reply = await client.delete(`${path}/${versionNo}`)
      return [reply.status, reply.body?.Errors[0].Code]
    }
    expect(await codeOf(1)).toEqual([409, 'last_version'])
    const second = await client.post(path, version({ isDefault: false }))
    await client.post(path, version({ isDefault: false }))
    expect(await codeOf(1)).toEqual([409, 'default_version'])
    await attach(
      service,
      client,
      { componentID, versionID: second.body.componentVersionID },
      { cancelled: '2026-12-01' },
    )
    expect(await codeOf(2)).toEqual([409, 'component_version_used'])
    expect(await codeOf(3)).toEqual([204, undefined])
    expect(await codeOf(9)).toEqual([404, 'component_version_unknown'])
  })
})
