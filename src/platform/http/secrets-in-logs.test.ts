import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { probeServer } from '../../../test/support/probe.ts'
import { sql } from '../database/sql.ts'
import { makeLog } from '../log.ts'
import { text } from '../wire/fields.ts'
import { objectOf, required } from '../wire/read.ts'
import { readOperation, writeOperation } from './operation.ts'

/** No secret reaches a log line, however it was sent and whatever went wrong. Everything is logged here, as at LOG_LEVEL=trace. */

const lines: string[] = []
const log = makeLog('trace', [], { write: (line) => void lines.push(line) })
const service = await startTestService({ log, hashesPasswords: true })

/** Secrets, one of each kind, none of which can be guessed from another. */
const SECRETS = {
  Password: 'Sw0rdfish-of-ann',
  oldPassword: 'kurz1!',
  CardNumber: '4012888888881881',
  AccountNumber: '30127745',
  RoutingNumber: '021000089',
  Iban: 'DE89370400440532013000',
  PortalToken: 'tok_5b1f0c9e',
  Email: 'ann.of.green@gables.example',
}
const KEY = 'a-key-that-nobody-knows'
const QUERY_TOKEN = 'qt-93hf83'
const query = `token=${QUERY_TOKEN}&Password=${SECRETS.Password}&card=${SECRETS.CardNumber}`
const wrongKey = { authorization: `Basic ${Buffer.from(`1:${KEY}`).toString('base64')}` }

function expectNothingTold(client: TestClient): void {
  const told = lines.join('')
  const credentials = Buffer.from(`${client.id}:${client.secret}`).toString('base64')
  const all = {
    ...SECRETS,
    KEY,
    QUERY_TOKEN,
    secret: client.secret,
    credentials,
    wrong: wrongKey.authorization.slice(6),
  }
  expect(Object.entries(all).filter(([, secret]) => told.includes(secret))).toEqual([])
  for (const line of lines) expect(() => JSON.parse(line)).not.toThrow()
}

/** Returns the lines logged at a level or above since position `from`. */
function loggedSince(from: number, level: number): { msg: string; err?: any; path?: string }[] {
  return lines
    .slice(from)
    .map((line) => JSON.parse(line))
    .filter((line) => line.level >= level)
}

const ERROR = 50

describe('requests that are answered or refused', () => {
  test('every operation, with secrets in the path, the query, the headers and the body, rightly or wrongly formed', async () => {
    const client = await service.newAccount()
    for (const { method, path } of service.app.operations) {
      // A key may be revoked and an account closed on the way: what comes after them is refused, and logged all the same.
      const own = path.replace(/\{\w+\}/g, '1')
      const strange = path.replace(/\{\w+\}/g, SECRETS.CardNumber)
      await client.request(method, `${own}?${query}`, SECRETS)
      await client.request(method, `${strange}?${query}`, [SECRETS])
      await client.request(method, own, `{"Password":"${SECRETS.Password}",${SECRETS.CardNumber}`)
      await client.request(method, own, SECRETS, {
        'content-type': 'text/plain',
        'idempotency-key': SECRETS.PortalToken,
      })
      await client.request(method, own, SECRETS, wrongKey)
    }
    expect(lines.length).toBeGreaterThanOrEqual(service.app.operations.length * 5)
    expectNothingTold(client)
  })

  test('paths that are nobody’s, methods that are not there, paths that cannot be read', async () => {
    const client = await service.newAccount()
    const from = lines.length
    await client.get(`/v1/portal/${SECRETS.PortalToken}?${query}`)
    await client.request('PATCH', `/v1/customers/${SECRETS.Password}?${query}`, SECRETS)
    await client.get(`/v1/customers/%E0%A4%A/${SECRETS.Password}`)
    await client.get(`/readyz?${query}`)
    await service.anonymous.get(`/metrics?${query}`, undefined, wrongKey)
    expect(loggedSince(from, 20).map(({ path }) => path)).toContain('unknown')
    expectNothingTold(client)
  })
})

