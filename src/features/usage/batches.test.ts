import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { sql } from '../../platform/database/sql.ts'
import { addCustomer, differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { addComponent, TIERS } from '../subscriptions/components.testing.ts'
import { deleteEndedSubscriptions } from '../subscriptions/state-queries.ts'
import { startReceiver, timed } from '../webhooks/webhooks.testing.ts'

/** Events of plain usage share rows: every reader finds in them what one that holds its reports itself would tell. */

const { service, work } = await timed()
const owner = new pg.Client({ ...service.connection, options: '-c search_path=perennial' })
await owner.connect()
afterAll(() => owner.end())
const SUBSCRIPTIONS = 24
const REQUESTS = 6
const REPORTS = 480

interface Report {
  subscriptionID: number
  componentID: number
  NumUnits: number
  Date: string
  UsageKey: string
  Memo?: string
}

interface Told {
  eventID: number
  RecordID: number
  customerID: number
  Record: {
    subscriptionID: number
    Usage: (Omit<Report, 'subscriptionID'> & { usageID: number; isSetUnits: boolean })[]
  }
}

/** Subscriptions of customers of their own, each with two components that count. */
async function counted() {
  const { client, plan } = await shop(service, { price: 10 })
  const receiver = await startReceiver()
  const metered = { type: 'metered', scheme: 'tiered', brackets: TIERS } as const
  const components = [
    (await addComponent(client, metered)).componentID,
    (await addComponent(client, metered)).componentID,
  ]
  const subscriptions: number[] = []
  for (let count = 0; count < SUBSCRIPTIONS; count += 1) {
    const added = await client.post('/v1/subscriptions', {
      customerID: await addCustomer(client),
      packageVersionID: plan.packageVersionID,
      packageID: plan.packageID,
      StartDate: '2027-01-01',
      componentUsage: components.map((componentID) => ({ componentID, NumUnits: 0 })),
    })
    expect(added.status, added.text).toBe(201)
    subscriptions.push(added.body.subscriptionID)
  }
  await moveTo(client, '2027-01-10')
  const hook = await client.post('/v1/webhooks', { Url: receiver.url, Types: ['usage.recorded'] })
  expect(hook.status, hook.text).toBe(201)
  return { client, receiver, components, subscriptions }
}

test('events of usage that share rows tell their reports, whoever writes meanwhile and whatever is deleted later', async () => {
  const { client, receiver, components, subscriptions } = await counted()
  const reportsOf = (request: number): Report[] =>
    Array.from({ length: REPORTS }, (_, n) => ({
      subscriptionID: subscriptions[(request * 4 + n * 7) % (n % 5 === 0 ? 3 : SUBSCRIPTIONS)]!,
      componentID: components[n % 3 === 0 ? 1 : 0]!,
      NumUnits: 1 + (n % 4) / 4,
      Date: n % 2 === 0 ? '2027-01-09' : '2027-01-10',
      UsageKey: `r${request} ${n}`,
      ...(request === 2 && n % 3 === 1 && { Memo: `memo, ${n}` }),
    }))
  const sent = Array.from({ length: REQUESTS }, (_, request) => reportsOf(request))
  const postAll = (some: readonly Report[][]) => Promise.all(some.map((Usage) => client.post('/v1/usage', { Usage })))
  const answers = await postAll(sent.slice(0, 3))
  // As if others drew every second identifier: those of one row do not follow each other.
  await owner.query('alter sequence usage_rows_usage_id_seq increment by 2')
  answers.push(...(await postAll(sent.slice(3))))
  await owner.query('alter sequence usage_rows_usage_id_seq increment by 1')
  expect(answers.map(({ body }) => body)).toEqual(sent.map(() => ({ Recorded: REPORTS, Duplicates: 0 })))

  const list = async (query: string): Promise<Told[]> =>
    (await client.get(`/v1/events?type=usage.recorded&${query}`)).body
  const all = await list('page_size=200')
  const expected = sent.flatMap((reports) =>
    [...new Set(reports.map(({ subscriptionID }) => subscriptionID))].map((id) =>
      reports.filter(({ subscriptionID }) => subscriptionID === id),
    ),
  )
  const keyOf = (one: { Usage: readonly { UsageKey: string }[] }) => one.Usage[0]!.UsageKey
  const told = new Map(all.map(({ Record }) => [keyOf(Record), Record]))
  expect(all.length).toBe(expected.length)
  for (const reports of expected)
    expect(told.get(reports[0]!.UsageKey)).toEqual({
      subscriptionID: reports[0]!.subscriptionID,
      Usage: reports.map((report) => {
        const { subscriptionID: _, ...rest } = report
        return { usageID: expect.any(Number), isSetUnits: false, Memo: null, ...rest }
      }),
    })
  const ids = all.map(({ eventID }) => eventID)
  expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other))

  const [rows] = await service.db
    .reader(client.id)
    .rows<{ rows: number; apart: number; reports: number; most: number }>(
      sql`select count(*)::integer as "rows", count(usage_ids)::integer as "apart", sum(cardinality(groups))::integer as "reports", max(cardinality(groups)) as "most"
            from usage_packs where account_id = ${client.id}`,
    )
  expect(rows).toMatchObject({ reports: REQUESTS * REPORTS })
  expect(rows!.apart).toBeGreaterThan(0)
  expect(rows!.apart).toBeLessThan(rows!.rows)
  expect(rows!.most).toBeLessThanOrEqual(256)
  expect(rows!.rows).toBeLessThan(all.length / 4)

  for (const { RecordID, customerID } of [all[0]!, all.at(-1)!]) {
    const ofIt = all.filter((event) => event.RecordID === RecordID)
    expect(await list(`RecordID=${RecordID}`)).toEqual(ofIt)
    expect(await list(`customerID=${customerID}&sort=-id`)).toEqual(ofIt.toReversed())
    const stored = (await client.get(`/v1/subscriptions/${RecordID}/usage?page_size=200`)).body
    const idsTold = ofIt.flatMap(({ Record }) => Record.Usage.map(({ usageID, UsageKey }) => [usageID, UsageKey]))
    expect(stored.length).toBeGreaterThan(10)
    expect(idsTold.toSorted((one, other) => Number(one[0]) - Number(other[0])).slice(0, stored.length)).toEqual(
      stored.map(({ usageID, UsageKey }: any) => [usageID, UsageKey]),
    )
  }
  expect((await list('page_size=7&page=3')).map(({ Record }) => Record)).toEqual(
    all.slice(14, 21).map(({ Record }) => Record),
  )
  expect(await differencesOf(service, client)).toEqual([])

  for (let times = 0; times < 40 && receiver.received.length < all.length; times += 1) await work()
  const delivered = receiver.received.map(({ event }) => event as Told)
  expect(delivered.toSorted((one, other) => one.eventID - other.eventID)).toEqual(all)

  const { RecordID, customerID } = all[0]!
  const before = await list(`RecordID=${RecordID}`)
  await service.db.transaction(client.id, async (tx) => {
    await tx.rows(
      sql`delete from usage_cycles where account_id = ${tx.account} and subscription_id = ${BigInt(RecordID)}`,
    )
    await deleteEndedSubscriptions(tx, tx.account, BigInt(customerID) as never)
  })
  expect((await client.get(`/v1/subscriptions/${RecordID}/usage`)).status).toBe(404)
  expect(await list(`RecordID=${RecordID}`)).toEqual(before)
}, 180_000)

test('a page of more rows of reports than are read together has all of them, in order', async () => {
  const { client, components, subscriptions } = await counted()
  const keys = Array.from({ length: 40 }, (_, request) => `alone ${request}`)
  for (const [request, UsageKey] of keys.entries()) {
    const report = { subscriptionID: subscriptions[request % 3], componentID: components[0], NumUnits: 1, UsageKey }
    expect((await client.post('/v1/usage', { Usage: [report] })).body).toEqual({ Recorded: 1, Duplicates: 0 })
  }
  const told: Told[] = (await client.get('/v1/events?type=usage.recorded&page_size=200')).body
  expect(told.map(({ Record }) => Record.Usage.map(({ UsageKey }) => UsageKey))).toEqual(keys.map((key) => [key]))
  const [rows] = await service.db
    .reader(client.id)
    .rows<{ n: number }>(sql`select count(*)::integer as "n" from usage_packs where account_id = ${client.id}`)
  expect(rows?.n).toBe(keys.length)
})
