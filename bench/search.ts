import type { Connection } from '../src/platform/database/database.ts'
import { asOwner, settle } from './measure/database.ts'
import { median, spread, tellTable, tellVerdicts } from './measure/figures.ts'
import { drive, fetchText, httpGet } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'

/** Pages of a search for what a few, some and very many customers bear, spread over the list and at its end, on its own and beside a filter, and of their payments. */

const MS_MAX = 20

/** Customers of words that are rare, at the end of the list, some and many, each of as many of a million as the goal names. */
const CUSTOMERS = `
  insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
      auto_send_statement, is_collection_hold)
    select 1, 'C' || n, false, concat_ws(' ', 'Customer', case when n % 10 < 3 then 'Many' end, case when n % 20 = 0 then 'Some' end,
             case when n > $1::int * 0.95 then 'Late' end, case when n in ($1::int / 3, $1::int / 2, $1::int) then 'Rare' end),
           'USD', '2026-01-01', false, 'cash', true, false, false
      from generate_series(1, $1::int) n`
const WORDS = `
  insert into record_words (account_id, list, block, word, record_id)
    select distinct account_id, 1, customer_id / 4096, w.word, customer_id from customers
      cross join lateral regexp_split_to_table(lower(name || ' ' || reference || ' city' || customer_id % 997), '\\s+') as w(word)
     where account_id = 1`

/** A payment of each customer, in another order, every tenth with a reference of a caller. */
const PAYMENTS = `
  insert into payments (account_id, customer_id, paid_at, dated, currency, amount_minor, method, origin, created_at, ref)
    select 1, customer_id, now(), '2026-01-01', 'USD', 100, 'eft', 'recorded', now(), case when customer_id % 10 = 0 then 'PO ' || customer_id end
      from customers where account_id = 1 order by customer_id * 7919 % 1000003`
const WORDS_OF_PAYMENTS = `
  insert into record_words (account_id, list, block, word, record_id)
    select 1, 4, payment_id / 4096, w.word, payment_id from payments
      cross join lateral regexp_split_to_table(lower(ref), ' ') as w(word) where account_id = 1 and ref is not null`

const SEARCHES = [
  ...['rar', 'som', 'lat', 'man', 'cust', 'man som', 'man rar', 'som lat'].map(
    (q) => `customers?q=${encodeURIComponent(q)}`,
  ),
  ...['som', 'man', 'rar'].map((q) => `customers?q=${q}&CurrencyCode=USD`),
  'customers?q=lat&sort=-id&comp_status=Active',
  ...['rar', 'som', 'man', 'po', 'po 77', 'po rar', 'po man', 'man som'].map(
    (q) => `payments?q=${encodeURIComponent(q)}`,
  ),
  'payments?q=man&Method=eft',
]

async function seed(connection: Connection, customers: number): Promise<void> {
  await asOwner(connection, async (client) => {
    await client.query(CUSTOMERS, [customers])
    await client.query(WORDS)
    await client.query(PAYMENTS)
    await client.query(WORDS_OF_PAYMENTS)
    await client.query('vacuum (analyze)')
  })
  await settle(connection)
}

const pathOf = (search: string) => `/v1/${search}&page_size=100`

/** Returns the milliseconds of CPU of Node and PostgreSQL of a page. */
async function cpuOf(service: Service, search: string, seconds: number): Promise<number> {
  const next = () => httpGet(pathOf(search), service.authorization)
  const before = service.nodeCpu() + service.databaseCpu()
  const { answers } = await drive({ port: service.port, callers: 1, seconds, next, status: 200 })
  return ((service.nodeCpu() + service.databaseCpu() - before) / answers) * 1000
}

async function checkRare(service: Service): Promise<void> {
  const found = JSON.parse(await fetchText(service.port, pathOf('customers?q=rar'), service.authorization)) as unknown[]
  if (found.length !== 3) throw new Error(`${found.length} customers are found by a word that 3 bear`)
}

export async function benchSearch(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const seconds = options.isSmoke ? 0.1 : 2
  const service = await startService()
  try {
    await tellMachine(service.connection)
    await seed(service.connection, options.count)
    await checkRare(service)
    const figures = new Map<string, number[]>(SEARCHES.map((search) => [search, []]))
    for (let turn = 0; turn <= options.times; turn += 1)
      for (const search of SEARCHES) {
        const cpu = await cpuOf(service, search, seconds)
        if (turn > 0) figures.get(search)?.push(cpu)
      }
    tellTable(
      [`${options.count.toLocaleString('en')} customers, 100 a page`, 'CPU of Node and PostgreSQL a page, ms'],
      [...figures].map(([q, samples]) => [q, spread(samples)]),
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
