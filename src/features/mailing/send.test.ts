import { randomUUID } from 'node:crypto'
import { subscribe } from '../../../test/support/shop.ts'
import type { TestClient } from '../../../test/support/app.ts'
import { noteLosses } from '../../platform/failover/queries.ts'
import { sql } from '../../platform/database/sql.ts'
import { describe, expect, test } from 'vitest'
import { ATTACHED_BYTES_MAX } from './attach.ts'
import { FRESH_MS, WAITS_MS } from './rules.ts'
import { invoiced, serverAt, startMailing, startMailServer, TESTERS, welcomed } from './mailing.testing.ts'

const server = await startMailServer()
const { service, work, worker, pass, sender, arrivedOf } = await startMailing(server)

async function messageIdOf({ id }: TestClient, outboxID: number): Promise<string> {
  const [row] = await service.db
    .reader(id)
    .rows<{ messageId: string }>(
      sql`select message_id as "messageId" from outbox where account_id = ${id} and outbox_id = ${BigInt(outboxID)}`,
    )
  return row?.messageId ?? ''
}

test('an invoice mail of a test account reaches its TestMailTo with the PDF, and the invoice is sent when the receiver took it', async () => {
  const client = await sender({ clockAt: '2027-03-01T09:00:00.000Z' })
  await client.put('/v1/account', { Email: 'office@acme.example' })
  const { invoiceID } = await invoiced(client, { EmailCC: 'copy@example.com' })
  expect((await client.get(`/v1/invoices/${invoiceID}`)).body.DateSent).toBeNull()
  await work()
  const [row] = (await client.get('/v1/outbox')).body
  const [got, ...more] = await arrivedOf(client)
  expect(more).toEqual([])
  expect(got).toMatchObject({ from: 'mailer@billing.example', to: [TESTERS] })
  expect(got?.mail).toMatchObject({
    from: { name: 'Acme & Sons', address: 'mailer@billing.example' },
    replyTo: [{ address: 'office@acme.example' }],
    to: [{ address: TESTERS }],
    subject: '[TEST] Invoice 1 from Acme & Sons',
  })
  expect(got?.mail.cc ?? []).toEqual([])
  expect(got?.mail.text).toContain('ap@example.com, with a copy to copy@example.com')
  expect(got?.mail.html).toContain('ap@example.com, with a copy to copy@example.com')
  const [pdf] = got?.mail.attachments ?? []
  expect(pdf).toMatchObject({ filename: 'Invoice-1.pdf', mimeType: 'application/pdf' })
  expect(
    Buffer.from(pdf?.content as ArrayBuffer)
      .subarray(0, 5)
      .toString(),
  ).toBe('%PDF-')
  expect(row).toMatchObject({
    Status: 'Sent',
    SentDate: '2027-03-01T09:00:00.000Z',
    LastReply: expect.stringMatching(/^250 /),
  })
  expect((await client.get(`/v1/invoices/${invoiceID}`)).body.DateSent).toBe('2027-03-01T09:00:00.000Z')
})

