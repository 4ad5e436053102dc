import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import { ownProgram } from '../../../test/support/own-program.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { Connection } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { insertRun, type RunCause } from './queries.ts'

/** Accounts with many subscriptions, and workers that can be killed. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const OPENED = `
import { openDatabase } from '../../platform/database/open-database.ts'
import { APP_ROLE } from '../../platform/database/roles.ts'
import { ORDER_OF_DAY } from '../../duties.ts'
const { connection, account, run, chunk, sliceSize, realNow, to } = JSON.parse(process.argv[2])
const db = openDatabase(connection, { role: APP_ROLE, poolSize: 3 })
const deps = { db, realClock: () => realNow, order: ORDER_OF_DAY, chunk, sliceSize }
const say = (line) => process.stdout.write(line + '\\n')
`

// Each chunk is told after its commit, so a kill after a line hits the next chunk somewhere in its middle.
const RUN = `${OPENED}
import { workRun } from './run.ts'
const totals = await workRun(deps, BigInt(account), BigInt(run), ({ done }) => say('chunk ' + done))
say(totals ? 'done ' + totals.done : 'taken')
await db.close()
`

// As workers of several processes do: whoever finds the run free leads it, the others bill its slices.
const SHARED = `${OPENED}
import { helpRun } from './slices.ts'
import { findRun } from './queries.ts'
import { workRun } from './run.ts'
const [who, which] = [BigInt(account), BigInt(run)]
const tell = ({ done }) => say('chunk ' + done)
say('works')
while ((await findRun(db.reader(who), who, which)).finishedAt === null)
  (await workRun(deps, who, which, tell)) ?? (await helpRun(deps, who, which, tell))
say('done')
await db.close()
`

const CLOCK = `${OPENED}
import { moveClock } from './clock.ts'
const onProgress = (day) => say('day ' + day)
await moveClock(deps, { account: BigInt(account), to, actor: 'test', onProgress })
await db.close()
`

export interface KillableWorker {
  child: ChildProcess
  /** Settles with the first line that begins so, or with undefined when the process ends without one. */
  said(beginning: string): Promise<string | undefined>
  ended: Promise<unknown>
}

/** A worker in a process of its own that works one run. `realNow` is the time it believes in; leases follow the database's clock. */
export function startWorkerProcess(wish: {
  connection: Connection
  account: bigint
  run: bigint
  chunk: number
  realNow: number
}): KillableWorker {
  return startProcess(RUN, { ...wish, account: String(wish.account), run: String(wish.run) })
}

/** A worker in a process of its own that leads a run or bills its slices, until the run is done. Passes of so many customers have slices. */
export const startSharingProcess = (wish: {
  connection: Connection
  account: bigint
  run: bigint
  chunk: number
  sliceSize: number
  /** Time of its machine's clock; left out: that of this one. */
  realNow?: number
}): KillableWorker =>
  startProcess(SHARED, { realNow: Date.now(), ...wish, account: String(wish.account), run: String(wish.run) })

/** A process of its own that moves a clock and tells each day that is done. */
export const startClockProcess = (wish: { connection: Connection; account: bigint; to: Instant }): KillableWorker =>
  startProcess(CLOCK, { ...wish, account: String(wish.account), realNow: Date.now() })

