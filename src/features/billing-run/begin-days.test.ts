import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase, openTestDatabase } from '../../../test/support/app.ts'
import { ORDER_OF_DAY } from '../../duties.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { dateIn } from '../../kernel/zone.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { beginDays, listAccountsToSchedule } from '../accounts/queries.ts'
import { recurringInvoicesDue } from '../recurring-invoices/due.ts'
import { statementsDue } from '../statements/due.ts'
import { pausedEndsDue, subscriptionsDue } from '../subscriptions/due.ts'
import { type DueKind, findDueAfter } from './due-kind.ts'

/**
 * Beginning the days of many accounts by one statement, held against each kind's own question: an account that is passed over although something of it is due
 * is not billed on that day.
 */

const connection = await createTestDatabase()
const db = openTestDatabase(connection)
// Its role lets it write records without the catalogue that they would name.
const superuser = new pg.Client(clientConfig(connection, undefined))
await superuser.connect()
await superuser.query('set session_replication_role = replica')
await superuser.query('set search_path = perennial')
afterAll(async () => {
  await superuser.end()
  await db.close()
})

/** A record of a customer with its day, of an account. */
type Write = (account: bigint, customer: number, day: IsoDate) => Promise<unknown>

const subscription = async (account: bigint, customer: number, columns: string, values: string): Promise<bigint> => {
  const { rows } = await superuser.query(
    `insert into subscriptions (account_id, customer_id, package_id, package_version_id, package_rate_term_id, currency, start_date, anchor, anchor_day,
       term, term_type, is_pro_rata, lead_days, created_at, last_modified${columns})
     values ($1, $2, 1, 1, 1, 'USD', '2020-01-01', '2020-01-01', 1, 1, 'months', true, 0, '2020-01-01', '2020-01-01'${values}) returning subscription_id as id`,
    [account, customer],
  )
  return rows[0].id
}

const billed =
  (columns: string, values: string): Write =>
  async (account, customer, day) =>
    superuser.query(
      `insert into subscription_billing (account_id, subscription_id, customer_id, next_from, ${columns}) values ($1, $2, $3, '2020-01-01', ${values})`,
      [account, await subscription(account, customer, '', ''), customer, day],
    )

const ending =
  (columns: string, values: (day: IsoDate) => string): Write =>
  (account, customer, day) =>
    subscription(account, customer, `, ${columns}`, `, ${values(day)}`)

/** The ways in which records fall due, by their kind. */
const WAYS: readonly { name: string; kind: DueKind; isCycle?: boolean; write: Write }[] = [
  { name: 'a subscription on its day', kind: subscriptionsDue, write: billed('due_on', '$4') },
  {
    name: 'a subscription in its cycle',
    kind: subscriptionsDue,
    isCycle: true,
    write: billed('due_in_cycle_on, cycle_day', '$4, extract(day from $4::date)'),
  },
  {
    name: 'a recurring invoice',
    kind: recurringInvoicesDue,
    write: (account, customer, day) =>
      superuser.query(
        `insert into recurring_invoices (account_id, customer_id, currency, term, term_type, start_date, anchor, anchor_day, lead_days, next_from, due_on,
           has_own_taxes, created_at, last_modified)
         values ($1, $2, 'USD', 1, 'months', '2020-01-01', '2020-01-01', 1, 0, '2020-01-01', $3, false, '2020-01-01', '2020-01-01')`,
        [account, customer, day],
      ),
  },
  {
    name: 'a statement',
    kind: statementsDue,
    write: (account, customer, day) =>
      superuser.query(
        'update customers set statement_due_on = $3, auto_send_statement = true where account_id = $1 and customer_id = $2',
        [account, customer, day],
      ),
  },
  { name: 'an end', kind: pausedEndsDue, write: ending('end_date', (day) => `'${day}'`) },
  {
    name: 'a cancellation',
    kind: pausedEndsDue,
    write: ending('end_date, pending_kind, pending_on', (day) => `'${addDays(day, 90)}', 'cancellation', '${day}'`),
  },
  {
    name: 'an end before a change of package',
    kind: pausedEndsDue,
    write: ending('end_date, pending_kind, pending_on', (day) => `'${day}', 'package', '${addDays(day, -90)}'`),
  },
]
const RECORDED_END = ending('end_date, is_end_recorded', (day) => `'${day}', true`)

