import { describe, expect, test } from 'vitest'
import { makeAuthority } from '../../../test/support/certificates.ts'
import { serverAt, startMailing, startMailServer, welcomed } from './mailing.testing.ts'

const server = await startMailServer()
const { work, pass, sender, service, arrivedOf } = await startMailing(server)

const live = () => service.newAccount({ mode: 'live', name: 'Acme', clockAt: null })

async function withCopy(client: Awaited<ReturnType<typeof live>>, name: string): Promise<any> {
  const { body } = await client.post('/v1/customers', {
    Name: name,
    isCompany: true,
    Email: `${name}@example.com`,
    EmailCC: `copy-of-${name}@example.com`,
    autoSendInvoice: true,
  })
  const Charges = [{ Line: 'Hours', Qty: 1, UnitCostEx: 10 }]
  const invoice = await client.post('/v1/invoices', { customerID: body.customerID, Charges })
  const outbox = async () => (await client.get('/v1/outbox')).body[0]
  const dateSent = async () => (await client.get(`/v1/invoices/${invoice.body.invoiceID}`)).body.DateSent
  return { outbox, dateSent }
}

test('mail of a live account goes to its receiver and to the copy', async () => {
  const client = await live()
  const { outbox } = await withCopy(client, 'ann')
  await work()
  const [arrived] = await arrivedOf(client)
  expect(arrived).toMatchObject({ to: ['ann@example.com', 'copy-of-ann@example.com'] })
  expect(arrived?.mail).toMatchObject({
    subject: 'Invoice 1 from Acme',
    to: [{ address: 'ann@example.com' }],
    cc: [{ address: 'copy-of-ann@example.com' }],
  })
  expect((await outbox()).Status).toBe('Sent')
})

test('a copy that is put off is tried again alone; the invoice is sent when its receiver took it', async () => {
  const client = await live()
  const { outbox, dateSent } = await withCopy(client, 'bea')
  server.troubles({ rcpt: { code: 451, text: 'greylisted' } }, 'copy-of-bea@example.com')
  await work()
  server.troubles()
  expect((await arrivedOf(client)).at(-1)?.to).toEqual(['bea@example.com'])
  expect((await outbox()).Status).toBe('Queued')
  expect(await dateSent()).not.toBeNull()
  pass(60)
  await work()
  expect((await arrivedOf(client)).at(-1)?.to).toEqual(['copy-of-bea@example.com'])
  expect((await outbox()).Status).toBe('Sent')
})

test('a mail that was refused for good goes to the same receivers when a person sends it', async () => {
  const client = await live()
  const { outbox } = await withCopy(client, 'cleo')
  server.troubles({ rcpt: { code: 550, text: 'no such user' } })
  await work()
  server.troubles()
  expect((await outbox()).Status).toBe('Failed')
  await client.put(`/v1/outbox/${(await outbox()).outboxID}/send`)
  await work()
  expect((await arrivedOf(client)).at(-1)?.to).toEqual(['cleo@example.com', 'copy-of-cleo@example.com'])
  expect((await outbox()).Status).toBe('Sent')
})

test('several workers at once send each mail once, each over few connections', async () => {
  const client = await sender()
  for (let n = 0; n < 12; n += 1) await welcomed(client, `many${n}@example.com`)
  const { connections } = server
  await Promise.all([work(), work(), work()])
  const ids = (await arrivedOf(client)).map(({ mail }) => mail.messageId)
  expect([ids.length, new Set(ids).size]).toEqual([12, 12])
  expect(server.connections - connections).toBeLessThanOrEqual(12)
})

test('a server whose certificate nobody vouches for gets no mail', async () => {
  const secure = await startMailServer({ secure: true })
  const client = await sender()
  const { outboxID } = await welcomed(client)
  await work({ server: serverAt(secure.url.replace('smtp:', 'smtps:')) })
  expect(secure.arrived).toEqual([])
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Queued')
})

describe('with a certificate of an authority that is trusted', () => {
  const { ca, issue } = makeAuthority()
  const [right, wrong] = [issue('IP:127.0.0.1,DNS:localhost'), issue('DNS:elsewhere.example')]

  test.each([
    ['TLS from the first byte', { secure: true }, 'smtps:', ''],
    ['STARTTLS', { hideSTARTTLS: false }, 'smtp:', '?requireTLS=true'],
  ] as const)(
    'mail leaves by %s, and not where the certificate is of another name',
    async (_by, options, scheme, query) => {
      const client = await sender()
      const statusAfter = async (certificate: typeof right) => {
        const secure = await startMailServer({ ...options, ...certificate })
        const { outboxID } = await welcomed(client)
        await work({ server: { ...serverAt(secure.url.replace('smtp:', scheme) + query), ca } })
        const isEncrypted = secure.arrived.map(({ isSecure }) => isSecure)
        return [(await client.get(`/v1/outbox/${outboxID}`)).body.Status, isEncrypted]
      }
      expect(await statusAfter(right)).toEqual(['Sent', [true]])
      expect(await statusAfter(wrong)).toEqual(['Queued', []])
    },
  )
})

test('a server without STARTTLS gets no mail where TLS is asked for', async () => {
  const client = await sender()
  const { outboxID } = await welcomed(client)
  await work({ server: serverAt(`${server.url}?requireTLS=true`) })
  expect(await arrivedOf(client)).toEqual([])
  expect((await client.get(`/v1/outbox/${outboxID}`)).body.Status).toBe('Queued')
})

test('a login that is refused fails no mail: it is ours that is wrong', async () => {
  const strict = await startMailServer({
    onAuth: (_auth, _session, go) => go(new Error('no')),
    hideSTARTTLS: true,
    allowInsecureAuth: true,
  })
  const client = await sender()
  const { outboxID } = await welcomed(client)
  await work({ server: serverAt(strict.url.replace('//', '//me:wrong@')) })
  const row = (await client.get(`/v1/outbox/${outboxID}`)).body
  expect(row).toMatchObject({ Status: 'Queued', LastReply: expect.stringMatching(/^535/) })
  expect(strict.arrived).toEqual([])
})
