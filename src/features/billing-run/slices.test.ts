import { beforeEach, expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, checkBooks, differencesOf } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import type { RunDeps } from './chunk.ts'
import { helpRun } from './slices.ts'
import { countSlices, leaseSlice } from './slice-queries.ts'
import { insertSubscribers, moveLeases, newRun, rateTermOf } from './run.testing.ts'
import { workRun } from './run.ts'

/** Large passes of a run are billed in slices, by whoever is there: every customer once, and whoever dies costs their lease. */

const service = await startTestService()
const CUSTOMERS = 120
const deps: RunDeps = {
  db: service.db,
  realClock: Date.now,
  order: ORDER_OF_DAY,
  chunk: 5,
  sliceSize: 50,
}
const STRANGER = '00000000-0000-4000-8000-000000000000'

let client: TestClient
let run: bigint

beforeEach(async () => {
  client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const plan = await addPackage(client)
  await insertSubscribers(service, client, {
    rateTermID: rateTermOf(plan),
    dueOn: '2027-01-01',
    customers: CUSTOMERS,
  })
  run = await newRun(service, client.id, '2027-01-01')
})

const slicesLeft = () => countSlices(service.db.reader(client.id), client.id, run)

async function expectBilled(): Promise<void> {
  const found = (await client.get(`/v1/billingruns/${run}`)).body
  expect(found).toMatchObject({ State: 'done', Done: CUSTOMERS, Total: CUSTOMERS, Invoices: CUSTOMERS, Failed: 0 })
  const invoices = (await client.get('/v1/invoices?page_size=200')).body
  expect(new Set(invoices.map(({ customerID }: any) => customerID)).size).toBe(CUSTOMERS)
  // Numbers without a gap are among what is verified.
  expect(await slicesLeft()).toBe(0)
  expect(await differencesOf(service, client)).toEqual([])
  await checkBooks(service, client)
}

test('a run is billed by the worker that leads it and by those that help, each customer once', async () => {
  let helped: Promise<(Awaited<ReturnType<typeof helpRun>> | undefined)[]> | undefined
  let hasBegun = () => {}
  const begun = new Promise<void>((resolve) => (hasBegun = resolve))
  const led = await workRun(deps, client.id, run, async () => {
    helped ??= Promise.all([1, 2].map(() => helpRun(deps, client.id, run, hasBegun)))
    await begun
  })
  const others = (await helped)?.map((totals) => totals?.invoices ?? 0) ?? []
  expect(Math.max(...others)).toBeGreaterThan(0)
  expect((led?.invoices ?? 0) + others.reduce((sum, one) => sum + one, 0)).toBe(CUSTOMERS)
  expect(led?.run).toMatchObject({ invoices: CUSTOMERS, done: CUSTOMERS })
  await expectBilled()
})

test('a slice whose worker died is billed by another when its lease has lapsed, from where it was', async () => {
  let looks = 0
  const held = async (by: string): Promise<void> => {
    await service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update billing_run_parts set leased_until = moment() + ${by}::interval where account_id = ${client.id} and holder = ${STRANGER}::uuid`,
      ),
    )
  }
  let leftWhileHeld = 0
  await workRun(deps, client.id, run, async () => {
    looks += 1
    if (looks === 1)
      expect(await service.db.transaction(client.id, (tx) => leaseSlice(tx, run, STRANGER))).toBeDefined()
    // All other slices are through, and the worker that leads the run waits for this one.
    if (looks > 1 && leftWhileHeld === 0 && (await slicesLeft()) === 1) {
      leftWhileHeld = 1
      await held('-1 second')
    }
  })
  expect(leftWhileHeld).toBe(1)
  await expectBilled()
})

test('workers that bill slices do not keep the run for a leader that died: another leads it when its lease has lapsed', async () => {
  const died = workRun(deps, client.id, run, () => {
    throw new Error('killed here')
  })
  await expect(died).rejects.toThrow('killed here')
  await moveLeases(service, client.id, '-1 second')
  expect((await helpRun(deps, client.id, run))?.invoices).toBeGreaterThan(0)
  expect(await workRun(deps, client.id, run)).toMatchObject({ run: { done: CUSTOMERS } })
  await expectBilled()
})

test('a leader that dies while it divides a pass leaves no slice of it: where none is left, a pass is over', async () => {
  let looks = 0
  const dying: RunDeps['order'] = ORDER_OF_DAY.map((kinds) =>
    kinds.map((kind) => ({
      ...kind,
      listCustomers: async (db, account, due) => {
        looks += 1
        if (looks > 12) throw new Error('killed here')
        return kind.listCustomers(db, account, due)
      },
    })),
  )
  const died = workRun({ ...deps, order: dying, sliceSize: 20 }, client.id, run)
  await expect(died).rejects.toThrow('killed here')
  expect(await slicesLeft()).toBe(0)
  await moveLeases(service, client.id, '-1 second')
  expect(await workRun({ ...deps, sliceSize: 20 }, client.id, run)).toMatchObject({ run: { done: CUSTOMERS } })
  await expectBilled()
})

test('a worker that is told to stop lets go of its slice at once', async () => {
  let isTold = false
  await workRun(deps, client.id, run, async () => {
    if (isTold) return
    isTold = true
    const stopped = helpRun(deps, client.id, run, () => {
      throw new Error('told to stop')
    })
    await expect(stopped).rejects.toThrow('told to stop')
    const { rows } = await service.db.transaction(client.id, async (tx) => ({
      rows: await tx.rows<{ n: number }>(
        sql`select count(*)::integer as n from billing_run_parts where account_id = ${client.id} and leased_until is not null`,
      ),
    }))
    // That of the worker which leads the run.
    expect(rows[0]?.n).toBe(1)
  })
  await expectBilled()
})

test('a small pass is not divided', async () => {
  let most = 0
  await workRun({ ...deps, sliceSize: CUSTOMERS + 1 }, client.id, run, async () => {
    most = Math.max(most, await slicesLeft())
  })
  expect(most).toBe(0)
  await expectBilled()
})

test('a chunk that passes over somebody does not hold the row of its run while it waits for the counter of numbers', async () => {
  let led: Promise<unknown> = Promise.resolve()
  await service.db.transaction(client.id, async (tx) => {
    await tx.rows(
      sql`select customer_id from customers where account_id = ${client.id} order by customer_id limit 1 for no key update`,
    )
    await tx.rows(sql`select account_id from account_counters where account_id = ${client.id} for update`)
    led = workRun({ ...deps, sliceSize: CUSTOMERS + 1 }, client.id, run)
    const waiting = () =>
      service.db.unscoped.rows(sql`
        select l.pid from pg_locks l join pg_locks d on d.pid = l.pid and d.relation = 'account_counters'::regclass
           and d.database = (select oid from pg_database where datname = current_database())
         where not l.granted`)
    await expect.poll(async () => (await waiting()).length, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(
      await tx.rows(
        sql`select billing_run_id from billing_runs where account_id = ${client.id} and billing_run_id = ${run} for update skip locked`,
      ),
    ).toHaveLength(1)
  })
  await led
  await expectBilled()
})
