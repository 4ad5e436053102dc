import pino from 'pino'
import { expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { instantOf } from '../../kernel/zone.ts'
import { sql } from '../../platform/database/sql.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'
import { deleteOldReports } from './queries.ts'
import { depsOf, keptReports, paymentsOf, report } from './reports.testing.ts'
import { reportsDuty, reportsOfDay, sandboxReportsDuty } from './work.ts'

/** Accounts that follow real time: the duties send and apply reports, whatever number of workers there are. */

const DAY_MS = 86_400_000

/** A service of its own, whose real time a test moves. */
async function timed() {
  let nowMs = Date.parse('2027-01-01T12:00:00.000Z')
  const service = await startTestService({ now: () => nowMs })
  const { db, realClock, ...about } = depsOf(service, { realClock: () => nowMs })
  const log = pino({ level: 'silent' })
  const look = async () => {
    await sandboxReportsDuty(about).run({ db, log, realClock }, () => {})
    return reportsDuty(about).run({ db, log, realClock }, () => {})
  }
  const shop = async (number: string) => {
    const client = await service.newAccount({ clockAt: null })
    return chargedPayment(service, number, { client, now: instantOf(nowMs) })
  }
  return { service, look, shop, pass: (days: number) => (nowMs += days * DAY_MS), now: () => nowMs }
}

const statusOf = async (service: TestService, client: Parameters<typeof paymentsOf>[0]) => [
  ...(await paymentsOf(client)).map(([, , status]: unknown[]) => status),
  ...(await differencesOf(service, client)),
]

test('several workers at once apply what fell due, once, of every account', async () => {
  const { service, look, shop, pass } = await timed()
  const shops = [await shop('4000000000000259'), await shop('4000000000001976'), await shop('4242424242424242')]
  pass(10)
  await Promise.all([look(), look(), look()])
  // A worker may have held what another passed over.
  await look()
  const statuses = () => Promise.all(shops.map(({ client }) => statusOf(service, client)))
  expect(await statuses()).toEqual([['Failed'], ['Failed'], ['Unallocated']])
  pass(20)
  await Promise.all([look(), look()])
  await look()
  expect(await statuses()).toEqual([['Failed'], ['Failed', 'Unallocated'], ['Unallocated']])
})

test('an account whose clock stands is left to whoever moves it', async () => {
  const { service, look, pass } = await timed()
  const standing = await chargedPayment(service, '4000000000000259')
  pass(30)
  await look()
  expect(await keptReports(service, standing.client)).toEqual([])
  const reader = service.db.reader(standing.client.id)
  const { findAfter } = reportsOfDay(depsOf(service))
  const next = (after: string, until: string) => findAfter(reader, standing.client.id, after, until)
  expect(await next('2027-01-01', '2027-02-01')).toBe('2027-01-11')
  expect(await next('2027-01-01', '2027-01-10')).toBeNull()
  expect(await next('2027-01-11', '2027-02-01')).toBeNull()
})

test('what a gateway does not answer waits, longer each time, and is then applied', async () => {
  const { service, look, shop, pass, now } = await timed()
  const { client, gatewayID, GatewayToken, id } = await shop('4000000000000259')
  await client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault: 'refused' } })
  pass(10)
  const sent = { id: 'r', about: 'charge', reference: String(id) } as const
  expect((await report(service, { client, gatewayID, GatewayToken }, sent, now())).status).toBe(200)
  await look()
  await look()
  // Both reports failed once and wait for their next try.
  expect((await keptReports(service, client)).map(({ attempts }) => attempts)).toEqual([1, 1])
  await client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault: null } })
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update gateway_reports set next_try_at = moment() where account_id = ${client.id}`),
  )
  await look()
  expect(await statusOf(service, client)).toEqual(['Failed'])
})

test('a worker that is killed holds a report for the time of its lease only', async () => {
  const { service, look, shop, pass } = await timed()
  const { client } = await shop('4000000000000259')
  pass(10)
  const hold = (seconds: number) =>
    service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        update gateway_reports set leased_until = moment() + interval '1 second' * ${seconds}::integer, finished_at = null
         where account_id = ${client.id}`),
    )
  await look()
  await hold(20)
  await look()
  expect(await keptReports(service, client)).toMatchObject([{ isFinished: false }])
  await hold(-1)
  await look()
  expect(await keptReports(service, client)).toMatchObject([{ isFinished: true }])
  expect(await statusOf(service, client)).toEqual(['Failed'])
})

test('reports are forgotten after their time, and what they changed is not', async () => {
  const { service, look, shop, pass, now } = await timed()
  const sender = await shop('4000000000000259')
  pass(10)
  await look()
  await deleteOldReports(service.db.unscoped, instantOf(now()))
  expect(await keptReports(service, sender.client)).toHaveLength(1)
  await deleteOldReports(service.db.unscoped, instantOf(now() + 1))
  expect(await keptReports(service, sender.client)).toEqual([])
  await report(service, sender, { id: 'sandbox-1', about: 'charge', reference: String(sender.id) }, now())
  await look()
  expect(await statusOf(service, sender.client)).toEqual(['Failed'])
})
