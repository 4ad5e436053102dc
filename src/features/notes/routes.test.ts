import { expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { NOTE_TYPES } from './queries.ts'

const service = await startTestService()

const newCustomer = async (client: TestClient, Name = 'Acme'): Promise<number> =>
  (await client.post('/v1/customers', { Name, isCompany: true })).body.customerID

test('a note is answered with the clock of its account, read, replaced and deleted', async () => {
  const client = await service.newAccount()
  const customerID = await newCustomer(client)
  const added = await client.post('/v1/customernotes', { customerID, Note: ' Called.\r\nWants an offer. ' })
  expect(added.status).toBe(201)
  expect(added.body).toEqual({
    customerNoteID: expect.any(Number),
    customerID,
    DateUTC: '2027-01-01T00:00:00.000Z',
    Note: 'Called.\nWants an offer.',
    NoteType: 'General',
  })
  const path = `/v1/customernotes/${added.body.customerNoteID}`
  expect(added.headers['location']).toBe(path)
  const read = await client.get(path)
  expect([read.status, read.body, read.headers['etag']]).toEqual([200, added.body, added.headers['etag']])
  await client.put('/v1/clock', { Now: '2027-02-01' })
  const changed = { customerID, Note: 'Offer sent', NoteType: 'Follow Up' }
  expect((await client.put(path, changed, { 'if-match': '"other"' })).status).toBe(412)
  expect((await client.put(path, changed, { 'if-match': read.headers['etag'] as string })).status).toBe(204)
  expect((await client.get(path)).body).toEqual({ ...added.body, Note: 'Offer sent', NoteType: 'Follow Up' })
  expect((await client.put(path, { customerID, Note: 'Done' })).status).toBe(204)
  expect((await client.get(path)).body.NoteType).toBe('General')
  expect((await client.delete(path)).status).toBe(204)
  expect((await client.get(path)).status).toBe(404)
  const events = await client.get('/v1/events?customerID=' + customerID)
  expect(events.body.map(({ Type }: { Type: string }) => Type)).toEqual([
    'customer.created',
    'customer_note.created',
    'customer_note.updated',
    'customer_note.updated',
    'customer_note.deleted',
  ])
})

test('every type of note is taken as it is spelled', async () => {
  const client = await service.newAccount()
  const customerID = await newCustomer(client)
  for (const NoteType of NOTE_TYPES)
    expect((await client.post('/v1/customernotes', { customerID, Note: 'x', NoteType })).body.NoteType).toBe(NoteType)
})

test('what is wrong with a note is told together, also a customer of another account', async () => {
  const [client, other] = [await service.newAccount(), await service.newAccount()]
  const customerID = await newCustomer(other)
  const refused = await client.post('/v1/customernotes', { customerID, Note: ' ', NoteType: 'Gossip' })
  expect(refused.status).toBe(400)
  expect(refused.body.Errors.map(({ Field }: { Field: string }) => Field).sort()).toEqual([
    'Note',
    'NoteType',
    'customerID',
  ])
})

test('notes are listed by customer and over all, page by page', async () => {
  const client = await service.newAccount()
  const [one, two] = [await newCustomer(client, 'One'), await newCustomer(client, 'Two')]
  for (const [customerID, Note] of [
    [one, 'a'],
    [two, 'b'],
    [one, 'c'],
  ])
    await client.post('/v1/customernotes', { customerID, Note })
  const texts = async (path: string) => (await client.get(path)).body.map(({ Note }: { Note: string }) => Note)
  expect(await texts('/v1/customernotes')).toEqual(['a', 'b', 'c'])
  expect(await texts(`/v1/customers/${one}/customernotes`)).toEqual(['a', 'c'])
  expect(await texts(`/v1/customers/${one}/customernotes?page=2&page_size=1`)).toEqual(['c'])
  expect((await client.get('/v1/customernotes?page_size=2')).headers['link']).toContain('rel="next"')
  expect((await client.get('/v1/customers/999999/customernotes?page=0')).status).toBe(404)
})

test("another account's note is missing, and a key that may only read changes none", async () => {
  const [owner, other] = [await service.newAccount(), await service.newAccount()]
  const customerID = await newCustomer(owner)
  const { body } = await owner.post('/v1/customernotes', { customerID, Note: 'x' })
  const path = `/v1/customernotes/${body.customerNoteID}`
  for (const reply of [
    await other.get(path),
    await other.put(path, {}),
    await other.delete(path),
    await other.get(`/v1/customers/${customerID}/customernotes`),
  ])
    expect(reply.status).toBe(404)
  expect((await other.get('/v1/customernotes')).body).toEqual([])
  const reader = await readOnlyClientOf(service, owner)
  expect((await reader.get(path)).status).toBe(200)
  for (const reply of [
    await reader.post('/v1/customernotes', {}),
    await reader.put(path, {}),
    await reader.delete(path),
  ])
    expect(reply.status).toBe(403)
})
