import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { afterAll, expect, test } from 'vitest'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { connectionTo } from '../../src/platform/postgres/connection.ts'
import { call, serve, type Serving, startedFolder } from './program.ts'

const CUSTOMERS = 12

test('kill -9 while an endpoint is called: every event arrives after all, signed, and nothing is given up', async () => {
  const arrived: { id: string; body: string; headers: Record<string, string> }[] = []
  const held: ServerResponse[] = []
  let isSilent = true
  let heard = () => {}
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      if (isSilent) held.push(response)
      else {
        const headers = request.headers as Record<string, string>
        arrived.push({ id: headers['webhook-id'] ?? '', body, headers })
        response.end()
      }
      heard()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const until = async (isReached: () => boolean) => {
    while (!isReached()) await new Promise<void>((resolve) => (heard = resolve))
  }

  const DATA_DIR = startedFolder()
  const env = { DATA_DIR, LOG_LEVEL: 'warn', OUTBOUND_ALLOW: '127.0.0.0/8' }
  const first = await serve(env)
  const send = async (service: Serving, path: string, body?: object) => (await call(service, first, path, body)).body

  const Url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { webhookID, Secret } = await send(first, '/v1/webhooks', { Url, Types: ['customer.*'] })
  for (let n = 0; n < CUSTOMERS; n += 1) await send(first, '/v1/customers', { Name: `Customer ${n}`, isCompany: true })
  await until(() => held.length > 0)
  first.child.kill('SIGKILL')
  await first.ended
  isSilent = false

  const second = await serve(env)
  // Leases of the process that was killed lapse after half a minute; the test does not wait for that.
  const owner = new pg.Client(clientConfig(connectionTo(join(DATA_DIR, 'postgres')), undefined))
  await owner.connect()
  await owner.query(
    `update perennial.webhook_deliveries set leased_until = now() - interval '1 second' where leased_until is not null`,
  )
  await owner.end()
  await until(() => new Set(arrived.map(({ id }) => id)).size === CUSTOMERS)
  const events = await send(second, '/v1/events?type=customer.created&page_size=100')
  const verified = arrived.map(({ body, headers }) => new Webhook(Secret).verify(body, headers) as { eventID: number })
  expect(new Set(verified.map(({ eventID }) => eventID))).toEqual(
    new Set(events.map(({ eventID }: { eventID: number }) => eventID)),
  )
  const deliveries = await send(second, `/v1/webhooks/${webhookID}/deliveries?page_size=100`)
  expect(deliveries.filter(({ State }: { State: string }) => State === 'Failed')).toEqual([])
  second.child.kill('SIGTERM')
  expect((await second.ended).code).toBe(0)
})