function startProcess(code: string, wish: object): KillableWorker {
  const child = spawn(process.execPath, [ownProgram(code, import.meta.url), JSON.stringify(wish)], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const hearing = new Set<(line: string) => void>()
  createInterface({ input: child.stdout! }).on('line', (line) => {
    lines.push(line)
    for (const heard of hearing) heard(line)
  })
  const ended = once(child, 'close')
  return {
    child,
    ended,
    said: (beginning) => {
      const found = lines.find((line) => line.startsWith(beginning))
      if (found) return Promise.resolve(found)
      const heard = new Promise<string>((resolve) => hearing.add((line) => line.startsWith(beginning) && resolve(line)))
      return Promise.race([heard, ended.then(() => lines.find((line) => line.startsWith(beginning)))])
    },
  }
}

/**
 * Customers with one subscription each to a package, by three statements: billed up to a day and due on it. Subscriptions that come through
 * the interface would be billed at once.
 */
export async function insertSubscribers(
  service: TestService,
  client: TestClient,
  wish: { rateTermID: number; dueOn: string; customers: number; each?: number; currency?: string },
): Promise<void> {
  const { rateTermID, dueOn, customers, each = 1, currency = 'USD' } = wish
  await service.db.transaction(client.id, async (tx) => {
    await tx.rows(sql`
      insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
        auto_send_statement, is_collection_hold)
      select ${client.id}, ${`bulk ${dueOn} `} || n, true, 'Customer ' || n, ${currency}, '2026-01-01', false, 'cash', true, false, false
        from generate_series(1, ${customers}::int) n
      returning 1`)
    await tx.rows(sql`
      insert into subscriptions (account_id, customer_id, package_id, package_version_id, package_rate_term_id, currency, start_date, anchor,
        anchor_day, term, term_type, is_pro_rata, lead_days, created_at, last_modified)
      select ${client.id}, c.customer_id, v.package_id, v.package_version_id, t.package_rate_term_id, ${currency}, ${dueOn}::date, ${dueOn}::date,
             extract(day from ${dueOn}::date)::int, t.term, t.term_type, true, 0, '2026-01-01', '2026-01-01'
        from customers c cross join generate_series(1, ${each}::int) n, package_rate_terms t
        join package_rates r on r.account_id = t.account_id and r.package_rate_id = t.package_rate_id
        join package_versions v on v.account_id = r.account_id and v.package_version_id = r.package_version_id
       where c.account_id = ${client.id} and c.reference like ${`bulk ${dueOn} %`} and t.account_id = ${client.id}
         and r.account_id = ${client.id} and v.account_id = ${client.id} and t.package_rate_term_id = ${rateTermID}
      returning 1`)
    await tx.rows(sql`
      insert into subscription_billing (account_id, subscription_id, customer_id, next_from, due_on)
      select s.account_id, s.subscription_id, s.customer_id, ${dueOn}::date, ${dueOn}::date
        from subscriptions s
       where s.account_id = ${client.id} and s.start_date = ${dueOn}::date and s.created_at = '2026-01-01' and not exists (
         select 1 from subscription_billing b where b.account_id = ${client.id} and b.subscription_id = s.subscription_id)
      returning 1`)
  })
}

export const rateTermOf = (plan: any): number =>
  plan.PackageVersions[0].packageVersionRates[0].PackageRateTerms[0].packageRateTermID

export const newRun = async (
  service: TestService,
  account: bigint,
  untilDate: string,
  cause: RunCause = 'request',
): Promise<bigint> =>
  (
    await service.db.transaction(account, (tx) =>
      insertRun(tx, account, { cause, untilDate, createdAt: '2027-01-01T00:00:00.000Z' }),
    )
  ).id

/** Lets time pass as it does for a live account: without billing. The edit makes the service forget the day that it remembers. */
export async function sleepUntil(service: TestService, client: TestClient, at: Instant): Promise<void> {
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update accounts set clock_at = ${at} where account_id = ${client.id}`),
  )
  await client.put('/v1/account', {})
}

export const countRows = async (service: TestService, account: bigint) =>
  service.db.reader(account).one<{ invoices: number; charges: number; events: number; total: number; due: number }>(sql`
    select (select count(*)::int from invoices where account_id = ${account}) as "invoices",
           (select count(*)::int from charges where account_id = ${account}) as "charges",
           (select coalesce(sum(last_event_id - first_event_id + 1), 0)::int from event_packs where account_id = ${account}) as "events",
           (select coalesce(sum(total_minor), 0)::int from invoices where account_id = ${account}) as "total",
           (select count(*)::int from subscription_billing where account_id = ${account} and coalesce(due_on, due_in_cycle_on) <= (
             select clock_at::date from accounts where account_id = ${account})) as "due"`)

/** Moves the end of the leases of an account's runs, and of waits after failures, from the database's present by an interval. */
export const moveLeases = (service: TestService, account: bigint, by: string) =>
  service.db.transaction(account, async (tx) => {
    await tx.rows(
      sql`update billing_runs set leased_until = moment(${by}::interval) where account_id = ${account} and leased_until is not null`,
    )
    await tx.rows(
      sql`update billing_runs set next_try_at = moment(${by}::interval) where account_id = ${account} and next_try_at is not null`,
    )
  })
