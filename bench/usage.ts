import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundled, run } from './measure/children.ts'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { drive, httpSend } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { hasPgbench, pgbench } from './measure/pgbench.ts'
import { type Service, startService } from './measure/service.ts'
import { billDay } from './bill-months.ts'
import { COMPONENTS, ON_NEW_SUBSCRIPTIONS } from './seed-components.ts'
import { CATALOGUE, moveClock, newRecords } from './seed-run.ts'

/**
 * Recording usage over HTTP, each request on disk before it is answered: single reports beside pgbench running the same statements with as
 * many callers, and 10,000 reports a request beside COPY into a slim reference table.
 */

/** Alone each waits for its own commit; from 8 on there are others to share one with. */
const recordOfFloor = (callers: number): number => (callers >= 8 ? 0.6 : 0.4)
const BULK_OF_FLOOR = 0.5
const CALLERS = [1, 8, 32]
const SUBSCRIPTIONS = 10_000
const SUBSCRIPTIONS_OF_SMOKE = 1_000
const BEGINS_ON = '2027-01-01'
/** Subscriptions that share the reports of one bulk request: ten each. */
const SHARERS = 1000
const SCRIPT = fileURLToPath(new URL('floor/record-usage.sql', import.meta.url))

interface Sample {
  rate: number
  /** CPU-seconds a report. */
  node: number
  database: number
}

/** A service and how many subscriptions it has. */
type Subject = Service & { subscriptions: number }

/** Subscriptions of a component that counts calls, in an account whose clock stands in their first month, which the service has invoiced. */
async function seed(service: Subject): Promise<void> {
  await asOwner(service.connection, async (client) => {
    await client.query(CATALOGUE)
    await client.query(COMPONENTS)
    for (const statement of newRecords(BEGINS_ON).split(';')) await client.query(statement, [service.subscriptions])
    for (const statement of ON_NEW_SUBSCRIPTIONS) await client.query(statement)
    await client.query(readFileSync(new URL('floor/usage.sql', import.meta.url), 'utf8'))
    await client.query('analyze')
  })
  await billDay(service, BEGINS_ON, service.subscriptions)
  await moveClock(service.connection, '2027-01-15')
  await asOwner(service.connection, (client) => client.query('vacuum (analyze)'))
}

let reports = 0

/** Reports usage of a subscription drawn at random, under an idempotency key of its own as every careful caller does. */
function nextReport({ authorization, subscriptions }: Subject): string {
  reports += 1
  const subscription = 1 + Math.floor(Math.random() * subscriptions)
  const body = JSON.stringify({ componentID: 2, NumUnits: 1.5, UsageKey: `report ${reports}` })
  return httpSend('PUT', `/v1/subscriptions/${subscription}/components/recordusage`, authorization, body)
}

async function recordOverHttp(service: Subject, callers: number, seconds: number): Promise<Sample> {
  const [node, database] = [service.nodeCpu(), service.databaseCpu()]
  const next = () => nextReport(service)
  const told = await drive({ port: service.port, callers, seconds, next, status: 204 })
  return {
    rate: told.answers / told.seconds,
    node: (service.nodeCpu() - node) / told.answers,
    database: (service.databaseCpu() - database) / told.answers,
  }
}

const rates = (samples: readonly Sample[]) => samples.map(({ rate }) => rate)
const micros = (values: readonly number[]) => spread(values.map((value) => value * 1e6))

function tellSamples(head: string, of: string, subjects: readonly Sample[], floors: readonly Sample[]): void {
  const cpu = (samples: readonly Sample[]) => [
    micros(samples.map(({ database }) => database)),
    micros(samples.map(({ node }) => node)),
  ]
  const [subject, floor] = [cpu(subjects), cpu(floors)]
  tellTable(
    [head, 'service', of],
    [
      ['reports a second', spread(rates(subjects)), spread(rates(floors))],
      ['CPU of PostgreSQL each, µs', subject[0] ?? '', floor[0] ?? ''],
      ['CPU of Node each, µs', subject[1] ?? '', floor[1] ?? ''],
    ],
  )
  if (isNoisy(rates(floors))) tell('noisy: the floor itself moved more than twofold')
}

/** Floor and subject in turns, each after a checkpoint; the first turn only warms up. */
async function turns(
  service: Service,
  times: number,
  floorOf: (turn: number) => Promise<Sample>,
  subjectOf: (turn: number) => Promise<Sample>,
): Promise<{ floors: Sample[]; subjects: Sample[] }> {
  const floors: Sample[] = []
  const subjects: Sample[] = []
  for (let turn = 0; turn <= times; turn += 1) {
    await settle(service.connection)
    const floor = await floorOf(turn)
    await settle(service.connection)
    const subject = await subjectOf(turn)
    if (turn === 0 && times > 1) continue
    floors.push(floor)
    subjects.push(subject)
  }
  return { floors, subjects }
}

