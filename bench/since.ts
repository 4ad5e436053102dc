import type { Connection } from '../src/platform/database/database.ts'
import { asOwner, settle } from './measure/database.ts'
import { median, spread, tellTable, tellVerdicts } from './measure/figures.ts'
import { drive, fetchText, httpGet } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { followUpdates } from '../test/journeys/updated-since.testing.ts'
import { type Service, startService } from './measure/service.ts'

/**
 * A reader who follows what was updated for a minute while eight write, and ends with all records; then pages of what was updated since an instant, beside the same pages of the whole list: few changed among very many, spread over the list.
 */

const MS_MAX = 20
const SINCE = '2026-06-01'
/** Customers of whom one was changed since. */
const EACH = 100
/** Steps of each writer that leave records in every list. */
const STEPS_MIN = 40

const CUSTOMERS = `
  insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
      auto_send_statement, is_collection_hold)
    select 1, 'C' || n, false, 'Customer ' || n, 'USD', '2026-01-01', false, 'cash', true, false, false
      from generate_series(1, $1::int) n`
const eventsOf = (type: string, at: string, each: number) => `
  insert into event_rows (account_id, type, record_id, customer_id, happened_at, actor, record, recorded_at)
    select 1, '${type}', customer_id, customer_id, '${at}', 'key 1', jsonb_build_object('Name', repeat('x', 400)), '${at}'::timestamptz + customer_id * interval '1 microsecond'
      from customers where account_id = 1 and customer_id % ${each} = 0 order by customer_id`

async function seed(connection: Connection, customers: number): Promise<void> {
  await asOwner(connection, async (client) => {
    await client.query(CUSTOMERS, [customers])
    await client.query(eventsOf('customer.created', '2026-01-01', 1))
    await client.query(eventsOf('customer.updated', '2026-07-01', EACH))
    await client.query(`update updates_floor set since = '2020-01-01'`)
    await client.query('vacuum (analyze)')
  })
  await settle(connection)
}

/** Follows for a time on an account of its own, and prints how much was done; throws where the copy differs. */
async function follow(service: Service, ms: number): Promise<void> {
  const request = (method: string) => async (path: string, body?: unknown) => {
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      method,
      headers: {
        authorization: service.authorization,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      text,
      body: text === '' ? undefined : JSON.parse(text),
      headers: Object.fromEntries(response.headers),
    }
  }
  const client = { get: request('GET'), post: request('POST'), put: request('PUT'), delete: request('DELETE') }
  const until = performance.now() + ms
  const { rounds, writes, records } = await followUpdates(client, {
    day: new Date().toISOString().slice(0, 10),
    goesOn: (step) => step < STEPS_MIN || performance.now() < until,
  })
  process.stdout.write(
    `${writes} writes of 8 writers in ${ms / 1000} s, followed in ${rounds} rounds: ${records} records, equal to a full read\n`,
  )
}

/** Returns the milliseconds of CPU of Node and PostgreSQL of a page. */
async function cpuOf(service: Service, path: string, seconds: number): Promise<number> {
  const next = () => httpGet(path, service.authorization)
  const before = service.nodeCpu() + service.databaseCpu()
  const { answers } = await drive({ port: service.port, callers: 1, seconds, next, status: 200 })
  return ((service.nodeCpu() + service.databaseCpu() - before) / answers) * 1000
}

async function checkAll(service: Service, last: number): Promise<void> {
  const path = `/v1/customers?page_size=100&updatedSince=${SINCE}&page=`
  for (const [page, wanted] of [
    [last, 100],
    [last + 1, 0],
  ] as const) {
    const found = JSON.parse(await fetchText(service.port, `${path}${page}`, service.authorization)) as unknown[]
    if (found.length !== wanted) throw new Error(`page ${page} has ${found.length} customers, not ${wanted}`)
  }
}

export async function benchSince(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const seconds = options.isSmoke ? 0.1 : 2
  const followed = await startService()
  await follow(followed, options.isSmoke ? 0 : 60_000).finally(() => followed.stop())
  const service = await startService()
  try {
    await tellMachine(service.connection)
    await seed(service.connection, options.count)
    const changed = Math.floor(options.count / EACH)
    const last = changed / 100
    await checkAll(service, last)
    const whole = '/v1/customers?page_size=100'
    const since = `${whole}&updatedSince=${SINCE}`
    const paths = {
      'the whole list, first page': whole,
      'first page': since,
      'last page, by its Link': `${since}&page=${last}&after=${(changed - 100) * EACH}`,
      'newest first': `${since}&sort=-id`,
    }
    const figures = new Map<string, number[]>(Object.keys(paths).map((name) => [name, []]))
    for (let turn = 0; turn <= options.times; turn += 1)
      for (const [name, path] of Object.entries(paths)) {
        const cpu = await cpuOf(service, path, seconds)
        if (turn > 0) figures.get(name)?.push(cpu)
      }
    tellTable(
      [
        `${changed.toLocaleString('en')} changed among ${options.count.toLocaleString('en')} customers, 100 a page`,
        'CPU of Node and PostgreSQL a page, ms',
      ],
      [...figures].map(([name, samples]) => [name, spread(samples)]),
    )
    const worst = Math.max(...[...figures.values()].map((samples) => median(samples)))
    tellVerdicts(
      [{ goal: `a page costs at most ${MS_MAX} ms`, reached: `${worst.toFixed(1)} ms`, isMet: worst <= MS_MAX }],
      options,
    )
  } finally {
    await service.stop()
  }
}
