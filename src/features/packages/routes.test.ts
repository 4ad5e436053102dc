import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import {
  boughtOf,
  fieldsOf,
  newGroup,
  newPackage,
  packageOf,
  rate,
  subscribe,
  term,
  version,
} from './packages.testing.ts'

const service = await startTestService()

describe('POST /v1/packages', () => {
  test('a package is answered whole, with version 1 as its default, and can be read again as it was answered', async () => {
    const client = await service.newAccount()
    const group = await newGroup(client)
    const added = await client.post(
      '/v1/packages',
      packageOf(group, {
        PackageVersion: version({
          isDefault: false,
          packageVersionRates: [
            rate('USD', { SetupFee: 10.5, PackageRateTerms: [term(0.12345678), term(300, 12), term(3, 30, 'days')] }),
          ],
        }),
      }),
    )
    expect(added.status).toBe(201)
    const { packageID } = added.body
    const [first] = added.body.PackageVersions
    const rateID = first.packageVersionRates[0].packageRateID
    expect(added.body).toEqual({
      packageID,
      packageGroupID: group,
      packageCode: 'P31',
      Name: 'Plan',
      Descrip: 'A plan',
      isActive: true,
      GLCode: null,
      PackageVersions: [
        {
          packageVersionID: expect.any(Number),
          packageID,
          VersionNo: 1,
          VersionName: 'First',
          isDefault: true,
          isActive: true,
          SubscriptionCount: 0,
          packageVersionRates: [
            {
              packageRateID: rateID,
              packageID,
              CurrencyCode: 'USD',
              SetupFee: 10.5,
              TrialFee: 0,
              TrialPeriod: 0,
              TrialPeriodType: 'days',
              PackageRateTerms: [
                { packageRateTermID: expect.any(Number), packageRateID: rateID, ...term(0.12345678) },
                { packageRateTermID: expect.any(Number), packageRateID: rateID, ...term(300, 12) },
                { packageRateTermID: expect.any(Number), packageRateID: rateID, ...term(3, 30, 'days') },
              ],
            },
          ],
        },
      ],
    })
    const read = await client.get(`/v1/packages/${packageID}`)
    expect(read.body).toEqual(added.body)
    expect(read.headers.etag).toBe(added.headers.etag)
    expect(added.headers.location).toBe(`/v1/packages/${packageID}`)
  })

  test('all problems are told together, each with its path, and nothing is stored', async () => {
    const client = await service.newAccount({ currency: 'USD' })
    await client.post('/v1/currencies', { CurrencyCode: 'JPY' })
    const refused = await client.post('/v1/packages', {
      packageGroupID: 999_999,
      packageCode: ' ',
      Name: 'Plan',
      isActive: true,
      PackageVersion: version({
        packageVersionRates: [
          rate('USD', { PackageRateTerms: [term(1), term(2), term(3, 0), term(4, 1, 'weeks')] }),
          rate('USD', { SetupFee: -1, TrialPeriod: 1201, TrialPeriodType: 'months' }),
          rate('JPY', { SetupFee: 0.5, PackageRateTerms: [] }),
          rate('EUR', { PackageRateTerms: [term(-1)] }),
        ],
      }),
    })
    expect(refused.status).toBe(400)
    const at = 'PackageVersion.packageVersionRates'
    expect(fieldsOf(refused)).toEqual(
      [
        'packageGroupID',
        'packageCode',
        'Descrip',
        `${at}[0].PackageRateTerms[1].ChargeTerm`,
        `${at}[0].PackageRateTerms[2].ChargeTerm`,
        `${at}[0].PackageRateTerms[3].ChargeTermType`,
        `${at}[1].CurrencyCode`,
        `${at}[1].SetupFee`,
        `${at}[1].TrialPeriod`,
        `${at}[2].SetupFee`,
        `${at}[2].PackageRateTerms`,
        `${at}[3].CurrencyCode`,
        `${at}[3].PackageRateTerms[0].ChargePrice`,
      ].sort(),
    )
    expect((await client.get('/v1/packages')).body).toEqual([])
  })

  test.each([
    ['no version', { PackageVersion: undefined }, 'PackageVersion'],
    [
      'a version without rates',
      { PackageVersion: version({ packageVersionRates: [] }) },
      'PackageVersion.packageVersionRates',
    ],
    [
      'a version that leaves rates out',
      { PackageVersion: version({ packageVersionRates: undefined }) },
      'PackageVersion.packageVersionRates',
    ],
    ['a group 0', { packageGroupID: 0 }, 'packageGroupID'],
    ['a field in other letter case', { packagecode: 'x' }, 'packagecode'],
  ])('%s is refused with the field', async (_what, changes, field) => {
    const client = await service.newAccount()
    const refused = await client.post('/v1/packages', packageOf(await newGroup(client), changes))
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual([field])
  })

  test('a packageCode is taken whatever its letter case', async () => {
    const client = await service.newAccount()
    const first = await newPackage(client)
    const refused = await client.post('/v1/packages', packageOf(first.packageGroupID, { packageCode: 'p31' }))
    expect(refused.status).toBe(409)
    expect(refused.body.Errors[0]).toMatchObject({ Code: 'package_code_taken', Field: 'packageCode' })
  })

  test('the group of another account is unknown here', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()]
    const refused = await client.post('/v1/packages', packageOf(await newGroup(other)))
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual(['packageGroupID'])
  })

  test('a package read can be sent back, also with strict handling', async () => {
    const client = await service.newAccount()
    const added = await newPackage(client)
    const { PackageVersions, ...fields } = added
    const again = await client.put(`/v1/packages/${added.packageID}`, added, { prefer: 'handling=strict' })
    expect(again.status).toBe(200)
    const path = `/v1/packages/${added.packageID}/versions/1`
    expect((await client.put(path, PackageVersions[0], { prefer: 'handling=strict' })).status).toBe(204)
    expect((await client.get(`/v1/packages/${added.packageID}`)).body).toEqual({ ...fields, PackageVersions })
  })

  test('a change is an event with the package as it then was', async () => {
    const client = await service.newAccount()
    const added = await newPackage(client)
    const [event] = await service.db
      .reader(client.id)
      .rows<{ record: unknown }>(
        sql`select record from event_rows where account_id = ${client.id} and type = 'package.created'`,
      )
    expect(event?.record).toEqual(added)
  })
})

