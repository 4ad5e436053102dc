import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as rest } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { steadyClock } from '../../src/platform/steady-clock.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { withOwner } from '../support/owner-client.ts'
import { raisingAfterFailover } from '../../src/features/accounts/settings.ts'
import type { Database } from '../../src/platform/database/database.ts'
import { databaseFault } from '../../src/platform/database/failures.ts'
import { Memory, type Missing, type ServerKnowledge } from '../../src/platform/failover/memory.ts'
import {
  closeNotes,
  declareLoss,
  listFailoverNotes,
  listFailovers,
  listOpenEffects,
  meetServer,
  noteLosses,
  skipFurther,
} from '../../src/platform/failover/queries.ts'
import { reportLostCard } from '../../src/features/gateway-reports/receive.ts'
import { makeAdapters } from '../../src/features/gateways/adapters.ts'
import { callingFrom } from '../../src/features/gateways/calling.ts'
import type { ChargeToMake, GatewayAdapter, ChargingCall, Outcome } from '../../src/features/gateways/contract.ts'
import { SANDBOX } from '../../src/features/gateways/facts.ts'
import { checkFailover } from '../../src/platform/checkup/failovers.ts'
import type { Finding } from '../../src/platform/checkup/finding.ts'
import { clientConfig, openDatabase } from '../../src/platform/database/open-database.ts'
import { relaxedCommits } from '../../src/platform/database/relaxed-commits.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'
import { ServerClient } from '../../src/platform/database/server-client.ts'
import { serversFor } from '../../src/platform/database/servers.ts'
import { sql, type Statement } from '../../src/platform/database/sql.ts'
import { meetAndSettle, type SettleDeps, settleLoss, settling } from '../../src/platform/failover/settle.ts'

/** The steps of a lossy failover: each can be done again, by whichever process comes next. */

const service = await startTestService()
const { db } = service
/** The last commit that the server has. */
const REPLAYED = '2027-03-01T12:00:00.000Z'
const LOG = { info: () => {}, warn: () => {}, error: () => {} }

/** Does statements as the owner, who alone may write these tables. */
const owned = (...statements: string[]) =>
  withOwner(service.connection, async (owner) => {
    for (const statement of statements) await owner.query(statement)
  })

const FORGET = ['delete from failover_notes', 'delete from failover_calls', 'delete from failovers']

/** Makes the database one that took over from a timeline before, with its log up to a position and an instant. */
const takeOver = async () => {
  await owned(
    ...FORGET,
    'update gateways set held_for = null',
    `insert into failovers (system, timeline, met_at) select system_identifier::text, 0, now() from pg_control_system()`,
  )
  // Nobody knows anything yet: the first call makes the row.
  await meetAndSettle(
    {
      db,
      processId: randomUUID(),
      memory: undefined,
      working: db,
      raiseNumbers: raisingAfterFailover(Date.now),
      log: LOG,
    },
    { before: null },
  )
  await owned(
    `update failovers set replayed_to = '0/1000', replayed_at = '${REPLAYED}' where from_timeline is not null`,
  )
  // The others had their time.
  await called({ isMoving: true, secondsAgo: 60 })
}

/** Another process has called before. */
const called = ({ isMoving, secondsAgo }: { isMoving: boolean; secondsAgo: number }) =>
  owned(`insert into failover_calls (failover_id, process_id, called_at, is_moving, numbers)
           select failover_id, gen_random_uuid(), clock_timestamp() - make_interval(secs => ${secondsAgo}), ${isMoving}, '[]'
             from failovers where from_timeline is not null`)

const ROW_OF_PROCESS = `insert into processes (process_id, kind, host, pid, version, schema, state, started_at, seen_at, log_level, settings)
  select gen_random_uuid(), 'serve', 'host', 1, 'test', 1, 'ready', now(),`
/** The last commit that is here is an hour old, and a process was seen so long before it. */
const processSeen = (secondsBefore: number) =>
  owned(
    'delete from processes',
    `update failovers set replayed_at = now() - interval '1 hour'`,
    `${ROW_OF_PROCESS} now() - interval '1 hour' - make_interval(secs => ${secondsBefore}), 'info', '{}'`,
  )

