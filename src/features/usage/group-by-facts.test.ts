import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { addComponent, TIERS, use } from '../subscriptions/components.testing.ts'

/** Subscriptions that have their facts in common are read once for all of them, and each is counted on its own. */

const service = await startTestService()
const owner = new pg.Client({ ...service.connection, options: '-c search_path=perennial' })
await owner.connect()
afterAll(() => owner.end())

/** Enough to be walked along an index. */
const SUBSCRIPTIONS = 40

/** Subscriptions that differ in nothing but a few that begin later or end, each with two components that count and one that does not. */
async function alike() {
  const { client, add } = await shop(service, { price: 10 })
  const metered = { type: 'metered', scheme: 'tiered', brackets: TIERS } as const
  const made = [await addComponent(client, metered), await addComponent(client, metered), await addComponent(client)]
  const components: number[] = made.map(({ componentID }) => componentID)
  const componentUsage = components.map((componentID, place) => ({ componentID, NumUnits: place === 2 ? 2 : 0 }))
  const subscriptions: number[] = []
  for (let count = 0; count < SUBSCRIPTIONS; count += 1) {
    const more = count % 10 === 7 ? { StartDate: '2027-01-05' } : count % 10 === 8 ? { EndDate: '2027-06-01' } : {}
    subscriptions.push((await add({ componentUsage, ...more })).body.subscriptionID)
  }
  await moveTo(client, '2027-01-10')
  return { client, subscriptions, components }
}

const unitsOf = (place: number, turn: number): number => (place + 1) * 10 + turn

/** Reports usage of the first component of every subscription, and of the second one of every other. */
async function report(
  { client, subscriptions, components }: { client: TestClient; subscriptions: number[]; components: number[] },
  turn: number,
  Date: string,
): Promise<number> {
  const Usage = subscriptions.flatMap((subscriptionID, place) =>
    components.slice(0, place % 2 === 0 ? 2 : 1).map((componentID, component) => ({
      subscriptionID,
      componentID,
      NumUnits: unitsOf(place, turn) * (component + 1),
      Date,
      UsageKey: `turn ${turn} of ${place} for ${component}`,
    })),
  )
  const sent = await client.post('/v1/usage', { Usage })
  expect([sent.status, sent.body]).toEqual([201, { Recorded: Usage.length, Duplicates: 0 }])
  return Usage.length
}

/** Totals of the first component by cycle: of each subscription in order. */
async function totalsOf(account: number | bigint, component: number): Promise<Record<string, number[]>> {
  const { rows } = await owner.query<{ cycle: string; totals: number[] }>(
    `select cycle_from::text as cycle, array_agg(total::integer order by subscription_id) as totals from usage_cycles
      where account_id = $1 and component_id = $2 group by 1 order by 1`,
    [account, component],
  )
  return Object.fromEntries(rows.map(({ cycle, totals }) => [cycle, totals]))
}

test('subscriptions that are alike are counted each by itself: new cycles, known ones, and late ones in one request', async () => {
  const made = await alike()
  const { client, components, subscriptions } = made
  const reported = (...turns: number[]) =>
    subscriptions.map((_, place) => turns.reduce((sum, turn) => sum + unitsOf(place, turn), 0))
  const january = (totals: Record<string, number[]>) =>
    Object.entries(totals)
      .filter(([cycle]) => cycle < '2027-02-01')
      .flatMap(([, each]) => each)
      .toSorted((a, b) => a - b)
  let count = await report(made, 1, '2027-01-09')
  expect(january(await totalsOf(client.id, components[0]!))).toEqual(reported(1))
  count += await report(made, 2, '2027-01-08')
  expect(january(await totalsOf(client.id, components[0]!))).toEqual(reported(1, 2))
  await moveTo(client, '2027-02-10')
  count += await report(made, 3, '2027-01-09')
  count += await report(made, 4, '2027-02-09')
  count += await report(made, 5, '2027-02-08')
  const totals = await totalsOf(client.id, components[0]!)
  expect(january(totals)).toEqual(reported(1, 2, 3))
  expect(
    Object.entries(totals)
      .filter(([cycle]) => cycle >= '2027-02-01')
      .flatMap(([, each]) => each)
      .toSorted((a, b) => a - b),
  ).toEqual(reported(4, 5))
  const { rows } = await owner.query(
    `select (select count(*) from usage_packs b, unnest(b.groups) where b.account_id = $1)::int as plain, count(*)::int as differing
       from (select c.total, (select sum(e.units) from usage_rows e where e.account_id = $1 and e.subscription_id = c.subscription_id
                                 and e.component_id = c.component_id and e.cycle_from = c.cycle_from) as units
               from usage_cycles c where c.account_id = $1) x where total <> coalesce(units, 0)`,
    [client.id],
  )
  expect(rows).toEqual([{ plain: count, differing: 0 }])
  await moveTo(client, '2027-03-02')
  expect(await differencesOf(service, client)).toEqual([])
})

test('that the last report set the units is told of each by itself', async () => {
  const { client, components, subscriptions } = await alike()
  const [one, two, three] = subscriptions as [number, number, number]
  for (const id of [one, two]) await use(client, id, { componentID: components[0], NumUnits: 5, isSetUnits: true })
  const Usage = [two, three].map((subscriptionID) => ({
    subscriptionID,
    componentID: components[0],
    NumUnits: 2,
    UsageKey: `added ${subscriptionID}`,
  }))
  expect((await client.post('/v1/usage', { Usage })).status).toBe(201)
  const { rows } = await owner.query(
    `select subscription_id::int as id, is_set_units as "isSet" from subscription_components
      where account_id = $1 and component_id = $2 and subscription_id = any($3) order by 1`,
    [client.id, components[0], [one, two, three]],
  )
  expect(rows).toEqual([
    { id: one, isSet: true },
    { id: two, isSet: false },
    { id: three, isSet: false },
  ])
})
