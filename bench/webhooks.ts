import { createHmac } from 'node:crypto'
import http from 'node:http'
import { Worker } from 'node:worker_threads'
import { asOwner, settle } from './measure/database.ts'
import { median, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { call } from './neighbours.ts'
import { sideBySide } from '../src/platform/side-by-side.ts'

/**
 * Deliveries of webhooks to one receiver that answers after 20 ms, from the commit of their events to the last arrival, beside a bare client that
 * signs and posts the same bodies with as many in flight and writes nothing.
 */

const DELIVERIES = 10_000
const RATE_LEAST = 500
const ANSWER_MS = 20
/** As many as the service has in flight to an endpoint that is quick. */
const IN_FLIGHT = 64

/** A receiver in a thread of its own: it is sent how many requests to await, and answers when they have arrived. */
const RECEIVER = `
const { parentPort } = require('node:worker_threads')
let awaited = 0
const server = require('node:http').createServer((request, response) => {
  request.resume().on('end', () => setTimeout(() => {
    response.end()
    if ((awaited -= 1) === 0) parentPort.postMessage('all')
  }, ${ANSWER_MS}))
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
parentPort.on('message', (count) => (awaited = count))`

const messageOf = <T>(receiver: Worker): Promise<T> => new Promise((resolve) => receiver.once('message', resolve))

interface Sample {
  rate: number
  /** CPU-seconds a delivery. */
  node: number
  database: number
}

const RECORD = JSON.stringify({
  customerID: 1,
  Name: 'Acme',
  Address1: '1 Long Street',
  Balance: 0,
  isActive: true,
  texts: Array(12).fill('x'.repeat(30)),
})

const WRITE = `
  with written as (
    insert into event_rows (account_id, type, record_id, happened_at, actor, record)
    select w.account_id, 'customer.updated', n, '2027-01-01', 'bench', $1 from webhooks w, generate_series(1, $2::integer) n
    returning account_id, event_id, type, record_id)
  insert into webhook_deliveries (account_id, webhook_id, event_id, type, record_id)
  select w.account_id, w.webhook_id, e.event_id, e.type, e.record_id from written e join webhooks w on w.account_id = e.account_id`

async function deliver(service: Service, receiver: Worker, count: number): Promise<Sample> {
  receiver.postMessage(count, [])
  const arrived = messageOf(receiver)
  const [node, database] = [service.nodeCpu(), service.databaseCpu()]
  await asOwner(service.connection, (client) => client.query(WRITE, [RECORD, count]))
  const written = service.databaseCpu()
  const begun = performance.now()
  await arrived
  const seconds = (performance.now() - begun) / 1000
  return {
    rate: count / seconds,
    node: (service.nodeCpu() - node) / count,
    database: (service.databaseCpu() - Math.max(database, written)) / count,
  }
}

/** Posts as many signed bodies by a bare client. */
async function post(receiver: Worker, port: number, count: number): Promise<number> {
  receiver.postMessage(count, [])
  const arrived = messageOf(receiver)
  const agent = new http.Agent({ keepAlive: true })
  const begun = performance.now()
  await sideBySide(
    Array.from({ length: count }, (_, index) => index),
    IN_FLIGHT,
    (index) =>
      new Promise<void>((resolve, reject) => {
        const signature = createHmac('sha256', 'key').update(`evt_1_${index}.${index}.${RECORD}`).digest('base64')
        const headers = { 'content-type': 'application/json', 'webhook-signature': `v1,${signature}` }
        const options = { port, host: '127.0.0.1', method: 'POST', agent, headers }
        http
          .request(options, (response) => response.resume().on('end', resolve))
          .on('error', reject)
          .end(RECORD)
      }),
  )
  await arrived
  agent.destroy()
  return count / ((performance.now() - begun) / 1000)
}

export async function benchWebhooks({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const settings = { BOOTSTRAP_ACCOUNT_MODE: 'test', OUTBOUND_ALLOW: '127.0.0.0/8' }
  const service = await startService(settings)
  const receiver = new Worker(RECEIVER, { eval: true })
  const count = isSmoke ? 200 : DELIVERIES
  try {
    const port = await messageOf<number>(receiver)
    await tellMachine(service.connection)
    const body = { Url: `http://127.0.0.1:${port}/`, Types: ['customer.*'] }
    await call({ port: service.port, authorization: service.authorization }, 'POST', '/v1/webhooks', body)
    const floors: number[] = []
    const samples: Sample[] = []
    for (let turn = 0; turn < times; turn += 1) {
      await settle(service.connection)
      floors.push(await post(receiver, port, count))
      samples.push(await deliver(service, receiver, count))
    }
    tellTable(
      [`${count} deliveries`, 'service', 'bare client'],
      [
        ['a second', spread(samples.map(({ rate }) => rate)), spread(floors)],
        ['CPU of Node each, µs', spread(samples.map(({ node }) => node * 1e6)), ''],
        ['CPU of PostgreSQL each, µs', spread(samples.map(({ database }) => database * 1e6)), ''],
      ],
    )
    const rate = median(samples.map((sample) => sample.rate))
    tell(`${((rate / median(floors)) * 100).toFixed(0)} % of the bare client`)
    tellVerdicts(
      [
        {
          goal: `${DELIVERIES} deliveries to a receiver of ${ANSWER_MS} ms at over ${RATE_LEAST} a second`,
          reached: `${rate.toFixed(0)} a second`,
          isMet: rate > RATE_LEAST,
        },
      ],
      { isSmoke },
    )
  } finally {
    await receiver.terminate()
    await service.stop()
  }
}
