import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundled, type Child, run } from './measure/children.ts'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { drive, fetchText, httpGet } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { cpuOfProcess } from './measure/processes.ts'
import { type Service, startService } from './measure/service.ts'
import { call } from './neighbours.ts'

/** Reading one customer and a list of 100, beside a bare server that runs the same statement in the same way and answers the same bytes. */

const READ_OF_FLOOR = 0.5
const LIST_OF_FLOOR = 0.8
const CALLERS = 32
const LIST = 100

interface Sample {
  rate: number
  /** CPU-seconds an answer, of the server's own process and of PostgreSQL. */
  node: number
  database: number
}

/** Subjects of reading, and the frozen statement of the floor that reads the same. */
interface Reading {
  title: string
  statement: string
  limit?: number
  path: () => string
}

export interface Case extends Reading {
  /** Part of the floor's rate that is asked. */
  ofFloor: number
}

interface Load {
  times: number
  seconds: number
  /** Left out: CALLERS. */
  callers?: number
}

const owed = (customerID: number) => ({
  customerID,
  Type: 'positive',
  AdjustmentType: 'opening_balance',
  Amount: 114.99,
  Date: '2026-01-01',
  DueDate: '2026-01-15',
  Ref: 'taken over',
})

/** Customers of whom each owes 114.99, taken over as an adjustment. */
async function seed(service: Service, customers: number): Promise<void> {
  const { connection } = service
  await asOwner(connection, async (client) => {
    await client.query(
      `insert into customers (account_id, reference, is_company, name, last_name, email, tel, address1, city, zip_code, country, currency,
           created_at, is_waive_taxes, payment_method, auto_send_invoice, auto_send_statement, is_collection_hold)
         select 1, 'C' || n, false, 'Customer ' || n, 'Lovelace', 'customer' || n || '@example.com', '+1 202 555 0100', '12 Main Street', 'Springfield',
           '62701', 'United States', 'USD', '2026-01-01', false, 'cash', true, false, false from generate_series(1, $1::int) n`,
      [customers],
    )
  })
  const owing = Array.from({ length: customers }, (_, place) => place + 1)
  for (let at = 0; at < customers; at += CALLERS)
    await Promise.all(
      owing.slice(at, at + CALLERS).map((customerID) => call(service, 'POST', '/v1/adjustment/add', owed(customerID))),
    )
  await asOwner(connection, (client) => client.query('vacuum (analyze)'))
  await settle(connection)
}

async function sample(
  service: Pick<Service, 'databaseCpu'>,
  load: { port: number; seconds: number; callers: number; next: () => string; node: () => number },
): Promise<Sample> {
  const [node, database] = [load.node(), service.databaseCpu()]
  const { answers, seconds } = await drive({ ...load, status: 200 })
  return {
    rate: answers / seconds,
    node: (load.node() - node) / answers,
    database: (service.databaseCpu() - database) / answers,
  }
}

async function startFloor(
  service: Service,
  file: string,
  { statement, limit, path }: Reading,
): Promise<Child<{ port: number }>> {
  const body = await fetchText(service.port, path(), service.authorization)
  const today = new Date().toISOString().slice(0, 10)
  const sql = readFileSync(new URL(`floor/${statement}.sql`, import.meta.url), 'utf8')
  const folder = mkdtempSync(join(tmpdir(), 'perennial-floor-'))
  // As a file: the arguments of a process hold less than a page of a list.
  const bodyFile = join(folder, 'body.json')
  writeFileSync(bodyFile, body)
  const child = run<{ port: number }>(file, {
    connection: service.connection,
    statement: sql,
    account: 1,
    today,
    bodyFile,
    limit,
  })
  await child.said
  rmSync(folder, { recursive: true })
  return child
}

