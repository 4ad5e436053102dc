import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { boughtOf, fieldsOf, newPackage, rate, subscribe, term, version } from './packages.testing.ts'

const service = await startTestService()

const versionsOf = (packageID: number) => `/v1/packages/${packageID}/versions`

const summaryOf = async (client: TestClient, packageID: number) =>
  (await client.get(versionsOf(packageID))).body.map((one: any) => [one.VersionNo, one.isDefault])

const currencies = (...codes: string[]) => codes.map((code) => rate(code))

async function accountWith(...codes: string[]): Promise<TestClient> {
  const client = await service.newAccount()
  for (const CurrencyCode of codes) await client.post('/v1/currencies', { CurrencyCode })
  return client
}

describe('POST /v1/packages/{packageID}/versions', () => {
  test('a version gets the next number and can be read again as it was answered', async () => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    const added = await client.post(versionsOf(packageID), version({ VersionName: 'Second', isDefault: false }))
    expect(added.status).toBe(201)
    expect(added.body).toMatchObject({
      packageID,
      VersionNo: 2,
      VersionName: 'Second',
      isDefault: false,
      SubscriptionCount: 0,
    })
    const read = await client.get(`${versionsOf(packageID)}/2`)
    expect(read.body).toEqual(added.body)
    expect(read.headers.etag).toBe(added.headers.etag)
    expect((await client.get(versionsOf(packageID))).body[1]).toEqual(added.body)
  })

  test.each([
    [
      'takes the default when it is active and has every currency of it',
      { packageVersionRates: currencies('EUR', 'USD', 'GBP') },
      true,
    ],
    ['does not take it when inactive', { isActive: false, packageVersionRates: currencies('EUR', 'USD') }, false],
    ['does not take it without one of its currencies', { packageVersionRates: currencies('USD', 'GBP') }, false],
    ['does not take it unasked', { isDefault: false, packageVersionRates: currencies('EUR', 'USD') }, false],
  ])('a version %s', async (_what, changes, isDefault) => {
    const client = await accountWith('EUR', 'GBP')
    const { packageID } = await newPackage(client, {
      PackageVersion: version({ packageVersionRates: currencies('USD', 'EUR') }),
    })
    const added = await client.post(versionsOf(packageID), version(changes))
    expect([added.status, added.body.isDefault]).toEqual([201, isDefault])
    expect(await summaryOf(client, packageID)).toEqual([
      [1, !isDefault],
      [2, isDefault],
    ])
  })

  test('the version that loses the default has an event of its own', async () => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    await client.post(versionsOf(packageID), version())
    const events = await service.db
      .reader(client.id)
      .rows<{ type: string; record: { VersionNo: number; isDefault: boolean } }>(
        sql`select type, record from event_rows where account_id = ${client.id} and type like 'package_version%' order by event_id`,
      )
    expect(events.map(({ type, record }) => [type, record.VersionNo, record.isDefault])).toEqual([
      ['package_version.created', 2, true],
      ['package_version.updated', 1, false],
    ])
  })

  test('a deleted number is never given again', async () => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    await client.post(versionsOf(packageID), version({ isDefault: false }))
    expect((await client.delete(`${versionsOf(packageID)}/2`)).status).toBe(204)
    expect((await client.post(versionsOf(packageID), version({ isDefault: false }))).body.VersionNo).toBe(3)
  })

  test('problems are told with their place, and an unknown package comes before them', async () => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    const refused = await client.post(versionsOf(packageID), {
      isActive: 1,
      packageVersionRates: currencies('EUR', 'EUR'),
    })
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual([
      'VersionName',
      'isActive',
      'isDefault',
      'packageVersionRates[0].CurrencyCode',
      'packageVersionRates[1].CurrencyCode',
      'packageVersionRates[1].CurrencyCode',
    ])
    expect((await client.post(versionsOf(999_999), {})).status).toBe(404)
  })
})

describe('GET versions', () => {
  test.each(['0', '7', 'x', '1.5', '99999999999999999999'])('version %s of a package is missing', async (versionNo) => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    const reply = await client.get(`${versionsOf(packageID)}/${versionNo}`)
    expect([reply.status, reply.body.Errors[0].Code]).toEqual([404, 'package_version_unknown'])
  })

  test('versions come page by page', async () => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    for (const VersionName of ['B', 'C'])
      await client.post(versionsOf(packageID), version({ VersionName, isDefault: false }))
    const page = await client.get(`${versionsOf(packageID)}?page_size=2`)
    expect(page.body.map((one: any) => one.VersionNo)).toEqual([1, 2])
    expect(page.headers['link']).toContain('rel="next"')
    expect((await client.get(`${versionsOf(packageID)}?page_size=2&page=2`)).body[0].VersionName).toBe('C')
  })
})

