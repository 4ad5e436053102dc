import fc from 'fast-check'
import { expect } from 'vitest'
import type pg from 'pg'
import { report } from '../../src/features/gateway-reports/reports.testing.ts'
import { addDays, type IsoDate } from '../../src/kernel/calendar.ts'
import type { Reply, TestClient, TestService } from '../support/app.ts'
import type { MoneyBooks } from '../support/money-books.ts'
import { differencesOfBook } from '../support/sandbox-book.ts'
import { addAccount, differencesOfLines, LINE_ACTS } from './collection-lines.testing.ts'
import { addCustomer, differencesOf } from '../support/shop.ts'

/**
 * Random lives of invoices that are collected by card and by bank account, over HTTP: methods, tries, batches and their lines, refunds, disputes,
 * edits of payments, holds, suspensions, rules, gateways that fail, and a clock that moves. After each step everything that must hold whatever happened is queried independently.
 */

export const START: IsoDate = '2027-01-01'

const CARDS = [
  '4242424242424242',
  '4000000000000341',
  '4000000000009995',
  '4000000000000069',
  '4000000000000259',
  '4000000000001976',
  '4000000000002685',
  '4000000000007726',
  '4000000000005126',
  '4000000000001232',
  '4000002500003155',
  '4000000000000077',
  '4000000000000077',
]
/** The cards that the customers begin with: one is returned and won back, of the other the amount decides. */
const STARTING_CARDS = ['4000000000001976', '4000000000000077']
/** Cents that decide something for the last card. */
const CENTS = [0, 5, 51, 54, 68, 91, 92, 1]
const FAULTS = ['refused', 'not_received', 'not_answered'] as const
const RULES = [
  [
    [0, 'payment_unsuccessful'],
    [3, 'warning'],
    [7, 'final_warning'],
    [14, 'suspend'],
  ],
  [
    [0, 'none'],
    [2, 'friendly_warning'],
    [5, 'suspend'],
  ],
  [[0, 'suspend']],
  [
    [0, 'warning'],
    [1, 'none'],
    [10, 'initial_warning'],
    [11, 'none'],
  ],
] as const

export interface Life {
  service: TestService
  client: TestClient
  books: MoneyBooks
  owner: pg.Client
  gatewayID: number
  GatewayToken: string
  today: IsoDate
  customers: number[]
  hasFault: boolean
  reports: number
  /** Log of the steps done, for whoever reads a counterexample. */
  log: string[]
}

export async function newLife(service: TestService, books: MoneyBooks, owner: pg.Client): Promise<Life> {
  const client = await service.newAccount({ clockAt: `${START}T08:00:00.000Z` })
  const [{ gatewayID, GatewayToken }] = (await client.get('/v1/gateways')).body
  const wish = { PaymentMethod: 'credit_card', PaymentTermDays: 2, Email: 'a@example.com' }
  const byAccount = { ...wish, PaymentMethod: 'debit_order' }
  const customers = [
    await addCustomer(client, wish),
    await addCustomer(client, { ...wish, PaymentTermDays: 0 }),
    await addCustomer(client, byAccount),
  ]
  const state = { today: START, customers, hasFault: false, reports: 0, log: [] }
  const life = { service, client, books, owner, gatewayID, GatewayToken, ...state }
  for (const [n, customer] of customers.entries()) {
    const card = STARTING_CARDS[n]
    if (card) await addCard(life, customer, card)
    else await addAccount(life, customer, 0)
    for (let more = 0; more < 3; more += 1) await ACTS.invoice(life, n + 20 * more, more + n)
  }
  return life
}

export const rowsOf = async (life: Life, text: string, values: readonly unknown[] = [life.client.id]): Promise<any[]> =>
  (await life.owner.query(text, [...values])).rows

async function addCard({ client }: Life, customerID: number, Number: string): Promise<Reply> {
  return client.post('/v1/paymentmethods/creditcard', {
    customerID,
    isPrimary: true,
    CreditCard: {
      Number,
      CardType: 'Unknown',
      ExpiryMonth: 2,
      ExpiryYear: 2027,
      NameOnCard: 'Ada',
      LastNameOnCard: 'Lovelace',
    },
  })
}

