import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import type { ReportsFrom, ReportsListed } from './contract.ts'
import { newCall, NOW, NOW_S, refusal, SCOPE, scripted } from './stripe.testing.ts'
import { readStripeReport } from './stripe-reports.ts'

const SECRETS = ['whsec_new', 'whsec_old']
const whose = { ...newCall(), settings: { WebhookSecrets: SECRETS } }

const signed = (body: string, { secret = 'whsec_new', time = NOW_S } = {}) => {
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
  return { 'stripe-signature': `t=${time},v1=${signature}` }
}
const read = (body: string, headers: Record<string, string | string[] | undefined> = signed(body)) =>
  readStripeReport(whose, Buffer.from(body), headers, NOW)

const event = (type: string, object: object, fields: object = {}) => ({
  id: 'evt_1',
  type,
  created: NOW_S - 3600,
  livemode: false,
  data: { object },
  ...fields,
})
const reportsOf = (...about: Parameters<typeof event>) => read(JSON.stringify(event(...about)))
const ours = (kind: string, reference: string) => ({ metadata: { perennial: `${SCOPE}/${kind}/${reference}` } })

interface Vectors {
  secret: string
  payload: string
  vectors: { name: string; 'Stripe-Signature': string; receivedAt: number; accepted: boolean }[]
}

test.skipIf(!hasFixtures)(
  'the shipped signatures are judged as by the client of Stripe (needs ../shared/fixtures)',
  () => {
    const url = new URL('../../../../shared/fixtures/gateways/stripe/webhook-vectors.json', import.meta.url)
    const { secret, payload, vectors } = JSON.parse(readFileSync(url, 'utf8')) as Vectors
    expect(vectors.length).toBeGreaterThanOrEqual(8)
    const { settings: _, ...rest } = whose
    for (const { name, 'Stripe-Signature': header, receivedAt, accepted } of vectors) {
      const at = new Date(receivedAt * 1000).toISOString()
      const found = readStripeReport(
        { ...rest, settings: { WebhookSecrets: [secret] } },
        Buffer.from(payload),
        { 'stripe-signature': header },
        at,
      )
      expect([name, found.kind]).toEqual([name, accepted ? 'read' : 'refused'])
    }
  },
)

describe('a signature', () => {
  const body = JSON.stringify(event('payment_intent.succeeded', { id: 'pi_1', ...ours('charge', '9.a') }))

  test('by either of two secrets counts, 300 seconds early or late and no more', () => {
    for (const secret of SECRETS) expect(read(body, signed(body, { secret })).kind).toBe('read')
    for (const off of [-300, 300]) expect(read(body, signed(body, { time: NOW_S + off })).kind).toBe('read')
    for (const off of [-301, 301]) expect(read(body, signed(body, { time: NOW_S + off })).kind).toBe('refused')
  })

  test('that is another one, or has two times, or none, is refused', () => {
    const right = signed(body)['stripe-signature']
    const wrong = [
      undefined,
      '',
      right.replace('t=', 't=9'),
      `t=${NOW_S},${right}`,
      right.replace('v1', 'v0'),
      `${right}0`,
    ]
    for (const header of wrong) expect(read(body, { 'stripe-signature': header }).kind).toBe('refused')
    expect(read(body, { 'stripe-signature': [right] }).kind).toBe('refused')
    expect(read(`${body} `, signed(body)).kind).toBe('refused')
    expect(read(body, signed(body, { secret: 'whsec_other' })).kind).toBe('refused')
    const nobody = readStripeReport({ ...whose, settings: {} }, Buffer.from(body), signed(body), NOW)
    expect(nobody.kind).toBe('refused')
  })

  test('over what is no JSON is refused, and over what is no event reads nothing', () => {
    expect(read('{').kind).toBe('refused')
    for (const body of ['null', '[]', '"x"', '{"id":1}']) expect(read(body)).toEqual({ kind: 'read', reports: [] })
  })
})

test.each([
  [
    'payment_intent.succeeded',
    { id: 'pi_1', ...ours('charge', '9.a') },
    { about: 'charge', reference: '9.a', gatewayReference: 'pi_1' },
  ],
  ['charge.refunded', { id: 'ch_1', payment_intent: 'pi_1' }, { about: 'charge', gatewayReference: 'pi_1' }],
  [
    'charge.dispute.funds_withdrawn',
    { id: 'dp_1', payment_intent: { id: 'pi_1' } },
    { about: 'charge', gatewayReference: 'pi_1' },
  ],
  [
    'refund.failed',
    { id: 're_1', ...ours('refund', '3.b') },
    { about: 'refund', reference: '3.b', gatewayReference: 're_1' },
  ],
  ['refund.updated', { id: 're_1', payment_intent: 'pi_1' }, { about: 'charge', gatewayReference: 'pi_1' }],
  ['payment_method.updated', { id: 'pm_1', customer: 'cus_1' }, { about: 'stored', reference: 'cus_1/pm_1' }],
  [
    'setup_intent.succeeded',
    { id: 'seti_1', ...ours('card', 'x') },
    { about: 'storing', reference: 'x', gatewayReference: 'seti_1' },
  ],
])('%s is a report', (type, object, report) => {
  expect(reportsOf(type, object)).toEqual({ kind: 'read', reports: [{ id: 'evt_1', ...report }] })
})

test('a card that was detached is named by whose it was', () => {
  const detached = event('payment_method.detached', { id: 'pm_1', customer: null })
  const data = { ...detached.data, previous_attributes: { customer: 'cus_1' } }
  expect(read(JSON.stringify({ ...detached, data }))).toMatchObject({ reports: [{ reference: 'cus_1/pm_1' }] })
})

