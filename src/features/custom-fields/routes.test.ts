import { expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'

const service = await startTestService()

const define = async (client: TestClient, ...labels: string[]) => {
  for (const Key of labels) expect((await client.post('/v1/customfields', { Key })).status).toBe(201)
}

const acme = (wish: object = {}) => ({ Name: 'Acme', isCompany: true, ...wish })

const fieldsOf = async (client: TestClient): Promise<{ Key: string; Value: string | null }[][]> =>
  (await client.get('/v1/customers/with_customfields')).body.map(
    ({ CustomFields }: { CustomFields: unknown }) => CustomFields,
  )

test('labels are listed in the order of their making, and taken whatever their letter case', async () => {
  const client = await service.newAccount()
  const added = await client.post('/v1/customfields', { Key: ' Sales rep ' })
  expect([added.status, added.body]).toEqual([201, { Key: 'Sales rep' }])
  await define(client, 'Area')
  expect((await client.get('/v1/customfields')).body).toEqual([{ Key: 'Sales rep' }, { Key: 'Area' }])
  expect((await client.get('/v1/customfields?page=2&page_size=1')).body).toEqual([{ Key: 'Area' }])
  const refused = await client.post('/v1/customfields', { Key: 'AREA' })
  expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'custom_field_taken'])
  expect((await client.post('/v1/customfields', { Key: ' ' })).status).toBe(400)
})

test('a customer has a value for every label, null where none is set', async () => {
  const client = await service.newAccount()
  await client.post('/v1/customers', acme())
  await define(client, 'Rep', 'Area')
  const values = [{ Key: 'Area', Value: 'North' }]
  const added = await client.post('/v1/customers', acme({ CustomFields: values }))
  expect(added.status).toBe(201)
  expect(added.body).not.toHaveProperty('CustomFields')
  expect(await fieldsOf(client)).toEqual([
    [
      { Key: 'Rep', Value: null },
      { Key: 'Area', Value: null },
    ],
    [
      { Key: 'Rep', Value: null },
      { Key: 'Area', Value: 'North' },
    ],
  ])
  const events = (await client.get('/v1/events?type=customer.created')).body
  expect(events[1].Record.CustomFields).toContainEqual({ Key: 'Area', Value: 'North' })
})

test('an edit without CustomFields keeps the values, a list replaces them all, an empty one empties', async () => {
  const client = await service.newAccount()
  await define(client, 'Rep', 'Area')
  const both = [
    { Key: 'Rep', Value: 'Ann' },
    { Key: 'Area', Value: 'North' },
  ]
  const { body } = await client.post('/v1/customers', acme({ CustomFields: both }))
  const path = `/v1/customers/${body.customerID}`
  const after = async (wish: object) => {
    const edited = await client.put(path, acme(wish))
    expect(edited.status).toBe(204)
    expect((await client.get(path)).headers['etag']).toBe(edited.headers['etag'])
    return (await fieldsOf(client))[0]?.map(({ Value }) => Value)
  }
  expect(await after({})).toEqual(['Ann', 'North'])
  expect(await after({ CustomFields: null })).toEqual(['Ann', 'North'])
  expect(await after({ CustomFields: [{ Key: 'Area', Value: 'South' }] })).toEqual([null, 'South'])
  expect(await after({ CustomFields: [{ Key: 'Area' }, { Key: 'Rep', Value: 'Bo' }] })).toEqual(['Bo', null])
  expect(await after({ CustomFields: [] })).toEqual([null, null])
})

test('values are part of the ETag, in whatever order they are sent', async () => {
  const client = await service.newAccount()
  await define(client, 'Rep', 'Area')
  const { body, headers } = await client.post('/v1/customers', acme())
  const path = `/v1/customers/${body.customerID}`
  const [rep, area] = [
    { Key: 'Rep', Value: 'a' },
    { Key: 'Area', Value: 'b' },
  ]
  const one = (await client.put(path, acme({ CustomFields: [rep, area] }))).headers['etag']
  expect(one).not.toBe(headers['etag'])
  expect((await client.put(path, acme({ CustomFields: [area, rep] }))).headers['etag']).toBe(one)
  expect((await client.put(path, acme(), { 'if-match': headers['etag'] as string })).status).toBe(412)
})

test('a label that is not defined, is named twice or has no name is refused at its place', async () => {
  const [client, other] = [await service.newAccount(), await service.newAccount()]
  await define(client, 'Rep')
  await define(other, 'Theirs')
  const CustomFields = [
    { Key: 'Rep', Value: 'a' },
    { Key: 'Theirs', Value: 'b' },
    { Key: 'REP', Value: 'c' },
    { Key: 'Rep', Value: 'd' },
  ]
  const refused = await client.post('/v1/customers', acme({ CustomFields }))
  expect(refused.status).toBe(400)
  expect(refused.body.Errors).toMatchObject([
    { Code: 'custom_field_unknown', Field: 'CustomFields[1].Key' },
    { Code: 'custom_field_unknown', Field: 'CustomFields[2].Key', Message: expect.stringContaining('"Rep"') },
    { Code: 'custom_field_repeated', Field: 'CustomFields[3].Key' },
  ])
  const nameless = await client.post('/v1/customers', acme({ CustomFields: [{ Value: 'a' }] }))
  expect(nameless.body.Errors).toMatchObject([{ Field: 'CustomFields[0].Key' }])
})

test('deleting a label deletes its values and leaves the others; its name can be used anew, without them', async () => {
  const client = await service.newAccount()
  await define(client, 'Rep', 'Größe & "Maß"/%')
  const CustomFields = [
    { Key: 'Rep', Value: 'Ann' },
    { Key: 'Größe & "Maß"/%', Value: 'XL' },
  ]
  await client.post('/v1/customers', acme({ CustomFields }))
  const path = `/v1/customfields/${encodeURIComponent('Größe & "Maß"/%')}`
  expect((await client.delete(path)).status).toBe(204)
  expect((await client.delete(path)).status).toBe(404)
  expect((await client.delete('/v1/customfields/rep')).status).toBe(404)
  expect((await client.delete('/v1/customfields/a%00b')).status).toBe(404)
  expect(await fieldsOf(client)).toEqual([[{ Key: 'Rep', Value: 'Ann' }]])
  expect((await client.delete('/v1/CustomFields/Rep')).status).toBe(204)
  await define(client, 'Rep')
  expect(await fieldsOf(client)).toEqual([[{ Key: 'Rep', Value: null }]])
})

test('an account has at most 100 labels', async () => {
  const client = await service.newAccount()
  await define(client, ...Array.from({ length: 99 }, (_, n) => `Field ${n}`))
  const both = await Promise.all(['A', 'B'].map((Key) => client.post('/v1/customfields', { Key })))
  expect(both.map(({ status }) => status).sort()).toEqual([201, 400])
  const refused = both.find(({ status }) => status === 400)
  expect(refused?.body.Errors[0]).toMatchObject({
    Code: 'too_many_custom_fields',
    Message: expect.stringContaining('100'),
  })
})

test("another account's label is missing, and a key that may only read changes none", async () => {
  const [owner, other] = [await service.newAccount(), await service.newAccount()]
  await define(owner, 'Rep')
  expect((await other.get('/v1/customfields')).body).toEqual([])
  expect((await other.delete('/v1/customfields/Rep')).status).toBe(404)
  const reader = await readOnlyClientOf(service, owner)
  expect((await reader.get('/v1/customfields')).body).toEqual([{ Key: 'Rep' }])
  expect((await reader.post('/v1/customfields', {})).status).toBe(403)
  expect((await reader.delete('/v1/customfields/Rep')).status).toBe(403)
})