describe('GET /v1/packages', () => {
  test('packages come in the order of creation, page by page, each with its own versions', async () => {
    const client = await service.newAccount()
    const group = await newGroup(client)
    for (const code of ['A', 'B', 'C'])
      await client.post(
        '/v1/packages',
        packageOf(group, { packageCode: code, PackageVersion: version({ VersionName: code }) }),
      )
    const page = await client.get('/v1/packages?page=1&page_size=2')
    expect(page.body.map((one: any) => [one.packageCode, one.PackageVersions[0].VersionName])).toEqual([
      ['A', 'A'],
      ['B', 'B'],
    ])
    expect(page.headers['link']).toContain('rel="next"')
    const last = await client.get('/v1/packages?page=2&page_size=2')
    expect(last.body.map((one: any) => one.packageCode)).toEqual(['C'])
    expect(last.headers['link']).not.toContain('rel="next"')
    expect((await client.get('/v1/packages?page=9')).body).toEqual([])
    expect((await client.get('/v1/packages?page=0')).status).toBe(400)
  })

  test("another account's packages are neither listed nor found", async () => {
    const [owner, other] = [await service.newAccount(), await service.newAccount()]
    const { packageID } = await newPackage(owner)
    expect((await other.get('/v1/packages')).body).toEqual([])
    for (const reply of [
      await other.get(`/v1/packages/${packageID}`),
      await other.put(`/v1/packages/${packageID}`, {}),
      await other.delete(`/v1/packages/${packageID}`),
      await other.delete(`/v1/packages?packageID=${packageID}`),
      await other.get(`/v1/packages/${packageID}/versions`),
      await other.get(`/v1/packages/${packageID}/versions/1`),
      await other.post(`/v1/packages/${packageID}/versions`, version()),
      await other.put(`/v1/packages/${packageID}/versions/1`, version()),
      await other.delete(`/v1/packages/${packageID}/versions/1`),
    ]) {
      expect(reply.status).toBe(404)
      expect(reply.body.Errors[0].Code).toBe('package_unknown')
    }
  })

  test('SubscriptionCount counts future and running subscriptions and no ended ones', async () => {
    const client = await service.newAccount()
    const added = await newPackage(client)
    await subscribe(service, client, boughtOf(added))
    await subscribe(service, client, boughtOf(added), { start: '2027-05-01' })
    await subscribe(service, client, boughtOf(added), { end: '2027-01-01' })
    await subscribe(service, client, boughtOf(added), { end: '2027-01-02' })
    await subscribe(service, client, boughtOf(added), { cancelled: '2026-12-01' })
    expect((await client.get(`/v1/packages/${added.packageID}/versions/1`)).body.SubscriptionCount).toBe(3)
  })
})

