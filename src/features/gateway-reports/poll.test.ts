import { expect, test } from 'vitest'
import { pino } from 'pino'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { momentOf } from '../../kernel/context.ts'
import { sql } from '../../platform/database/sql.ts'
import { getAccount } from '../accounts/queries.ts'
import type { GatewayAdapter } from '../gateways/contract.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'
import { pollDuty, pollGateway } from './poll.ts'
import { keptReports, report } from './reports.testing.ts'

let nowMs = 0
const service = await startTestService({ clock: () => nowMs })
const sandbox = service.calling.adapters.get('sandbox') as GatewayAdapter

const write = ({ id }: TestClient, statement: ReturnType<typeof sql>) =>
  service.db.transaction(id, (tx) => tx.rows(statement))
const isDue = (client: TestClient) =>
  write(client, sql`update gateways set reports_asked_at = null where account_id = ${client.id}`)
const cursorOf = ({ id }: TestClient) =>
  service.db
    .reader(id)
    .value<string | null>(sql`select report_cursor as "cursor" from gateways where account_id = ${id}`)

async function poll(client: TestClient, gatewayID: number, adapter: Partial<GatewayAdapter> = {}) {
  const account = await getAccount(service.db.reader(client.id), client.id)
  const adapters = new Map([['sandbox' as const, { ...sandbox, ...adapter }]])
  const deps = { ...service.calling, adapters, db: service.db, realClock: Date.now }
  await pollGateway(deps, account, momentOf(account, Date.now), BigInt(gatewayID))
}

test('what a gateway has to report is found without any request of it, once, however it comes and whoever asks', async () => {
  const { client, gatewayID, GatewayToken } = await chargedPayment(service, '4000000000000259')
  await write(client, sql`update accounts set clock_at = '2027-01-11T08:00:00Z' where account_id = ${client.id}`)
  await Promise.all([poll(client, gatewayID), poll(client, gatewayID)])
  const [one, ...others] = await keptReports(service, client)
  expect(others).toEqual([])
  expect(await cursorOf(client)).toMatch(/^2027-01-11\/\d+$/)
  await isDue(client)
  await poll(client, gatewayID)
  const again = { id: String(one?.externalId), about: 'charge' as const, reference: '1' }
  expect((await report(service, { client, gatewayID, GatewayToken }, again)).status).toBe(200)
  expect(await keptReports(service, client)).toHaveLength(1)
})

test('it is asked from its cursor on until there is no more, once in five minutes, and not while it is silent', async () => {
  const { client, gatewayID } = await chargedPayment(service)
  const asked: (string | null)[] = []
  const listReports: GatewayAdapter['listReports'] = async (_call, { cursor }) => {
    asked.push(cursor)
    if (asked.length === 3) return { kind: 'unknown' }
    const reports = [
      { id: `r-${asked.length}`, about: 'charge' as const, reference: '7' },
      { id: `s-${asked.length}`, about: 'charge' as const, gatewayReference: 'pi_of_a_stranger' },
    ]
    return { kind: 'listed', reports, cursor: `c${asked.length}`, isMore: true }
  }
  for (let time = 0; time < 2; time += 1) await poll(client, gatewayID, { listReports })
  expect(asked).toEqual([null, 'c1', 'c2'])
  expect(await cursorOf(client)).toBe('c2')
  expect((await keptReports(service, client)).map(({ externalId }) => externalId)).toEqual(['r-1', 'r-2'])
  await isDue(client)
  await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })
  await poll(client, gatewayID, { listReports })
  expect(asked).toHaveLength(3)
})

test('the duty asks gateways of accounts on real time alone', async () => {
  const { client } = await chargedPayment(service)
  const real = await service.newAccount({ clockAt: null })
  const asked: bigint[] = []
  const listReports: GatewayAdapter['listReports'] = async ({ accountId }) => {
    asked.push(accountId)
    return { kind: 'listed', reports: [], cursor: 'c', isMore: false }
  }
  const adapters = new Map([['sandbox' as const, { ...sandbox, listReports }]])
  const duty = pollDuty({ ...service.calling, adapters })
  await duty.run({ db: service.db, log: pino({ level: 'silent' }), realClock: Date.now }, () => {})
  expect(asked).toContain(real.id)
  expect(asked).not.toContain(client.id)
})

test('the age of what was read is that of the gateway that waits longest, of those that are enabled, by type', async () => {
  const ages = async () => {
    nowMs += 10_000
    const { text } = await service.anonymous.get('/metrics')
    return text.split('\n').filter((line) => line.startsWith('perennial_gateway_report_age_seconds{'))
  }
  const client = await service.newAccount({ clockAt: null })
  const other = await service.newAccount({ clockAt: null })
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  const listed =
    (isMore: boolean, cursor = 'c'): GatewayAdapter['listReports'] =>
    async () => ({ kind: 'listed', reports: [], cursor, isMore })
  const readAgo = (age: string) =>
    write(
      client,
      sql`update gateways set reports_asked_at = null, reports_read_at = now() - ${age}::interval where account_id = ${client.id}`,
    )
  const age = async () => Number((await ages())[0]?.split(' ')[1])
  await poll(other, (await other.get('/v1/gateways')).body[0].gatewayID, { listReports: listed(false) })
  await poll(client, gatewayID, { listReports: listed(false) })
  expect(await age()).toBeLessThan(30)
  await readAgo('2 hours')
  await poll(client, gatewayID, { listReports: async () => ({ kind: 'unknown' }) })
  expect(await ages()).toEqual([
    expect.stringMatching(/^perennial_gateway_report_age_seconds\{type="sandbox"\} 72\d\d/),
  ])
  await isDue(client)
  await poll(client, gatewayID, { listReports: listed(false) })
  expect(await age()).toBeLessThan(30)
  await readAgo('2 hours')
  await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })
  await poll(client, gatewayID)
  await client.put(`/v1/gateways/${gatewayID}`, { isActive: true })
  expect(await age()).toBeLessThan(30)
})
