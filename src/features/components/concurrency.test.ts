import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { lockWaits, newGroup } from '../packages/packages.testing.ts'
import {
  bracket,
  componentOf,
  nameComponent,
  newComponent,
  newSubscription,
  prices,
  version,
} from './components.testing.ts'

const service = await startTestService()

test('what is edited or deleted while a subscription takes it finds it in use', async () => {
  const client = await service.newAccount()
  const added = await newComponent(client)
  const { componentID, ComponentVersions } = added
  const subscription = await newSubscription(service, client)
  const path = `/v1/components/${componentID}`
  const { requests } = await service.db.transaction(client.id, async (tx) => {
    await tx.rows(nameComponent(subscription, { componentID, versionID: ComponentVersions[0].componentVersionID }))
    const running = [
      client.put(path, { ...added, Scheme: 'volume' }),
      client.put(`${path}/versions/1`, version({ ComponentVersionCurrencies: [prices('USD', [bracket(99)])] })),
      client.delete(path),
    ]
    await lockWaits(service, running.length)
    return { requests: running }
  })
  const replies = await Promise.all(requests)
  expect(replies.map(({ status, body }) => [status, body.Errors[0].Code])).toEqual([
    [409, 'component_used'],
    [409, 'component_version_used'],
    [409, 'component_used'],
  ])
  expect((await client.get(path)).body).toEqual(added)
})

test('a version is not given up while a subscription changes to it', async () => {
  const client = await service.newAccount()
  const { componentID, ComponentVersions } = await newComponent(client)
  const path = `/v1/components/${componentID}/versions`
  const second = await client.post(path, version({ isDefault: false }))
  const subscription = await newSubscription(service, client)
  const versionID = ComponentVersions[0].componentVersionID
  await service.db.transaction(client.id, (tx) => tx.rows(nameComponent(subscription, { componentID, versionID })))
  const { request } = await service.db.transaction(client.id, async (tx) => {
    await tx.rows(
      sql`update subscription_components set pending_component_version_id = ${second.body.componentVersionID}
           where subscription_id = ${subscription}`,
    )
    const running = client.delete(`${path}/2`)
    await lockWaits(service, 1)
    return { request: running }
  })
  const refused = await request
  expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'component_version_used'])
})

test('versions that all want the default at the same moment leave one default, each with a number of its own', async () => {
  const client = await service.newAccount()
  const { componentID } = await newComponent(client)
  const path = `/v1/components/${componentID}/versions`
  const replies = await Promise.all(Array.from({ length: 5 }, () => client.post(path, version())))
  expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
  const found: { VersionNo: number; isDefault: boolean }[] = (await client.get(path)).body
  expect(found.map(({ VersionNo }) => VersionNo)).toEqual([1, 2, 3, 4, 5, 6])
  expect(found.filter(({ isDefault }) => isDefault)).toHaveLength(1)
})

test('a group that is deleted while a component enters it takes the component or refuses it, and never loses it', async () => {
  const client = await service.newAccount()
  const group = await newGroup(client)
  const [added, deleted] = await Promise.all([
    client.post('/v1/components', componentOf(group)),
    client.delete(`/v1/packagegroups/${group}`),
  ])
  expect([
    [201, 409],
    [400, 204],
  ]).toContainEqual([added.status, deleted.status])
})

test('a code that two components want at the same moment is given once', async () => {
  const client = await service.newAccount()
  const group = await newGroup(client)
  const replies = await Promise.all(
    ['seat', 'SEAT', 'Seat'].map((ComponentCode) =>
      client.post('/v1/components', componentOf(group, { ComponentCode })),
    ),
  )
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409])
})