const NOTHING: ServerKnowledge = { seen: null, lastSentMs: null, numbers: [], commits: [] }

/** Meets the server once, as a new process that came from a timeline. */
async function meet(before: number | null, knows: Partial<ServerKnowledge> = {}) {
  const met = await meetServer(
    db.unscoped,
    { processId: randomUUID(), before, patienceMs: 3_000 },
    { ...NOTHING, ...knows },
  )
  if (!met.isMove) throw new Error('no move')
  return met
}

/** A process that acknowledged a change after that commit, and numbers up to 40 and 9. */
function remembering(account: bigint): Memory {
  const memory = new Memory()
  const server = { system: 'one', startedAt: 'then', timeline: 0 }
  memory.noteExchange({ sentMs: 0, answeredMs: 1, databaseMs: Date.parse(REPLAYED) }, server, '0/2000')
  const change = (id: string) => ({ operation: 'addCustomer', type: 'customers', id, number: null })
  memory.noteCommit(account, [change('5')], -3_000, -2_990)
  memory.noteCommit(account, [change('6')], -100, 100)
  memory.noteCommit(account, [change('7'), { of: 'invoice', number: 40n }, { of: 'credit note', number: 9n }], 500, 600)
  const charge = { account, operation: 'charge', gatewayId: 3n, reference: '12' }
  memory.beginEffect(charge, 550).left()
  return memory
}

/** The database, of a process that is killed after so many of its statements and transactions. */
function dying(count: number): Database {
  let left = count
  const orDead = <T>(work: () => Promise<T>): Promise<T> => {
    left -= 1
    return left < 0 ? Promise.reject(new Error('killed')) : work()
  }
  const { unscoped, transaction } = db
  return {
    ...db,
    unscoped: { ...unscoped, rows: (statement, answerMs) => orDead(() => unscoped.rows(statement, answerMs)) },
    transaction: (account, work, settings) => orDead(() => transaction(account, work, settings)),
  }
}

const depsOf = (client: TestClient, over: Partial<SettleDeps> = {}): SettleDeps => ({
  db,
  processId: randomUUID(),
  memory: remembering(client.id),
  working: db,
  raiseNumbers: raisingAfterFailover(Date.now),
  log: LOG,
  ...over,
})

/** A database whose process remembers, as one with DATABASE_URL does. */
function remembered(memory: Memory): Database {
  const own = openDatabase(service.connection, { role: APP_ROLE, poolSize: 2, memory })
  onTestFinished(() => own.close())
  return own
}

/** Everything that a lossy failover has to leave. */
async function found(client: TestClient) {
  const [failover] = await listFailovers(db.unscoped)
  const [before = 0, after = 0] = failover?.skipped['customers_customer_id_seq'] ?? []
  const [accountsBefore = 0, accountsAfter = 0] = failover?.skipped['accounts_account_id_seq'] ?? []
  const notes = await listFailoverNotes(db.unscoped, failover?.id ?? 0n)
  let counters: unknown
  let reached = 0
  await withOwner(service.connection, async (owner) => {
    counters = (
      await owner.query(
        'select next_invoice_number::int as invoice, next_credit_number::int as "creditNote" from account_counters where account_id = $1',
        [client.id],
      )
    ).rows[0]
    reached = Number((await owner.query('select last_value from customers_customer_id_seq')).rows[0].last_value)
  })
  return {
    isLossy: failover?.isLossy,
    skipped: after - before,
    isReached: reached >= after,
    accounts: accountsAfter - accountsBefore,
    held: (await client.get('/v1/gateways')).body.map(({ HeldFor }: any) => HeldFor),
    counters,
    notes: notes.map(({ kind, operation, id, state }) => `${kind} ${operation} ${id} ${state}`),
  }
}

const SETTLED = {
  isLossy: true,
  skipped: 1_000_000,
  isReached: true,
  accounts: 100,
  held: ['failover'],
  counters: { invoice: 41, creditNote: 10 },
  notes: ['change addCustomer 6 perhaps', 'change addCustomer 7 lost', 'effect charge 12 lost'],
}

