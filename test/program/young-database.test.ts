import { rmSync } from 'node:fs'
import pg from 'pg'
import pino from 'pino'
import { afterAll, expect, test } from 'vitest'
import { workerDuties } from '../../src/duties.ts'
import { insertSubscribers, rateTermOf } from '../../src/features/billing-run/run.testing.ts'
import { migrate } from '../../src/platform/database/migrations.ts'
import { youngTablesDuty } from '../../src/platform/database/young-tables.ts'
import { prepareRoles } from '../../src/platform/database/roles.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { dataFolderAt } from '../../src/platform/postgres/data-folder.ts'
import { NOT_DURABLE } from '../../src/platform/postgres/settings.ts'
import { makeOutbound } from '../../src/platform/outbound/outbound.ts'
import { startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'
import { type DocumentedOperation, operationsOf, readDocument } from '../api/document.ts'
import { rightBody, writeJson } from '../api/samples.ts'
import { makeWorld, pathOf, type World } from '../api/world.ts'
import { startTestService, type TestService } from '../support/app.ts'
import { roomyFolder } from '../support/roomy-parent.ts'
import { MEASURING, measured, StatementCosts } from '../support/statement-cpu.ts'

/**
 * A database that nobody has analyzed, while it fills: no statement of a request or a duty costs much more than in one that is analyzed behind each step.
 * Prepared plans come from when it was empty. Neither the server analyzes here nor the duty that does.
 */

/** So few that a billing run does not look at the tables itself, see `known-account.ts`. */
const SUBSCRIBERS = 940
const LATER_SUBSCRIBERS = 100
const LINES = 500
const CUSTOMERS_MIN = 1000

/** Calls of a duty that sends thousands of webhooks, and its steps. */
const CALLS_MAX = 500
const STEPS_MAX = 50
class EndsEarly extends Error {}
const unlessEarly = (error: unknown) => {
  if (!(error instanceof EndsEarly)) throw error
}

/** Statements of a walk, each counted once. */
const STATEMENTS_MIN = 500

const FACTOR_MAX = 20
/** Of CPU. */
const MS_MAX = 100

const folder = roomyFolder('young')
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }
const server = await startEmbeddedPostgres({
  dataDir: folder,
  log: silent,
  settings: { ...NOT_DURABLE, ...MEASURING, autovacuum: 'off', max_connections: 100 },
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const log = pino({ level: process.env['TEST_LOG'] ?? 'silent' })

/** Makes a database with the tables of the service. */
async function makeDatabase(database: string): Promise<Connection> {
  const admin = new pg.Client(server.connection)
  await admin.connect()
  await admin.query(`create database ${database}`)
  await admin.end()
  const connection = { ...server.connection, database }
  const { owner } = await prepareRoles(connection)
  await migrate(connection, owner, new URL('../../db/migrations', import.meta.url).pathname)
  await measured(connection)
  return connection
}

/** Goes through requests and duties; `afterStep` is called behind each part. */
async function walk(service: TestService, afterStep: () => Promise<void>): Promise<void> {
  const operations = operationsOf(await readDocument(service))
  const world = await makeWorld(service, operations, 'young')
  const step = async (work: () => Promise<unknown>) => {
    await work()
    await afterStep()
  }
  await step(() => callAll(world, operations))
  await step(() => fill(service, world))
  await step(() => move(world, '2027-02-01T12:00:00.000Z'))
  const token = await openBatch(world)
  await step(() => addLines(world, token))
  await step(() => submit(world, token))
  await step(() => doDuties(service))
  await step(() => callAll(world, operations))
  await step(() => move(world, '2027-03-02T12:00:00.000Z'))
  await step(() => doDuties(service))
}

async function callAll(world: World, operations: readonly DocumentedOperation[]): Promise<void> {
  for (const operation of operations) {
    const path = pathOf(operation, world)
    const body = rightBody(operation, world)
    if (path) await world.client.request(operation.method, path, body === undefined ? undefined : writeJson(body))
  }
}

const BANK_ACCOUNT = {
  Method: 'debit_order',
  AccountType: 'Savings',
  AccountHolder: 'Ada',
  Bank: 'Bank',
  AccountNumber: '62001871490',
  BranchCode: '250655',
}

async function must(world: World, method: 'post' | 'put', path: string, body: object) {
  const reply = await world.client[method](path, body)
  if (reply.status >= 300) throw new Error(`${path} ${reply.status} ${reply.text}`)
  return reply.body
}

async function fill(service: TestService, world: World): Promise<void> {
  const { packageGroupID } = await must(world, 'post', '/v1/packagegroups', { GroupName: 'Young' })
  const PackageRateTerms = [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }]
  const plan = await must(world, 'post', '/v1/packages', {
    packageGroupID,
    packageCode: 'young',
    Name: 'Plan',
    Descrip: 'A plan',
    isActive: true,
    PackageVersion: {
      VersionName: 'first',
      isActive: true,
      isDefault: true,
      packageVersionRates: [
        { CurrencyCode: 'USD', SetupFee: 0, TrialFee: 0, TrialPeriod: 0, TrialPeriodType: 'days', PackageRateTerms },
      ],
    },
  })
  const rateTermID = rateTermOf(plan)
  await insertSubscribers(service, world.client, { rateTermID, dueOn: '2027-02-01', customers: SUBSCRIBERS })
  await insertSubscribers(service, world.client, { rateTermID, dueOn: '2027-02-11', customers: LATER_SUBSCRIBERS })
}

const move = (world: World, Now: string) => must(world, 'put', '/v1/clock', { Now })

async function openBatch(world: World): Promise<string> {
  const { GatewayToken } = await must(world, 'post', '/v1/gateways', { GatewayType: 'manual', FriendlyName: 'Lines' })
  const body = { CurrencyCode: 'USD', GatewayToken, ActionDate: '2027-02-15' }
  return (await must(world, 'post', '/v1/batches', body)).BatchToken
}

/** Adds a line for each of 500 invoices, whose customers get an account that is debited. */
async function addLines(world: World, BatchToken: string): Promise<void> {
  let lines = 0
  for (let page = 1; lines < LINES; page += 1) {
    const { body: invoices } = await world.client.get(`/v1/invoices?page_size=100&page=${page}&dateFrom=2027-02-01`)
    if (invoices.length === 0) throw new Error(`only ${lines} lines`)
    for (const { customerID, invoiceID } of invoices) {
      if (lines < LINES && (await addLine(world, BatchToken, { customerID, invoiceID }))) lines += 1
    }
  }
}

/** Returns whether the customer could be debited: some of the world are away. */
async function addLine(
  world: World,
  BatchToken: string,
  { customerID, invoiceID }: { customerID: number; invoiceID: number },
): Promise<boolean> {
  const account = { customerID, isPrimary: false, BankAccount: BANK_ACCOUNT }
  const { body: method } = await world.client.post('/v1/paymentmethods/bankaccount', account)
  const PaymentApplied = [{ invoiceID, amount: 1 }]
  const line = { BatchToken, customerID, paymentMethodID: method.paymentMethodID, Amount: 1, PaymentApplied }
  return (await world.client.post('/v1/batches/payments', line)).status === 201
}

const submit = (world: World, BatchToken: string) =>
  must(world, 'put', '/v1/batches/submit', { BatchToken, ActionDate: '2027-02-15' })

/** Calls of webhooks that were made. */
let calls = 0
/** No name has an address: to ask a name server for that would take seconds each time. */
const outbound = makeOutbound({
  resolve: async () => {
    calls += 1
    throw new Error('no address')
  },
})

/** Does every duty but that which analyzes: a round of each, or its first steps where there are very many. */
async function doDuties(service: TestService): Promise<void> {
  const duties = workerDuties({ ...service.calling, onRunFinished: () => {}, drawing: service.app.drawing })
  for (const duty of duties.filter((one) => one !== youngTablesDuty)) {
    let steps = 0
    const before = calls
    const goOn = () => {
      steps += 1
      if (steps > STEPS_MAX || calls - before > CALLS_MAX) throw new EndsEarly()
    }
    await duty.run({ db: service.db, log, realClock: Date.now }, goOn).catch(unlessEarly)
  }
}

async function owned<T>(connection: Connection, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const countIn = async (connection: Connection, text: string): Promise<number> =>
  (await owned(connection, (client) => client.query<{ n: number }>(text))).rows[0]?.n ?? 0

const young = await makeDatabase('young')
const service = await startTestService({ connection: young, outbound })

const costs = new StatementCosts(dataFolderAt(folder).cluster)

type Cost = readonly [text: string, ms: number]

/** Returns those that cost far less in a database that is analyzed behind each step. The same walk is done there until each has cost enough. */
async function dearerThanAnalyzed(dear: readonly Cost[]): Promise<readonly Cost[]> {
  const connection = await makeDatabase('analyzed')
  const analyzed = await startTestService({ connection, outbound })
  let left = dear
  await walk(analyzed, async () => {
    await owned(connection, (client) => client.query('analyze'))
    const found = await costs.of('analyzed')
    left = left.filter(([text, ms]) => ms > FACTOR_MAX * (found.get(text) ?? 0))
    if (left.length === 0) throw new EndsEarly()
  }).catch(unlessEarly)
  return left
}

test('no statement costs 100 ms of CPU, and twenty times as much as in a database that is analyzed', async () => {
  await walk(service, async () => {})
  expect(await countIn(young, 'select count(*)::int as n from perennial.customers')).toBeGreaterThanOrEqual(
    CUSTOMERS_MIN,
  )
  expect(await countIn(young, 'select count(*)::int as n from perennial.batch_lines')).toBeGreaterThanOrEqual(LINES)
  expect(
    await countIn(young, 'select count(*)::int as n from pg_stat_user_tables where last_analyze is not null'),
  ).toBe(0)
  const found = await costs.of('young')
  expect(found.size).toBeGreaterThan(STATEMENTS_MIN)
  const dear = [...found].filter(([, ms]) => ms > MS_MAX)
  const slow = dear.length === 0 ? [] : await dearerThanAnalyzed(dear)
  expect(slow.map(([text, ms]) => `${ms.toFixed(0)} ms: ${text}`)).toEqual([])
})