test('a mail that left before a failover, and of which the record was lost, is Unknown, and leaves again when a person sends it', async () => {
  const client = await sender()
  const [noted, other] = [await welcomed(client), await welcomed(client, 'john@example.com')]
  const claimed = await welcomed(client, 'jim@example.com')
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update outbox set status = 'sending', next_try_at = null, holder = ${randomUUID()}::uuid, leased_until = now() - interval '1 second'
                 where account_id = ${client.id} and outbox_id = ${BigInt(claimed.outboxID)}`),
  )
  const effect = {
    operation: 'mail',
    type: null,
    number: null,
    account: client.id,
    gatewayId: null,
    commit: null,
  } as const
  const instants = { kind: 'effect', sentMs: Date.now(), answeredMs: Date.now(), state: 'lost' } as const
  await noteLosses(service.db.unscoped, '1', randomUUID(), [
    { ...effect, ...instants, position: 1, id: String(noted.outboxID) },
    { ...effect, ...instants, position: 3, id: String(claimed.outboxID) },
    // Of another kind, with the same reference.
    { ...effect, ...instants, position: 2, id: String(other.outboxID), operation: 'charge' },
  ])
  await work()
  const statuses = async () => (await client.get('/v1/outbox')).body.map(({ Status }: any) => Status)
  expect(await statuses()).toEqual(['Unknown', 'Sent', 'Unknown'])
  expect(await arrivedOf(client, noted.outboxID)).toEqual([])
  const events = (await client.get('/v1/events?type=outbox_mail.unknown')).body
  expect(events).toHaveLength(2)
  expect(events.find(({ RecordID }: any) => RecordID === noted.outboxID)).toMatchObject({
    Reason: expect.stringContaining('before a failover'),
  })
  expect((await client.put(`/v1/outbox/${noted.outboxID}/send`)).status).toBe(204)
  await work()
  expect(await statuses()).toEqual(['Sent', 'Sent', 'Unknown'])
  expect(await arrivedOf(client, noted.outboxID)).toHaveLength(1)
})

test('a mail that was offered to the server keeps the texts that it was offered with, and no longer what they were made of', async () => {
  const client = await sender()
  await invoiced(client)
  const stored = () =>
    service.db
      .reader(client.id)
      .rows<{ text: string | null; facts: string | null }>(
        sql`select text_body as "text", facts from outbox where account_id = ${client.id}`,
      )
  const read = async () => {
    const { Subject, Text, Html } = (await client.get('/v1/outbox')).body[0]
    return { Subject, Text, Html }
  }
  const before = await read()
  expect(await stored()).toEqual([{ text: null, facts: expect.stringContaining('Big Corp') }])
  server.troubles({ dot: { code: 451, text: 'later' } })
  await work()
  expect(await read()).toEqual(before)
  expect(await stored()).toEqual([{ text: expect.stringContaining('Big Corp'), facts: null }])
  server.troubles()
  pass((WAITS_MS[0] ?? 0) / 1000)
  await work()
  expect(await read()).toEqual(before)
  const [got] = await arrivedOf(client)
  expect(got?.mail.text).toContain('Hello Big Corp,')
})

test('an invoice mail links the page of its invoice, which no reader of the outbox sees; without PUBLIC_URL it has no link', async () => {
  const linked = await startMailing(server, { publicUrl: 'https://pay.example' })
  const client = await linked.sender()
  const { invoiceID } = await invoiced(client)
  const { Url } = (await client.get(`/v1/invoices/${invoiceID}/link`)).body
  const row = (await client.get('/v1/outbox')).body[0]
  expect(row.Text).toContain('See and pay the invoice: ••••')
  expect(JSON.stringify(row)).not.toContain('/i/')
  await linked.work()
  const [got] = await linked.arrivedOf(client)
  expect(got?.mail.text).toContain(`See and pay the invoice: ${Url}`)
  expect(got?.mail.html).toContain(`href="${Url}"`)
  const bare = await sender()
  await invoiced(bare)
  await work()
  const [without] = await arrivedOf(bare)
  expect(without?.mail.text).toContain('please find invoice')
  expect(without?.mail.text).not.toContain('See and pay')
  expect(without?.mail.html).not.toContain('See and pay')
})

test('a reminder has a link, and headers of one click, by which its kind is stopped; an invoice mail has none', async () => {
  const linked = await startMailing(server, { publicUrl: 'https://pay.example' })
  const client = await linked.sender({ clockAt: '2027-01-01T00:00:00.000Z' })
  await client.put('/v1/collectionrules', { Reminders: [{ Kind: 'payment_due', DaysBefore: 3, isActive: true }] })
  const { customerID } = (
    await client.post('/v1/customers', { Name: 'A', isCompany: true, Email: 'a@example.com', autoSendInvoice: true })
  ).body
  const Charges = [{ Line: 'Hours', Qty: 1, UnitCostEx: 10 }]
  await client.post('/v1/invoices', { customerID, Charges, DueDate: '2027-01-10' })
  await linked.work()
  const [first] = await linked.arrivedOf(client)
  expect(first?.mail.headers.map(({ key }) => key)).toContain('auto-submitted')
  expect(first?.mail.headers.map(({ key }) => key)).not.toContain('list-unsubscribe')
  await client.put('/v1/clock', { Now: '2027-01-08' })
  const reminder = (await client.get('/v1/outbox')).body.at(-1)
  expect(reminder).toMatchObject({ Template: 'payment_due', Status: 'Held' })
  expect(reminder.Text).toContain('Stop reminders of this kind: ••••')
  await client.put(`/v1/outbox/${reminder.outboxID}/send`)
  await linked.work()
  const [sent] = await linked.arrivedOf(client, reminder.outboxID)
  const { headers, text = '' } = sent?.mail ?? { headers: [] }
  const headerOf = (name: string) => headers.find(({ key }) => key === name)?.value
  expect(headerOf('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
  const url = /^<(https:\/\/pay\.example\/u\/[^>]+)>$/.exec(headerOf('list-unsubscribe') ?? '')?.[1] ?? ''
  expect(text).toContain(`Stop reminders of this kind: ${url}`)
  const stopped = await linked.service.app.server.inject({
    method: 'POST',
    url: new URL(url).pathname,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'List-Unsubscribe=One-Click',
  })
  expect(stopped.statusCode).toBeLessThan(400)
  expect((await client.get(`/v1/customers/${customerID}`)).body.StoppedReminders).toEqual(['payment_due'])
})

test('mail of a test account without TestMailTo is held, and leaves when there is one and a person sends it', async () => {
  const client = await sender()
  await client.put('/v1/account', { TestMailTo: null })
  const { outboxID } = await welcomed(client)
  await work()
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Held')
  expect((await client.put(`/v1/outbox/${outboxID}/send`)).status).toBe(204)
  await work()
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Held')
  expect(await arrivedOf(client)).toEqual([])
  await client.put('/v1/account', { TestMailTo: TESTERS })
  await client.put(`/v1/outbox/${outboxID}/send`)
  await work()
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Sent')
  const again = await client.put(`/v1/outbox/${outboxID}/send`)
  expect([again.status, again.body.Errors?.[0]?.Message ?? again.text]).toEqual([
    409,
    expect.stringContaining('is Sent'),
  ])
})

test('a mail is due from the moment it is written or sent by a person, also for a sender whose clock is behind', async () => {
  const client = await sender()
  const { outboxID } = await welcomed(client)
  pass(-3600)
  server.troubles({ rcpt: { code: 550, text: 'no such user' } })
  await work()
  server.troubles()
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Failed')
  await client.put(`/v1/outbox/${outboxID}/send`)
  await work()
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Sent')
})

test('mail that was written more than a day before a sender first could take it is held; one that a person sends is not', async () => {
  const client = await sender()
  const { outboxID } = await welcomed(client)
  pass(FRESH_MS / 1000 + 60)
  await work()
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Held')
  await client.put(`/v1/outbox/${outboxID}/send`)
  await work()
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Sent')
})

test('mail that a move of the clock writes is held from the start; what is written while it stands leaves', async () => {
  const client = await sender({ clockAt: '2027-01-01T00:00:00.000Z' })
  await subscribe(client, { price: 31 }, { StartDate: '2027-01-02' }, { Email: 'ap@example.com' })
  await client.put('/v1/clock', { Now: '2027-01-03' })
  const [moved] = (await client.get('/v1/outbox')).body
  expect(moved).toMatchObject({ Template: 'invoice', Status: 'Held' })
  const { outboxID } = await welcomed(client)
  await work()
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Sent')
  expect((await client.get(`/v1/outbox/${moved.outboxID}`)).body.Status).toBe('Held')
})

test('a mail whose PDF is too large leaves without it, its text does not speak of an attachment, and the outbox shows that text', async () => {
  const linked = await startMailing(server, { publicUrl: 'https://pay.example' })
  const client = await linked.sender()
  await invoiced(client)
  expect((await client.get('/v1/outbox')).body[0].Text).toContain('please find invoice 1 attached')
  const large = { draw: async () => Buffer.alloc(ATTACHED_BYTES_MAX + 1), close: async () => {} }
  await linked.work({ drawing: large })
  const [{ mail } = {}] = await linked.arrivedOf(client)
  expect(mail?.attachments).toEqual([])
  for (const text of [mail?.text, mail?.html]) {
    expect(text).toContain('too large for a mail')
    expect(text).not.toContain('attached')
    expect(text).toContain('https://pay.example/i/')
  }
  const [row] = (await client.get('/v1/outbox')).body
  expect(row).toMatchObject({ Status: 'Sent', Text: expect.stringContaining('too large for a mail') })
  expect(row.Text + row.Html).not.toContain('attached')
})

test("an account without any address sends under the operator's domain, the same at each try, and its sealed password opens", async () => {
  const client = await sender()
  const { outboxID } = await welcomed(client)
  expect(await messageIdOf(client, outboxID)).toMatch(/@perennial\.invalid>$/)
  server.troubles({ rcpt: { code: 451, text: 'later' } })
  await work()
  server.troubles()
  const messageId = await messageIdOf(client, outboxID)
  expect(messageId).toMatch(/^<[0-9a-f-]{36}@billing\.example>$/)
  pass(60)
  await work({ from: 'other@elsewhere.example' })
  const [arrived] = await arrivedOf(client)
  expect(arrived?.mail.messageId).toBe(messageId)
  expect(arrived?.mail.text).toContain('Password: geheim1')
})

test('a mail whose document is gone has failed, and its event names why', async () => {
  const client = await sender()
  await invoiced(client)
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update outbox set document_id = 999999999 where account_id = ${client.id}`),
  )
  await work()
  expect((await client.get('/v1/outbox')).body[0]).toMatchObject({ Status: 'Failed', LastReply: null })
  const [event] = (await client.get('/v1/events?type=outbox_mail.failed')).body
  expect(event.Reason).toBe('its document does not exist any more')
})

