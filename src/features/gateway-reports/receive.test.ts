import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { GatewayReport } from '../gateways/contract.ts'
import { sandboxReport } from '../gateways/sandbox.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'
import { keptReports, report, signed, workAt } from './reports.testing.ts'

/** The address of reports: who may report, and what a report that is not accepted learns. */

// Wrong reports of one address are slowed down; each test looks at another minute.
let minutes = 0
const service = await startTestService({ clock: () => minutes * 60_000 })
const { anonymous } = service

const ABOUT = { about: 'charge', reference: '1' } as const
const NOT_ACCEPTED = {
  Errors: [{ Message: 'The report was not accepted.', Code: 'report_not_accepted', Field: null }],
}

/** A gateway of a new account; a further one of the same account where it is given. */
async function sender() {
  minutes += 1
  const client = await service.newAccount()
  const [{ gatewayID, GatewayToken }] = (await client.get('/v1/gateways')).body
  return { client, gatewayID, GatewayToken, path: `/gateways/${GatewayToken}/events` }
}

test('a report is kept once under its identifier, and answered with 200 each time', async () => {
  const one = await sender()
  for (let times = 0; times < 2; times += 1) {
    const reply = await report(service, one, { id: 'r-1', ...ABOUT })
    expect([reply.status, reply.text, reply.headers['cache-control']]).toEqual([200, '', 'no-store'])
  }
  const { raw, headers } = signed(service, one, { id: 'r-2', ...ABOUT })
  for (const path of [one.path.toUpperCase(), `/gateways/${one.GatewayToken.toUpperCase()}/events/`])
    expect((await anonymous.request('POST', path, raw.toString(), headers)).status).toBe(200)
  const kept = await keptReports(service, one.client)
  expect(kept.map(({ externalId }) => externalId)).toEqual(['r-1', 'r-2'])
})

test('a report that comes twice at once is kept once', async () => {
  const one = await sender()
  const replies = await Promise.all(Array.from({ length: 8 }, () => report(service, one, { id: 'r-1', ...ABOUT })))
  expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200))
  expect(await keptReports(service, one.client)).toHaveLength(1)
})

test('beyond those that are taken and wait a report is 429, never 503, and what was taken is kept', async () => {
  const BOUND = 4 + 200
  const one = await sender()
  const holding = new pg.Client(clientConfig(service.connection, undefined))
  await holding.connect()
  await holding.query('begin')
  await holding.query('lock table gateway_reports in access exclusive mode')
  const sent = Array.from({ length: BOUND }, (_, n) => report(service, one, { id: `r-${n}`, ...ABOUT }))
  const beyond = await Promise.all(
    Array.from({ length: 5 }, (_, n) => report(service, one, { id: `beyond-${n}`, ...ABOUT })),
  )
  await holding.query('rollback')
  await holding.end()
  for (const { status, body, headers } of beyond)
    expect([status, body.Errors[0].Code, headers['retry-after']]).toEqual([429, 'too_many_reports', '2'])
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  // On a busy machine the time of some that wait is over.
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  const taken = statuses.filter((status) => status === 200).length
  expect(taken).toBeGreaterThan(0)
  expect(await keptReports(service, one.client)).toHaveLength(taken)
})

/** Sends several reports in one request, which bears a scope. */
async function reportAll(one: Awaited<ReturnType<typeof sender>>, all: readonly GatewayReport[], scope: string) {
  const whose = { accountId: one.client.id, gatewayId: BigInt(one.gatewayID), scope, isLive: false, settings: {} }
  const keyedHash = service.calling.envelope.keyedHash('sandbox')
  const { raw, headers } = sandboxReport(whose, keyedHash, all, instantOf(Date.now()))
  return anonymous.request('POST', one.path, raw.toString(), headers)
}

test('250 reports of one request are kept, each once, also where half of them are known', async () => {
  const one = await sender()
  const all = Array.from({ length: 250 }, (_, n): GatewayReport => ({ id: `r-${n}`, ...ABOUT }))
  for (const sent of [all.slice(0, 125), all, all])
    expect((await reportAll(one, sent, one.GatewayToken)).status).toBe(200)
  expect((await keptReports(service, one.client)).map(({ externalId }) => externalId)).toEqual(all.map(({ id }) => id))
})

