import { asOwner, settle } from './measure/database.ts'
import { median, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { drive, httpSend } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { flatness, FLAT_RULE } from './measure/memory.ts'
import { type Service, startService } from './measure/service.ts'
import { CARDS } from './seed-cards.ts'
import { CUSTOMERS, OPEN_INVOICES } from './seed-money.ts'

/**
 * Collecting invoices that are due by card, through a sandbox that answers after 50 ms: how long it takes, and the CPU of an attempt, the
 * sandbox's book included, beside that of a payment of the same run that is recorded over HTTP with an allocation.
 */

const SECONDS_MAX = 60
const CPU_OF_PAYMENT = 3
const LATENCY_MS = 50
const CALLERS = 8
const RESIDENT_EVERY_MS = 250
/** Collecting all garbage takes the event loop some 40 ms, which count as its work. */
const LEFT_EVERY_MS = 5000

/** CPU-seconds of the program and of PostgreSQL. */
interface Cpu {
  node: number
  database: number
}

/** Does a work, and returns what came of it and the CPU that it took, by the number of things that it did. */
async function cpuOf<T>(service: Service, work: () => Promise<T>): Promise<{ done: T; cpu(count: number): Cpu }> {
  const [node, database] = [service.nodeCpu(), service.databaseCpu()]
  const done = await work()
  const spent = { node: service.nodeCpu() - node, database: service.databaseCpu() - database }
  return { done, cpu: (count) => ({ node: spent.node / count, database: spent.database / count }) }
}

const sumOf = ({ node, database }: Cpu): number => node + database

/** Sends a request of the bench, and fails on any answer that is none of success. */
async function send(service: Service, method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method,
    headers: { authorization: service.authorization, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 600)}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** CPU-seconds of a payment with an allocation, to open invoices of the second half of the customers. */
async function payCpu(service: Service, count: number, seconds: number): Promise<Cpu> {
  await settle(service.connection)
  const next = () => {
    const customerID = count + 1 + Math.floor(Math.random() * count)
    const Allocations = [{ invoiceID: customerID, amountApplied: 0.01 }]
    const rest = { Amount: 0.01, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft', Allocations }
    return httpSend('POST', '/v1/payments', service.authorization, JSON.stringify({ customerID, ...rest }))
  }
  const { done, cpu } = await cpuOf(service, () =>
    drive({ port: service.port, callers: CALLERS, seconds, next, status: 201 }),
  )
  return cpu(done.answers)
}

/** Collects everything that is due by moving the account's clock within its day. */
async function collect(service: Service, count: number) {
  // As autovacuum does within a minute of so many payments.
  await asOwner(service.connection, (client) => client.query('analyze payments, allocations'))
  await settle(service.connection)
  const [resident, left]: [number[], number[]] = [[], []]
  const looks = [
    setInterval(() => resident.push(service.memory()), RESIDENT_EVERY_MS),
    setInterval(() => void service.leftByCollector().then((mb) => left.push(mb)), LEFT_EVERY_MS),
  ]
  const beganAt = performance.now()
  try {
    const { done, cpu } = await cpuOf(service, () => send(service, 'PUT', '/v1/clock', { Now: '2027-01-01T12:00:00Z' }))
    if (done.Collected !== count) throw new Error(`${done.Collected} of ${count} invoices were collected`)
    return { seconds: (performance.now() - beganAt) / 1000, attempt: cpu(count), resident, left }
  } finally {
    looks.forEach(clearInterval)
  }
}

async function measure(count: number, isSmoke: boolean) {
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test' })
  try {
    await tellMachine(service.connection)
    const [{ gatewayID }] = await send(service, 'GET', '/v1/gateways')
    await send(service, 'PUT', '/v1/clock', { Now: '2027-01-01T00:00:00Z' })
    await send(service, 'PUT', `/v1/gateways/${gatewayID}`, { Settings: { LatencyMs: LATENCY_MS } })
    await asOwner(service.connection, async (client) => {
      await client.query(CUSTOMERS, [2 * count])
      for (const statement of OPEN_INVOICES) await client.query(statement, [2 * count])
      for (const statement of CARDS) await client.query(statement, [count, gatewayID])
      // Tables that are still empty are left as a new installation has them.
      await client.query(
        'vacuum (analyze) customers, invoices, dunning, payment_methods, sandbox_cards, ledger_rows, customer_totals',
      )
    })
    const seconds = isSmoke ? 0.5 : 5
    await payCpu(service, count, seconds)
    const payments = [await payCpu(service, count, seconds)]
    const collected = await collect(service, count)
    payments.push(await payCpu(service, count, seconds))
    return { ...collected, payments }
  } finally {
    await service.stop()
  }
}

export async function benchCollect({ count, isSmoke }: { count: number; isSmoke: boolean }): Promise<void> {
  const { seconds, attempt, resident, left, payments } = await measure(count, isSmoke)
  const row = (title: string, { node, database }: Cpu) => [
    title,
    ...[node, database, node + database].map((cpu) => (cpu * 1e6).toFixed(0)),
  ]
  tellTable(
    ['CPU, µs', 'Node', 'PostgreSQL', 'together'],
    [
      row('an attempt, with the book of the sandbox', attempt),
      ...payments.map((payment, place) =>
        row(`a payment with an allocation, ${place === 0 ? 'before' : 'after'}`, payment),
      ),
    ],
  )
  const ratio = sumOf(attempt) / median(payments.map(sumOf))
  tell(
    `${count} invoices in ${seconds.toFixed(1)} s; resident memory ${Math.min(...resident).toFixed(0)} to ${Math.max(...resident).toFixed(0)} MB, of which the collector leaves ${left.map((mb) => mb.toFixed(0)).join(' ')}`,
  )
  const { isFlat, second } = flatness(left)
  tellVerdicts(
    [
      {
        goal: `${count} due card invoices in under ${SECONDS_MAX} s through a sandbox of ${LATENCY_MS} ms`,
        reached: `${seconds.toFixed(1)} s`,
        isMet: seconds < SECONDS_MAX,
      },
      {
        goal: `CPU of an attempt at most ${CPU_OF_PAYMENT} × that of a payment`,
        reached: `${ratio.toFixed(2)} ×`,
        isMet: ratio <= CPU_OF_PAYMENT,
      },
      {
        goal: `what the collector leaves of memory is flat: ${FLAT_RULE}`,
        reached: `rises by ${second.toFixed(0)} MB`,
        isMet: isFlat,
      },
    ],
    { isSmoke },
  )
}
