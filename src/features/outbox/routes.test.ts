import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { deleteOldMail } from './queries.ts'

const service = await startTestService()
const sending = await startTestService({ hasMailServer: true })

const welcome = async (client: TestClient, wish: object = {}) => {
  const customer = await client.post('/v1/customers', { Name: 'Acme', isCompany: true })
  const contact = { Name: 'Jane', LastName: 'Doe', Email: 'jane@example.com', isActive: true, Password: 'geheim1' }
  return client.post('/v1/customercontacts', { customerID: customer.body.customerID, ...contact, ...wish })
}

test('a mail is listed and read, with its password only in a test account from which no mail leaves', async () => {
  const client = await service.newAccount()
  await welcome(client)
  const { body } = await client.get('/v1/outbox')
  expect(body).toHaveLength(1)
  expect(body[0].Text).toContain('geheim1')
  expect(body[0].Html).toContain('geheim1')
  const read = await client.get(`/v1/outbox/${body[0].outboxID}`)
  expect([read.status, read.body]).toEqual([200, body[0]])
})

test.each([
  ['a live account', service, 'live'],
  ['a test account whose mail leaves', sending, 'test'],
] as const)('in %s a password is shown as dots', async (_, where, mode) => {
  const client = await where.newAccount({ mode, ...(mode === 'live' ? { clockAt: null } : {}) })
  if (mode === 'test') await client.put('/v1/account', { TestMailTo: 'testers@example.com' })
  await welcome(client)
  const list = await client.get('/v1/outbox')
  expect(list.text).not.toContain('geheim1')
  expect(list.body[0].Text).toContain('Password: ••••')
  expect((await client.get(`/v1/outbox/${list.body[0].outboxID}`)).text).not.toContain('geheim1')
})

test('a password is in no row of the outbox, and every mail has an identifier of its own', async () => {
  const client = await service.newAccount()
  await welcome(client)
  await welcome(client, { Username: 'other' })
  const rows = await service.db
    .reader(client.id)
    .rows<{ row: string; messageId: string; sealed: string }>(
      sql`select o::text as "row", message_id as "messageId", encode(sealed_bodies, 'escape') as "sealed" from outbox o where account_id = ${client.id}`,
    )
  expect(rows).toHaveLength(2)
  for (const { row, sealed } of rows) expect(row + sealed).not.toContain('geheim1')
  expect(new Set(rows.map(({ messageId }) => messageId)).size).toBe(2)
  for (const { messageId } of rows) expect(messageId).toMatch(/^<[0-9a-f-]{36}@[a-z.]+>$/)
})

test('a refused change leaves no mail', async () => {
  const client = await service.newAccount()
  await welcome(client, { Username: 'jane' })
  expect((await welcome(client, { Username: 'JANE' })).status).toBe(409)
  expect((await client.get('/v1/outbox')).body).toHaveLength(1)
})

test("mails come page by page, and another account's are missing", async () => {
  const [client, other] = [await service.newAccount(), await service.newAccount()]
  for (const Username of ['a', 'b', 'c']) await welcome(client, { Username })
  const page = await client.get('/v1/outbox?page=2&page_size=2')
  expect(page.body).toHaveLength(1)
  expect(page.headers['link']).toContain('rel="prev"')
  expect((await other.get('/v1/outbox')).body).toEqual([])
  expect((await other.get(`/v1/outbox/${page.body[0].outboxID}`)).status).toBe(404)
  expect((await client.get('/v1/outbox/0')).status).toBe(404)
})

test('a mail names its customer, and no reply before it was tried', async () => {
  const client = await service.newAccount()
  const { customerID } = (await welcome(client)).body
  const [mail] = (await client.get('/v1/outbox')).body
  expect(mail).toMatchObject({ customerID, LastReply: null, Status: 'Queued', SentDate: null })
})

test.each(['queued', 'sending', 'failed', 'unknown'])(
  'mail that is %s is forgotten like any other when its time is over by real time, whatever the clock of its account shows',
  async (status) => {
    const client = await service.newAccount({ clockAt: '2020-01-01T00:00:00.000Z' })
    await welcome(client, { Username: 'a' })
    await welcome(client, { Username: 'b' })
    const [old, young] = (await client.get('/v1/outbox')).body
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        update outbox set written_at = '2026-01-01T00:00:00Z', status = ${status},
               next_try_at = case when ${status} = 'queued' then now() end
         where account_id = ${client.id} and outbox_id = ${BigInt(old.outboxID)}`),
    )
    await deleteOldMail(service.db.unscoped, '2026-01-02T00:00:00.000Z')
    const left = (await client.get('/v1/outbox')).body
    expect(left.map(({ outboxID }: any) => outboxID)).toEqual([young.outboxID])
  },
)