/** Measures a reading and its floor, which take turns; the first turn of each warms up and is not counted. */
export async function measureBoth(
  service: Service,
  one: Reading,
  { times, seconds, callers = CALLERS }: Load,
): Promise<{ floors: Sample[]; subjects: Sample[] }> {
  const floor = await startFloor(service, await bundled('floor/read.ts'), one)
  const { port } = await floor.said
  const next = () => httpGet(one.path(), service.authorization)
  const floors: Sample[] = []
  const subjects: Sample[] = []
  for (let turn = 0; turn <= times; turn += 1) {
    const bare = await sample(service, { port, seconds, callers, next, node: () => cpuOfProcess(floor.pid) })
    const ours = await sample(service, { port: service.port, seconds, callers, next, node: service.nodeCpu })
    if (turn === 0) continue
    floors.push(bare)
    subjects.push(ours)
  }
  floor.process.kill('SIGKILL')
  await floor.ended
  return { floors, subjects }
}

const cpu = ({ node, database }: Sample) => node + database

/** Prints the rates and the CPU of both. */
export function tellSamples(title: string, floors: readonly Sample[], subjects: readonly Sample[]): void {
  const micros = (samples: readonly Sample[], of: (one: Sample) => number) =>
    spread(samples.map((one) => of(one) * 1e6))
  tellTable(
    [title, 'service', 'floor'],
    [
      ['answers a second', spread(subjects.map(({ rate }) => rate)), spread(floors.map(({ rate }) => rate))],
      ['CPU of Node an answer, µs', micros(subjects, ({ node }) => node), micros(floors, ({ node }) => node)],
      [
        'CPU of PostgreSQL an answer, µs',
        micros(subjects, ({ database }) => database),
        micros(floors, ({ database }) => database),
      ],
      ['CPU of both an answer, µs', micros(subjects, cpu), micros(floors, cpu)],
    ],
  )
  if (isNoisy(floors.map(({ rate }) => rate))) tell('noisy: the floor itself moved more than twofold')
}

function judge({ title, ofFloor }: Case, floors: readonly Sample[], subjects: readonly Sample[]): Verdict {
  tellSamples(title, floors, subjects)
  const rates = (samples: readonly Sample[]) => samples.map(({ rate }) => rate)
  const byRate = median(ratioOf(rates(subjects), rates(floors)))
  const byCpu = median(ratioOf(floors.map(cpu), subjects.map(cpu)))
  return {
    goal: `${title} at ${ofFloor * 100} % of the floor`,
    reached: `${(byRate * 100).toFixed(0)} % by rate, ${(byCpu * 100).toFixed(0)} % by CPU-seconds`,
    isMet: byRate >= ofFloor,
  }
}

/** Measures each case beside its floor and tells whether it reached its part of it. */
export async function compare(
  service: Service,
  cases: readonly Case[],
  options: { times: number; seconds: number; isSmoke: boolean },
): Promise<void> {
  const verdicts: Verdict[] = []
  for (const one of cases) {
    const { floors, subjects } = await measureBoth(service, one, options)
    verdicts.push(judge(one, floors, subjects))
  }
  tellVerdicts(verdicts, options)
}

export async function benchRead(options: { times: number; isSmoke: boolean }): Promise<void> {
  const customers = options.isSmoke ? 200 : 10_000
  const seconds = options.isSmoke ? 0.2 : 3
  const service = await startService()
  try {
    await tellMachine(service.connection)
    await seed(service, customers)
    if (options.isSmoke) await service.checkBooks()
    const anyOne = () => `/v1/customers/${1 + Math.floor(Math.random() * customers)}`
    const cases: Case[] = [
      { title: 'reading one customer', statement: 'read-customer', path: anyOne, ofFloor: READ_OF_FLOOR },
      {
        title: `a list of ${LIST} customers`,
        statement: 'list-customers',
        limit: LIST + 1,
        path: () => `/v1/customers?page_size=${LIST}`,
        ofFloor: LIST_OF_FLOOR,
      },
    ]
    await compare(service, cases, { ...options, seconds })
  } finally {
    await service.stop()
  }
}