test('of bodies above 64 KiB eight are held at a time; others are 429 with a time to come back, and small ones pass', async () => {
  const one = await sender()
  const large = (name: string) =>
    Array.from({ length: 700 }, (_, n): GatewayReport => ({ id: `${name}-${n}-${'x'.repeat(40)}`, ...ABOUT }))
  const holding = new pg.Client(clientConfig(service.connection, undefined))
  await holding.connect()
  await holding.query('begin')
  await holding.query('lock table gateway_reports in access exclusive mode')
  const answered: unknown[] = []
  const sent = Array.from({ length: 10 }, async (_, n) => {
    const { status, headers } = await reportAll(one, large(`r${n}`), one.GatewayToken)
    answered.push([status, headers['retry-after']].join(' ').trim())
  })
  await vi.waitFor(() => expect(answered).toEqual(['429 2', '429 2']), { timeout: 8000 })
  const small = reportAll(one, [{ id: 'small', ...ABOUT }], one.GatewayToken)
  await holding.query('rollback')
  await holding.end()
  await Promise.all(sent)
  expect((await small).status).toBe(200)
  expect(answered.slice(2)).toEqual(Array(8).fill('200'))
  expect((await reportAll(one, large('later'), one.GatewayToken)).status).toBe(200)
  expect(await keptReports(service, one.client)).toHaveLength(9 * 700 + 1)
})

test('what bears another scope is answered 200, and nothing is kept of it', async () => {
  const one = await sender()
  const sent = await reportAll(one, [{ id: 'r-1', ...ABOUT }], crypto.randomUUID())
  expect([sent.status, await keptReports(service, one.client)]).toEqual([200, []])
})

test('of one request nothing is kept where one of its reports cannot be', async () => {
  const one = await sender()
  const all: GatewayReport[] = [
    { id: 'r-1', ...ABOUT },
    { id: 'r-2', about: 'charge', reference: 'a b' },
  ]
  const sent = await reportAll(one, all, one.GatewayToken)
  expect([sent.status, await keptReports(service, one.client)]).toEqual([400, []])
})

test('a charge or refund of this scope with an identifier or a nonce that is not here is listed for a person', async () => {
  const shop = await chargedPayment(service)
  const one = { ...shop, path: `/gateways/${shop.GatewayToken}/events` }
  expect((await shop.refund({ Amount: 10 })).status).toBe(201)
  const [{ refundID }] = await shop.refunds()
  const all = ['charge', 'refund'].flatMap((about) =>
    ['999999999.Qm3kz0aXw1Yb', `${about === 'charge' ? shop.id : refundID}.Qm3kz0aXw1Yb`].map((reference, n) => ({
      id: `${about}-${n}`,
      about: about as 'charge' | 'refund',
      reference,
    })),
  )
  expect((await reportAll(one, all, shop.GatewayToken)).status).toBe(200)
  await workAt(service, shop.client)
  const kept = await keptReports(service, shop.client)
  expect(kept.map(({ isFinished, reason }) => [isFinished, reason])).toEqual(
    all.map(({ about, reference }) => [
      true,
      `The gateway reports ${about} ${reference}, which is none of this service.`,
    ]),
  )
  expect((await shop.client.get('/v1/resultfiles')).body).toHaveLength(4)
})

test('a gateway that is not active still reports: it has money of before', async () => {
  const one = await sender()
  await one.client.put(`/v1/gateways/${one.gatewayID}`, { isActive: false })
  expect((await report(service, one, { id: 'r-1', ...ABOUT })).status).toBe(200)
})

