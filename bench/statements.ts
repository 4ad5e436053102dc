import pg from 'pg'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { drive, httpGet } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { CUSTOMERS, PAID_INVOICES } from './seed-money.ts'

/**
 * Balances and a statement of one customer with many documents, beside reading the rows that they are made of: the CPU-seconds of
 * PostgreSQL. The customer's documents are invoices and payments, half and half, and every payment is allocated.
 */

const TIMES_FLOOR = 3

interface Case {
  title: string
  path: string
  /** The rows that the answer is made of, each read once. */
  floor: readonly string[]
}

const DOCUMENTS = [
  `select invoice_id, number, currency, invoice_date, due_date, cancelled_on, total_minor from invoices where account_id = 1 and customer_id = 1`,
  `select payment_id, ref, currency, dated, failed_on, method, origin, settled_on, amount_minor from payments where account_id = 1 and customer_id = 1`,
  `select negative_adjustment_id, kind, ref, currency, dated, amount_minor from negative_adjustments where account_id = 1 and customer_id = 1`,
  `select positive_adjustment_id, kind, ref, currency, dated, due_date, amount_minor from positive_adjustments where account_id = 1 and customer_id = 1`,
  `select l.given_id, l.owed_id, l.amount_minor, l.dated, l.ended_on from allocations l
     join invoices i on i.account_id = l.account_id and i.invoice_id = l.owed_id
    where l.account_id = 1 and l.owed_kind = 'invoice' and i.customer_id = 1`,
]

const CASES: readonly Case[] = [
  {
    title: 'balances',
    path: '/v1/customers/1/balances',
    floor: [
      `select currency, receivable_minor, unapplied_minor, clearing_minor from customer_totals where account_id = 1 and customer_id = 1`,
      `select currency, due_date, total_minor, paid_minor, pending_minor, negative_minor from invoices
        where account_id = 1 and customer_id = 1 and issued_at is not null and cancelled_at is null`,
      `select currency, due_date, amount_minor, paid_minor, pending_minor, negative_minor from positive_adjustments
        where account_id = 1 and customer_id = 1`,
    ],
  },
  {
    title: 'a statement of all movements',
    path: '/v1/customers/1/statement?from=2026-01-01&to=2026-12-31',
    floor: DOCUMENTS,
  },
  {
    title: 'a statement of one month',
    path: '/v1/customers/1/statement?from=2026-10-01&to=2026-10-31',
    floor: DOCUMENTS,
  },
]

interface Sample {
  /** CPU-seconds of PostgreSQL an answer. */
  database: number
  /** Milliseconds. */
  latency: number
}

async function answers(service: Service, path: string, seconds: number): Promise<Sample> {
  const before = service.databaseCpu()
  const next = () => httpGet(path, service.authorization)
  const told = await drive({ port: service.port, callers: 1, seconds, next, status: 200 })
  return {
    database: (service.databaseCpu() - before) / told.answers,
    latency: (told.seconds * 1000) / told.answers,
  }
}

async function readRows(
  service: Service,
  client: pg.Client,
  floor: readonly string[],
  seconds: number,
): Promise<Sample> {
  const before = service.databaseCpu()
  const startedMs = performance.now()
  let rounds = 0
  do {
    for (const [place, text] of floor.entries())
      await client.query({ name: `${floor.length} ${place}`, text, rowMode: 'array' })
    rounds += 1
  } while (performance.now() < startedMs + seconds * 1000)
  return {
    database: (service.databaseCpu() - before) / rounds,
    latency: (performance.now() - startedMs) / rounds,
  }
}

async function measure(
  service: Service,
  client: pg.Client,
  one: Case,
  times: number,
  seconds: number,
): Promise<Verdict> {
  const floors: Sample[] = []
  const subjects: Sample[] = []
  for (let turn = 0; turn <= times; turn += 1) {
    const floor = await readRows(service, client, one.floor, seconds)
    const subject = await answers(service, one.path, seconds)
    if (turn === 0) continue
    floors.push(floor)
    subjects.push(subject)
  }
  const cpu = (samples: readonly Sample[]) => samples.map(({ database }) => database)
  const row = (title: string, of: (sample: Sample) => number) => [
    title,
    spread(subjects.map(of)),
    spread(floors.map(of)),
  ]
  tellTable(
    [one.title, 'service', 'reading the rows'],
    [row('CPU of PostgreSQL, ms', ({ database }) => database * 1000), row('ms, one caller', ({ latency }) => latency)],
  )
  if (isNoisy(cpu(floors))) tell('noisy: the floor itself moved more than twofold')
  const ratio = median(ratioOf(cpu(subjects), cpu(floors)))
  return {
    goal: `${one.title} within ${TIMES_FLOOR} × of reading the rows, by CPU of PostgreSQL`,
    reached: `${ratio.toFixed(2)} ×`,
    isMet: ratio <= TIMES_FLOOR,
  }
}

/** `count` is how many documents the customer has. */
export async function benchStatements(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const service = await startService()
  const client = new pg.Client({
    ...service.connection,
    options: '-c search_path=perennial -c role=perennial_app -c TimeZone=UTC -c app.account_id=1',
  })
  try {
    await tellMachine(service.connection)
    await asOwner(service.connection, async (owner) => {
      await owner.query(CUSTOMERS, [1])
      for (const statement of PAID_INVOICES) await owner.query(statement, [Math.ceil(options.count / 2), 1])
      await owner.query('vacuum (analyze)')
    })
    await settle(service.connection)
    await client.connect()
    const verdicts: Verdict[] = []
    for (const one of CASES)
      verdicts.push(await measure(service, client, one, options.times, options.isSmoke ? 0.2 : 2))
    tellVerdicts(verdicts, options)
  } finally {
    await client.end()
    await service.stop()
  }
}