describe('PUT /v1/packages/{packageID}/versions/{versionno}', () => {
  test('identifiers of rates and terms survive an edit in another order', async () => {
    const client = await accountWith('EUR')
    const rates = [rate('USD', { PackageRateTerms: [term(31), term(300, 12)] }), rate('EUR')]
    const { packageID, PackageVersions } = await newPackage(client, {
      PackageVersion: version({ packageVersionRates: rates }),
    })
    const [usd, eur] = PackageVersions[0].packageVersionRates
    const edited = await client.put(
      `${versionsOf(packageID)}/1`,
      version({
        VersionName: 'Renamed',
        packageVersionRates: [
          rate('EUR', { SetupFee: 12.34 }),
          rate('USD', {
            TrialFee: 1,
            TrialPeriod: 14,
            PackageRateTerms: [term(310, 12), term(8, 7, 'days'), term(31)],
          }),
        ],
      }),
    )
    expect(edited.status).toBe(204)
    const read = await client.get(`${versionsOf(packageID)}/1`)
    expect(read.headers.etag).toBe(edited.headers.etag)
    expect(read.body.VersionName).toBe('Renamed')
    expect(read.body.packageVersionRates).toEqual([
      {
        ...usd,
        TrialFee: 1,
        TrialPeriod: 14,
        PackageRateTerms: [
          usd.PackageRateTerms[0],
          { ...usd.PackageRateTerms[1], ChargePrice: 310 },
          { packageRateTermID: expect.any(Number), packageRateID: usd.packageRateID, ...term(8, 7, 'days') },
        ],
      },
      { ...eur, SetupFee: 12.34 },
    ])
  })

  test('rates and terms that are not sent stay; an empty list and a new rate without terms are refused', async () => {
    const client = await accountWith('EUR')
    const { packageID } = await newPackage(client)
    const path = `${versionsOf(packageID)}/1`
    const before = (await client.get(path)).body
    expect((await client.put(path, version({ packageVersionRates: undefined }))).status).toBe(204)
    const { PackageRateTerms: _, ...bare } = rate('USD')
    expect((await client.put(path, version({ packageVersionRates: [bare] }))).status).toBe(204)
    expect((await client.get(path)).body).toEqual(before)
    expect((await client.put(path, version({ packageVersionRates: [] }))).status).toBe(400)
    const refused = await client.put(path, version({ packageVersionRates: [bare, { ...bare, CurrencyCode: 'EUR' }] }))
    expect(fieldsOf(refused)).toEqual(['packageVersionRates[1].PackageRateTerms'])
  })

  test('the default is passed on by an edit and cannot be given up', async () => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    const refusedAlone = await client.put(`${versionsOf(packageID)}/1`, version({ isDefault: false }))
    expect(refusedAlone.status).toBe(204)
    expect(await summaryOf(client, packageID)).toEqual([[1, true]])
    await client.post(versionsOf(packageID), version({ isDefault: false }))
    const refused = await client.put(`${versionsOf(packageID)}/1`, version({ isDefault: false }))
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'default_version'])
    expect((await client.put(`${versionsOf(packageID)}/1`, version({ isActive: false }))).status).toBe(204)
    expect(await summaryOf(client, packageID)).toEqual([
      [1, true],
      [2, false],
    ])
    expect((await client.put(`${versionsOf(packageID)}/2`, version())).status).toBe(204)
    expect(await summaryOf(client, packageID)).toEqual([
      [1, false],
      [2, true],
    ])
  })

  test('a version in use, ended or pending, keeps what it was sold for and takes additions', async () => {
    const client = await accountWith('EUR')
    const added = await newPackage(client)
    const path = versionsOf(added.packageID)
    const second = await client.post(path, version({ isDefault: false }))
    await subscribe(service, client, boughtOf(added), {
      cancelled: '2026-12-01',
      pendingVersion: second.body.packageVersionID,
    })
    for (const versionNo of [1, 2]) {
      for (const change of [
        rate('USD', { SetupFee: 11 }),
        rate('USD', { TrialFee: 1 }),
        rate('USD', { TrialPeriod: 1 }),
        rate('USD', { TrialPeriodType: 'months' }),
        rate('USD', { PackageRateTerms: [term(30)] }),
        rate('USD', { PackageRateTerms: [term(31, 2)] }),
        rate('EUR'),
      ]) {
        const isDefault = versionNo === 1
        const refused = await client.put(`${path}/${versionNo}`, version({ isDefault, packageVersionRates: [change] }))
        expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'package_version_used'])
      }
      const more = [rate('USD', { PackageRateTerms: [term(31), term(300, 12)] }), rate('EUR')]
      const taken = version({ VersionName: 'More', isDefault: versionNo === 1, packageVersionRates: more })
      expect((await client.put(`${path}/${versionNo}`, taken)).status).toBe(204)
    }
  })

  test('a stale tag is refused, and a subscription does not make one stale', async () => {
    const client = await service.newAccount()
    const added = await newPackage(client)
    const path = `${versionsOf(added.packageID)}/1`
    const tag = (await client.get(path)).headers.etag as string
    await subscribe(service, client, boughtOf(added))
    expect((await client.put(path, version({ VersionName: 'A' }), { 'if-match': tag })).status).toBe(204)
    expect((await client.put(path, version({ VersionName: 'B' }), { 'if-match': tag })).status).toBe(412)
  })
})

describe('DELETE /v1/packages/{packageID}/versions/{versionno}', () => {
  test('the last version, the default one, and a used one stay', async () => {
    const client = await service.newAccount()
    const added = await newPackage(client)
    const path = versionsOf(added.packageID)
    const codeOf = async (versionNo: number) => {
      const reply = await client.delete(`${path}/${versionNo}`)
      return [reply.status, reply.body?.Errors[0].Code]
    }
    expect(await codeOf(1)).toEqual([409, 'last_version'])
    const second = await client.post(path, version({ isDefault: false }))
    expect(await codeOf(1)).toEqual([409, 'default_version'])
    await subscribe(service, client, boughtOf({ packageID: added.packageID, PackageVersions: [second.body] }), {
      end: '2026-12-01',
    })
    expect(await codeOf(2)).toEqual([409, 'package_version_used'])
    expect(await codeOf(9)).toEqual([404, 'package_version_unknown'])
  })

  test('two versions that both want the default at the same moment leave one default', async () => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    const replies = await Promise.all(Array.from({ length: 5 }, () => client.post(versionsOf(packageID), version())))
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
    const found = await summaryOf(client, packageID)
    expect(found.map(([no]: [number]) => no)).toEqual([1, 2, 3, 4, 5, 6])
    expect(found.filter(([, isDefault]: [number, boolean]) => isDefault)).toHaveLength(1)
  })
})