describe('not accepted, without a word why, and not kept', () => {
  type Sender = Awaited<ReturnType<typeof sender>>
  interface Sent {
    path?: string
    raw?: Buffer | string
    headers?: Record<string, string>
  }
  const now = () => Date.now()
  const right = (one: Sender) => signed(service, one, { id: 'r-1', ...ABOUT })
  const without = (one: Sender, name: string) => {
    const { [name]: _gone, ...rest } = right(one).headers
    return rest as Record<string, string>
  }
  const cases: Record<string, (one: Sender, other: Sender) => Sent> = {
    'no signature at all': () => ({ headers: {} }),
    'a signature without its instant': (one) => ({ headers: without(one, 'webhook-timestamp') }),
    'an identifier that was not signed': (one) => ({ headers: { ...right(one).headers, 'webhook-id': 'r-2' } }),
    'a signature that is none': (one) => ({ headers: { ...right(one).headers, 'webhook-signature': 'v1,' } }),
    'an instant that is no number': (one) => ({ headers: { ...right(one).headers, 'webhook-timestamp': '1e9' } }),
    'bytes that were not signed': (one) => ({ raw: `${right(one).raw.toString()} ` }),
    'older than five minutes': (one) => signed(service, one, { id: 'r-1', ...ABOUT }, { atMs: now() - 310_000 }),
    'from a time to come': (one) => signed(service, one, { id: 'r-1', ...ABOUT }, { atMs: now() + 310_000 }),
    'signed by the gateway of another account': (_one, other) => right(other),
    'signed by a secret that it does not have': (one) =>
      signed(service, one, { id: 'r-1', ...ABOUT }, { settings: { EventSecret: 'guessed' } }),
    'a token that is none': (one) => ({ ...right(one), path: '/gateways/1/events' }),
    'a token of no gateway': (one) => ({ ...right(one), path: `/gateways/${crypto.randomUUID()}/events` }),
    'the token of another account': (one, other) => ({ ...right(one), path: other.path }),
    'about something else': (one) => signed(service, one, { id: 'r-1', about: 'payout' as 'charge', reference: '1' }),
    'a name that cannot be kept': (one) => signed(service, one, { id: 'r-1', about: 'charge', reference: '\u0000' }),
    'a name without end': (one) => signed(service, one, { id: 'r-1', about: 'charge', reference: '1'.repeat(300) }),
  }
  test.each(Object.entries(cases))('%s', async (_name, sentBy) => {
    const [one, other] = [await sender(), await sender()]
    const sent = { ...right(one), path: one.path, ...sentBy(one, other) }
    const reply = await anonymous.request('POST', sent.path, sent.raw.toString(), sent.headers)
    expect([reply.status, reply.body]).toEqual([400, NOT_ACCEPTED])
    for (const { client } of [one, other]) expect(await keptReports(service, client)).toEqual([])
  })

  test('a body that is no JSON, empty or of other bytes, though it is signed', async () => {
    const one = await sender()
    await one.client.put(`/v1/gateways/${one.gatewayID}`, { Settings: { EventSecret: 'ours' } })
    const { signReport } = await import('../../sandbox/sandbox.ts')
    const { createHash } = await import('node:crypto')
    const secret = createHash('sha256').update('ours').digest()
    const seconds = Math.floor(now() / 1000)
    for (const body of ['', '{', '[]', 'null', '"charge"', '{"about":"charge"}', '{"about":"charge","reference":1}']) {
      const headers = {
        'webhook-id': 'r-1',
        'webhook-timestamp': String(seconds),
        'webhook-signature': signReport(secret, 'r-1', seconds, Buffer.from(body)),
      }
      const reply = await anonymous.request('POST', one.path, body, headers)
      expect([body, reply.status, reply.body]).toEqual([body, 400, NOT_ACCEPTED])
    }
    expect(await keptReports(service, one.client)).toEqual([])
  })
})

test('once a secret is set, it alone signs', async () => {
  const one = await sender()
  await one.client.put(`/v1/gateways/${one.gatewayID}`, { Settings: { EventSecret: 'ours' } })
  expect((await report(service, one, { id: 'r-1', ...ABOUT })).status).toBe(400)
  const { raw, headers } = signed(service, one, { id: 'r-1', ...ABOUT }, { settings: { EventSecret: 'ours' } })
  expect((await anonymous.request('POST', one.path, raw.toString(), headers)).status).toBe(200)
})

test('a body of 512 KiB and one byte is too large', async () => {
  const { path } = await sender()
  const reply = await anonymous.request('POST', path, 'x'.repeat(512 * 1024 + 1))
  expect([reply.status, reply.body.Errors[0].Code]).toEqual([413, 'body_too_large'])
  expect((await anonymous.request('POST', path, 'x'.repeat(512 * 1024))).status).toBe(400)
})

test('an address that sends many reports which are not accepted is slowed down; those that are accepted always pass', async () => {
  const one = await sender()
  const wrong = () => anonymous.request('POST', one.path, '{}')
  for (let n = 0; n < 10; n += 1) expect((await wrong()).status).toBe(400)
  const slowed = await wrong()
  expect([slowed.status, slowed.headers['retry-after'], slowed.body.Errors[0].Code]).toEqual([
    429,
    '60',
    'too_many_reports',
  ])
  expect((await report(service, one, { id: 'r-1', ...ABOUT })).status).toBe(200)
  minutes += 1
  expect((await wrong()).status).toBe(400)
})

test('the address takes POST alone', async () => {
  const { path } = await sender()
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    const reply = await anonymous.request(method, path)
    expect([method, reply.status, reply.headers['allow']]).toEqual([method, 405, 'POST'])
  }
})

test('no token of a gateway and nothing of a report stands in the log', async () => {
  const { default: pino } = await import('pino')
  const { Writable } = await import('node:stream')
  let written = ''
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      written += String(chunk)
      done()
    },
  })
  const logged = await startTestService({ log: pino({ level: 'debug' }, stream) })
  const shop = await chargedPayment(logged)
  const { raw, headers } = signed(logged, shop, { id: 'report-of-day', ...ABOUT })
  const path = `/gateways/${shop.GatewayToken}/events`
  await logged.anonymous.request('POST', path, raw.toString(), headers)
  await logged.anonymous.request('POST', path, 'signed-by-nobody', headers)
  expect(written).toContain('answered')
  for (const secret of [shop.GatewayToken, headers['webhook-signature']!, 'report-of-day', 'signed-by-nobody'])
    expect(written).not.toContain(secret)
})