/** Picks one of some by a number; undefined if there is none. */
export const pickOf = <T>(some: readonly T[], pick: number): T | undefined => some[pick % Math.max(some.length, 1)]

const OFTEN = [
  'wait',
  'wait',
  'wait',
  'wait',
  'invoice',
  'invoice',
  'collect',
  'goodwill',
  'refund',
  'submitBatch',
] as const
const OF_LINES = ['account', 'moveBatch', 'cancelBatch', 'editLine', 'dropLine', 'autoSubmit'] as const
const SELDOM = ['card', 'free', 'reallocate', 'eft', 'cheque', 'bounce', 'credit', 'cancel', 'report', 'drop'] as const
const RARELY = ['hold', 'holdCustomer', 'suspend', 'rules', 'fault', 'removeCard', 'setPrimary'] as const
const n = fc.nat(999)
const actOf = <K extends string>(...kinds: readonly K[]) => fc.record({ kind: fc.constantFrom(...kinds), n, m: n })
export const histories = fc.array(
  fc.oneof(
    { weight: 7, arbitrary: actOf(...OFTEN) },
    { weight: 4, arbitrary: actOf(...SELDOM) },
    { weight: 3, arbitrary: actOf(...OF_LINES) },
    { weight: 2, arbitrary: actOf(...RARELY) },
  ),
  { minLength: 8, maxLength: 50, size: 'max' },
)
type Act = typeof histories extends fc.Arbitrary<(infer A)[]> ? A : never

const payments = async ({ client }: Life): Promise<any[]> => (await client.get('/v1/payments?page_size=200')).body
const invoices = async ({ client }: Life): Promise<any[]> => (await client.get('/v1/invoices?page_size=200')).body

/** Does one act. A request that is refused (4xx) changes nothing; anything else that fails is a fault. */
export async function perform(life: Life, act: Act): Promise<void> {
  const { kind, n: one, m: other } = act
  const reply = await ACTS[kind](life, one, other)
  life.log.push(
    `${life.today} ${kind} ${one} ${other}: ${reply ? `${reply.status} ${reply.text.slice(0, 300)}` : 'nothing'}`,
  )
  // A gateway that is away answers nobody.
  if (reply && reply.status >= 500 && !reply.text.includes('gateway_no_answer'))
    throw new Error(`${kind}: ${reply.text}`)
}