const liveShop = async () => {
  const client = await service.newAccount({ mode: 'live', clockAt: null })
  expect((await client.post('/v1/gateways', { GatewayType: 'manual', Settings: {} })).status).toBe(201)
  return client
}

test.each([1, 2, 3, 4, 5, 6, 7])(
  'a process that is killed after %i statements leaves the rest to whoever knows the same, and nothing is done twice',
  async (count) => {
    const client = await liveShop()
    await takeOver()
    const own = depsOf(client, { db: dying(count) })
    await expect(meetAndSettle(own, { before: 0 })).rejects.toThrow('killed')
    await meetAndSettle({ ...own, db }, { before: 0 })
    expect(await found(client)).toEqual(SETTLED)
    await meetAndSettle({ ...own, db }, { before: 0 })
    expect(await found(client)).toEqual(SETTLED)
    const raised = (await client.get('/v1/events?page_size=100')).body.filter(({ Type }: any) => /raised/.test(Type))
    expect(raised.map(({ Type, Actor }: any) => [Type, Actor])).toEqual([
      ['account.invoice_number_raised', 'failover'],
      ['account.credit_number_raised', 'failover'],
    ])
  },
)

test('a process that knows nothing finishes what one that was killed has begun, and a later start begins nothing anew', async () => {
  const client = await liveShop()
  await takeOver()
  await expect(meetAndSettle(depsOf(client, { db: dying(1) }), { before: 0 })).rejects.toThrow('killed')
  await owned(`update failover_calls set called_at = called_at - interval '10 seconds'`)
  await meetAndSettle(depsOf(client, { memory: undefined }), { before: null })
  expect(await found(client)).toEqual({ ...SETTLED, notes: [] })
  await owned('update gateways set held_for = null')
  await meetAndSettle(depsOf(client, { memory: undefined }), { before: null })
  expect((await found(client)).held).toEqual([null])
})

test('where the server has all that a process remembers, sequences go 10,000 further and nothing is held', async () => {
  const client = await liveShop()
  await takeOver()
  const later = new Date(Date.parse(REPLAYED) + 3_000).toISOString()
  await owned(
    `update failovers set replayed_to = '0/9000', replayed_at = '${later}' where from_timeline is not null`,
    `update account_counters set next_invoice_number = 41, next_credit_number = 10 where account_id = ${client.id}`,
  )
  const said: string[] = []
  const own = depsOf(client, { log: { ...LOG, info: (text: string) => void said.push(text) } })
  await processesLive(own)
  await owned(MET_A_MINUTE_AGO)
  expect(await doctorSays()).toEqual([expect.stringMatching(/serve host:0 could not do its part/)])
  await meetAndSettle(own, { before: 0 })
  expect(await doctorSays()).toEqual([])
  await owned('delete from processes')
  expect(said).toEqual([expect.stringContaining('has all that was acknowledged before')])
  expect(await found(client)).toMatchObject({ isLossy: false, skipped: 10_000, accounts: 10, held: [null], notes: [] })
})

test('a charge under way at the failover is listed as one that perhaps left, whatever its answer; one that was declined before is not', async () => {
  const client = await liveShop()
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  await takeOver()
  const memory = remembering(client.id)
  const answers = new Map<string, (outcome: Outcome) => void>()
  const booked: GatewayAdapter = {
    ...SANDBOX,
    check: async () => ({ kind: 'accepted' }),
    charge: (_call, { reference }) => new Promise((answer) => answers.set(reference, answer)),
  }
  const own = remembered(memory)
  const calling = callingFrom(own, ['work'], service.calling)
  const { charge } =
    makeAdapters({ db: own, envelope: service.calling.envelope, calling, onCardGone: reportLostCard }, booked).get(
      SANDBOX.type,
    ) ?? {}
  const call = { accountId: client.id, gatewayId: BigInt(gatewayID) } as ChargingCall
  const start = (reference: string) => charge?.(call, { reference } as ChargeToMake)
  const [declined, underWay] = [start('13'), start('14')]
  await expect.poll(() => answers.size).toBe(2)
  const refusal: Outcome = { kind: 'declined', code: null, reason: 'No', isFinal: true } as never
  answers.get('13')?.(refusal)
  await declined
  await meetAndSettle(depsOf(client, { memory }), { before: 0 })
  const notes = [...SETTLED.notes, 'effect charge 14 perhaps']
  expect((await found(client)).notes.toSorted()).toEqual(notes.toSorted())
  answers.get('14')?.({ kind: 'succeeded', gatewayReference: 'book', on: '2027-03-01' })
  await underWay
  expect((await found(client)).notes.toSorted()).toEqual(notes.toSorted())
  // The gateway is held now.
  expect(await start('15')).toEqual({ kind: 'held' })
  expect(memory.after({ replayedAtMs: null, replayedTo: null, lost: [] }).map(({ id }) => id)).not.toContain('15')
})