async function measureRecord(
  service: Subject,
  callers: number,
  options: { times: number; seconds: number },
): Promise<Verdict> {
  const { seconds, times } = options
  const { floors, subjects } = await turns(
    service,
    times,
    async () => ({
      ...(await pgbench(service, SCRIPT, callers, seconds, { subscriptions: service.subscriptions })),
      node: 0,
    }),
    () => recordOverHttp(service, callers, seconds),
  )
  tellSamples(`${callers} callers`, 'pgbench', subjects, floors)
  const ratio = median(ratioOf(rates(subjects), rates(floors)))
  return {
    goal: `recording usage with ${callers} callers at ${recordOfFloor(callers) * 100} % of pgbench`,
    reached: `${(ratio * 100).toFixed(0)} %`,
    isMet: ratio >= recordOfFloor(callers),
  }
}

interface Bulk {
  batches: number
  entries: number
}

function bulkBody({ subscriptions }: Subject, turn: number, batch: number, entries: number): string {
  const Usage = Array.from({ length: entries }, (_, index) => ({
    subscriptionID: 1 + ((batch * SHARERS + (index % SHARERS)) % subscriptions),
    componentID: 2,
    NumUnits: 1.5,
    Date: '2027-01-15',
    UsageKey: `turn-${turn}-batch-${batch}-entry-${index}`,
  }))
  return JSON.stringify({ Usage })
}

/** Bodies are made beforehand: what a caller does is not measured. */
async function bulkOverHttp(service: Subject, turn: number, { batches, entries }: Bulk): Promise<Sample> {
  const requests = Array.from({ length: batches }, (_, batch) =>
    httpSend('POST', '/v1/usage', service.authorization, bulkBody(service, turn, batch, entries)),
  )
  const [node, database] = [service.nodeCpu(), service.databaseCpu()]
  const startedMs = performance.now()
  for (const request of requests)
    await drive({ port: service.port, callers: 1, seconds: 0, next: () => request, status: 201 })
  const seconds = (performance.now() - startedMs) / 1000
  const rows = batches * entries
  return {
    rate: rows / seconds,
    node: (service.nodeCpu() - node) / rows,
    database: (service.databaseCpu() - database) / rows,
  }
}

async function copy(service: Subject, program: string, turn: number, { batches, entries }: Bulk): Promise<Sample> {
  const before = service.databaseCpu()
  const { connection, subscriptions } = service
  const settings = { connection, batches, entries, turn, subscriptions }
  const child = run<{ seconds: number; cpu: number }>(program, settings)
  const { seconds, cpu } = await child.said
  await child.ended
  const rows = batches * entries
  return { rate: rows / seconds, node: cpu / rows, database: (service.databaseCpu() - before) / rows }
}

async function measureBulk(service: Subject, times: number, bulk: Bulk): Promise<Verdict[]> {
  const program = await bundled('floor/usage.ts')
  const { floors, subjects } = await turns(
    service,
    times,
    (turn) => copy(service, program, turn, bulk),
    (turn) => bulkOverHttp(service, turn, bulk),
  )
  tellSamples(`${bulk.entries.toLocaleString('en')} reports a request`, 'COPY', subjects, floors)
  const cpu = (samples: readonly Sample[]) => samples.map(({ node, database }) => node + database)
  const [byRate, byCpu] = [median(ratioOf(rates(subjects), rates(floors))), median(ratioOf(cpu(floors), cpu(subjects)))]
  return [
    { by: 'rows a second', ratio: byRate },
    { by: 'CPU-seconds a row', ratio: byCpu },
  ].map(({ by, ratio }) => ({
    goal: `usage in bulk at ${BULK_OF_FLOOR * 100} % of COPY by ${by}`,
    reached: `${(ratio * 100).toFixed(1)} %`,
    isMet: ratio >= BULK_OF_FLOOR,
  }))
}

/** `part` measures one of the two alone: record or bulk. */
export async function benchUsage(options: { times: number; isSmoke: boolean; part?: string }): Promise<void> {
  const { times, isSmoke, part } = options
  if (!(await hasPgbench(options))) return
  const started = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test' })
  const service = { ...started, subscriptions: isSmoke ? SUBSCRIPTIONS_OF_SMOKE : SUBSCRIPTIONS }
  try {
    await tellMachine(service.connection)
    await seed(service)
    const verdicts: Verdict[] = []
    for (const callers of part === 'bulk' ? [] : isSmoke ? [2] : CALLERS)
      verdicts.push(await measureRecord(service, callers, { times, seconds: isSmoke ? 1 : 3 }))
    if (part !== 'record')
      verdicts.push(
        ...(await measureBulk(
          service,
          times,
          isSmoke ? { batches: 1, entries: 500 } : { batches: 10, entries: 10_000 },
        )),
      )
    if (isSmoke) await service.checkBooks()
    tellVerdicts(verdicts, options)
  } finally {
    await service.stop()
  }
}