const ACTS: Record<Act['kind'], (life: Life, n: number, m: number) => Promise<Reply | undefined>> = {
  ...LINE_ACTS,
  // A gateway that is away for long is asked in vain for all of its time.
  wait: (life, one) => wait(life, life.hasFault ? one % 2 : one % 9),
  invoice: (life, one, other) => {
    const UnitCostEx = 1 + (one % 200) + (CENTS[other % CENTS.length] as number) / 100
    const DueDate = other % 5 === 0 ? { DueDate: addDays(life.today, one % 20) } : {}
    const how = other % 11 === 0 ? { CollectionMethod: 'eft' } : {}
    return life.client.post('/v1/invoices', {
      customerID: pickOf(life.customers, one),
      Charges: [{ UnitCostEx }],
      ...DueDate,
      ...how,
    })
  },
  card: (life, one, other) => addCard(life, pickOf(life.customers, one) as number, pickOf(CARDS, other) as string),
  collect: async (life, one) => {
    const found = pickOf(
      (await invoices(life)).filter(({ Balance }) => Balance > 0),
      one,
    )
    return found && life.client.post(`/v1/invoices/${found.invoiceID}/collect`)
  },
  refund: async (life, one, other) => {
    const found = pickOf(
      (await payments(life)).filter(({ Status, Method }) => Status !== 'Failed' && Method === 'credit_card'),
      one,
    )
    const Amount = [undefined, 1, found?.Amount, 0.05, (found?.Amount ?? 0) / 2][other % 5]
    return (
      found &&
      life.client.post(
        `/v1/payments/${found.paymentID}/refund`,
        Amount === undefined ? {} : { Amount: Number(Amount.toFixed(2)) },
      )
    )
  },
  free: (life, one) => reallocate(life, one, () => []),
  reallocate: (life, one, other) =>
    reallocate(life, one, (allocations) =>
      allocations.map((a) => ({
        ...a,
        amountApplied: Number(Math.max(0.01, a.amountApplied - (other % 50)).toFixed(2)),
      })),
    ),
  eft: (life, one, other) => record(life, one, other, 'eft'),
  cheque: (life, one, other) => record(life, one, other, 'cheque'),
  bounce: async (life, one) => {
    const found = pickOf(
      (await payments(life)).filter(({ Method }) => Method === 'cheque'),
      one,
    )
    return found && life.client.put(`/v1/payments/${found.paymentID}/fail`, { Date: life.today, Reason: 'bounced' })
  },
  credit: (life, one, other) =>
    life.client.post('/v1/credits', {
      customerID: pickOf(life.customers, one),
      Amount: 1 + (other % 90),
      CurrencyCode: 'USD',
      CreditNumber: `C${life.log.length}`,
      Date: life.today,
      AutoApply: other % 2 === 0,
      Allocations: [],
    }),
  cancel: async (life, one) => {
    const found = pickOf(await invoices(life), one)
    return found && life.client.delete(`/v1/invoices/${found.invoiceID}`)
  },
  report: (life, one, other) => sendReport(life, one, other),
  drop: async (life, one) => {
    const found = pickOf(await payments(life), one)
    return found && life.client.delete(`/v1/payments/${found.paymentID}`)
  },
  hold: async (life, one) => {
    const found = pickOf(await invoices(life), one)
    if (!found) return undefined
    const { body } = await life.client.get(`/v1/invoices/${found.invoiceID}`)
    return life.client.put(`/v1/invoices/${found.invoiceID}`, { ...body, isCollectionHold: !body.isCollectionHold })
  },
  holdCustomer: async (life, one) => {
    const path = `/v1/customers/${pickOf(life.customers, one)}`
    const { body } = await life.client.get(path)
    return life.client.put(path, { ...body, isCollectionHold: !body.isCollectionHold })
  },
  suspend: async (life, one) => {
    const path = `/v1/customers/${pickOf(life.customers, one)}`
    const { comp_status } = (await life.client.get(path)).body
    return life.client.put(`${path}/${comp_status === 'Suspended' ? 'unsuspend' : 'suspend'}`)
  },
  // The next pass plans by the new rules, which a move to the clock's present value is.
  rules: async (life, one) => {
    const chosen = pickOf(RULES, one) as (typeof RULES)[number]
    const Attempts = chosen.map(([DaysAfterDue, Action]) => ({ DaysAfterDue, Action }))
    const reply = await life.client.put('/v1/collectionrules', { Attempts, isForUntried: one % 3 === 0 })
    await life.client.put('/v1/clock', { Now: `${life.today}T12:00:00Z` })
    return reply
  },
  fault: async (life, one) => setFault(life, life.hasFault ? null : (FAULTS[one % FAULTS.length] as string)),
  removeCard: async (life, one) => {
    const found = pickOf((await life.client.get('/v1/paymentmethods?page_size=200')).body as any[], one)
    return found && life.client.delete(`/v1/paymentmethods/${found.paymentMethodID}`)
  },
  setPrimary: async (life, one) => {
    const found = pickOf((await life.client.get('/v1/paymentmethods?page_size=200')).body as any[], one)
    return found && life.client.put(`/v1/paymentmethods/${found.paymentMethodID}/setprimary`)
  },
  // Money given back out of goodwill: taken off its invoice first, then refunded through the gateway.
  goodwill: async (life, one, other) => {
    const found = pickOf(
      (await payments(life)).filter(({ Status, Method }) => Status === 'Allocated' && Method === 'credit_card'),
      one,
    )
    if (!found) return undefined
    await reallocateOne(life, found, other % 2 === 0 ? [] : found.Allocations.map(halved))
    return life.client.post(`/v1/payments/${found.paymentID}/refund`, {})
  },
}

const halved = (a: any) => ({ ...a, amountApplied: Math.max(0.01, Math.floor(a.amountApplied * 50) / 100) })

async function setFault(life: Life, Fault: string | null): Promise<Reply> {
  life.hasFault = Fault !== null
  return life.client.put(`/v1/gateways/${life.gatewayID}`, { Settings: { Fault } })
}

