import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { Webhook } from 'standardwebhooks'
import { afterAll, vi } from 'vitest'
import { startTestService, type TestClient, type TestService } from '../../../test/support/app.ts'
import { writeIssuedRecords } from '../invoices/issued-record.ts'
import { writeUsageRecords } from '../subscription-components/usage-records.ts'
import type { GoOn } from '../../platform/duty.ts'
import { webhookDuty, type WebhookDutyDeps } from './duty.ts'

/** A receiver of webhooks on loopback, and a worker whose clock a test moves. */

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  text: string
  /** The body as JSON. */
  event: any
}

type Answer = (received: Received, response: ServerResponse) => void

export interface Receiver {
  url: string
  port: number
  received: Received[]
  /** Types and records of what arrived, in that order. */
  seen(): string[]
  /** Answers from now on; left out: 200. */
  answers(answer?: Answer): void
}

const OK: Answer = (_received, response) => void response.end()

export const withStatus =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_received, response) =>
    void response.writeHead(status, headers).end()

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let answer = OK
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const arrived = { path: request.url ?? '', headers: request.headers, text, event: JSON.parse(text) }
      received.push(arrived)
      answer(arrived, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/hook`,
    received,
    seen: () => received.map(({ event }) => `${event.Type} ${event.RecordID}`),
    answers: (next = OK) => (answer = next),
  }
}

/** Verifies what was received as an integrator does; throws where the signature or the time of it is wrong. */
export function verified(secret: string, { text, headers }: Received): unknown {
  const seconds = Number(headers['webhook-timestamp'])
  // The package compares with the time of the process, where tests have a time of their own.
  vi.useFakeTimers({ toFake: ['Date'], now: seconds * 1000 })
  try {
    return new Webhook(secret).verify(text, headers as Record<string, string>)
  } finally {
    vi.useRealTimers()
  }
}

export interface Timed {
  service: TestService
  /** Lets a worker send whatever is due now. */
  work(about?: Partial<WebhookDutyDeps>, goOn?: GoOn): Promise<void>
  /** Lets real time pass, in seconds. */
  pass(seconds: number): void
  now(): number
  /** An account with a webhook: its client, the answer that made it, and how to ask for its deliveries. */
  hooked(url: string, more?: { Types?: string[] | null }): Promise<Hooked>
}

export interface Hooked {
  client: TestClient
  webhookID: number
  Secret: string
  deliveries(): Promise<any[]>
}

/** Starts a service whose real time a test moves. Chance is none: waits are as the rules name them. */
export async function timed(options: Parameters<typeof startTestService>[0] = {}): Promise<Timed> {
  let nowMs = Date.parse('2027-01-01T12:00:00.000Z')
  const now = () => nowMs
  const service = await startTestService({ now, ...options })
  const log = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  return {
    service,
    now,
    pass: (seconds) => (nowMs += seconds * 1000),
    work: async (about = {}, goOn = () => {}) => {
      const duty = webhookDuty({ ...service.calling, writeIssuedRecords, writeUsageRecords, random: () => 0, ...about })
      await duty.run({ db: service.db, log, realClock: now }, goOn)
    },
    hooked: async (url, more = {}) => {
      const client = await service.newAccount()
      const { body } = await client.post('/v1/webhooks', { Url: url, ...more })
      const path = `/v1/webhooks/${body.webhookID}/deliveries?page_size=100`
      return { client, ...body, deliveries: async () => (await client.get(path)).body }
    },
  }
}

/** Adds a customer and returns its identifier. */
export const newCustomer = async (client: TestClient, Name = 'Acme'): Promise<number> =>
  (await client.post('/v1/customers', { Name, isCompany: true })).body.customerID

/** Renames a customer: one more event of the same record. */
export const rename = (client: TestClient, customerID: number, Name: string) =>
  client.put(`/v1/customers/${customerID}`, { Name, isCompany: true })

/** A gate that is shut until it is opened. */
export function gate(): { passed: Promise<void>; open(): void } {
  let open = () => {}
  const passed = new Promise<void>((resolve) => (open = resolve))
  return { passed, open }
}
