import { setTimeout as rest } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { sql } from '../../platform/database/sql.ts'
import { startTestService } from '../../../test/support/app.ts'
import { withOwner } from '../../../test/support/owner-client.ts'
import { addPackage, checkBooks, differencesOf, moveTo } from '../../../test/support/shop.ts'
import { countSlices } from './slice-queries.ts'
import {
  countRows,
  insertSubscribers,
  type KillableWorker,
  newRun,
  rateTermOf,
  sleepUntil,
  startSharingProcess,
} from './run.testing.ts'

/** Several workers on one run, of which but one are killed; KILLS=50 kills more of them. */

const KILLS = Number(process.env['KILLS'] ?? 4)
const WORKERS = 3
const CUSTOMERS = 150
const HOUR_MS = 3_600_000
const service = await startTestService()

/** Ends all leases, also those of workers that live: these must notice on their own that another has their slice. */
const endLeases = (account: bigint) =>
  service.db.transaction(account, async (tx) => {
    await tx.rows(
      sql`update billing_runs set leased_until = '2020-01-01' where account_id = ${account} and finished_at is null`,
    )
    await tx.rows(sql`update billing_run_parts set leased_until = '2020-01-01' where account_id = ${account}`)
  })

/** Kills the first of some workers that is through with a chunk, most likely in the middle of its next; returns the others. */
async function killOne(workers: readonly KillableWorker[]): Promise<KillableWorker[]> {
  const [killed] = await Promise.race(workers.map(async (worker) => [worker, await worker.said('chunk')] as const))
  killed.child.kill('SIGKILL')
  await killed.ended
  return workers.filter((worker) => worker !== killed)
}

/** Returns how many subscriptions are in cycle on a day. */
const countInCycle = async (account: bigint, day: string): Promise<number> =>
  (
    await service.db.reader(account).rows<{ n: number }>(sql`
      select count(*)::integer as "n" from subscription_billing where account_id = ${account} and due_in_cycle_on = ${day}`)
  )[0]!.n

/** Makes an account of so many customers whose first period is due, with a run that bills them. */
async function firstPeriods() {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const plan = await addPackage(client)
  await insertSubscribers(service, client, { rateTermID: rateTermOf(plan), dueOn: '2027-01-01', customers: CUSTOMERS })
  return client
}

/** Kills workers that bill first periods, each subscription on its own, or the third month of all, by shared plans. */
async function killInRun(day: '2027-01-01' | '2027-03-01'): Promise<void> {
  const client = await firstPeriods()
  if (day === '2027-03-01') {
    await moveTo(client, '2027-02-01')
    await sleepUntil(service, client, `${day}T08:00:00.000Z`)
    expect(await countInCycle(client.id, day)).toBe(CUSTOMERS)
  }
  const before = (await countRows(service, client.id)).invoices
  const run = await newRun(service, client.id, day)
  const about = { connection: service.connection, account: client.id, run, chunk: 3, sliceSize: 20 }
  const all = Array.from({ length: WORKERS }, () => startSharingProcess(about))
  onTestFinished(() => all.forEach(({ child }) => child.kill('SIGKILL')))
  let working = all
  while (working.length > 1) {
    working = await killOne(working)
    const { invoices, charges, events, due } = await countRows(service, client.id)
    expect([charges, events, before + CUSTOMERS - due]).toEqual([invoices, invoices, invoices])
    await endLeases(client.id)
  }
  expect(await working[0]?.said('done')).toBeDefined()
  const invoiced = before + CUSTOMERS
  expect(await countRows(service, client.id)).toMatchObject({ invoices: invoiced, charges: invoiced, due: 0 })
  if (before > 0) expect(await countInCycle(client.id, '2027-04-01')).toBe(CUSTOMERS)
  const counted = { Done: CUSTOMERS, Total: CUSTOMERS, Invoices: CUSTOMERS, Failed: 0 }
  expect((await client.get(`/v1/billingruns/${run}`)).body).toMatchObject({ State: 'done', ...counted })
  expect(await countSlices(service.db.reader(client.id), client.id, run)).toBe(0)
  // Numbers without a gap are among what is verified.
  expect(await differencesOf(service, client)).toEqual([])
  await checkBooks(service, client)
}

test(
  'a run that several workers share, all but one killed in the middle of chunks, bills every subscription once',
  async () => {
    for (let killed = 0; killed < KILLS; killed += WORKERS - 1) {
      await killInRun('2027-01-01')
      await killInRun('2027-03-01')
    }
  },
  120_000 * KILLS,
)

/** Stops the process of a worker while it is in no transaction, whose locks would keep the others waiting for two minutes. */
async function stopBetweenChunks({ child }: KillableWorker): Promise<void> {
  const open = `select count(*)::int as n from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`
  await withOwner(service.connection, async (owner) => {
    for (;;) {
      child.kill('SIGSTOP')
      // Whatever it has sent is answered by then.
      await rest(100)
      if ((await owner.query(open)).rows[0].n === 0) return
      child.kill('SIGCONT')
      await rest(5)
    }
  })
}

test('a worker that is stopped keeps its slice as long as its lease lasts, by whatever clocks, and does nothing of it twice when it goes on two minutes later', async () => {
  const client = await firstPeriods()
  const run = await newRun(service, client.id, '2027-01-01')
  const about = { connection: service.connection, account: client.id, run, chunk: 3, sliceSize: CUSTOMERS / 3 }
  const slices = () => countSlices(service.db.reader(client.id), client.id, run)
  const start = (skewMs: number) => {
    const worker = startSharingProcess({ ...about, realNow: Date.now() + skewMs })
    onTestFinished(() => void worker.child.kill('SIGKILL'))
    return worker
  }
  const stopped = start(0)
  await stopped.said('chunk')
  await stopBetweenChunks(stopped)
  const others = [start(2 * HOUR_MS), start(-2 * HOUR_MS)]
  await expect.poll(slices).toBe(1)
  await rest(300)
  expect(await slices()).toBe(1)
  const { due } = await countRows(service, client.id)
  expect(due).toBeGreaterThan(0)
  await endLeases(client.id)
  for (const other of others) expect(await other.said('done')).toBeDefined()
  stopped.child.kill('SIGCONT')
  expect(await stopped.said('done')).toBeDefined()
  expect(await countRows(service, client.id)).toMatchObject({ invoices: CUSTOMERS, charges: CUSTOMERS, due: 0 })
  const counted = { State: 'done', Done: CUSTOMERS, Invoices: CUSTOMERS, Failed: 0 }
  expect((await client.get(`/v1/billingruns/${run}`)).body).toMatchObject(counted)
  expect(await differencesOf(service, client)).toEqual([])
})
