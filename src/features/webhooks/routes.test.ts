import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { newCustomer, startReceiver, timed, verified, withStatus } from './webhooks.testing.ts'

const { service, work, pass, hooked } = await timed()

const HOOK = { Url: 'https://example.org/hook', Types: ['invoice.*'], Description: 'Books' }
const problemsOf = ({ body }: { body: { Errors: { Code: string; Field: string }[] } }) =>
  body.Errors.map(({ Code, Field }) => [Code, Field])

const add = async (client: TestClient, more: object = {}) =>
  (await client.post('/v1/webhooks', { ...HOOK, ...more })).body

describe('a webhook', () => {
  test('is added with a Secret that is shown once, read, listed, edited and deleted', async () => {
    const client = await service.newAccount()
    const added = await client.post('/v1/webhooks', HOOK)
    expect(added.status).toBe(201)
    const { Secret, ...shown } = added.body
    expect(Secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const { webhookID } = shown
    expect(added.headers['location']).toBe(`/v1/webhooks/${webhookID}`)
    expect(shown).toEqual({ webhookID, ...HOOK, isActive: true, CreatedDate: '2027-01-01T00:00:00.000Z' })
    const path = `/v1/webhooks/${webhookID}`
    expect((await client.get(path)).body).toEqual(shown)
    expect((await client.get('/v1/webhooks')).body).toEqual([shown])
    expect((await client.put(path, { Description: null, Types: null })).status).toBe(204)
    expect((await client.get(path)).body).toEqual({ ...shown, Types: null, Description: null })
    expect((await client.put(path, { Url: 'https://example.org/other', isActive: false })).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      Url: 'https://example.org/other',
      isActive: false,
      Types: null,
    })
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.get(path)).status).toBe(404)
    expect((await client.get(`${path}/deliveries`)).status).toBe(404)
    const events = await client.get('/v1/events?page_size=100')
    const types = events.body
      .map(({ Type }: { Type: string }) => Type)
      .filter((type: string) => type.startsWith('webhook'))
    expect(types).toEqual(['webhook.created', 'webhook.updated', 'webhook.updated', 'webhook.deleted'])
    expect(events.text).not.toContain('whsec_')
  })

  test('is the account’s own', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()]
    const { webhookID } = await add(client)
    const path = `/v1/webhooks/${webhookID}`
    expect((await other.get('/v1/webhooks')).body).toEqual([])
    for (const reply of [
      await other.get(path),
      await other.put(path, {}),
      await other.delete(path),
      await other.put(`${path}/rotate`),
      await other.post(`${path}/test`),
      await other.get(`${path}/deliveries`),
      await other.post(`${path}/deliveries/1/replay`),
      await other.post(`${path}/replay`, { from: '2027-01-01', to: '2027-01-02' }),
    ])
      expect([reply.status, problemsOf(reply)]).toEqual([404, [['webhook_unknown', 'webhookID']]])
  })

  test.each([
    ['http://example.org/', 'Url must be an address that is public'],
    ['http://8.8.8.8/', 'Url must be an https address'],
    ['ftp://example.org/', 'Url must be an https address'],
    ['https://10.0.0.1/', 'Url must be an address that is public'],
    ['https://[::ffff:10.0.0.1]/', 'Url must be an address that is public'],
    ['https://0xa000001/', 'Url must be an address that is public'],
    ['https://user:pass@example.org/', 'Url must be an address without user and password'],
    ['example.org', 'Url must be an address such as'],
    ['', 'Url is required'],
  ])('cannot have the Url %s', async (Url, message) => {
    const client = await service.newAccount()
    const refused = await client.post('/v1/webhooks', { Url })
    // A name may lead into the networks that are allowed here; which it does shows when it is called.
    if (Url === 'http://example.org/') return expect(refused.status).toBe(201)
    expect([refused.status, problemsOf(refused).map(([, field]) => field)]).toEqual([400, ['Url']])
    expect(refused.body.Errors[0].Message).toContain(message)
    const { webhookID } = await add(client)
    expect((await client.put(`/v1/webhooks/${webhookID}`, { Url })).status).toBe(Url === '' ? 204 : 400)
  })

  test('is refused with every problem of its body', async () => {
    const client = await service.newAccount()
    const refused = await client.post('/v1/webhooks', {
      Url: 'https://127.0.0.1.nip.example/',
      Types: ['invoice.exploded', 'cat.*'],
      Description: 7,
    })
    expect(problemsOf(refused).map(([, field]) => field)).toEqual(['Types[0]', 'Types[1]', 'Description'])
    expect(problemsOf(await client.post('/v1/webhooks', { ...HOOK, Types: [] }))).toEqual([['wrong_count', 'Types']])
    expect(problemsOf(await client.post('/v1/webhooks', { ...HOOK, Types: ['invoice.*', 'invoice.*'] }))).toEqual([
      ['repeated', 'Types[1]'],
    ])
    expect(problemsOf(await client.post('/v1/webhooks', { Types: null }))).toEqual([['required', 'Url']])
  })

  test('is one of 20 at most, also where two are added at once', async () => {
    const client = await service.newAccount()
    for (let n = 0; n < 19; n += 1) await add(client)
    const last = await Promise.all([client.post('/v1/webhooks', HOOK), client.post('/v1/webhooks', HOOK)])
    expect(last.map(({ status }) => status).toSorted()).toEqual([201, 400])
    const refused = await client.post('/v1/webhooks', HOOK)
    expect(problemsOf(refused)).toEqual([['too_many_webhooks', null]])
    expect(refused.body.Errors[0].Message).toContain('20')
  })

  test('keeps its Secret sealed, in kept answers too, and a replayed request answers the same', async () => {
    const client = await service.newAccount()
    const key = { 'idempotency-key': 'once' }
    const added = await client.post('/v1/webhooks', HOOK, key)
    const again = await client.post('/v1/webhooks', HOOK, key)
    expect(again.body).toEqual(added.body)
    const rotated = await client.put(`/v1/webhooks/${added.body.webhookID}/rotate`, {}, { 'idempotency-key': 'twice' })
    const rows = await service.db.transaction(client.id, (tx) =>
      tx.rows<{ text: string }>(sql`
        select (select json_agg(k)::text from idempotency_keys k where k.account_id = ${client.id}) ||
               (select json_agg(w)::text from webhooks w where w.account_id = ${client.id}) ||
               (select json_agg(e)::text from event_rows e where e.account_id = ${client.id}) as "text"`),
    )
    for (const { Secret } of [added.body, rotated.body]) {
      expect(Secret).toMatch(/^whsec_/)
      expect(rows[0]?.text).not.toContain(Secret.slice(6))
      expect(rows[0]?.text).not.toContain(Buffer.from(Secret).toString('hex'))
    }
  })

  test('honours If-Match, which a rotation changes too', async () => {
    const client = await service.newAccount()
    const { webhookID } = await add(client)
    const path = `/v1/webhooks/${webhookID}`
    const { etag } = (await client.get(path)).headers
    expect((await client.put(`${path}/rotate`, {}, { 'if-match': etag! })).status).toBe(200)
    expect((await client.put(path, { isActive: false }, { 'if-match': etag! })).status).toBe(412)
  })
})