describe('PUT /v1/packages/{packageID}', () => {
  test('the answer is 200 without a body, and the change is there', async () => {
    const client = await service.newAccount()
    const added = await newPackage(client)
    const group = await newGroup(client, 'Others')
    const { PackageVersion: _, ...fields } = packageOf(group, { packageCode: 'p31', Name: 'New', isActive: false })
    const edited = await client.put(`/v1/packages/${added.packageID}`, fields)
    expect([edited.status, edited.text]).toEqual([200, ''])
    const read = await client.get(`/v1/packages/${added.packageID}`)
    expect(read.body).toEqual({ ...added, ...fields })
    expect(read.headers.etag).toBe(edited.headers.etag)
  })

  test('a code of another package, an unknown group and a stale tag are refused', async () => {
    const client = await service.newAccount()
    const first = await newPackage(client)
    await client.post('/v1/packages', packageOf(first.packageGroupID, { packageCode: 'Q' }))
    const path = `/v1/packages/${first.packageID}`
    expect((await client.put(path, { ...first, packageCode: 'q' })).status).toBe(409)
    expect((await client.put(path, { ...first, packageGroupID: 12_345 })).status).toBe(400)
    expect((await client.put(path, first, { 'if-match': '"other"' })).status).toBe(412)
  })
})

describe('DELETE /v1/packages', () => {
  test.each([
    ['in the path', (id: number) => [`/v1/packages/${id}`, undefined]],
    ['in the query', (id: number) => [`/v1/packages?packageID=${id}`, undefined]],
    ['in the body', (id: number) => ['/v1/packages', { packageID: id }]],
  ])('a package named %s goes with its versions', async (_where, request) => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    const [path, body] = request(packageID) as [string, unknown]
    expect((await client.delete(path, body)).status).toBe(204)
    expect((await client.get(`/v1/packages/${packageID}`)).status).toBe(404)
    expect((await client.get(`/v1/packages/${packageID}/versions/1`)).status).toBe(404)
  })

  test('without a packageID, or with two of them, nothing is deleted', async () => {
    const client = await service.newAccount()
    const { packageID } = await newPackage(client)
    expect((await client.delete('/v1/packages')).status).toBe(400)
    expect((await client.delete('/v1/packages', { packageID: 'x' })).status).toBe(400)
    expect((await client.delete(`/v1/packages?packageID=${packageID}`, { packageID: packageID + 1 })).status).toBe(400)
    expect((await client.delete('/v1/packages?packageID=999999999')).status).toBe(404)
    expect((await client.get(`/v1/packages/${packageID}`)).status).toBe(200)
  })

  test('a package that an ended subscription names, or a pending change, stays', async () => {
    const client = await service.newAccount()
    const added = await newPackage(client)
    const other = await client.post('/v1/packages', packageOf(added.packageGroupID, { packageCode: 'Q' }))
    await subscribe(service, client, boughtOf(added), {
      cancelled: '2026-12-01',
      pendingVersion: boughtOf(other.body).packageVersionID,
    })
    for (const { packageID } of [added, other.body]) {
      const refused = await client.delete(`/v1/packages/${packageID}`)
      expect(refused.status).toBe(409)
      expect(refused.body.Errors[0].Code).toBe('package_used')
    }
  })
})

test('a key that may only read changes no package', async () => {
  const client = await service.newAccount()
  const { packageID } = await newPackage(client)
  const reader = await readOnlyClientOf(service, client)
  expect((await reader.get(`/v1/packages/${packageID}`)).status).toBe(200)
  for (const reply of [
    await reader.post('/v1/packages', {}),
    await reader.put(`/v1/packages/${packageID}`, {}),
    await reader.delete(`/v1/packages/${packageID}`),
    await reader.delete('/v1/packages'),
    await reader.post(`/v1/packages/${packageID}/versions`, {}),
    await reader.put(`/v1/packages/${packageID}/versions/1`, {}),
    await reader.delete(`/v1/packages/${packageID}/versions/1`),
  ])
    expect(reply.status).toBe(403)
})
