import type { Connection } from '../src/platform/database/database.ts'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { drive, fetchText, httpGet } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'

/** A page deep in a long list of invoices beside its first page, with records deleted in between. */

const PAGE_SIZE = 200
const DEEP_OF_FIRST = 3
/** Every 101st invoice is deleted again, in and after the counted part of the list. */
const DELETED_EACH = 101

const CUSTOMERS = `
  insert into customers (account_id, customer_id, reference, is_company, name, email, currency, created_at, is_waive_taxes, payment_method,
      auto_send_invoice, auto_send_statement, is_collection_hold)
    select 1, n, 'C' || n, false, 'Customer ' || n, 'customer' || n || '@example.com', 'USD', '2026-01-01', false, 'cash', true, false, false
      from generate_series(1, 1000) n`

const INVOICES = [
  `insert into invoices (account_id, customer_id, number, currency, invoice_date, due_date, last_updated, issued_at, source, collection_method,
       total_minor, account_version, customer_version)
     select 1, 1 + n % 1000, n, 'USD', '2026-01-01', '2026-01-15', '2026-01-01', '2026-01-01', 'Auto', 'cash', 11499, 1, 1 from generate_series(1, $1::int) n`,
  `insert into charge_rows (account_id, invoice_id, display_order, kind, name, quantity, unit_price, net_minor, gross_minor, price, period_from, period_until,
       whole_from, whole_until)
     select 1, invoice_id, 1, 'package', 'Standard package', 1, 99.99, 9999, 11499, 99.99, '2026-01-01', '2026-02-01', '2026-01-01', '2026-02-01' from invoices
       where number <= $1::int`,
  `insert into invoice_tax_rows (account_id, invoice_id, name, rate, base_minor, amount_minor)
     select 1, invoice_id, 'VAT', 0.15, 9999, 1500 from invoices where number <= $1::int`,
]

/** Counts full blocks as the service's housekeeping does in two looks half a minute apart; here the half minute is not waited for. */
async function seal(connection: Connection): Promise<void> {
  await asOwner(connection, async (client) => {
    await client.query(`select seal_list('invoices')`)
    await client.query(`select seal_list('invoices')`)
    const { rows } = await client.query(`select count(*)::int as n from list_blocks where list = 'invoices'`)
    if (rows[0].n === 0) throw new Error('nothing was counted')
  })
}

async function seed(connection: Connection, invoices: number): Promise<void> {
  const wanted = Math.ceil((invoices * DELETED_EACH) / (DELETED_EACH - 1)) + 1
  await asOwner(connection, async (client) => {
    await client.query(CUSTOMERS)
    for (const statement of INVOICES) await client.query(statement, [wanted])
  })
  await seal(connection)
  await asOwner(connection, async (client) => {
    await client.query(`select set_config('app.account_id', '1', false)`)
    await client.query(
      `with gone as (delete from invoices where account_id = 1 and number % ${DELETED_EACH} = 0 returning invoice_id)
       select uncount_deleted('invoices', array_agg(invoice_id)) from gone`,
    )
    await client.query('vacuum (analyze)')
  })
  await settle(connection)
}

interface Sample {
  /** Seconds from request to answer, one caller. */
  latency: number
  cpu: number
}

async function sample(service: Service, page: number, seconds: number): Promise<Sample> {
  const next = () => httpGet(`/v1/invoices?page=${page}&page_size=${PAGE_SIZE}`, service.authorization)
  const before = service.nodeCpu() + service.databaseCpu()
  const told = await drive({ port: service.port, callers: 1, seconds, next, status: 200 })
  const cpu = service.nodeCpu() + service.databaseCpu() - before
  return { latency: told.seconds / told.answers, cpu: cpu / told.answers }
}

/** The page holds exactly the records that counting from the first would find there. */
async function checkPage(service: Service, page: number): Promise<void> {
  const path = `/v1/invoices?page=${page}&page_size=${PAGE_SIZE}`
  const answered = JSON.parse(await fetchText(service.port, path, service.authorization)) as { invoiceID: number }[]
  const { rows } = await asOwner(service.connection, (client) =>
    client.query<{ id: string }>(
      'select invoice_id as id from invoices where account_id = 1 order by invoice_id offset $1 limit $2',
      [(page - 1) * PAGE_SIZE, PAGE_SIZE],
    ),
  )
  const wanted = rows.map(({ id }) => Number(id)).join()
  if (wanted === '' || answered.map(({ invoiceID }) => invoiceID).join() !== wanted)
    throw new Error(`page ${page} holds other invoices than it should`)
}

export async function benchDeepPage(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const deep = Math.floor((options.count * 0.98) / PAGE_SIZE)
  const seconds = options.isSmoke ? 0.2 : 2
  const service = await startService()
  try {
    await tellMachine(service.connection)
    await seed(service.connection, options.count)
    await checkPage(service, deep)
    const firsts: Sample[] = []
    const deeps: Sample[] = []
    for (let turn = 0; turn <= options.times; turn += 1) {
      const [first, last] = [await sample(service, 1, seconds), await sample(service, deep, seconds)]
      if (turn === 0) continue
      firsts.push(first)
      deeps.push(last)
    }
    tellPages(options, deep, firsts, deeps)
  } finally {
    await service.stop()
  }
}

function tellPages(
  options: { count: number; isSmoke: boolean },
  deep: number,
  firsts: readonly Sample[],
  deeps: readonly Sample[],
): void {
  const latency = ({ latency }: Sample) => latency
  const cpu = ({ cpu }: Sample) => cpu
  const millis = (samples: readonly Sample[], of: (one: Sample) => number) =>
    spread(samples.map((one) => of(one) * 1000))
  tellTable(
    [`${options.count.toLocaleString('en')} invoices, ${PAGE_SIZE} a page`, `page ${deep}`, 'page 1'],
    [
      ['ms an answer, one caller', millis(deeps, latency), millis(firsts, latency)],
      ['CPU of Node and PostgreSQL an answer, ms', millis(deeps, cpu), millis(firsts, cpu)],
    ],
  )
  if (isNoisy(firsts.map(latency))) tell('noisy: page 1 itself moved more than twofold')
  const byTime = median(ratioOf(deeps.map(latency), firsts.map(latency)))
  const byCpu = median(ratioOf(deeps.map(cpu), firsts.map(cpu)))
  tellVerdicts(
    [
      {
        goal: `page ${deep} costs at most ${DEEP_OF_FIRST} × page 1`,
        reached: `${byTime.toFixed(2)} × by time, ${byCpu.toFixed(2)} × by CPU-seconds`,
        isMet: byTime <= DEEP_OF_FIRST,
      },
    ],
    options,
  )
}