describe('rotating', () => {
  test('both Secrets sign for the hours asked for, then the new one alone', async () => {
    const receiver = await startReceiver()
    const { client, webhookID, Secret } = await hooked(receiver.url, { Types: ['customer.*'] })
    const rotated = await client.put(`/v1/webhooks/${webhookID}/rotate`, { Hours: 2 })
    expect(rotated.status).toBe(200)
    expect(Object.keys(rotated.body)).toEqual(['Secret'])
    const send = async () => {
      await newCustomer(client)
      await work()
      return receiver.received.at(-1)!
    }
    const during = await send()
    expect(verified(Secret, during)).toEqual(verified(rotated.body.Secret, during))
    pass(2 * 3600)
    const after = await send()
    expect(verified(rotated.body.Secret, after)).toEqual(after.event)
    expect(() => verified(Secret, after)).toThrow('signature')
  })

  test('at once with 0 hours, a day without a body, and never for longer than a week', async () => {
    const receiver = await startReceiver()
    const { client, webhookID, Secret } = await hooked(receiver.url, { Types: ['customer.*'] })
    const path = `/v1/webhooks/${webhookID}/rotate`
    expect(problemsOf(await client.put(path, { Hours: 169 }))).toEqual([['out_of_range', 'Hours']])
    expect(problemsOf(await client.put(path, { Hours: -1 }))).toEqual([['out_of_range', 'Hours']])
    const second = (await client.put(path)).body.Secret
    await newCustomer(client)
    pass(24 * 3600 - 1)
    await work()
    expect(verified(Secret, receiver.received[0]!)).toEqual(verified(second, receiver.received[0]!))
    const third = (await client.put(path, { Hours: 0 })).body.Secret
    await newCustomer(client)
    await work()
    expect(verified(third, receiver.received[1]!)).toBeTruthy()
    for (const old of [Secret, second]) expect(() => verified(old, receiver.received[1]!)).toThrow('signature')
  })
})