test('a change that began before the failover and is noted after it is written down at once', async () => {
  const client = await liveShop()
  await takeOver()
  const memory = remembering(client.id)
  const began = steadyClock()
  await meetAndSettle(depsOf(client, { memory }), { before: 0 })
  const change = (id: string) => ({ operation: 'importCustomers', type: 'customers', id, number: null })
  memory.noteCommit(client.id, [change('8')], began, steadyClock())
  memory.noteCommit(client.id, [change('9')], steadyClock() + 1, steadyClock() + 1)
  const notes = [...SETTLED.notes, 'change importCustomers 8 perhaps'].toSorted()
  await expect.poll(async () => (await found(client)).notes.toSorted()).toEqual(notes)
})

test('where the server does not tell its last commit, all that is remembered is perhaps lost', async () => {
  const client = await liveShop()
  await takeOver()
  await owned('update failovers set replayed_at = null where from_timeline is not null')
  await meetAndSettle(depsOf(client), { before: 0 })
  expect((await found(client)).notes.toSorted()).toEqual([
    'change addCustomer 5 perhaps',
    'change addCustomer 6 perhaps',
    'change addCustomer 7 perhaps',
    'effect charge 12 perhaps',
  ])
})

test('a commit of which nothing is noted counts as one that may be lost, and one that only read does not', async () => {
  const client = await liveShop()
  const memory = new Memory()
  const server = { system: 'one', startedAt: 'then', timeline: 0 }
  memory.noteExchange({ sentMs: 0, answeredMs: 1, databaseMs: Date.parse(REPLAYED) }, server, null)
  const db = remembered(memory)
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  await db.transaction(client.id, (tx) => tx.rows(sql`select 1 from gateways where account_id = ${tx.account}`))
  expect(memory.evidence(0).lastSentMs).toBeNull()
  await db.transaction(client.id, (tx) =>
    tx.rows(sql`
      update gateways set friendly_name = 'Other' where account_id = ${tx.account} and gateway_id = ${BigInt(gatewayID)} returning 1`),
  )
  expect(memory.evidence(0).lastSentMs).toBeGreaterThan(Date.parse(REPLAYED))
})

test('a commit is here or it is not, whatever the clocks say: one whose log ends before it, or of which only the writes came', async () => {
  const client = await liveShop()
  const memory = new Memory()
  memory.noteExchange(
    { sentMs: 0, answeredMs: 1, databaseMs: Date.parse(REPLAYED) - 3_600_000 },
    { system: 'one', startedAt: 'then', timeline: 0 },
    null,
  )
  const write = () =>
    remembered(memory).transaction(client.id, (tx) =>
      tx.rows(sql`update gateways set friendly_name = 'Other' where account_id = ${tx.account} returning 1`),
    )
  await write()
  const [here] = memory.evidence(0).commits
  assert(here, 'the commit is remembered')
  let begun: string | undefined
  let end: string | undefined
  await withOwner(service.connection, async (owner) => {
    await owner.query('begin')
    begun = (await owner.query('select pg_current_xact_id()::text as id')).rows[0].id
    await owner.query('rollback')
    end = (await owner.query('select pg_current_wal_insert_lsn()::text as end')).rows[0].end
  })
  await takeOver()
  const endsAt = (position: string) =>
    owned(`update failovers set replayed_to = (${position})::text where from_timeline is not null`)
  await endsAt(`'${end}'::pg_lsn`)
  expect(await meet(0, { commits: [here] })).toMatchObject({ isOwnLoss: false, isLossy: false, lost: [] })
  await endsAt(`'0/0'::pg_lsn + ${here.position}`)
  expect(await meet(0, { commits: [here] })).toMatchObject({ isOwnLoss: true, lost: [here.transaction] })
  await takeOver()
  await endsAt(`'${end}'::pg_lsn`)
  const halfHere = { transaction: String(begun), position: here.position }
  expect(await meet(0, { commits: [here, halfHere] })).toMatchObject({ isOwnLoss: true, lost: [begun] })
  // A number that this server has not given out would be an error there; without the end of the log nothing can be said.
  await takeOver()
  await endsAt(`'${end}'::pg_lsn`)
  const neverBegun = { transaction: '4000000000', position: here.position }
  expect(await meet(0, { commits: [here, neverBegun] })).toMatchObject({ isOwnLoss: true, lost: ['4000000000'] })
  const unknown = { transaction: '4000000000', position: here.position + 1e12 }
  expect(await meet(0, { commits: [unknown] })).toMatchObject({ lost: ['4000000000'] })
  await endsAt('null')
  expect(await meet(0, { commits: [unknown] })).toMatchObject({ isOwnLoss: false, lost: [], replayedTo: null })
})

