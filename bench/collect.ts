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
const SAMPLE_EVERY_MS = 250

const cpuOf = (service: Service): number => service.nodeCpu() + service.databaseCpu()

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
async function payCpu(service: Service, count: number, seconds: number): Promise<number> {
  await settle(service.connection)
  const before = cpuOf(service)
  const next = () => {
    const customerID = count + 1 + Math.floor(Math.random() * count)
    const Allocations = [{ invoiceID: customerID, amountApplied: 0.01 }]
    const rest = { Amount: 0.01, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft', Allocations }
    return httpSend('POST', '/v1/payments', service.authorization, JSON.stringify({ customerID, ...rest }))
  }
  const { answers } = await drive({ port: service.port, callers: CALLERS, seconds, next, status: 201 })
  return (cpuOf(service) - before) / answers
}

/** Collects everything that is due by moving the account's clock within its day. */
async function collect(
  service: Service,
): Promise<{ seconds: number; cpu: number; memory: number[]; collected: number }> {
  await settle(service.connection)
  const memory: number[] = []
  const sampling = setInterval(() => memory.push(service.memory()), SAMPLE_EVERY_MS)
  const [before, beganAt] = [cpuOf(service), performance.now()]
  try {
    const { Collected } = await send(service, 'PUT', '/v1/clock', { Now: '2027-01-01T12:00:00Z' })
    const seconds = (performance.now() - beganAt) / 1000
    return { seconds, cpu: cpuOf(service) - before, memory, collected: Collected }
  } finally {
    clearInterval(sampling)
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
      await client.query('vacuum (analyze)')
    })
    const seconds = isSmoke ? 0.5 : 5
    await payCpu(service, count, seconds)
    const payments = [await payCpu(service, count, seconds)]
    const collected = await collect(service)
    if (collected.collected !== count) throw new Error(`${collected.collected} of ${count} invoices were collected`)
    payments.push(await payCpu(service, count, seconds))
    return { ...collected, payment: median(payments) }
  } finally {
    await service.stop()
  }
}

export async function benchCollect({ count, isSmoke }: { count: number; isSmoke: boolean }): Promise<void> {
  const { seconds, cpu, memory, payment } = await measure(count, isSmoke)
  const attempt = cpu / count
  tellTable(
    ['', 'CPU, µs'],
    [
      ['an attempt, with the book of the sandbox', (attempt * 1e6).toFixed(0)],
      ['a payment with an allocation', (payment * 1e6).toFixed(0)],
    ],
  )
  tell(
    `${count} invoices in ${seconds.toFixed(1)} s; resident memory ${Math.min(...memory).toFixed(0)} to ${Math.max(...memory).toFixed(0)} MB`,
  )
  const { isFlat, second } = flatness(memory)
  tellVerdicts(
    [
      {
        goal: `${count} due card invoices in under ${SECONDS_MAX} s through a sandbox of ${LATENCY_MS} ms`,
        reached: `${seconds.toFixed(1)} s`,
        isMet: seconds < SECONDS_MAX,
      },
      {
        goal: `CPU of an attempt at most ${CPU_OF_PAYMENT} × that of a payment`,
        reached: `${(attempt / payment).toFixed(2)} ×`,
        isMet: attempt <= CPU_OF_PAYMENT * payment,
      },
      { goal: `memory is flat: ${FLAT_RULE}`, reached: `rises by ${second.toFixed(0)} MB`, isMet: isFlat },
    ],
    { isSmoke },
  )
}