test('events of others, of the other mode and of other kinds are nothing', () => {
  const intent = { id: 'pi_1', ...ours('charge', '9.a') }
  const nothing = { kind: 'read', reports: [] }
  expect(reportsOf('payment_intent.succeeded', intent, { livemode: true })).toEqual(nothing)
  expect(reportsOf('payment_intent.succeeded', intent, { livemode: undefined })).toEqual(nothing)
  expect(reportsOf('payment_intent.created', intent)).toEqual(nothing)
  for (const perennial of [undefined, 'other/charge/9.a', `${SCOPE}/refund/9.a`, `${SCOPE}/charge/`])
    expect(reportsOf('payment_intent.succeeded', { id: 'pi_1', metadata: { perennial } })).toEqual(nothing)
  expect(reportsOf('charge.refunded', { id: 'ch_1', payment_intent: null })).toEqual(nothing)
  expect(reportsOf('payment_method.detached', { id: 'pm_1', customer: null })).toEqual(nothing)
})

describe('looking for events', () => {
  const SINCE = '2027-01-30T12:00:00.000Z'
  const listable = (id: string, minutesAgo: number) =>
    event('charge.refunded', { id: 'ch_1', payment_intent: `pi_${id}` }, { id, created: NOW_S - minutesAgo * 60 })

  /** A list of Stripe's, newest first, in pages of `size`. */
  const listOf = (events: ReturnType<typeof listable>[], size = 100) =>
    scripted(({ form }) => {
      const { ending_before: above, starting_after: below } = form
      const place = events.findIndex(({ id }) => id === (above ?? below))
      if ((above ?? below) !== undefined && place < 0)
        return refusal(400, { type: 'invalid_request_error', code: 'resource_missing' })
      const fitting =
        above !== undefined
          ? events.slice(Math.max(0, place - size), place)
          : events.filter(({ created }, at) => at > place && created >= Number(form['created[gte]'])).slice(0, size)
      const hasMore =
        above !== undefined
          ? place > size
          : events.filter(({ created }, at) => at > place && created >= Number(form['created[gte]'])).length > size
      return [200, { data: fitting, has_more: hasMore }]
    })
  const look = async (list: ReturnType<typeof listOf>, from: Partial<ReportsFrom> = {}): Promise<ReportsListed> => {
    const found = await list.adapter.listReports(newCall(), { cursor: null, since: SINCE, ...from })
    if (found.kind !== 'listed') throw new Error(`listed, not ${found.kind}`)
    return found
  }
  const ids = ({ reports }: ReportsListed) => reports.map(({ id }) => id)

  test('begins by time, oldest first, then goes upwards from the newest that is ten minutes old', async () => {
    const events = [listable('evt_3', 5), listable('evt_2', 11), listable('evt_1', 60), listable('evt_0', 3000)]
    const list = listOf(events)
    const first = await look(list)
    expect(ids(first)).toEqual(['evt_1', 'evt_2', 'evt_3'])
    expect(list.requests[0]?.form).toMatchObject({ limit: '100', 'created[gte]': String(Date.parse(SINCE) / 1000) })
    expect(Object.keys(list.requests[0]!.form).filter((name) => name.startsWith('types['))).toHaveLength(17)
    events.unshift(listable('evt_4', 1))
    const second = await look(list, first)
    expect(list.requests.at(-1)?.form).toMatchObject({ ending_before: 'evt_2' })
    // What was found already is found again: it is younger than ten minutes.
    expect(ids(second)).toEqual(['evt_3', 'evt_4'])
    expect(second).toMatchObject({ isMore: false, cursor: first.cursor })
  })

  test('reads at most 20 pages a look, and goes on where it was', async () => {
    const events = Array.from({ length: 90 }, (_, at) => listable(`evt_${90 - at}`, 20 + at))
    const down = listOf(events, 2)
    const first = await look(down)
    expect([first.reports.length, first.isMore, down.requests.length]).toEqual([40, true, 20])
    const second = await look(down, first)
    const third = await look(down, second)
    expect([third.reports.length, third.isMore]).toEqual([10, false])
    expect(new Set([first, second, third].flatMap(ids)).size).toBe(90)
    events.unshift(...Array.from({ length: 50 }, (_, at) => listable(`later_${50 - at}`, 11)))
    const fourth = await look(down, third)
    expect([fourth.reports.length, fourth.isMore]).toEqual([40, true])
    expect(ids(fourth)[0]).toBe('later_1')
    expect([(await look(down, fourth)).reports.length]).toEqual([10])
  })

  test('finds everything again by time where Stripe has forgotten its place', async () => {
    const list = listOf([listable('evt_2', 20), listable('evt_1', 60)])
    const cursor = JSON.stringify({ above: 'evt_forgotten', at: NOW_S - 90 * 60 })
    expect(ids(await look(list, { cursor }))).toEqual(['evt_1', 'evt_2'])
  })

  test('of a gateway without events moves on in time, and misses none that comes', async () => {
    const events: ReturnType<typeof listable>[] = []
    const list = listOf(events)
    const first = await look(list)
    events.push(listable('evt_1', 9))
    expect(ids(await look(list, first))).toEqual(['evt_1'])
  })

  test('is unknown or not sent where Stripe does not answer', async () => {
    const silent = scripted(() => [500, {}])
    const from = { cursor: null, since: SINCE }
    expect(await silent.adapter.listReports(newCall(), from)).toEqual({ kind: 'unknown' })
    const odd = scripted(() => refusal(400, { type: 'invalid_request_error', code: 'parameter_unknown' }))
    expect(await odd.adapter.listReports(newCall(), from)).toMatchObject({
      kind: 'not_sent',
      refused: { by: 'request' },
    })
  })
})