test('a session that may write waits until a failover is settled, also where options of an operator name what a reading one sets', async () => {
  const config = clientConfig(service.connection, APP_ROLE)
  const connected = async (over: Partial<typeof config>) => {
    const server = new ServerClient({ ...config, ...over })
    onTestFinished(() => server.end())
    await server.connect()
    return server.server.identity
  }
  const { system, timeline } = await connected({})
  const settled: number[] = []
  serversFor(config).settleFrom({ system: system ?? '', timeline: (timeline ?? 0) - 1 }, async (before) => {
    settled.push(before)
    return undefined
  })
  await connected(clientConfig(service.connection, APP_ROLE, 'reads'))
  expect(settled).toEqual([])
  await connected({ options: `-c default_transaction_read_only=off ${config.options}` })
  expect(settled).toEqual([(timeline ?? 0) - 1])
})

test('who is waited for is judged by the last commit that is here, and where something is lost everybody is', async () => {
  await takeOver()
  await owned('delete from failover_calls')
  await processSeen(90)
  expect(await meet(0)).toMatchObject({ isLossy: false, waitMs: 0 })
  await processSeen(30)
  expect((await meet(0)).waitMs).toBeGreaterThan(2_000)
  await owned('update failovers set replayed_at = null', `update processes set seen_at = now() - interval '20 hours'`)
  expect((await meet(0)).waitMs).toBeGreaterThan(2_000)
  // The server may lack the row of a process, too.
  await owned('delete from processes')
  const lossy = await meet(0, { seen: '0/2000' })
  expect(lossy.isLossy).toBe(true)
  expect(lossy.waitMs).toBeGreaterThan(2_000)
  expect(lossy.waitMs).toBeLessThanOrEqual(3_000)
  // Who lost a server that fell silent gives the others the time to notice that.
  const meeting = { processId: randomUUID(), before: 0, patienceMs: 6_000 }
  const patient = await meetServer(db.unscoped, meeting, NOTHING)
  expect(patient.isMove && patient.waitMs).toBeGreaterThan(3_000)
})

test('no process writes before numbers are raised above those of each that calls in time, whatever it knows itself', async () => {
  const client = await liveShop()
  await takeOver()
  await processSeen(30)
  await owned('delete from failover_calls')
  const next = async () => (await found(client)).counters
  const ending = async (deps: SettleDeps, before: number | null) => {
    await meetAndSettle(deps, { before })
    return next()
  }
  const knowsNothing = { memory: undefined }
  const first = ending(depsOf(client, knowsNothing), 0)
  const starting = ending(depsOf(client, knowsNothing), null)
  await rest(500)
  // Its loss is known to nobody else.
  const last = ending(depsOf(client), 0)
  expect(await Promise.all([first, starting, last])).toEqual([1, 2, 3].map(() => SETTLED.counters))
  await owned('delete from processes')
})

