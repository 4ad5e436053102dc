import pg from 'pg'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { drive, httpGet } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { CUSTOMERS } from './seed-money.ts'

/**
 * Reports of one month of a year with many invoices, each of two lines, a payment and four entries: CPU-seconds of the service and of PostgreSQL,
 * beside one query that sums the rows which the report is about.
 */

const CPU_SECONDS = 0.3
const TIMES_FLOOR = 2
const CUSTOMER_COUNT = 10_000

/** $1 invoices of 115.00 over a year and eight countries, each paid twenty days later; of every hundredth a note took a fifth back. */
export const YEAR = [
  `insert into invoices (account_id, invoice_id, customer_id, number, currency, invoice_date, due_date, last_updated, issued_at, source,
       collection_method, total_minor, paid_minor, account_version, customer_version, customer_country_id)
     select 1, n, 1 + n % ${CUSTOMER_COUNT}, n, 'USD', date '2026-01-01' + (n * 365 / ($1::bigint + 1))::int, '2027-01-15', '2026-01-01',
         '2026-01-01', 'Auto', 'cash', 11500, 11500, 1, 1, 100 + n % 8
       from generate_series(1, $1::bigint) n`,
  `insert into invoice_tax_rows (account_id, invoice_id, name, rate, base_minor, amount_minor, category)
     select 1, n, 'VAT', 0.15, 10000, 1500, 'S' from generate_series(1, $1::bigint) n`,
  `insert into charge_rows (account_id, invoice_id, display_order, kind, item_id, subscription_id, stretch, part, name, quantity, unit_price, net_minor,
       gross_minor, price, period_from, period_until, whole_from, whole_until)
     select 1, n, line, case line when 1 then 'package' else 'component' end, case line when 1 then 1 + n % 20 else 1 + n % 10 end, n, 1, 0,
         'Standard package', 1, 50, 5000, 5750, 50, day, day + 365, day, day + 365
       from (select n, date '2026-01-01' + (n * 365 / ($1::bigint + 1))::int as day from generate_series(1, $1::bigint) n) i, generate_series(1, 2) line`,
  `insert into payments (account_id, payment_id, customer_id, paid_at, dated, currency, amount_minor, applied_minor, method, origin, created_at)
     select 1, n, 1 + n % ${CUSTOMER_COUNT}, '2026-01-01', date '2026-01-21' + (n * 365 / ($1::bigint + 1))::int, 'USD', 11500, 11500, 'eft', 'recorded',
         '2026-01-01'
       from generate_series(1, $1::bigint) n`,
  `insert into allocations (account_id, customer_id, given_kind, given_id, owed_kind, owed_id, amount_minor, dated, is_service_made, created_at)
     select 1, 1 + n % ${CUSTOMER_COUNT}, 'payment', n, 'invoice', n, 11500, date '2026-01-21' + (n * 365 / ($1::bigint + 1))::int, false, '2026-01-01'
       from generate_series(1, $1::bigint) n`,
  `insert into ledger_rows (account_id, customer_id, link, record_id, amount_minor, posted_at, dated, is_reversal, currency, event, record_type,
       debit, credit, tax_name, tax_rate)
     select 1, 1 + n % ${CUSTOMER_COUNT}, 1, n, amount, '2026-01-01', date '2026-01-01' + (n * 365 / ($1::bigint + 1))::int, false, 'USD', event, type,
         debit, credit, tax, case when tax is not null then 0.15 end
       from generate_series(1, $1::bigint) n,
            (values ('invoice_issued', 'invoice', 'receivable', 'revenue', 10000, null), ('invoice_issued', 'invoice', 'receivable', 'tax', 1500, 'VAT'),
                    ('payment_recorded', 'payment', 'cash', 'unapplied', 11500, null),
                    ('allocation_made', 'allocation', 'unapplied', 'receivable', 11500, null)) e(event, type, debit, credit, amount, tax)`,
  `insert into negative_adjustments (account_id, negative_adjustment_id, customer_id, kind, ref, currency, dated, amount_minor, invoice_id, closed_at,
       created_at, account_version, customer_version)
     select 1, n, 1 + n * 100 % ${CUSTOMER_COUNT}, 'credit_note', 'K' || n, 'USD', date '2026-01-01' + (n * 36500 / ($1::bigint + 1))::int, 2300, n * 100,
         '2026-01-01', '2026-01-01', 1, 1
       from generate_series(1, $1::bigint / 100) n`,
  `insert into settlements (account_id, settlement_id, customer_id, negative_adjustment_id, invoice_id, basis, gross_minor, settled_before_minor, dated)
     select 1, n, 1 + n * 100 % ${CUSTOMER_COUNT}, n, n * 100, 'amount', 2300, 0, date '2026-01-01' + (n * 36500 / ($1::bigint + 1))::int
       from generate_series(1, $1::bigint / 100) n`,
  `insert into ledger_rows (account_id, customer_id, link, record_id, amount_minor, posted_at, dated, is_reversal, currency, event, record_type,
       debit, credit, tax_name, tax_rate)
     select 1, 1 + n * 100 % ${CUSTOMER_COUNT}, 1, n, case event when 'tax_taken_back' then 300 else 2300 end, '2026-01-01',
         date '2026-01-01' + (n * 36500 / ($1::bigint + 1))::int, false, 'USD', event,
         case event when 'tax_taken_back' then 'settlement' else 'negative_adjustment' end,
         case event when 'tax_taken_back' then 'tax' else 'revenue' end, case event when 'tax_taken_back' then 'revenue' else 'unapplied' end,
         case event when 'tax_taken_back' then 'VAT' end, case event when 'tax_taken_back' then 0.15 end
       from generate_series(1, $1::bigint / 100) n, unnest('{credit_note_made,tax_taken_back}'::text[]) event`,
]