async function record({ client, customers, today }: Life, one: number, other: number, Method: string): Promise<Reply> {
  const how = other % 3 === 0 ? { Allocations: [] } : { AutoApply: true }
  const body = { CurrencyCode: 'USD', Amount: 1 + (other % 150), Date: today, Method, ...how }
  return client.post('/v1/payments', { customerID: pickOf(customers, one), ...body })
}

async function reallocate(life: Life, one: number, wanted: (present: any[]) => any[]): Promise<Reply | undefined> {
  const found = pickOf(
    (await payments(life)).filter(({ Allocations }) => Allocations.length > 0),
    one,
  )
  return found && reallocateOne(life, found, wanted(found.Allocations))
}

const reallocateOne = ({ client }: Life, payment: any, Allocations: any[]): Promise<Reply> =>
  client.put(`/v1/payments/${payment.paymentID}`, { ...payment, AutoApply: false, Allocations })

async function sendReport(life: Life, one: number, other: number): Promise<Reply | undefined> {
  const charges = await rowsOf(life, 'select reference from sandbox_charges where account_id = $1 order by 1')
  const reference = pickOf(charges, one)?.reference
  if (reference === undefined) return undefined
  life.reports += 1
  // Every third is one that was sent before.
  const id = other % 3 === 0 ? `again-${reference}` : `report-${life.reports}`
  return report(life.service, life, { id, about: 'charge', reference })
}

/** Time passes; nothing is tried but by the rules. */
async function wait(life: Life, days: number): Promise<Reply> {
  const before = await planned(life)
  life.today = addDays(life.today, days)
  const reply = await life.client.put('/v1/clock', { Now: `${life.today}T12:00:00Z` })
  expect(reply.status, reply.text).toBe(200)
  await expectPlanned(life, before)
  return reply
}

interface Planned {
  id: number
  on: string | null
  newest: number
  customer: number
  isHeld: boolean
  pause: 'none' | 'hand' | 'rule'
}

const planned = (life: Life): Promise<Planned[]> =>
  rowsOf(
    life,
    `select i.invoice_id::int as id, i.next_try_date::text as on, i.customer_id::int as customer,
            i.is_collection_hold or c.is_collection_hold as "isHeld",
            case when c.suspended_at is null then 'none' when c.is_suspended_by_rule then 'rule' else 'hand' end as pause,
            (select coalesce(max(payment_id), 0)::int from collection_tries t where t.account_id = $1 and t.invoice_id = i.invoice_id) as "newest"
       from invoices i join customers c on c.account_id = $1 and c.customer_id = i.customer_id
      where i.account_id = $1 order by 1`,
  )

/** Expects what the clock tried automatically to be what was planned: held invoices and customers suspended by hand are left alone, and a planned day is kept. */
async function expectPlanned(life: Life, before: readonly Planned[]): Promise<void> {
  const after = await planned(life)
  for (const was of before) {
    const is = after.find(({ id }) => id === was.id)
    if (!is || is.newest <= was.newest) continue
    const [first] = await rowsOf(
      life,
      `select begun_on::text as on, is_line as "isLine" from collection_tries
        where account_id = $1 and invoice_id = $2 and payment_id > $3 order by payment_id limit 1`,
      [life.client.id, was.id, was.newest],
    )
    expect([`invoice ${was.id} is held`, was.isHeld]).toEqual([`invoice ${was.id} is held`, false])
    expect([`customer ${was.customer} is suspended by hand`, was.pause === 'hand']).toEqual([
      `customer ${was.customer} is suspended by hand`,
      false,
    ])
    // A line is made ahead of the day for which the debit is planned.
    if (!first.isLine && was.on !== null && was.pause === 'none' && is.pause === 'none')
      expect([`invoice ${was.id} tried`, first.on]).toEqual([`invoice ${was.id} tried`, was.on])
  }
}

