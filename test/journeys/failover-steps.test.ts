import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../support/app.ts'
import { withOwner } from '../support/owner-client.ts'
import { raiseNumbersAfterFailover } from '../../src/features/accounts/settings.ts'
import type { Database } from '../../src/platform/database/database.ts'
import { Memory } from '../../src/platform/failover/memory.ts'
import { listFailoverNotes, listFailovers } from '../../src/platform/failover/queries.ts'
import { meetAndSettle, type SettleDeps } from '../../src/platform/failover/settle.ts'

/** The steps of a lossy failover: each can be done again, by whichever process comes next. */

const service = await startTestService()
const { db } = service
/** The last commit that the server has. */
const REPLAYED = '2027-03-01T12:00:00.000Z'
const LOG = { info: () => {}, warn: () => {}, error: () => {} }

/** Makes the database one that took over from a timeline before, with its log up to a position and an instant. */
const takeOver = async () => {
  await withOwner(service.connection, async (owner) => {
    await owner.query('delete from failover_notes; delete from failover_calls; delete from failovers')
    await owner.query('update gateways set held_for = null')
    await owner.query(
      `insert into failovers (system, timeline, met_at) select system_identifier::text, 0, now() from pg_control_system()`,
    )
  })
  // Nobody knows anything yet: the first call makes the row.
  await meetAndSettle(
    { db, processId: randomUUID(), memory: undefined, raiseNumbers: raiseNumbersAfterFailover, log: LOG },
    null,
  )
  await withOwner(service.connection, (owner) =>
    owner.query('update failovers set replayed_to = $1, replayed_at = $2 where from_timeline is not null', [
      '0/1000',
      REPLAYED,
    ]),
  )
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
  memory.noteEffect(charge, 550, 580)
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
  raiseNumbers: raiseNumbersAfterFailover,
  log: LOG,
  ...over,
})

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

test.each([1, 2, 3, 4, 5, 6])(
  'a process that is killed after %i statements leaves the rest to whoever knows the same, and nothing is done twice',
  async (count) => {
    const client = await liveShop()
    await takeOver()
    const own = depsOf(client, { db: dying(count) })
    await expect(meetAndSettle(own, 1)).rejects.toThrow('killed')
    await meetAndSettle({ ...own, db }, 1)
    expect(await found(client)).toEqual(SETTLED)
    await meetAndSettle({ ...own, db }, 1)
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
  await expect(meetAndSettle(depsOf(client, { db: dying(1) }), 1)).rejects.toThrow('killed')
  await meetAndSettle(depsOf(client, { memory: undefined }), null)
  expect(await found(client)).toEqual({ ...SETTLED, notes: [] })
  await withOwner(service.connection, (owner) => owner.query('update gateways set held_for = null'))
  await meetAndSettle(depsOf(client, { memory: undefined }), null)
  expect((await found(client)).held).toEqual([null])
})

test('where the server has all that a process remembers, sequences go 10,000 further and nothing is held', async () => {
  const client = await liveShop()
  await takeOver()
  await withOwner(service.connection, (owner) =>
    owner.query(`update failovers set replayed_to = '0/9000', replayed_at = $1 where from_timeline is not null`, [
      new Date(Date.parse(REPLAYED) + 3_000).toISOString(),
    ]),
  )
  const said: string[] = []
  await meetAndSettle(depsOf(client, { log: { ...LOG, info: (text: string) => void said.push(text) } }), 1)
  expect(said).toEqual([expect.stringContaining('has all that was acknowledged before')])
  expect(await found(client)).toMatchObject({ isLossy: false, skipped: 10_000, accounts: 10, held: [null], notes: [] })
})