test('no process goes on before each that has called has written down what it knows', async () => {
  const client = await liveShop()
  await takeOver()
  let begins = () => {}
  const begun = new Promise<void>((resolve) => (begins = resolve))
  const slow = {
    ...db,
    unscoped: {
      ...db.unscoped,
      rows: async (statement: Statement) => {
        if (statement.text.includes('note_failover')) {
          begins()
          await rest(500)
        }
        return db.unscoped.rows<any>(statement)
      },
    },
  }
  const one = meetAndSettle(depsOf(client, { db: slow }), { before: 0 })
  await begun
  const notesAfter = async (before: number | null) => {
    await meetAndSettle(depsOf(client, { memory: undefined }), { before })
    return (await found(client)).notes
  }
  expect(await Promise.all([notesAfter(0), notesAfter(null)])).toEqual([SETTLED.notes, SETTLED.notes])
  await one
})

test('a number that callers have and that is still to be given here is a loss, whoever has given it', async () => {
  const client = await liveShop()
  await takeOver()
  await owned(`update failovers set replayed_to = '0/9000' where from_timeline is not null`)
  const numbers = (invoice: number, creditNote: number) =>
    [[String(client.id), String(invoice), String(creditNote)]] as [string, string, string][]
  expect(await meet(0, { numbers: numbers(0, 0) })).toMatchObject({ isOwnLoss: false })
  expect(await meet(0, { numbers: numbers(1, 0) })).toMatchObject({ isOwnLoss: true })
  expect(await meet(0, { numbers: numbers(0, 1) })).toMatchObject({ isOwnLoss: true })
})

test('the time of the others begins with the first process that worked on the server before; a start waits its own', async () => {
  await takeOver()
  await owned('delete from failover_calls', `update failovers set met_at = now() - interval '5 seconds'`)
  await processSeen(30)
  await called({ isMoving: false, secondsAgo: 5 })
  expect((await meet(null)).waitMs).toBeGreaterThan(2_000)
  expect((await meet(0)).waitMs).toBeGreaterThan(2_000)
  await owned('delete from failover_calls', `update failovers set met_at = now() - interval '2 minutes'`)
  expect((await meet(null)).waitMs).toBe(0)
  await called({ isMoving: true, secondsAgo: 5 })
  expect((await meet(0)).waitMs).toBe(0)
  await owned('delete from processes')
})

test.each([
  ['a process', []],
  ['a start, then a process', [null]],
])('where the rows of the timeline before are lost with the rest, %s meets a failover', async (_, earlier) => {
  await owned(...FORGET)
  for (const before of earlier)
    expect(
      await meetServer(db.unscoped, { processId: randomUUID(), before, patienceMs: 3_000 }, NOTHING),
    ).toMatchObject({ isMove: false })
  await owned(`update failovers set replayed_to = '0/1000'`)
  expect(await meet(0, { seen: '0/2000' })).toMatchObject({ isNew: true, isLossy: earlier.length > 0 })
  const [failover] = await listFailovers(db.unscoped)
  expect(failover).toMatchObject({ fromTimeline: 0 })
  const [before = 0, after = 0] = failover?.skipped['customers_customer_id_seq'] ?? []
  expect(after - before).toBe(10_000)
})

test('what a process knows that slept through two failovers is judged by the first of them, and without that one counts as lost', async () => {
  await takeOver()
  await owned(
    `update failovers set timeline = -1 where from_timeline is null`,
    `update failovers set replayed_to = '0/9000', replayed_at = now() where from_timeline is not null`,
    `insert into failovers (system, timeline, from_timeline, met_at, replayed_to, replayed_at)
       select system, 0, -1, now() - interval '1 hour', '0/1000', now() - interval '1 hour' from failovers where from_timeline is not null`,
  )
  const hoursAgo = (count: number) => Date.now() - count * 3_600_000
  expect(await meet(0, { seen: '0/2000', lastSentMs: hoursAgo(0.5) })).toMatchObject({ isOwnLoss: false })
  expect(await meet(-1, { seen: '0/900', lastSentMs: hoursAgo(2) })).toMatchObject({ isOwnLoss: false })
  expect(await meet(-1, { lastSentMs: hoursAgo(0.5) })).toMatchObject({ isOwnLoss: true })
  expect(await meet(-1, { seen: '0/2000' })).toMatchObject({ isOwnLoss: true, bytesLost: 0 })
  await owned('delete from failovers where timeline = 0')
  expect(await meet(-1, { seen: '0/900' })).toMatchObject({ isOwnLoss: true, replayedAtMs: null })
  expect(await meet(-1)).toMatchObject({ isOwnLoss: false })
})

