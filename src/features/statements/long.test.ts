import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { openDatabase } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { statementOf } from './make.ts'
import { StatementOut, statementToWire } from './wire.ts'

/** Statements of more movements than a person reads. */

const service = await startTestService()
const owner = openDatabase(service.connection, { role: undefined, poolSize: 1, lanes: 1 })
afterAll(() => owner.close())

/** The statement as the engine makes it whole, written at once. */
async function wholeText(client: TestClient, customerID: number, from: string, to: string): Promise<string> {
  const made = await statementOf(service.db.reader(client.id), client.id, BigInt(customerID), 'USD', {
    from,
    to,
    now: '2999-01-01T00:00:00.000Z',
  })
  async function* lines() {
    yield made.lines
  }
  const { Movements, ...wire } = statementToWire({ ...made, lines: lines() }, 'UTC')
  const movements: never[] = []
  for await (const portion of Movements as AsyncIterable<readonly never[]>) movements.push(...portion)
  return StatementOut.write({ ...wire, Movements: movements })
}

/** A customer with as many movements, half of a day and half of the next. */
async function customerWith(movements: number) {
  const client = await service.newAccount({ clockAt: '2027-03-10T08:00:00.000Z' })
  const about = { Name: 'Much Ltd', isCompany: true, autoSendStatement: true }
  const { customerID } = (await client.post('/v1/customers', about)).body as { customerID: number }
  await owner.unscoped.rows(sql`
    insert into perennial.positive_adjustments (account_id, customer_id, kind, dated, due_date, currency, amount_minor, ref, created_at)
    select ${client.id}, ${customerID}::bigint, 'interest', date '2027-03-01' + n % 2, '2027-03-31', 'USD', 1 + n, 'R "' || n || '"', now()
      from generate_series(1, ${movements}::int) n`)
  return { client, customerID, url: `/v1/customers/${customerID}/statement` }
}

const errorOf = (reply: Awaited<ReturnType<TestClient['get']>>) => [reply.status, reply.body?.Errors?.[0]]

test('as a PDF a statement has at most 10,000 movements, and says what to do', async () => {
  const { client, url } = await customerWith(10_001)
  expect(errorOf(await client.get(`${url}?format=pdf`))).toMatchObject([
    400,
    {
      Code: 'statement_too_long',
      Field: 'from',
      Message: expect.stringMatching(/10,000 movements.*shorter period.*JSON/),
    },
  ])
  const day = await client.get(`${url}?format=pdf&from=2027-03-01&to=2027-03-01`)
  expect([day.status, day.text.slice(0, 5)]).toEqual([200, '%PDF-'])
  const whole = await client.get(url)
  expect([whole.status, whole.body.Movements.length]).toEqual([200, 10_001])
})

test('an automatic statement of more is kept and listed, and is no PDF', async () => {
  const { client, customerID } = await customerWith(10_001)
  await owner.unscoped.rows(sql`
    insert into perennial.statements (account_id, created_at, customer_id, from_date, to_date, document)
    select ${client.id}, '2027-04-01', ${customerID}::bigint, '2027-03-01', '2027-03-31', jsonb_build_object('sections',
      jsonb_build_array(jsonb_build_object('currency', 'USD', 'closingMinor', '1500',
        'lines', (select jsonb_agg('{}'::jsonb) from generate_series(1, 10001)))))`)
  const [kept] = (await client.get(`/v1/customers/${customerID}/statements`)).body
  expect(kept.ClosingBalances).toEqual([{ CurrencyCode: 'USD', ClosingBalance: 15 }])
  const drawn = await client.get(`/v1/customers/${customerID}/statements/${kept.statementID}/pdf`)
  expect(errorOf(drawn)).toMatchObject([
    400,
    { Code: 'statement_too_long', Field: null, Message: expect.stringContaining('/statement, by from and to') },
  ])
})

describe('as JSON a statement', () => {
  test.each([5001, 10_001])(
    'of %d movements leaves in pieces that are the whole text to the byte',
    async (movements) => {
      const { client, customerID, url } = await customerWith(movements)
      const long = await client.get(`${url}?from=2027-03-01&to=2027-03-02`)
      expect(long.headers['content-length']).toBe(undefined)
      expect(long.text.length).toBeGreaterThan(500_000)
      expect(long.text === (await wholeText(client, customerID, '2027-03-01', '2027-03-02'))).toBe(true)
    },
  )

  test('leaves with its length where it is short', async () => {
    const { client, customerID, url } = await customerWith(3)
    const empty = await client.get(`${url}?from=2027-03-03&to=2027-03-04`)
    expect(empty.text).toBe(await wholeText(client, customerID, '2027-03-03', '2027-03-04'))
    expect(empty.headers['content-length']).toBe(String(empty.text.length))
  })

  test('answers HEAD as GET, with no length where it is not known', async () => {
    const { client, url } = await customerWith(5001)
    const [head, whole] = [await client.request('HEAD', url), await client.get(url)]
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', undefined])
    expect(head.headers['content-type']).toBe(whole.headers['content-type'])
    const empty = await client.request('HEAD', `${url}?from=2027-03-03&to=2027-03-04`)
    expect(Number(empty.headers['content-length'])).toBeGreaterThan(100)
  })

  test('that nobody waits for any more lets go of what it holds: the next are answered', async () => {
    const { client, url } = await customerWith(20_000)
    await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    const { port } = service.app.server.server.address() as AddressInfo
    const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
    for (let caller = 0; caller < 12; caller += 1) {
      const request = get({ port, path: url, headers: { authorization }, agent: false })
      const [reply] = (await once(request, 'response')) as [IncomingMessage]
      await once(reply, 'data')
      expect(reply.statusCode).toBe(200)
      reply.destroy()
    }
    await vi.waitFor(async () => expect((await client.get(url)).status).toBe(200), { timeout: 30_000 })
    const free = () => {
      const { total, idle, waiting } = service.db.poolState()
      expect([total - idle, waiting]).toEqual([0, 0])
    }
    await vi.waitFor(free, { timeout: 30_000 })
  })
})
