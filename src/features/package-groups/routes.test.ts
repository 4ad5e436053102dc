import { expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'

const service = await startTestService()

const newGroup = async (client: TestClient, GroupName: string) => {
  const added = await client.post('/v1/packagegroups', { GroupName })
  expect(added.status).toBe(201)
  return added.body
}

const packageIn = (packageGroupID: number) => ({
  packageGroupID,
  packageCode: 'P',
  Name: 'Plan',
  Descrip: 'A plan',
  isActive: true,
  PackageVersion: {
    VersionName: 'First',
    isActive: true,
    isDefault: true,
    packageVersionRates: [
      {
        CurrencyCode: 'USD',
        SetupFee: 0,
        TrialFee: 0,
        TrialPeriod: 0,
        TrialPeriodType: 'days',
        PackageRateTerms: [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }],
      },
    ],
  },
})

test('a group is answered, read, renamed and deleted', async () => {
  const client = await service.newAccount()
  const group = await newGroup(client, '  Hosting ')
  expect(group).toEqual({ packageGroupID: expect.any(Number), GroupName: 'Hosting' })
  const path = `/v1/packagegroups/${group.packageGroupID}`
  const read = await client.get(path)
  expect(read.body).toEqual(group)
  const edited = await client.put(path, { GroupName: 'HOSTING' }, { 'if-match': read.headers.etag as string })
  expect(edited.status).toBe(204)
  expect((await client.get(path)).body.GroupName).toBe('HOSTING')
  expect((await client.put(path, { GroupName: 'X' }, { 'if-match': read.headers.etag as string })).status).toBe(412)
  expect((await client.delete(path)).status).toBe(204)
  expect((await client.get(path)).status).toBe(404)
  const events = await service.db
    .reader(client.id)
    .rows<{ type: string }>(
      sql`select type from event_rows where account_id = ${client.id} and type like 'package_group%' order by event_id`,
    )
  expect(events.map(({ type }) => type)).toEqual([
    'package_group.created',
    'package_group.updated',
    'package_group.deleted',
  ])
})

test('a GroupName is taken whatever its letter case', async () => {
  const client = await service.newAccount()
  await newGroup(client, 'Hosting')
  const other = await newGroup(client, 'Domains')
  const refused = await client.post('/v1/packagegroups', { GroupName: 'hOSTING' })
  expect(refused.status).toBe(409)
  expect(refused.body.Errors[0]).toMatchObject({ Code: 'group_name_taken', Field: 'GroupName' })
  expect((await client.put(`/v1/packagegroups/${other.packageGroupID}`, { GroupName: 'hosting' })).status).toBe(409)
})

test.each([[{}], [{ GroupName: ' ' }], [{ GroupName: null }], [{ GroupName: 5 }], [{ GroupName: 'x'.repeat(256) }]])(
  '%j is no group',
  async (body) => {
    const client = await service.newAccount()
    const refused = await client.post('/v1/packagegroups', body)
    expect(refused.status).toBe(400)
    expect(refused.body.Errors).toMatchObject([{ Field: 'GroupName' }])
  },
)

test('a group with packages stays until they are gone', async () => {
  const client = await service.newAccount()
  const { packageGroupID } = await newGroup(client, 'Hosting')
  const added = await client.post('/v1/packages', packageIn(packageGroupID))
  const refused = await client.delete(`/v1/packagegroups/${packageGroupID}`)
  expect(refused.status).toBe(409)
  expect(refused.body.Errors[0].Code).toBe('package_group_used')
  await client.delete(`/v1/packages/${added.body.packageID}`)
  expect((await client.delete(`/v1/packagegroups/${packageGroupID}`)).status).toBe(204)
})

test("another account's group is missing, and a key that may only read changes none", async () => {
  const [owner, other] = [await service.newAccount(), await service.newAccount()]
  const { packageGroupID } = await newGroup(owner, 'Hosting')
  await newGroup(other, 'Hosting')
  const path = `/v1/packagegroups/${packageGroupID}`
  for (const reply of [await other.get(path), await other.put(path, {}), await other.delete(path)])
    expect(reply.status).toBe(404)
  const reader = await readOnlyClientOf(service, owner)
  expect((await reader.get(path)).status).toBe(200)
  for (const reply of [
    await reader.post('/v1/packagegroups', {}),
    await reader.put(path, {}),
    await reader.delete(path),
  ])
    expect(reply.status).toBe(403)
})

test('groups come page by page in the order of creation', async () => {
  const client = await service.newAccount()
  for (const name of ['C', 'A', 'B']) await newGroup(client, name)
  const page = await client.get('/v1/packagegroups?page_size=2')
  expect(page.body.map(({ GroupName }: { GroupName: string }) => GroupName)).toEqual(['C', 'A'])
  expect(page.headers['link']).toContain('page=2')
  const last = await client.get('/v1/packagegroups?page_size=2&page=2')
  expect(last.body.map(({ GroupName }: { GroupName: string }) => GroupName)).toEqual(['B'])
})