test('a loss that is declared long after the last failover is one of its own, whose sequences go further from where they are', async () => {
  await takeOver()
  const declare = async () => {
    const id = await declareLoss(db.unscoped)
    await settleLoss({ db, raiseNumbers: raisingAfterFailover(Date.now) }, String(id))
    return id
  }
  const first = await declare()
  expect(await declare()).toBe(first)
  await owned(`update failovers set met_at = now() - interval '2 hours', settled_at = now() - interval '2 hours'`)
  await owned(`select setval('customers_customer_id_seq', 3000000)`)
  const second = await declare()
  expect(second).toBeGreaterThan(first)
  expect(await declare()).toBe(second)
  expect((await listFailovers(db.unscoped)).at(-1)).toMatchObject({
    id: second,
    isLossy: true,
    skipped: { customers_customer_id_seq: [3_000_000, 4_000_000] },
  })
  // So is one after a copy was put back within the hour.
  await owned(`update failovers set settled_on = 'another run' where failover_id = ${second}`)
  expect(await declare()).toBeGreaterThan(second)
  await owned(
    `delete from failover_calls where failover_id > ${second}`,
    `delete from failovers where failover_id > ${second}`,
  )
  // A failover that is only met a second time stays what it is.
  expect(await meet(null)).toMatchObject({ id: String(second), isSettled: true, isNew: false })
})

test('a loss can be declared where no server was ever met', async () => {
  await owned('delete from failover_notes', 'delete from failover_calls', 'delete from failovers')
  const id = await declareLoss(db.unscoped)
  await settleLoss({ db, raiseNumbers: raisingAfterFailover(Date.now) }, String(id))
  expect(await listFailovers(db.unscoped)).toMatchObject([{ id, isLossy: true, settledAt: expect.any(String) }])
})

test('a note is written once, in whatever company, and one that comes after the release of its gateway is open', async () => {
  await takeOver()
  const { id } = (await listFailovers(db.unscoped))[0]!
  const note = (position: number): Missing => ({
    position,
    kind: 'effect',
    operation: 'charge',
    type: null,
    commit: null,
    id: String(position),
    number: null,
    account: 1n,
    gatewayId: 3n,
    sentMs: Date.parse(REPLAYED),
    answeredMs: Date.now(),
    state: 'perhaps',
  })
  const processId = randomUUID()
  const write = (...notes: Missing[]) => noteLosses(db.unscoped, String(id), processId, notes)
  const noted = () => listFailoverNotes(db.unscoped, id)
  await write(note(1), note(2))
  await write(note(2), note(3))
  expect((await noted()).map((one) => one.id)).toEqual(['1', '2', '3'])
  const open = async (gateway: bigint) => (await listOpenEffects(db.reader(1n), 1n, gateway)).map((one) => one.id)
  expect(await open(3n)).toEqual(['1', '2', '3'])
  await db.transaction(1n, (tx) => closeNotes(tx, 3n))
  // Whatever the clock says: another server may have another.
  await owned(`update failover_notes set closed_at = closed_at + interval '1 hour'`)
  await write(note(4))
  expect(await open(3n)).toEqual(['4'])
  expect(await open(4n)).toEqual([])
})

test('what cannot be settled is told once, writes wait for it as for a database that is away, and the next one tries again', async () => {
  const client = await liveShop()
  await takeOver()
  const said: string[] = []
  const log = { ...LOG, error: (text: string) => void said.push(text) }
  let failures = 2
  const close = async () => {}
  const failing = {
    ...db,
    close,
    unscoped: { ...db.unscoped, value: () => Promise.reject(new Error('no such number')) },
  }
  const { db: _, ...deps } = depsOf(client, { log })
  const settle = settling(deps, () => ((failures -= 1) < 0 ? { ...db, close } : failing))
  for (let times = 0; times < 2; times += 1) {
    const failure = await settle(0, false).catch((error: unknown) => error)
    expect(databaseFault(failure)?.problems[0]?.code).toBe('database_unavailable')
  }
  expect(said).toEqual([expect.stringContaining('cannot be settled: Error: no such number')])
  await settle(0, false)
  expect(await found(client)).toEqual(SETTLED)
  // The others had their time long ago, and write.
  expect(said.filter((text) => /met the new database server later/.test(text))).toHaveLength(1)
})

