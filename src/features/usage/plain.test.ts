import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient, type TestService } from '../../../test/support/app.ts'
import { codesOf, differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { addComponent, TIERS, use } from '../subscriptions/components.testing.ts'
import { bulkBodies, inOtherLetters, ONE_HASH } from './bodies.testing.ts'
import { readPlainUsage } from './plain-wire.ts'

/** Plain bodies of usage leave, and answer, what the way of all requests leaves and answers; and keys of one hash are two keys. */

const connected = async (service: TestService) => {
  const owner = new pg.Client({ ...service.connection, options: '-c search_path=perennial' })
  await owner.connect()
  afterAll(() => owner.end())
  return owner
}

const [service, twin] = [await startTestService(), await startTestService()]
const [owner, ownerOfTwin] = [await connected(service), await connected(twin)]

/** A shop in the middle of February: with usage of a cycle that is invoiced, and subscriptions that begin, are tried out, end and have ended. */
async function busyShop(of: TestService, ownerOf = owner) {
  const made = await shop(of, { price: 31 })
  const { client, add } = made
  const metered = { type: 'metered', scheme: 'tiered', brackets: TIERS } as const
  const calls = await addComponent(client, metered)
  const days = await addComponent(client, { ...metered, scheme: 'volume', term: 10, termType: 'days' })
  const seats = await addComponent(client)
  const components = [calls, days, seats].map(({ componentID }) => componentID as number)
  const componentUsage = components.map((componentID) => ({ componentID, NumUnits: 1 }))
  const subscriptions: number[] = []
  for (const more of [{}, {}, { StartDate: '2027-02-05' }, { EndDate: '2027-02-20' }, { EndDate: '2027-02-08' }])
    subscriptions.push((await add({ componentUsage, ...more })).body.subscriptionID)
  subscriptions.push((await add({ componentUsage: componentUsage.slice(2) })).body.subscriptionID)
  await use(client, subscriptions[0]!, { componentID: components[0], NumUnits: 3, isSetUnits: true })
  await moveTo(client, '2027-02-10')
  expect((await client.post('/v1/webhooks', { Url: 'https://example.com/', Types: ['usage.*'] })).status).toBe(201)
  // Codes are counted by the tests of a process; both services are to know the same.
  await ownerOf.query(`update components set code = 'CALLS' where component_id = $1`, [calls.componentID])
  return { client, subscriptions, components, code: 'CALLS' }
}

const TABLES: Record<string, string> = {
  usage_rows: `select subscription_id, component_id, units, is_set, usage_date, usage_key, memo, recorded_at, cycle_from, part, key_no
    from usage_rows order by subscription_id, usage_id`,
  usage_cycles: 'select * from usage_cycles order by subscription_id, component_id, cycle_from',
  subscription_components: 'select * from subscription_components order by subscription_id, component_id',
  subscription_billing: 'select * from subscription_billing order by subscription_id',
  subscriptions: 'select * from subscriptions order by subscription_id',
  events: `select type, record_id, customer_id, happened_at, actor, reason from event_rows where type = 'usage.recorded' order by event_id`,
  deliveries: `select webhook_id, type, record_id, count(*) from webhook_deliveries group by 1, 2, 3 order by 1, 2, 3`,
  kept: `select status, headers, body from idempotency_keys order by created_at, request_hash`,
}

/** Every event of usage as answers show it; of the identifiers of its reports, in which two services differ, their order. */
async function eventsOf(client: TestClient): Promise<unknown[]> {
  const found: any[] = []
  for (let page = 1; found.length === (page - 1) * 200; page += 1) {
    const { body } = await client.get(`/v1/events?type=usage.recorded&page_size=200&page=${page}`)
    found.push(...body)
  }
  return found.map((told) => {
    const { eventID: _, Record, ...event } = told
    const ids = Record.Usage.map(({ usageID }: any) => usageID)
    expect(ids).toEqual(ids.toSorted((a: number, b: number) => a - b))
    return { ...event, Record: { ...Record, Usage: Record.Usage.map((one: any) => ({ ...one, usageID: 0 })) } }
  })
}

/** Every row that usage touches, as text. */
async function rowsOf(client: pg.Client): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const [table, text] of Object.entries(TABLES)) {
    const { rows } = await client.query<{ row: string }>(`select (r.*)::text as row from (${text}) r`)
    found[table] = rows.map(({ row }) => row)
  }
  return found
}