/** Tries that nobody may make: of an invoice that a try has paid and of which no received money was lost since. */
const CHARGED_AGAIN = `
select format('invoice %s was tried by itself on %s, though payment %s had paid it', t.invoice_id, t.begun_on, s.payment_id) as difference
  from collection_tries t
  join collection_tries s on s.account_id = $1 and s.invoice_id = t.invoice_id and s.payment_id < t.payment_id and s.state in ('succeeded', 'returned')
 where t.account_id = $1 and not t.is_by_hand and s.known_on <= t.begun_on
   and not exists (select 1 from allocations a join payments p on p.account_id = $1 and p.payment_id = a.given_id
                    where a.account_id = $1 and a.given_kind = 'payment' and a.owed_kind = 'invoice' and a.owed_id = t.invoice_id
                      and p.payment_id >= 0 and p.failed_on is not null and (p.settled_on is not null or p.origin = 'recorded')
                      and p.failed_on <= t.begun_on)`

/** Sums that must hold of tries, refunds and counts. */
const SUMS = `
select format('invoice %s counts %s tries, %s were begun', i.invoice_id, i.tries, c.begun) as difference
  from invoices i
  cross join lateral (
    select (select count(*) from collection_tries t
             where t.account_id = $1 and t.invoice_id = i.invoice_id and t.state <> 'not_sent' and (t.was_called or not t.is_line))
         + (select count(*) from batch_line_invoices h where h.account_id = $1 and h.invoice_id = i.invoice_id) as begun) c
 where i.account_id = $1 and i.tries <> c.begun
union all
select format('of payment %s of %s %s were refunded', p.payment_id, p.amount_minor, sum(r.amount_minor))
  from payments p join payment_refunds r on r.account_id = $1 and r.payment_id = p.payment_id
 where p.account_id = $1 and r.state <> 'failed' group by p.account_id, p.payment_id having sum(r.amount_minor) > p.amount_minor
union all
select format('invoice %s is planned for %s, a day that has passed', i.invoice_id, i.next_try_date) from invoices i
 where i.account_id = $1 and i.next_try_date < $2::date
   and not exists (select 1 from collection_tries t where t.account_id = $1 and t.invoice_id = i.invoice_id and t.state = 'open' and t.is_line)
union all
select format('invoice %s is planned for %s while a try of it is open', i.invoice_id, i.next_try_date)
  from invoices i join collection_tries t on t.account_id = $1 and t.invoice_id = i.invoice_id and t.state = 'open'
   and not (t.is_line and not t.was_called)
 where i.account_id = $1 and i.next_try_date is not null
union all
select format('refunds of charge %s come to %s of %s', c.reference, sum(r.amount_minor), c.amount_minor)
  from sandbox_charges c join sandbox_refunds r on r.account_id = $1 and r.charge_reference = c.reference and r.state = 'succeeded'
 where c.account_id = $1 and not coalesce(r.fails_on <= $2, false)
 group by c.account_id, c.gateway_id, c.reference having sum(r.amount_minor) > c.amount_minor`

/** Everything that holds after each step. */
export async function expectSound(life: Life): Promise<void> {
  const { client, books } = life
  const found = [
    ...(await books.differences(client.id, false)),
    ...(await differencesOfLines(life)),
    ...(await rowsOf(life, CHARGED_AGAIN)).map(({ difference }) => difference),
    ...(await rowsOf(life, SUMS, [client.id, life.today])).map(({ difference }) => difference),
  ]
  expect(found).toEqual([])
}

/** Everything that holds once the gateway works again and has been asked: its book is our payments, and the books verify. */
export async function expectSettled(life: Life): Promise<void> {
  await setFault(life, null)
  await wait(life, 1)
  await wait(life, 0)
  await expectSound(life)
  const reader = (text: string, values: readonly unknown[]) => rowsOf(life, text, values)
  expect(await differencesOfBook(reader, life.client.id, life.today)).toEqual([])
  expect(
    await rowsOf(
      life,
      `select payment_id from collection_tries where account_id = $1 and state = 'open' and not is_line`,
    ),
  ).toEqual([])
  expect(
    await rowsOf(
      life,
      // Rule: a report about a payment that is still pending, as a line in a batch is, waits until it is settled.
      `select r.reference, r.reason from gateway_reports r where r.account_id = $1 and (r.reason is not null or r.finished_at is null
          and not exists (select 1 from payments p where p.account_id = $1 and p.payment_id::text = r.reference
                             and p.origin <> 'recorded' and p.settled_on is null and p.failed_on is null))`,
    ),
  ).toEqual([])
  expect(await differencesOf(life.service, life.client)).toEqual([])
}