describe('asking for deliveries', () => {
  test('a test is sent to its webhook alone, whatever its Types are', async () => {
    const [one, other] = [await startReceiver(), await startReceiver()]
    const { client, webhookID, Secret } = await hooked(one.url, { Types: ['invoice.*'] })
    await client.post('/v1/webhooks', { Url: other.url })
    await work()
    other.received.splice(0)
    const reply = await client.post(`/v1/webhooks/${webhookID}/test`)
    expect([reply.status, reply.text]).toEqual([202, ''])
    await work()
    expect(one.seen()).toEqual([`webhook.tested ${webhookID}`])
    expect(verified(Secret, one.received[0]!)).toMatchObject({ Record: { webhookID, Types: ['invoice.*'] } })
    expect(other.received).toEqual([])
  })

  test('one delivery is sent again as a delivery of its own, under the same webhook-id', async () => {
    const receiver = await startReceiver()
    const { client, webhookID, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    await newCustomer(client)
    await work()
    const [{ deliveryID }] = await deliveries()
    const path = `/v1/webhooks/${webhookID}/deliveries/${deliveryID}`
    expect((await client.post(`${path}/replay`)).status).toBe(202)
    await work()
    expect((await deliveries()).map(({ State }) => State)).toEqual(['Delivered', 'Delivered'])
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect([ids.length, new Set(ids).size]).toEqual([2, 1])
    const unknown = await client.post(`/v1/webhooks/${webhookID}/deliveries/999999999/replay`)
    expect([unknown.status, problemsOf(unknown)]).toEqual([404, [['webhook_delivery_unknown', 'deliveryID']]])
  })

  test('the events of a time are sent again, of the webhook’s Types or of others, also those from before it was', async () => {
    const receiver = await startReceiver()
    const client = await service.newAccount()
    const early = await newCustomer(client)
    await client.put('/v1/clock', { Now: '2027-01-05' })
    const late = await newCustomer(client)
    const { body } = await client.post('/v1/webhooks', { Url: receiver.url, Types: ['customer.*'] })
    const replay = async (range: object) => {
      receiver.received.splice(0)
      const reply = await client.post(`/v1/webhooks/${body.webhookID}/replay`, range)
      await work()
      return [reply.status, receiver.seen().toSorted()]
    }
    await work()
    expect(await replay({ from: '2027-01-01', to: '2027-01-04' })).toEqual([202, [`customer.created ${early}`]])
    expect(await replay({ from: '2027-01-05', to: '2027-01-05' })).toEqual([202, [`customer.created ${late}`]])
    expect(await replay({ from: '2027-01-01', to: '2027-02-01', Types: ['account.clock_moved'] })).toEqual([
      202,
      [expect.stringMatching(/^account.clock_moved/)],
    ])
    expect((await replay({ from: '2027-01-01', to: '2027-02-01' }))[1]).toHaveLength(2)
  })

  test('is refused where the time is empty, or holds more events than a replay sends', async () => {
    const receiver = await startReceiver()
    const { client, webhookID, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    const path = `/v1/webhooks/${webhookID}/replay`
    expect(problemsOf(await client.post(path, {}))).toEqual([
      ['required', 'from'],
      ['required', 'to'],
    ])
    expect(problemsOf(await client.post(path, { from: '2027-01-02', to: '2027-01-01' }))).toEqual([
      ['period_empty', 'from'],
    ])
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        insert into event_rows (account_id, type, record_id, happened_at, actor, record)
        select ${client.id}, 'customer.updated', n, '2027-01-01', 'test', '{}' from generate_series(1, 10001) n
        returning 1`),
    )
    const refused = await client.post(path, { from: '2027-01-01', to: '2027-01-01' })
    expect([refused.status, problemsOf(refused)]).toEqual([400, [['too_many_events', 'to']]])
    expect(await deliveries()).toEqual([])
  })
})

describe('disabling', () => {
  const MAIL = { Email: 'books@example.org' }
  const mails = async (client: TestClient) => (await client.get('/v1/outbox')).body

  test('410 disables at once: what waits is given up, a mail goes to the account, and no row is written any more', async () => {
    const receiver = await startReceiver()
    receiver.answers(withStatus(410))
    const { client, webhookID, deliveries } = await hooked(receiver.url)
    await client.put('/v1/account', MAIL)
    await work()
    expect((await client.get(`/v1/webhooks/${webhookID}`)).body.isActive).toBe(false)
    const before = await deliveries()
    expect(new Set(before.map(({ State }) => State))).toEqual(new Set(['Failed']))
    await newCustomer(client)
    expect(await deliveries()).toHaveLength(before.length)
    const [event] = (await client.get('/v1/events?type=webhook.disabled')).body
    expect(event).toMatchObject({ RecordID: webhookID, Actor: 'webhooks', Reason: 'The endpoint answered 410 (gone).' })
    expect(await mails(client)).toMatchObject([
      { To: MAIL.Email, Template: 'webhook_disabled', customerID: null, Subject: 'A webhook has been disabled (Test)' },
    ])
    expect((await mails(client))[0].Text).toContain(receiver.url)
    for (const path of ['test', `deliveries/${before[0].deliveryID}/replay`])
      expect((await client.post(`/v1/webhooks/${webhookID}/${path}`)).status).toBe(409)
    const range = { from: '2027-01-01', to: '2027-01-02' }
    expect((await client.post(`/v1/webhooks/${webhookID}/replay`, range)).status).toBe(409)
  })

  test('failing for five days disables, with a mail in the language of the account', async () => {
    const receiver = await startReceiver()
    receiver.answers(withStatus(500))
    const { client, webhookID } = await hooked(receiver.url, { Types: ['customer.*'] })
    await client.put('/v1/account', { ...MAIL, Locale: 'de-CH' })
    const isActive = async () => (await client.get(`/v1/webhooks/${webhookID}`)).body.isActive
    await newCustomer(client)
    await work()
    pass(5 * 86_400 - 1)
    await work()
    expect(await isActive()).toBe(true)
    await newCustomer(client)
    pass(1)
    await work()
    expect(await isActive()).toBe(false)
    expect(await mails(client)).toMatchObject([{ Subject: 'Ein Webhook wurde abgeschaltet (Test)' }])
  })

  test('one event that is taken ends the failing, and switching on again begins anew', async () => {
    const receiver = await startReceiver()
    const { client, webhookID, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    const path = `/v1/webhooks/${webhookID}`
    const isActive = async () => (await client.get(path)).body.isActive
    const sendInto = async (status: number) => {
      receiver.answers(withStatus(status))
      await newCustomer(client)
      await work()
    }
    await sendInto(500)
    pass(4 * 86_400)
    await sendInto(200)
    pass(4 * 86_400)
    await sendInto(500)
    expect(await isActive()).toBe(true)
    pass(5 * 86_400)
    await sendInto(500)
    expect(await isActive()).toBe(false)
    expect(await mails(client)).toEqual([])
    await client.put(path, { isActive: true })
    await sendInto(500)
    expect(await isActive()).toBe(true)
    expect((await deliveries()).at(-1)).toMatchObject({ State: 'Waiting', Tries: 1 })
  })

  test('switching off by hand gives up what waits, and switching on does not bring it back', async () => {
    const receiver = await startReceiver()
    receiver.answers(withStatus(500))
    const { client, webhookID, deliveries } = await hooked(receiver.url, { Types: ['customer.*'] })
    await newCustomer(client)
    await work()
    await client.put(`/v1/webhooks/${webhookID}`, { isActive: false })
    await newCustomer(client)
    await client.put(`/v1/webhooks/${webhookID}`, { isActive: true })
    pass(10)
    await work()
    expect(await deliveries()).toMatchObject([{ State: 'Failed', Tries: 1 }])
  })
})

test('without networks of the operator, a name by http is refused, too', async () => {
  const { makeOutbound } = await import('../../platform/outbound/outbound.ts')
  const strict = await startTestService({ outbound: makeOutbound({}) })
  const client = await strict.newAccount()
  const refused = await client.post('/v1/webhooks', { Url: 'http://example.org/' })
  expect(problemsOf(refused)).toEqual([['url_not_allowed', 'Url']])
})