const ZONES = ['Pacific/Kiritimati', 'Europe/Berlin', 'UTC', 'Pacific/Honolulu']

interface Account {
  zone: string
  isOnClock: boolean
  /** Days from the account's own one on which it was scheduled and swept last. */
  scheduled: number | null
  swept: number | null
  customers: { isPaused: boolean; hasRecordedEnd: boolean; records: { way: number; days: number }[] }[]
}

/** Writes an account with its records, of which those in a cycle are due after it was swept. */
async function write(account: Account, today: IsoDate): Promise<bigint> {
  const dayOf = (days: number | null) => (days === null ? null : addDays(today, days))
  const { rows } = await superuser.query(
    `insert into accounts (mode, name, currency, created_at, time_zone, clock_at, scheduled_on) values ('test', 'A', 'USD', '2020-01-01', $1, $2, $3)
     returning account_id as id`,
    [account.zone, account.isOnClock ? '2020-01-01' : null, dayOf(account.scheduled)],
  )
  const { id } = rows[0]
  if (account.swept !== null)
    await superuser.query('insert into billing_cycles values ($1, $2)', [id, dayOf(account.swept)])
  for (const [place, { isPaused, hasRecordedEnd, records }] of account.customers.entries()) {
    const customer = await superuser.query(
      `insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
         auto_send_statement, is_collection_hold, paused_on, suspended_at)
       values ($1, $2, true, 'C', 'USD', '2020-01-01', false, 'cash', false, false, false, $3::date, $3) returning customer_id as id`,
      [id, String(place), isPaused ? '2020-01-01' : null],
    )
    const customerId = customer.rows[0].id
    if (hasRecordedEnd) await RECORDED_END(id, customerId, today)
    for (const { way, days } of records) {
      const { isCycle, write: one } = WAYS[way]!
      await one(id, customerId, addDays(today, isCycle ? Math.max(days, (account.swept ?? -99) + 1) : days))
    }
  }
  return id
}

const nobody: Account = { zone: 'UTC', isOnClock: false, scheduled: -1, swept: null, customers: [] }

/** Empties the database, writes accounts, and returns them with the days of their zones. */
async function prepare(accounts: readonly Account[], now: number) {
  await superuser.query('delete from accounts')
  const written: { id: bigint; today: IsoDate; account: Account }[] = []
  for (const account of accounts) {
    const today = dateIn(now, account.zone)
    written.push({ id: await write(account, today), today, account })
  }
  return { written, zones: ZONES, days: ZONES.map((zone) => dateIn(now, zone)) }
}

const scheduledDays = async () =>
  (await superuser.query(`select account_id as id, scheduled_on::text as day from accounts order by account_id`)).rows

