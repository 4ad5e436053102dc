import { describe, expect, test } from 'vitest'
import { serverAt, startMailing, startMailServer, welcomed } from './mailing.testing.ts'

/** Addresses whose part before the @ is beyond ASCII, with a mail server that offers SMTPUTF8 and one that does not. */

const able = await startMailServer()
const plain = await startMailServer({ hideSMTPUTF8: true })
const { work, service, arrivedOf } = await startMailing(able)
const atPlain = { server: serverAt(plain.url) }

const live = async (settings: object = {}) => {
  const client = await service.newAccount({ mode: 'live', name: 'Acme', clockAt: null })
  await client.put('/v1/account', settings)
  return client
}
type Client = Awaited<ReturnType<typeof live>>

async function invoiced(client: Client, about: object) {
  const { body } = await client.post('/v1/customers', { Name: 'Zoë', isCompany: true, autoSendInvoice: true, ...about })
  await client.post('/v1/invoices', {
    customerID: body.customerID,
    Charges: [{ Line: 'Hours', Qty: 1, UnitCostEx: 10 }],
  })
  return async () => (await client.get('/v1/outbox')).body[0]
}

describe('a server that offers SMTPUTF8', () => {
  test('gets a mail to an address beyond ASCII, with its domain in ASCII', async () => {
    const client = await live()
    const outbox = await invoiced(client, { Email: 'zoë@bücher.example', EmailCC: 'copy@example.com' })
    await work()
    expect(await outbox()).toMatchObject({ Status: 'Sent' })
    const [arrived] = await arrivedOf(client)
    expect(arrived?.to.map((address) => address.replace('bücher', 'xn--bcher-kva'))).toEqual([
      'zoë@xn--bcher-kva.example',
      'copy@example.com',
    ])
    expect(arrived?.mail.to?.[0]?.address).toMatch(/^zoë@/)
  })

  test('is asked for it too where only the address for answers needs it', async () => {
    const asked: unknown[] = []
    const asking = await startMailServer({
      onMailFrom: ({ args }, _session, go) => {
        asked.push((args as Record<string, unknown>)['SMTPUTF8'])
        go()
      },
    })
    const client = await live({ MailFrom: 'büro@acme.test' })
    const outbox = await invoiced(client, { Email: 'ann@example.com' })
    await work({ server: serverAt(asking.url) })
    expect(await outbox()).toMatchObject({ Status: 'Sent' })
    const [arrived] = await arrivedOf(client, undefined, asking)
    expect(arrived?.mail.replyTo?.[0]?.address).toBe('büro@acme.test')
    const other = await live()
    await invoiced(other, { Email: 'ann@example.com' })
    await work({ server: serverAt(asking.url) })
    expect(asked).toEqual([true, undefined])
  })

  test('is asked for it too where only the sender that customers see needs it', async () => {
    const client = await live({ MailFrom: 'büro@acme.example' })
    await invoiced(client, { Email: 'ann@example.com' })
    await work()
    const [arrived] = await arrivedOf(client)
    expect(arrived?.mail.from?.address).toBe('büro@acme.example')
  })
})

describe('a server that does not', () => {
  test('is not offered such a receiver, who is Failed at once with that sentence', async () => {
    const client = await live()
    const outbox = await invoiced(client, { Email: 'zoë@example.com' })
    await work(atPlain)
    expect(await outbox()).toMatchObject({ Status: 'Failed', LastReply: expect.stringContaining('SMTPUTF8') })
    expect(await arrivedOf(client, undefined, plain)).toEqual([])
  })

  test('gets the mail for the others, in whose headers it is left out', async () => {
    const client = await live()
    const outbox = await invoiced(client, { Email: 'ann@example.com', EmailCC: 'zoë@example.com' })
    await work(atPlain)
    expect(await outbox()).toMatchObject({ Status: 'Sent', LastReply: expect.stringContaining('SMTPUTF8') })
    const [arrived] = await arrivedOf(client, undefined, plain)
    expect([arrived?.to, arrived?.mail.cc ?? []]).toEqual([['ann@example.com'], []])
    expect(arrived?.raw).toMatch(/^\p{ASCII}*$/u)
  })

  test('gets it for the copy alone, and the mail is Failed for its receiver', async () => {
    const client = await live()
    const outbox = await invoiced(client, { Email: 'zoë@example.com', EmailCC: 'copy@example.com' })
    await work(atPlain)
    expect(await outbox()).toMatchObject({ Status: 'Failed', LastReply: expect.stringContaining('SMTPUTF8') })
    const [arrived] = await arrivedOf(client, undefined, plain)
    expect([arrived?.to, arrived?.mail.to?.map(({ address }) => address)]).toEqual([
      ['copy@example.com'],
      ['copy@example.com'],
    ])
  })

  test('gets no such address for answers and no such sender', async () => {
    for (const [MailFrom, from] of [
      ['büro@acme.test', 'mailer@billing.example'],
      ['büro@acme.example', 'mailer@billing.example'],
    ]) {
      const client = await live({ MailFrom })
      const outbox = await invoiced(client, { Email: 'ann@example.com' })
      await work(atPlain)
      expect(await outbox()).toMatchObject({ Status: 'Sent' })
      const [arrived] = await arrivedOf(client, undefined, plain)
      expect([arrived?.mail.from, arrived?.mail.replyTo ?? []]).toEqual([{ name: 'Acme', address: from }, []])
    }
  })

  test('gets mails of others on the same connection as ever', async () => {
    const client = await live()
    await welcomed(client, 'zoë@example.com')
    await welcomed(client, 'ann@example.com')
    await work(atPlain)
    const { body } = await client.get('/v1/outbox')
    expect(body.map(({ To, Status }: any) => [To, Status]).toSorted()).toEqual([
      ['ann@example.com', 'Sent'],
      ['zoë@example.com', 'Failed'],
    ])
  })
})

test('an account with such an address is told of it by a warning', async () => {
  const client = await service.newAccount()
  const warned = async (settings: object) => (await client.put('/v1/account', settings)).headers['perennial-warning']
  expect(await warned({ MailFrom: 'büro@acme.example' })).toBe('mail_needs_smtputf8')
  expect(await warned({ MailFrom: 'buero@äcme.example' })).toBeUndefined()
  expect(await warned({ Email: 'büro@acme.example' })).toBe('mail_needs_smtputf8')
  expect(await warned({ Email: null })).toBeUndefined()
})