const answerOf = async (client: TestClient, body: string, headers: Record<string, string>) => {
  const { status, text, headers: sent } = await client.post('/v1/usage', body, headers)
  // The other spelling has more letters in front of a mistake.
  return {
    status,
    text: text.replace(/at character \d+/, ''),
    ignored: sent['perennial-ignored'],
    replayed: sent['idempotency-replayed'],
  }
}

const isPlain = (text: string): boolean => readPlainUsage(text, Infinity).next().value !== undefined

describe('a plain body', () => {
  test('leaves the rows and the answer that any other spelling of it does: random bodies, one after the other', async () => {
    const [one, other] = [await busyShop(service), await busyShop(twin, ownerOfTwin)]
    expect([other.subscriptions, other.components]).toEqual([one.subscriptions, one.components])
    const outcomes = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(bulkBodies(one), fc.constantFrom(0, 0, 1, 2, 3), fc.boolean(), async (body, key, isStrict) => {
        const headers = {
          ...(key > 0 && { 'idempotency-key': `key ${key}` }),
          ...(isStrict && { prefer: 'handling=strict' }),
        }
        const answer = await answerOf(one.client, body, headers)
        expect(await answerOf(other.client, inOtherLetters(body), headers)).toEqual(answer)
        const outcome = `${isPlain(body) ? 'plain' : 'other'} ${answer.status}`
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }),
      { numRuns: 150, endOnFailure: true },
    )
    const rows = await rowsOf(owner)
    expect(await rowsOf(ownerOfTwin)).toEqual(rows)
    const events = await eventsOf(one.client)
    expect(await eventsOf(other.client)).toEqual(events)
    const { rows: shared } = await owner.query('select sum(cardinality(groups))::int as n from usage_packs')
    expect(shared[0].n).toBeGreaterThan(50)
    expect(rows['usage_rows']!.length).toBeGreaterThan(100)
    for (const outcome of ['plain 201', 'plain 400', 'plain 409', 'other 201', 'other 400'])
      expect([outcome, outcomes.get(outcome) ?? 0]).not.toEqual([outcome, 0])
    for (const [of, { client }] of [
      [service, one],
      [twin, other],
    ] as const) {
      await moveTo(client, '2027-04-15')
      expect(await differencesOf(of, client)).toEqual([])
    }
    expect(await rowsOf(ownerOfTwin)).toEqual(await rowsOf(owner))
  })

  test('of an account sees nothing of another one', async () => {
    const { client, subscriptions, components } = await busyShop(service)
    const stranger = await service.newAccount()
    const [subscriptionID, componentID] = [subscriptions[0], components[0]]
    const Usage = [{ subscriptionID, componentID, NumUnits: 1, UsageKey: 'k' }]
    const refused = await stranger.post('/v1/usage', { Usage })
    expect([refused.status, codesOf(refused)]).toEqual([400, ['subscription_unknown', 'component_unknown']])
    expect((await client.post('/v1/usage', { Usage })).body).toEqual({ Recorded: 1, Duplicates: 0 })
  })
})