describe('a server in trouble', () => {
  test.each([
    ['breaks off at its greeting', { greeting: 'break' }],
    ['sends us away at its greeting', { greeting: { code: 421, text: 'try later' } }],
    ['breaks off at the sender', { mail: 'break' }],
    ['breaks off at the receiver', { rcpt: 'break' }],
    ['breaks off before it has asked for the message', { data: 'break' }],
    ['puts the receiver off', { rcpt: { code: 451, text: 'greylisted' } }],
    ['puts the message off', { dot: { code: 452, text: 'no space' } }],
  ] as const)('that %s gets the mail again after a minute', async (_what, troubles) => {
    const client = await sender()
    const { outboxID } = await welcomed(client)
    server.troubles(troubles)
    await work()
    server.troubles()
    expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Queued')
    pass(59)
    await work()
    expect(await arrivedOf(client)).toHaveLength(0)
    pass(1)
    await work()
    expect(await arrivedOf(client)).toHaveLength(1)
    expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Sent')
  })

  test.each([
    ['breaks off in the body', { body: 'break' }],
    ['breaks off after the dot', { dot: 'break' }],
    ['answers neither yes nor no', { dot: { code: 354, text: 'go on' } }],
  ] as const)('that %s leaves the mail Unknown, and it is sent again by a person alone', async (_what, troubles) => {
    const client = await sender()
    const { outboxID } = await welcomed(client)
    server.troubles(troubles)
    await work()
    server.troubles()
    expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Unknown')
    const had = (await arrivedOf(client)).length
    pass(200_000)
    await work()
    expect(await arrivedOf(client)).toHaveLength(had)
    await client.put(`/v1/outbox/${outboxID}/send`)
    await work()
    expect(await arrivedOf(client)).toHaveLength(had + 1)
  })

  test.each([
    ['before it has asked for the message', { rcpt: 'silence' }, { talkMs: 500 }, 'Queued'],
    ['after the dot', { dot: 'silence' }, { answerMs: 500 }, 'Unknown'],
  ] as const)('that is silent %s is given up, and what became of the mail is known', async (...row) => {
    const [, troubles, short, left] = row
    const client = await sender()
    const { outboxID } = await welcomed(client)
    server.troubles(troubles)
    await work({ server: serverAt(server.url, { connectMs: 20_000, talkMs: 20_000, answerMs: 20_000, ...short }) })
    server.troubles()
    expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe(left)
    pass(60)
    await work()
    expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe(left === 'Queued' ? 'Sent' : left)
    await expect.poll(() => arrivedOf(client)).toHaveLength(1)
  })

  test('that says no for good fails the mail at once, with an event that names the customer', async () => {
    const client = await sender()
    const { outboxID, customerID } = await welcomed(client)
    server.troubles({ rcpt: { code: 550, text: 'no such user' } })
    await work()
    server.troubles()
    const row = (await client.get(`/v1/outbox/${outboxID}`)).body
    expect(row).toMatchObject({ Status: 'Failed', LastReply: expect.stringContaining('550 no such user') })
    const [event] = (await client.get('/v1/events?type=outbox_mail.failed')).body
    expect(event).toMatchObject({ RecordID: outboxID, customerID, Reason: 'refused with 550' })
  })

  test('for more than a day holds nothing that waited for it, also not the mail whose turn never came', async () => {
    const client = await sender()
    for (let n = 0; n < 12; n += 1) await welcomed(client)
    const lane = worker()
    server.troubles({ greeting: 'break' })
    await lane()
    pass(FRESH_MS / 1000 + 60)
    server.troubles()
    await lane()
    const statuses = (await client.get('/v1/outbox?page_size=100')).body.map(({ Status }: any) => Status)
    expect(statuses).toEqual(Array.from({ length: 12 }, () => 'Sent'))
  })

  test('is tried after 1, 5 and 30 minutes, 2, 6, 12 and 24 hours; then the mail has failed', async () => {
    const client = await sender()
    const { outboxID } = await welcomed(client)
    server.troubles({ rcpt: { code: 451, text: 'later' } })
    const statuses: string[] = []
    for (const waitMs of [0, ...WAITS_MS]) {
      pass(waitMs / 1000)
      await work()
      statuses.push((await client.get(`/v1/outbox/${outboxID}`)).body.Status)
    }
    server.troubles()
    expect(statuses).toEqual([...WAITS_MS.map(() => 'Queued'), 'Failed'])
  })
})