describe('failures', () => {
  test('a row that the database refuses, by a trigger that quotes it, by a constraint that tells it, by its type', async () => {
    const client = await service.newAccount()
    const customer = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
    const admin = new pg.Client(service.connection)
    await admin.connect()
    await admin.query(`set search_path = perennial`)
    await admin.query(`
      create function tell_all() returns trigger language plpgsql as $$
        begin raise exception 'bad row %', new using detail = new::text, hint = new::text; end $$;
      create trigger tell before insert on customer_notes for each row execute function tell_all();
      alter table customer_contacts add constraint nobody check (last_name <> 'Nobody');`)
    const from = lines.length
    const note = await client.post(`/v1/customernotes`, { customerID: customer, Note: SECRETS.Password })
    const contact = await client.post('/v1/customercontacts', {
      customerID: customer,
      Name: SECRETS.AccountNumber,
      LastName: 'Nobody',
      Email: SECRETS.Email,
      Username: SECRETS.PortalToken,
      Password: SECRETS.Password,
      isActive: true,
    })
    await admin.query('drop trigger tell on customer_notes; alter table customer_contacts drop constraint nobody')
    await admin.end()
    expect([note.status, contact.status]).toEqual([500, 500])
    expect(loggedSince(from, ERROR)).toMatchObject([
      { msg: 'a request failed', err: { code: 'P0001', stack: expect.stringContaining(' at ') } },
      { msg: 'a request failed', err: { code: '23514', constraint: 'nobody', table: 'customer_contacts' } },
    ])
    expect(note.text + contact.text).not.toContain(SECRETS.Password)
    expectNothingTold(client)
  })

  const body = objectOf({ Password: required(text()) })
  const failing = (id: string, fail: (input: { Password: string }) => unknown) =>
    writeOperation<undefined, { Password: string }>({
      id,
      method: 'POST',
      path: `/v1/${id}`,
      summary: id,
      tag: 'Probe',
      success: { status: 200 },
      body,
      write: async (tx, _, { body: input }) => {
        if (id === 'ofdatabase') await tx.rows(sql`select ${input.Password}::text::integer`)
        if (id === 'unique')
          await tx.rows(sql`select count(*) / (length(${input.Password}) - length(${input.Password})) from accounts`)
        throw fail(input)
      },
    })

  const FAILURES = [
    failing('plain', ({ Password }) => new Error(`cannot use ${Password} here`)),
    failing(
      'caused',
      ({ Password }) => new Error('outside', { cause: new Error(`inside ${Password}`, { cause: Password }) }),
    ),
    failing('several', ({ Password }) => new AggregateError([new Error(Password)], `all of ${Password}`)),
    failing('laden', ({ Password }) => Object.assign(new Error('laden'), { input: Password, parameters: [Password] })),
    failing('thrown', ({ Password }) => Password),
    failing('parsed', ({ Password }) => caught(() => JSON.parse(Password))),
    failing('address', ({ Password }) => caught(() => new URL(Password))),
    failing('argument', ({ Password }) => caught(() => randomBytes(Password as unknown as number))),
    failing('ofdatabase', () => 'not reached'),
    failing('unique', () => 'not reached'),
  ]

  test.each(FAILURES.map(({ id }) => id))('of the program, made by what was sent: %s', async (id) => {
    const client = await service.newAccount()
    const probe = probeServer(service.db, client.id, FAILURES, { log })
    const from = lines.length
    const answer = await probe.client.post(`/v1/${id}?${query}`, { Password: SECRETS.Password })
    expect(answer.status).toBe(500)
    expect(answer.text).not.toContain(SECRETS.Password)
    expect(loggedSince(from, ERROR)).toMatchObject([
      { msg: 'a request failed', path: `/v1/${id}`, err: { message: expect.any(String) } },
    ])
    expectNothingTold(client)
  })

  test('of a read, and of a request that is too long to look through', async () => {
    const client = await service.newAccount()
    const read = readOperation({
      id: 'read',
      method: 'GET',
      path: '/v1/read/{customerID}',
      summary: 'read',
      tag: 'Probe',
      success: { status: 200 },
      read: async (_db, _context, { url, params }) => {
        throw new Error(`${url} of ${params['customerID']}`)
      },
    })
    const probe = probeServer(service.db, client.id, [...FAILURES, read], { log })
    const from = lines.length
    await probe.client.get(`/v1/read/${SECRETS.PortalToken}?${query}`)
    await probe.client.post('/v1/plain', { Password: SECRETS.Password, Rest: 'x'.repeat(100_000) })
    expect(loggedSince(from, ERROR)).toMatchObject([
      { path: '/v1/read/…' },
      { err: { message: 'left out: too much was sent to look through' } },
    ])
    expectNothingTold(client)
  })
})

function caught(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
