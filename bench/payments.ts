import { fileURLToPath } from 'node:url'
import { asOwner, settle } from './measure/database.ts'
import {
  isNoisy,
  median,
  quantile,
  ratioOf,
  spread,
  tell,
  tellTable,
  tellVerdicts,
  type Verdict,
} from './measure/figures.ts'
import { drive, httpSend } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { hasPgbench, pgbench } from './measure/pgbench.ts'
import { type Service, startService } from './measure/service.ts'
import { CUSTOMERS, OPEN_INVOICES } from './seed-money.ts'

/**
 * Recording payments over HTTP, each allocated to an open invoice and on disk before it is answered, beside pgbench running the same
 * statements with as many callers; and the same where all payments are of one customer, which has no floor: they wait for each other.
 */

/** Alone each waits for its own commit; from 8 on there are others to share one with. */
const payOfFloor = (callers: number): number => (callers >= 8 ? 0.6 : 0.35)
const SLOWEST_OF_FLOOR = 3
const CALLERS = [1, 8, 32]
export const PAYERS = 10_000
const SCRIPT = fileURLToPath(new URL('floor/pay-invoice.sql', import.meta.url))

interface Sample {
  rate: number
  /** CPU-seconds a payment. */
  node: number
  database: number
  /** Milliseconds that 99 of 100 payments did not exceed. */
  p99: number
}

export async function seed(service: Pick<Service, 'connection'>): Promise<void> {
  await asOwner(service.connection, async (client) => {
    await client.query(CUSTOMERS, [PAYERS])
    for (const statement of OPEN_INVOICES) await client.query(statement, [PAYERS])
    await client.query('vacuum (analyze)')
  })
}

/** A payment of 0.01 that is applied to the invoice of a customer. */
export function nextPayment(authorization: string, customerID: number): string {
  const Allocations = [{ invoiceID: customerID, amountApplied: 0.01 }]
  const rest = { Amount: 0.01, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft', Allocations }
  return httpSend('POST', '/v1/payments', authorization, JSON.stringify({ customerID, ...rest }))
}

async function payOverHttp(service: Service, callers: number, seconds: number, payers: number): Promise<Sample> {
  const [node, database] = [service.nodeCpu(), service.databaseCpu()]
  const next = () => nextPayment(service.authorization, 1 + Math.floor(Math.random() * payers))
  const told = await drive({ port: service.port, callers, seconds, next, status: 201 })
  return {
    rate: told.answers / told.seconds,
    node: (service.nodeCpu() - node) / told.answers,
    database: (service.databaseCpu() - database) / told.answers,
    p99: quantile(told.latencies, 0.99),
  }
}

const rates = (samples: readonly Sample[]) => samples.map(({ rate }) => rate)
const slowest = (samples: readonly Sample[]) => samples.map(({ p99 }) => p99)

function tellSamples(head: string, columns: readonly { title: string; samples: readonly Sample[] }[]): void {
  const row = (title: string, of: (one: Sample) => number) => [
    title,
    ...columns.map(({ samples }) => spread(samples.map(of))),
  ]
  tellTable(
    [head, ...columns.map(({ title }) => title)],
    [
      row('payments a second', ({ rate }) => rate),
      row('CPU of PostgreSQL each, µs', ({ database }) => database * 1e6),
      row('CPU of Node each, µs', ({ node }) => node * 1e6),
      row('99 of 100 within, ms', ({ p99 }) => p99),
    ],
  )
}

async function measure(service: Service, callers: number, times: number, seconds: number): Promise<Verdict[]> {
  const floors: Sample[] = []
  const subjects: Sample[] = []
  for (let turn = 0; turn <= times; turn += 1) {
    await settle(service.connection)
    const { rate, database, latencies } = await pgbench(service, SCRIPT, callers, seconds)
    await settle(service.connection)
    const subject = await payOverHttp(service, callers, seconds, PAYERS)
    if (turn === 0 && times > 1) continue
    floors.push({ rate, database, node: 0, p99: quantile(latencies, 0.99) })
    subjects.push(subject)
  }
  tellSamples(`${callers} callers`, [
    { title: 'service', samples: subjects },
    { title: 'pgbench', samples: floors },
  ])
  if (isNoisy(rates(floors))) tell('noisy: the floor itself moved more than twofold')
  const ratio = median(ratioOf(rates(subjects), rates(floors)))
  const verdict = {
    goal: `recording payments with ${callers} callers at ${payOfFloor(callers) * 100} % of pgbench`,
    reached: `${(ratio * 100).toFixed(0)} %`,
    isMet: ratio >= payOfFloor(callers),
  }
  if (callers < 32) return [verdict]
  const times99 = median(ratioOf(slowest(subjects), slowest(floors)))
  return [
    verdict,
    {
      goal: `99 of 100 payments with ${callers} callers within ${SLOWEST_OF_FLOOR} × of pgbench's time`,
      reached: `${times99.toFixed(2)} ×`,
      isMet: times99 <= SLOWEST_OF_FLOOR,
    },
  ]
}

/** Reported, not judged: payments of one customer happen one after the other. */
async function measureOneCustomer(service: Service, callers: number, times: number, seconds: number): Promise<void> {
  const samples: Sample[] = []
  for (let turn = 0; turn < times; turn += 1) {
    await settle(service.connection)
    samples.push(await payOverHttp(service, callers, seconds, 1))
  }
  tellSamples(`${callers} callers, all of one customer`, [{ title: 'service', samples }])
}

export async function benchPayments({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  if (!(await hasPgbench({ isSmoke }))) return
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test' })
  const seconds = isSmoke ? 0.5 : 3
  try {
    await tellMachine(service.connection)
    await seed(service)
    const verdicts: Verdict[] = []
    for (const callers of isSmoke ? [2] : CALLERS)
      verdicts.push(...(await measure(service, callers, times, isSmoke ? 1 : seconds)))
    await measureOneCustomer(service, isSmoke ? 2 : 32, times, seconds)
    tellVerdicts(verdicts, { isSmoke })
  } finally {
    await service.stop()
  }
}