const day = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 45 }) },
  { weight: 1, arbitrary: fc.integer({ min: -1, max: 1 }) },
  { weight: 1, arbitrary: fc.integer({ min: -70, max: 0 }) },
)
const account: fc.Arbitrary<Account> = fc.record({
  zone: fc.constantFrom(...ZONES),
  isOnClock: fc.nat(9).map((n) => n === 0),
  scheduled: fc.constantFrom(null, -1, -1, -30, 0, 1),
  swept: fc.constantFrom(null, -1, -2, -20, -32, -65, 0),
  customers: fc.array(
    fc.record({
      isPaused: fc.nat(3).map((n) => n === 0),
      hasRecordedEnd: fc.boolean(),
      records: fc.array(fc.record({ way: fc.nat(WAYS.length - 1), days: day }), { maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
})
/** Instants at which days differ by zone: at the ends of months, of leap years too, and at the turn of a year. */
const NOWS = ['2027-03-01T05:00Z', '2028-02-29T13:00Z', '2027-12-31T10:30Z', '2027-05-30T22:15Z', '2027-08-15T09:59Z']

test('days begin of the accounts of which no kind finds anything due, and of no other', async () => {
  const seen = { begun: 0, due: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(account, { minLength: 10, maxLength: 25 }),
      fc.constantFrom(...NOWS),
      async (accounts, instant) => {
        const { written, zones, days } = await prepare(accounts, Date.parse(instant))
        const expected: { id: bigint; day: IsoDate | null }[] = []
        let idle = 0
        for (const { id, today, account: one } of written) {
          const before = one.scheduled === null ? null : addDays(today, one.scheduled)
          const isToBegin = !one.isOnClock && (before === null || before < today)
          const isDue = (await findDueAfter(ORDER_OF_DAY, db.reader(id), id, '0001-01-01', today)) !== null
          if (isToBegin && !isDue) idle += 1
          if (isToBegin && isDue) seen.due += 1
          expected.push({ id, day: isToBegin && !isDue ? today : before })
        }
        // In portions, as the duty does.
        for (let left = idle; left >= 0; left -= 4)
          expect(await beginDays(db.unscoped, zones, days, 4)).toBe(Math.min(left, 4))
        expect(await scheduledDays()).toEqual(expected)
        seen.begun += idle
      },
    ),
    { numRuns: 20 },
  )
  // Both ways are tried often.
  expect(Math.min(seen.begun, seen.due)).toBeGreaterThan(30)
})

describe('an account is left to a run that has nothing but', () => {
  test.each(WAYS)('$name due, and begins where that is of another day or customer', async ({ kind, write: one }) => {
    const now = Date.parse('2027-03-01T12:00Z')
    const today = dateIn(now, 'UTC')
    const { isOfPaused: isPaused = false } = kind
    const customer = { isPaused, hasRecordedEnd: false, records: [] }
    const other = { ...customer, isPaused: !isPaused }
    const { written, zones, days } = await prepare(
      [customer, customer, customer, other].map((one) => ({ ...nobody, customers: [one] })),
      now,
    )
    const customers = (await superuser.query('select account_id as a, customer_id as c from customers order by 1, 2'))
      .rows
    for (const [place, on] of [today, addDays(today, -40), addDays(today, 1), today].entries()) {
      const { id } = written[place]!
      await one(id, customers.find(({ a }) => a === id).c, on)
      const found = await Promise.all(
        ORDER_OF_DAY.flat().map((each) => each.findAfter(db.reader(id), id, '0001-01-01', today)),
      )
      // No other kind finds it, so that it is this one's to be asked for.
      if (place < 2)
        expect(found.map((each) => each !== null)).toEqual(ORDER_OF_DAY.flat().map((each) => each === kind))
    }
    expect(await beginDays(db.unscoped, zones, days, 500)).toBe(2)
    const left = await listAccountsToSchedule(db.unscoped, zones, days)
    expect(left.map(({ id }) => id)).toEqual(written.slice(0, 2).map(({ id }) => id))
  })

  test('a record of any kind: each is tried above', () => {
    expect(new Set(WAYS.map(({ kind }) => kind)), 'name a new kind in begin_days (a migration) and here').toEqual(
      new Set(ORDER_OF_DAY.flat()),
    )
  })
})

test('while a worker begins days, another begins none', async () => {
  const { zones, days } = await prepare([nobody], Date.parse('2027-03-01T12:00Z'))
  await superuser.query('begin')
  expect((await superuser.query('select begin_days($1, $2, 500) as n', [zones, days])).rows).toEqual([{ n: 1n }])
  expect(await beginDays(db.unscoped, zones, days, 500)).toBeNull()
  await superuser.query('rollback')
  expect(await beginDays(db.unscoped, zones, days, 500)).toBe(1)
})