interface Case {
  title: string
  path: string
  /** Reads the rows that the report is about. */
  floor: string
  /** Bound of what the report may cost: CPU-seconds, or times its floor; null where nothing is asked for. */
  bound: 'seconds' | 'times' | null
}

const DAY = '2026-06-30'
const MONTH = `from=2026-06-01&to=${DAY}`
const OF_MONTH = `i.account_id = 1 and i.invoice_date between '2026-06-01' and '${DAY}'`
const TAXED = `select i.currency, t.name, t.rate, i.customer_country_id, sum(t.base_minor), sum(t.amount_minor)
    from invoices i join invoice_tax_rows t on t.account_id = i.account_id and t.invoice_id = i.invoice_id where ${OF_MONTH} group by 1, 2, 3, 4`
const LINES = `from invoices i join charge_rows c on c.account_id = i.account_id and c.invoice_id = i.invoice_id`
const DOCUMENTS = `select kind, customer_id, currency, sum(open) from (
    select 'invoice' as kind, customer_id, currency, total_minor - paid_minor - pending_minor - negative_minor as open from invoices
     where account_id = 1 and issued_at is not null and invoice_date <= '${DAY}'
    union all
    select 'payment', customer_id, currency, amount_minor - applied_minor from payments where account_id = 1 and dated <= '${DAY}'
    union all
    select kind, customer_id, currency, amount_minor - applied_minor from negative_adjustments where account_id = 1 and dated <= '${DAY}'
    union all
    select owed_kind, customer_id, null, amount_minor from allocations where account_id = 1 and (dated > '${DAY}' or ended_on > '${DAY}')) d
   group by 1, 2, 3`