/** Returns findings about failovers, each with what to do. */
async function doctorSays() {
  let findings: Finding[] = []
  await withOwner(service.connection, async (owner) => void (findings = await checkFailover(owner)))
  return findings.map(({ state, text, mend }) => `${state} ${text}: ${mend}`)
}

/** Processes that live since an hour. */
const processesLive = (...all: Pick<SettleDeps, 'processId'>[]) =>
  owned(
    'delete from processes',
    ...all.map(
      (
        { processId },
        n,
      ) => `insert into processes (process_id, kind, host, pid, version, schema, state, started_at, seen_at, log_level, settings)
        values ('${processId}', 'serve', 'host', ${n}, 'test', 18, 'ready', now() - interval '1 hour', now(), 'info', '{}')`,
    ),
  )
const MET_A_MINUTE_AGO = `update failovers set met_at = met_at - interval '1 minute' where from_timeline is not null`

test('the doctor names a failover for which writes wait, and what to do', async () => {
  const client = await liveShop()
  await takeOver()
  await owned(
    ...FORGET,
    `insert into failovers (system, timeline, met_at) select system_identifier::text, 0, now() from pg_control_system()`,
  )
  expect(await doctorSays()).toEqual([
    expect.stringMatching(/^fail the one from timeline 0 to 1 is not met.*"perennial after-failover"/),
  ])
  await takeOver()
  const [one, other] = [depsOf(client, { db: dying(1) }), depsOf(client, { memory: undefined })]
  await processesLive(one, other)
  await expect(meetAndSettle(one, { before: 0 })).rejects.toThrow('killed')
  // Not at once: others take their time.
  expect(await doctorSays()).toEqual([])
  await owned(MET_A_MINUTE_AGO)
  expect(await doctorSays()).toEqual([
    expect.stringMatching(
      /^fail what the one from timeline 0 to 1 has lost is not settled.* 503 .serve host:0, serve host:1.: run "perennial after-failover"/,
    ),
  ])
  await owned(`update failover_calls set called_at = called_at - interval '1 minute'`)
  await meetAndSettle(other, { before: 0 })
  expect(await doctorSays()).toEqual([
    expect.stringMatching(/^fail .* is settled, but serve host:0 could not do its part.*log/),
  ])
  await meetAndSettle({ ...one, db }, { before: 0 })
  expect(await doctorSays()).toEqual([])
  await owned('delete from processes')
})

test('more identifiers than there are cannot be skipped', async () => {
  await takeOver()
  const { id } = (await listFailovers(db.unscoped))[0]!
  for (const count of [2n ** 53n, 2n ** 62n])
    await expect(skipFurther(db.unscoped, id, count)).rejects.toMatchObject({ code: '22003' })
  await skipFurther(db.unscoped, id, 2_000_000n)
  const [before = 0, after = 0] = (await listFailovers(db.unscoped))[0]?.skipped['customers_customer_id_seq'] ?? []
  expect(after - before).toBe(2_000_000)
})

test('a commit that does not wait for the disk is no evidence of a loss', async () => {
  const client = await service.newAccount()
  const memory = remembering(client.id)
  const own = remembered(memory)
  const relaxed = relaxedCommits(own)
  const write = (on: Database) =>
    on.transaction(client.id, async (tx) => {
      tx.remember(() => ({ operation: 'addCustomer', type: 'customers', id: '8', number: null }))
      await tx.rows(sql`select from accounts where account_id = ${client.id} for update`)
    })
  await write(relaxed.db)
  expect(memory.evidence(0).commits).toEqual([])
  relaxed.settle()
  await write(relaxed.db)
  expect(memory.evidence(0).commits).toHaveLength(1)
})
