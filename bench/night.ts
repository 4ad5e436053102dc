import pino from 'pino'
import { workerDuties } from '../src/duties.ts'
import { createAccount } from '../src/features/accounts/actions.ts'
import { reportLostCard } from '../src/features/gateway-reports/receive.ts'
import { makeAdapters } from '../src/features/gateways/adapters.ts'
import { callingFrom } from '../src/features/gateways/calling.ts'
import { addDays, type IsoDate } from '../src/kernel/calendar.ts'
import type { Connection } from '../src/platform/database/database.ts'
import type { Duty } from '../src/platform/duty.ts'
import { KeyRing } from '../src/platform/envelope/key-ring.ts'
import { envelopeUnder } from '../src/platform/envelope/open.ts'
import type { Engine } from '../src/platform/database/scoped-query.ts'
import { makeOutbound } from '../src/platform/outbound/outbound.ts'
import { asOwner, type BenchServer, createMigrated, openAsService, settle, startServer } from './measure/database.ts'
import { isNoisy, median, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { CATALOGUE, newRecords } from './seed-run.ts'

/**
 * A night of many small accounts: every duty of a worker once, with nothing due and with something due of one account in a hundred. Its floor is an UPDATE of as
 * many accounts in one statement.
 */

const CUSTOMERS = 20
const DUE_EVERY = 100
const FIRST_NIGHT = '2027-01-12'
/** Its subscriptions begin then, and half of them are in the cycle of that day of the month. */
const DUE_LATER = '2027-02-01'
/** By the machine that the other figures of docs/performance.md are of. */
const DATABASE_MS = 0.3
const SECONDS_MAX = 10
/** More would take most of the time, and each takes the same. */
const VERIFIED_MAX = 1_000
const MARKING = 'schedule billing runs'
const VERIFICATION = 'verification'
const SCHEDULED = 'select count(*) as n from accounts where scheduled_on = $1'
const BILLED = 'select count(distinct account_id) as n from invoices where invoice_date >= $1'
const REMINDED = `
  select count(*) as n from reminder_passes p
   where passed_on = $1 and not exists (select from invoices i where i.account_id = p.account_id)`

const VERIFIED = `
  insert into verifications (account_id, finished_at, differences) select account_id, $2, 0 from accounts where account_id > $1
  on conflict (account_id) do update set finished_at = excluded.finished_at`

/** Reminders that are on, of which there is none to send. */
const REMINDERS = `
  insert into collection_rules (account_id, attempts, reminders)
    values (1, '[{"daysAfterDue": 0, "action": "none"}]', '[{"kind": "payment_due", "daysBefore": 3, "isActive": true}]')`

/** Tables of which an account's rows are its alone, or would be known as another's. */
const NOT_COPIED = ['accounts', 'api_keys', 'event_rows', 'leases']

/** Makes one account by the service, with customers and subscriptions, and copies of all of its rows under other identifiers. */
export async function fill(server: BenchServer, name: string, accounts: number): Promise<Connection> {
  const connection = await createMigrated(server, name)
  const db = openAsService(connection)
  await createAccount(db, Date.now, { mode: 'live', name: 'Bench', currency: 'USD', clockAt: null }, 'bench')
  await db.close()
  await asOwner(connection, async (client) => {
    await client.query(CATALOGUE)
    for (const statement of newRecords(DUE_LATER).split(';')) await client.query(statement, [CUSTOMERS])
    await client.query(
      `update subscription_billing set due_on = null, due_in_cycle_on = due_on, cycle_day = 1 where subscription_id % 2 = 0`,
    )
    await client.query(`insert into billing_cycles values (1, '2027-01-01')`)
    await client.query(REMINDERS)
    await client.query('set session_replication_role = replica')
    const { rows } = await client.query<{ table: string; columns: string; copied: string }>(
      `
      select quote_ident(c.relname) as table, string_agg(quote_ident(a.attname), ', ') as columns,
             string_agg(case a.attname when 'account_id' then 'n' else 't.' || quote_ident(a.attname) end, ', ') as copied
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and a.attgenerated = '' and not a.attisdropped
       where c.relnamespace = 'perennial'::regnamespace and c.relkind = 'r' and c.relname <> all($1)
         and exists (select from pg_attribute k where k.attrelid = c.oid and k.attname = 'account_id')
       group by c.relname`,
      [NOT_COPIED],
    )
    await client.query(
      `insert into accounts (account_id, mode, name, currency, created_at) select n, 'live', 'Bench', 'USD', now() from generate_series(2, $1::int) n`,
      [accounts],
    )
    for (const { table, columns, copied } of rows)
      await client.query(
        `insert into ${table} (${columns}) overriding system value select ${copied} from ${table} t, generate_series(2, $1::int) n where t.account_id = 1`,
        [accounts],
      )
    await client.query('vacuum (analyze)')
  })
  await settle(connection)
  return connection
}

/** Makes the subscriptions of one account in a hundred due on a day. */
const makeDue = (connection: Connection, day: IsoDate) =>
  asOwner(connection, async (client) => {
    const of = `account_id % ${DUE_EVERY} = 0`
    await client.query(
      `update subscriptions set start_date = $1::date, anchor = $1::date, anchor_day = extract(day from $1::date) where ${of}`,
      [day],
    )
    await client.query(
      `update subscription_billing set next_from = $1, due_on = $1, due_in_cycle_on = null, cycle_day = null where ${of}`,
      [day],
    )
    await client.query('vacuum (analyze) subscriptions, subscription_billing')
  })

export interface Spent {
  seconds: number
  node: number
  database: number
}

export async function spentOn(server: Pick<BenchServer, 'cpu'>, work: () => Promise<unknown>): Promise<Spent> {
  const [node, database, startedMs] = [process.cpuUsage(), server.cpu(), performance.now()]
  await work()
  const { user, system } = process.cpuUsage(node)
  return {
    seconds: (performance.now() - startedMs) / 1000,
    node: (user + system) / 1e6,
    database: server.cpu() - database,
  }
}

/** Throws unless so many are counted: a duty that leaves some out is fast. */
async function expectCount(connection: Connection, [statement, day]: [string, IsoDate], expected: number) {
  const { rows } = await asOwner(connection, (client) => client.query(statement, [day]))
  if (Number(rows[0].n) !== expected) throw new Error(`${rows[0].n} instead of ${expected}: ${statement}`)
}

/** A night's hour in which accounts in UTC have begun their day and books are verified. */
const atNight = (day: IsoDate): number => Date.parse(`${day}T03:00:00Z`)

interface Night {
  marking: Spent[]
  floor: Spent[]
  duties: { name: string; spent: Spent }[]
}

/** Lives through some nights: of all but the last one days begin and no more. */
export async function live(
  server: Pick<BenchServer, 'cpu'>,
  connection: Connection,
  wish: { accounts: number; nights: number; hasDue: boolean; engine?: Engine; hasOtherDuties?: boolean },
): Promise<Night> {
  const { hasOtherDuties = true } = wish
  const db = openAsService(connection, wish.engine)
  const envelope = await envelopeUnder(db.unscoped, new KeyRing(Buffer.alloc(32, 7)))
  const outbound = makeOutbound({ allow: [] })
  const adapters = makeAdapters({
    db,
    envelope,
    calling: callingFrom(db, ['work'], { outbound }),
    onCardGone: reportLostCard,
  })
  const duties = workerDuties({ envelope, adapters, outbound })
  const marking = duties.find(({ name }) => name === MARKING) as Duty
  const found: Night = { marking: [], floor: [], duties: [] }
  const dutyAt = (day: IsoDate) => {
    const deps = { db, log: pino({ level: 'warn' }, pino.destination(2)), realClock: () => atNight(day) }
    return async (duty: Duty) => {
      while ((await duty.run(deps, () => {})) === 'again');
    }
  }
  try {
    for (let night = 0; night < wish.nights; night += 1) {
      const day = addDays(FIRST_NIGHT, night)
      const isLast = night === wish.nights - 1
      if (isLast && wish.hasDue) await makeDue(connection, day)
      await settle(connection)
      await asOwner(connection, async (client) => {
        found.floor.push(
          await spentOn(server, () => client.query('update accounts set scheduled_on = $1', [addDays(day, -1)])),
        )
        await client.query('vacuum accounts')
      })
      const run = dutyAt(day)
      await asOwner(connection, (client) => client.query(VERIFIED, [VERIFIED_MAX, new Date(atNight(day))]))
      found.marking.push(await spentOn(server, () => run(marking)))
      await expectCount(connection, [SCHEDULED, day], wish.accounts)
      if (!isLast || !hasOtherDuties) continue
      for (const duty of duties.filter((one) => one !== marking))
        found.duties.push({ name: duty.name, spent: await spentOn(server, () => run(duty)) })
    }
    const due = wish.hasDue ? Math.floor(wish.accounts / DUE_EVERY) : 0
    if (!hasOtherDuties) return found
    await expectCount(connection, [BILLED, FIRST_NIGHT], due)
    // What was billed is to be collected before.
    await expectCount(connection, [REMINDED, addDays(FIRST_NIGHT, wish.nights - 1)], wish.accounts - due)
    return found
  } finally {
    await db.close()
  }
}

const micros = (accounts: number, seconds: number) => ((seconds / accounts) * 1e6).toFixed(0)

function tellNight(title: string, accounts: number, { marking, floor, duties }: Night): void {
  const row = (name: string, { seconds, node, database }: Spent) => {
    const of = name === VERIFICATION ? Math.min(accounts, VERIFIED_MAX) : accounts
    const title = of < accounts ? `${name} of ${of.toLocaleString('en')}` : name
    return [title, seconds.toFixed(2), (of / seconds).toFixed(0), micros(of, node), micros(of, database)]
  }
  tellTable(
    [title, 'seconds to the last', 'accounts a second', 'µs of Node each', 'of PostgreSQL'],
    [
      row('floor: one UPDATE', floor.at(-1) as Spent),
      row(MARKING, marking.at(-1) as Spent),
      ...duties.toSorted((a, b) => b.spent.seconds - a.spent.seconds).map(({ name, spent }) => row(name, spent)),
    ],
  )
  const each = (all: readonly Spent[]) => spread(all.map(({ database }) => (database / accounts) * 1e6))
  tell(`${marking.length} nights, µs of PostgreSQL an account: ${MARKING} ${each(marking)}, floor ${each(floor)}`)
  if (isNoisy(floor.map(({ database }) => database))) tell('noisy: the floor itself moved more than twofold')
}

function verdictsOf(accounts: number, { marking }: Night): Verdict[] {
  const database = (median(marking.map((one) => one.database)) / accounts) * 1000
  const seconds = median(marking.map((one) => one.seconds))
  return [
    {
      goal: `the day of an account with nothing due begins for at most ${DATABASE_MS} ms of PostgreSQL`,
      reached: `${database.toFixed(3)} ms`,
      isMet: database <= DATABASE_MS,
    },
    {
      goal: `${accounts} days begin within ${SECONDS_MAX} s`,
      reached: `${seconds.toFixed(2)} s`,
      isMet: seconds <= SECONDS_MAX,
    },
  ]
}

/** Without a number of accounts: a thousand and ten thousand. */
export async function benchNight(options: {
  counts: readonly number[]
  times: number
  isSmoke: boolean
}): Promise<void> {
  const { counts, times: nights, isSmoke } = options
  const server = await startServer()
  const verdicts: Verdict[] = []
  try {
    await tellMachine(server.connectionTo('postgres'))
    for (const accounts of counts)
      for (const hasDue of [false, true]) {
        const connection = await fill(server, `night_${accounts}_${hasDue ? 'due' : 'idle'}`, accounts)
        const night = await live(server, connection, { accounts, nights, hasDue })
        const of = `${accounts.toLocaleString('en')} accounts of ${CUSTOMERS} customers`
        tellNight(`${of}, ${hasDue ? `1 in ${DUE_EVERY}` : 'none'} due`, accounts, night)
        if (!hasDue) verdicts.push(...verdictsOf(accounts, night))
      }
    tellVerdicts(verdicts, { isSmoke })
  } finally {
    await server.stop()
  }
}