const CASES: readonly Case[] = [
  {
    title: 'the trial balance of a month',
    path: `/v1/reports/trialbalance?${MONTH}`,
    floor: `select currency, debit, credit, tax_name, sum(amount_minor) from ledger_rows
             where account_id = 1 and dated <= '${DAY}' group by 1, 2, 3, 4`,
    bound: 'seconds',
  },
  { title: 'the tax report of a month', path: `/v1/reports/tax?${MONTH}`, floor: TAXED, bound: 'seconds' },
  { title: 'the sales of a month', path: `/v1/reports/tax?${MONTH}&by=customer`, floor: TAXED, bound: null },
  { title: 'ageing by customer', path: `/v1/reports/ageing?date=${DAY}`, floor: DOCUMENTS, bound: 'times' },
  {
    title: 'the revenue of a month by package',
    path: `/v1/reports/revenue?${MONTH}`,
    floor: `select i.currency, c.kind, c.item_id, sum(c.net_minor) ${LINES} where ${OF_MONTH} group by 1, 2, 3`,
    bound: 'times',
  },
  {
    title: 'what is deferred at the end of a month',
    path: `/v1/reports/deferred?date=${DAY}`,
    floor: `select i.currency, c.period_from, c.period_until, c.net_minor, count(*) ${LINES}
             where i.account_id = 1 and i.invoice_date <= '${DAY}' and c.period_until > '${DAY}' group by 1, 2, 3, 4`,
    bound: null,
  },
]

/** CPU-seconds of one answer of the service with its database. */
async function answered(service: Service, path: string): Promise<number> {
  const before = service.databaseCpu() + service.nodeCpu()
  const next = () => httpGet(path, service.authorization)
  const told = await drive({ port: service.port, callers: 1, seconds: 1, next, status: 200 })
  return (service.databaseCpu() + service.nodeCpu() - before) / told.answers
}

async function queried(service: Service, client: pg.Client, floor: string): Promise<number> {
  const before = service.databaseCpu()
  await client.query({ text: floor, rowMode: 'array' })
  return service.databaseCpu() - before
}

async function measure(service: Service, client: pg.Client, one: Case, times: number): Promise<Verdict[]> {
  const floors: number[] = []
  const subjects: number[] = []
  for (let turn = 0; turn <= times; turn += 1) {
    const floor = await queried(service, client, one.floor)
    const subject = await answered(service, one.path)
    if (turn === 0) continue
    floors.push(floor)
    subjects.push(subject)
  }
  tellTable(
    [one.title, 'CPU-seconds'],
    [
      ['report', spread(subjects)],
      ['summing its rows by one query', spread(floors)],
    ],
  )
  if (isNoisy(floors)) tell('noisy: the floor itself moved more than twofold')
  const reached = median(subjects)
  if (one.bound === 'seconds')
    return [
      {
        goal: `${one.title} within ${CPU_SECONDS} CPU-seconds`,
        reached: `${reached.toFixed(3)} s`,
        isMet: reached <= CPU_SECONDS,
      },
    ]
  if (one.bound === null) return []
  const ofFloor = reached / median(floors)
  return [
    {
      goal: `${one.title} within ${TIMES_FLOOR} times reading its rows by one query`,
      reached: `${ofFloor.toFixed(2)} times`,
      isMet: ofFloor <= TIMES_FLOOR,
    },
  ]
}

/** Sums all whole blocks of entries, as the duties of the service do. */
async function sumDays(owner: pg.Client): Promise<void> {
  for (let look = 0; look < 2; look += 1) await owner.query(`select settled_below('ledger')`)
  let summed: number
  do summed = (await owner.query<{ n: number }>('select sum_ledger_days() as n')).rows[0]?.n ?? 0
  while (summed > 0)
}

/** `count` is how many invoices the year has. */
export async function benchReports(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const service = await startService()
  const client = new pg.Client({
    ...service.connection,
    options: '-c search_path=perennial -c role=perennial_app -c TimeZone=UTC -c app.account_id=1',
  })
  try {
    await tellMachine(service.connection)
    await asOwner(service.connection, async (owner) => {
      await owner.query(CUSTOMERS, [CUSTOMER_COUNT])
      for (const statement of YEAR) await owner.query(statement, [options.count])
      await sumDays(owner)
      await owner.query('vacuum (analyze)')
    })
    await settle(service.connection)
    await client.connect()
    const verdicts: Verdict[] = []
    for (const one of CASES) verdicts.push(...(await measure(service, client, one, options.times)))
    tellVerdicts(verdicts, options)
  } finally {
    await client.end()
    await service.stop()
  }
}