describe('keys of usage', () => {
  const reportOf = ([subscriptionID]: number[], [componentID]: number[], UsageKey: string, NumUnits = 1) => ({
    subscriptionID,
    componentID,
    NumUnits,
    UsageKey,
  })

  test('that have one hash are two keys: each counts, and each counts once, one by one, in bulk and together', async () => {
    const { rows } = await owner.query(
      `select count(distinct hashtextextended(key, 0))::int as hashes, count(*)::int as keys from unnest($1::text[]) key`,
      [ONE_HASH],
    )
    expect(rows).toEqual([{ hashes: 1, keys: 2 }])
    const { client, subscriptions, components } = await busyShop(service)
    const [first, second] = ONE_HASH.map((key, index) => reportOf(subscriptions, components, key, index + 2))
    const [third, fourth] = ONE_HASH.map((key) => reportOf(subscriptions.slice(1), components, key))
    const post = async (...Usage: unknown[]) => (await client.post('/v1/usage', { Usage })).body
    expect(await post(first)).toEqual({ Recorded: 1, Duplicates: 0 })
    expect(await post(second)).toEqual({ Recorded: 1, Duplicates: 0 })
    expect(await post(second, first)).toEqual({ Recorded: 0, Duplicates: 2 })
    expect(codesOf(await client.post('/v1/usage', { Usage: [{ ...second, NumUnits: 9 }] }))).toEqual([
      'usage_key_reused',
    ])
    expect(await post(fourth, third, reportOf(subscriptions.slice(1), components, 'other'))).toEqual({
      Recorded: 3,
      Duplicates: 0,
    })
    expect(await post(third, fourth)).toEqual({ Recorded: 0, Duplicates: 2 })
    const { subscriptionID: _, ...single } = reportOf(subscriptions.slice(2), components, ONE_HASH[1])
    const list = [single, { ...single, UsageKey: ONE_HASH[0] }, single]
    expect((await use(client, subscriptions[2]!, { componentUsage: list })).status).toBe(204)
    expect((await use(client, subscriptions[2]!, list[1]!)).status).toBe(204)
    const { rows: stored } = await owner.query(
      `select subscription_id::int as id, count(*)::int as n, count(distinct usage_key)::int as keys, max(key_no)::int as last from usage_rows
        where account_id = $1 and usage_key = any ($2::text[]) group by 1 order by 1`,
      [client.id, ONE_HASH],
    )
    expect(stored).toEqual(subscriptions.slice(0, 3).map((id) => ({ id, n: 2, keys: 2, last: 1 })))
  })

  test('count once, however many requests bring the same new keys at the same moment', async () => {
    const { client, subscriptions, components } = await busyShop(service)
    const Usage = Array.from({ length: 60 }, (_, n) => reportOf([subscriptions[n % 2]!], components, `at once ${n}`))
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        client.post('/v1/usage', { Usage: n % 3 === 0 ? Usage.toReversed() : Usage }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(answers.map(({ body }) => body.Recorded).toSorted((a, b) => b - a)).toEqual([60, ...Array(11).fill(0)])
    const { rows } = await owner.query(
      `select count(*)::int as n, sum(units)::int as units from usage_rows where account_id = $1 and usage_key like 'at once %'`,
      [client.id],
    )
    expect(rows).toEqual([{ n: 60, units: 60 }])
  })

  test('that are partly known are passed over, also where the first look does not meet them', async () => {
    const { client, subscriptions, components } = await busyShop(service)
    const Usage = Array.from({ length: 100 }, (_, n) => reportOf(subscriptions, components, `k${n}`))
    expect((await client.post('/v1/usage', { Usage: [Usage[7]] })).body).toEqual({ Recorded: 1, Duplicates: 0 })
    expect((await client.post('/v1/usage', { Usage })).body).toEqual({ Recorded: 99, Duplicates: 1 })
    const under = { 'idempotency-key': 'twice' }
    const more = { Usage: [reportOf(subscriptions, components, 'new')] }
    const answers = [
      await client.post('/v1/usage', more, under),
      await client.post('/v1/usage', inOtherLetters(JSON.stringify(more)), under),
    ]
    expect(answers.map(({ body, headers }) => [body, headers['idempotency-replayed']])).toEqual([
      [{ Recorded: 1, Duplicates: 0 }, undefined],
      [{ Recorded: 1, Duplicates: 0 }, 'true'],
    ])
  })
})
