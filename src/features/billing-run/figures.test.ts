import { expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, shop } from '../../../test/support/shop.ts'
import { insertSubscribers, rateTermOf } from './run.testing.ts'
import { insertRun } from './queries.ts'
import { takeRun, workRun } from './run.ts'
import { sql } from '../../platform/database/sql.ts'
import { instantOf } from '../../kernel/zone.ts'

// Each look is later than what was found before is kept.
let nowMs = Date.parse('2027-03-01T12:00:00.000Z')
const service = await startTestService({ now: () => nowMs, clock: () => nowMs })

/** The values of /metrics by name and label, as Prometheus reads them. */
async function metrics(): Promise<Map<string, number>> {
  nowMs += 10_000
  const { text } = await service.anonymous.get('/metrics')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

async function accountWithDue(customers: number): Promise<TestClient> {
  const client = await service.newAccount({ clockAt: null, mode: 'live' })
  const plan = await addPackage(client)
  await insertSubscribers(service, client, { rateTermID: rateTermOf(plan), dueOn: '2027-03-01', customers })
  return client
}

test('an idle service tells zeros, and no run that has never been', async () => {
  const told = await metrics()
  expect(told.get('perennial_database_up')).toBe(1)
  for (const name of [
    'perennial_runs{state="working"}',
    'perennial_runs{state="waiting"}',
    'perennial_run_oldest_age_seconds',
    'perennial_due_records{kind="subscription"}',
    'perennial_due_records{kind="recurring_invoice"}',
    'perennial_due_records{kind="statement"}',
    'perennial_accounts_to_schedule',
    'perennial_outbox_mails{status="queued"}',
  ])
    expect([name, told.get(name)]).toEqual([name, 0])
  expect([...told.keys()].filter((name) => name.includes('last_finished'))).toEqual([])
})

test('what is due, a run that waits, one that is worked on and its progress, and when the last one ended, are told of all accounts together', async () => {
  const client = await accountWithDue(20)
  const other = await accountWithDue(5)
  const waiting = await metrics()
  expect(waiting.get('perennial_due_records{kind="subscription"}')).toBe(25)
  expect(waiting.get('perennial_accounts_to_schedule')).toBe(2)

  const run = await service.db.transaction(client.id, (tx) =>
    insertRun(tx, client.id, { cause: 'schedule', untilDate: '2027-03-01', createdAt: instantOf(nowMs) }),
  )
  const asked = await metrics()
  expect(asked.get('perennial_runs{state="waiting"}')).toBe(1)
  expect(asked.get('perennial_run_oldest_age_seconds')).toBe(10)

  await service.db.transaction(client.id, (tx) => takeRun(tx, { realClock: () => nowMs, order: ORDER_OF_DAY }, run.id))
  const working = await metrics()
  expect(working.get('perennial_runs{state="working"}')).toBe(1)
  expect(working.get('perennial_runs{state="waiting"}')).toBe(0)
  expect(working.get('perennial_run_records_done{cause="schedule"}')).toBe(0)
  expect(working.get('perennial_run_records_expected{cause="schedule"}')).toBe(20)
  expect(working.get('perennial_run_records_per_second{cause="schedule"}')).toBe(0)

  const { body } = await other.post('/v1/billingruns')
  await workRun({ db: service.db, realClock: () => nowMs, order: ORDER_OF_DAY }, other.id, BigInt(body.billingRunID))
  const finishedAt = nowMs / 1000
  const ended = await metrics()
  expect(ended.get('perennial_run_last_finished_timestamp_seconds{outcome="any"}')).toBe(finishedAt)
  expect(ended.get('perennial_run_last_finished_timestamp_seconds{outcome="without_failures"}')).toBe(finishedAt)
  expect(ended.get('perennial_due_records{kind="subscription"}')).toBe(20)
})

test('a customer that is suspended waits for nobody, and mail that waits is counted', async () => {
  const before = await metrics()
  const client = await accountWithDue(3)
  const [customer] = (await client.get('/v1/customers')).body
  expect((await client.put(`/v1/customers/${customer.customerID}/suspend`)).status).toBeLessThan(300)
  const contact = { customerID: customer.customerID, Name: 'A', LastName: 'B', Email: 'a@example.com' }
  const added = await client.post('/v1/customercontacts', { ...contact, Username: 'a.b', isActive: true })
  expect(added.status).toBe(201)
  const after = await metrics()
  const risen = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  expect(risen('perennial_due_records{kind="subscription"}')).toBe(2)
  expect(risen('perennial_outbox_mails{status="queued"}')).toBe(1)
})

test('automatic statements that are due are counted, like every kind that is registered', async () => {
  const before = await metrics()
  const client = await service.newAccount({ clockAt: null, mode: 'live' })
  const customers = [{ autoSendStatement: true }, { autoSendStatement: true }, {}]
  for (const [index, more] of customers.entries())
    expect((await client.post('/v1/customers', { isCompany: true, Name: `Due ${index}`, ...more })).status).toBe(201)
  await service.db.transaction(client.id, (tx) =>
    tx.rows(
      sql`update customers set statement_due_on = '2027-03-01' where account_id = ${client.id} and statement_due_on is not null`,
    ),
  )
  const name = 'perennial_due_records{kind="statement"}'
  const found = (await metrics()).get(name)
  expect(found).toBe((before.get(name) ?? 0) + 2)
})

test('invoices that moving a clock makes count among those of this process', async () => {
  const made = async () => (await metrics()).get('perennial_run_invoices_total') ?? 0
  const before = await made()
  const { client, add } = await shop(service, {}, '2027-01-01T00:00:00.000Z')
  expect((await add()).status).toBe(201)
  expect(await made(), 'what a request itself invoices is no run').toBe(before)
  expect((await client.put('/v1/clock', { Now: '2027-04-01T00:00:00Z' })).body.Invoices).toBe(3)
  const after = await metrics()
  expect(after.get('perennial_run_invoices_total')).toBe(before + 3)
  expect(after.get('perennial_run_seconds_total')).toBeGreaterThan(0)
})
