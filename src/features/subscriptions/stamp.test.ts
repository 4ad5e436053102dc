import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, addTax, differencesOf, moveTo } from '../../../test/support/shop.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { momentOf } from '../../kernel/context.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { fragment, namesOf, NOTHING, sql } from '../../platform/database/sql.ts'
import { getAccount } from '../accounts/queries.ts'
import { LEAST_OF_COMPONENTS } from '../invoices/template-lines.ts'
import type { DueContext, DueKind, Planned } from '../billing-run/due-kind.ts'
import { lockCustomers } from '../customers/queries.ts'
import { addCard, CARDS } from '../collection/shop.testing.ts'
import { listTaxRules } from '../tax-settings/queries.ts'
import { planContext, planSubscription } from './bill.ts'
import { subscriptionsDue, subscriptionsDueOneByOne } from './due.ts'
import { listDueSubscriptions } from './due-queries.ts'
import { listSharedBilling } from './shared-billing-queries.ts'
import { groupsByFacts, splitGroups } from './shared-plans.ts'
import { planSharedBilling } from './shared-billing.ts'

/**
 * Subscriptions that are billed by shared plans leave what they leave when each is planned and written on its own: every row of every table, to the byte,
 * identifiers included, and the ledger as its view shows it, except for the identifiers and links of its entries.
 */

const service = await startTestService()
const owner = new pg.Client({ ...service.connection, options: '-c search_path=perennial' })
await owner.connect()
afterAll(() => owner.end())

/** Columns of real time, in the tables where they are that. */
const OF_THE_MOMENT: Readonly<Record<string, string>> = {
  events: 'recorded_at',
  event_rows: 'recorded_at',
  event_packs: 'recorded_at',
  record_changes: 'changed_at',
  webhook_deliveries: 'created_at',
  outbox: 'next_try_at,written_at',
  api_keys: 'last_used_at',
  // Of what is posted in batches chains have no link.
  customer_totals: 'links,head',
  // Where the day stands on which it is due; the day itself is compared.
  subscription_billing: 'due_in_cycle_on,cycle_day',
}

/** Tables in which lines, taxes and entries stand: with a template, in a batch, or as rows. What the views show of them is compared, entries of the ledger in their order. */
const ELSEWHERE = new Set([
  ...['charge_rows', 'invoice_tax_rows', 'invoice_templates', 'invoice_template_charges', 'invoice_template_taxes'],
  ...['ledger_rows', 'posting_templates', 'posting_template_entries', 'ledger_packs', 'ledger'],
])
const OF_PLACES = 'template_id,first_charge_id,first_tax_id'

const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

const COUNTRIES = [null, 710, 276, 826, 840]
const CUSTOMERS = fc.record({
  CurrencyCode: fc.constantFrom('USD', 'USD', 'EUR', 'JPY'),
  country: fc.constantFrom(...COUNTRIES),
  isCompany: fc.boolean(),
  VatNo: fc.constantFrom(null, null, 'DE136695976', 'DE100', 'GB980780684'),
  exempt: fc.constantFrom(null, null, null, 'plain', 'E'),
  PaymentMethod: fc.constantFrom('cash', 'eft', 'credit_card', 'debit_order'),
  hasCard: fc.boolean(),
  PaymentTermDays: fc.constantFrom(null, null, 14),
  Locale: fc.constantFrom(null, null, 'de', 'en-GB'),
  autoSendInvoice: fc.boolean(),
  hasEmail: fc.boolean(),
  unallocated: fc.constantFrom(0, 0, 0, 5, 5000),
  isSuspended: fc.constantFrom(false, false, false, false, true),
})
const UNITS = fc.constantFrom(0, 1, 3, 3, 3, 12, 150, 2.5, 0.1)
const HAVING = fc.record({ which: fc.nat({ max: 5 }), NumUnits: UNITS })
type Having = { which: number; NumUnits: number }
const OF_MANY: Having[] = [
  { which: 0, NumUnits: 3 },
  { which: 1, NumUnits: 0 },
]
const STEPS = fc.record({
  at: fc.nat({ max: 5 }),
  kind: fc.constantFrom('use', 'use', 'use', 'use', 'use', 'late', 'number', 'number', 'leaveOut', 'version'),
  which: fc.nat({ max: 5 }),
  units: UNITS,
})
const SUBSCRIPTIONS = fc.record({
  components: fc.oneof(
    { weight: 2, arbitrary: fc.constant<Having[]>([]) },
    { weight: 2, arbitrary: fc.constant(OF_MANY) },
    { weight: 3, arbitrary: fc.uniqueArray(HAVING, { minLength: 1, maxLength: 3, selector: ({ which }) => which }) },
  ),
  steps: fc.array(STEPS, { maxLength: 6 }),
  offer: fc.constantFrom(0, 0, 0, 1, 2, 3, 4),
  // Many start on one day, so that many are due on one.
  startsDaysAgo: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(31, 31, 92) }, fc.integer({ min: 0, max: 420 })),
  syncsAfter: seldom(fc.integer({ min: 13, max: 40 })),
  endsAfter: seldom(fc.integer({ min: 1, max: 600 })),
  isProRata: fc.boolean(),
  leadDays: fc.constantFrom(0, 0, 0, 7, 40),
  poNumber: fc.constantFrom(null, null, 'PO 7', 'PO "8"\\,{}'),
  method: fc.constantFrom(null, null, null, 'hpp', 'cash'),
  isCancelled: fc.constantFrom(false, false, false, false, false, true),
})
const LASTING = {
  components: OF_MANY,
  leadDays: 0,
  offer: 0,
  startsDaysAgo: 31,
  endsAfter: null,
  syncsAfter: null,
  isCancelled: false,
  method: null,
}

/** So many that lines of their components are kept with a template in one of two chunks, and are rows in another. */
const ALIKE = Array.from({ length: LEAST_OF_COMPONENTS + 3 })

/** Customers who are alike, and so are their subscriptions except for what happens to them: some of them share a plan. */
const CROWD = fc.tuple(
  CUSTOMERS.map((wish) => ({ ...wish, unallocated: 0, isSuspended: false, hasCard: false })),
  SUBSCRIPTIONS.map((one) => ({ ...one, ...LASTING })),
  fc.array(fc.array(STEPS, { maxLength: 2 }), { minLength: 2, maxLength: 3 }),
)
const WORLDS = fc.record({
  crowd: CROWD,
  clock: fc.constantFrom('2027-01-31', '2028-02-29', '2027-06-15'),
  TimeZone: fc.constantFrom('UTC', 'Pacific/Auckland', 'America/New_York'),
  hasTexts: fc.boolean(),
  hasDunning: fc.constantFrom(false, false, false, true),
  hasWebhook: fc.boolean(),
  price: fc.constantFrom(9.99, 0.01, 100, 33.335),
  members: fc.array(fc.tuple(CUSTOMERS, fc.array(SUBSCRIPTIONS, { minLength: 1, maxLength: 2 })), {
    minLength: 7,
    maxLength: 11,
    size: 'max',
  }),
})
type World = typeof WORLDS extends fc.Arbitrary<infer W> ? W : never

const CURRENCIES = ['USD', 'EUR', 'JPY']

async function addTaxes(client: TestClient): Promise<void> {
  await addTax(client, 'VAT', { Perc: 0.15 }, { countryID: 276, Perc: 0.19 }, { countryID: 826, Perc: 0 })
  const reverse = {
    countryID: 276,
    AppliesTo: 'business',
    Perc: 0,
    Category: 'AE',
    Reason: { de: 'Umkehr "§13b"', und: 'Reverse' },
  }
  const added = await client.post('/v1/tax', { Name: 'Levy', rules: [{ countryID: 710, Perc: 0.005 }, reverse] })
  expect(added.status, added.text).toBe(201)
}

const usageOf = (components: readonly Component[], { which, NumUnits }: Having) => {
  const { id, isOptIn } = components[which] as Component
  return { componentID: id, NumUnits: isOptIn ? 1 : NumUnits }
}

interface Component {
  isOptIn: boolean
  id: number
  otherVersionId: number
  isMetered: boolean
}

const COMPONENTS = [
  { Type: 'quantity', Scheme: 'unit', prices: [4.5] },
  { Type: 'metered', Scheme: 'tiered', prices: [0.05, 0.04] },
  { Type: 'metered', Scheme: 'volume', prices: [0.011, 0.009] },
  { Type: 'metered', Scheme: 'stairstep', prices: [7, 12.5], Term: 10, TermType: 'days' },
  { Type: 'opt-in', Scheme: 'unit', prices: [2] },
  { Type: 'quantity', Scheme: 'tiered', prices: [3, 2.5], Term: 3 },
]

const bracketsOf = (prices: readonly number[], by: number) => ({
  ComponentVersionCurrencies: CURRENCIES.map((CurrencyCode) => ({
    CurrencyCode,
    ComponentBracketPrices: prices.map((Price, index) => ({
      Price: Price * by,
      QtyFrom: index === 0 ? 1 : 101,
      QtyTill: index === prices.length - 1 ? null : 100,
    })),
  })),
})

async function addComponents(client: TestClient): Promise<Component[]> {
  const { packageGroupID } = await ok(client.post('/v1/packagegroups', { GroupName: 'Extras' }))
  const found: Component[] = []
  for (const [place, { prices, ...fields }] of COMPONENTS.entries()) {
    const { componentID } = await ok(
      client.post('/v1/components', {
        ComponentCode: `C${place}`,
        Name: `Component ${place}`,
        Descrip: '',
        UnitName: 'each',
        packageGroupID,
        Term: 1,
        TermType: 'months',
        isActive: true,
        ...fields,
        ComponentVersion: { VersionName: 'First', ...bracketsOf(prices, 1) },
      }),
    )
    const other = await ok(
      client.post(`/v1/components/${componentID}/versions`, {
        VersionName: 'Second',
        isActive: true,
        isDefault: false,
        ...bracketsOf(prices, 2),
      }),
    )
    const [isMetered, isOptIn] = [fields.Type === 'metered', fields.Type === 'opt-in']
    found.push({ id: componentID, otherVersionId: other.componentVersionID, isMetered, isOptIn })
  }
  return found
}

interface Living {
  id: number
  steps: World['members'][number][1][number]['steps']
}

interface Built {
  client: TestClient
  components: Component[]
  living: Living[]
}

/** Does what happens to components at a turn; much of it is refused, because the component is not there. */
async function live({ client, components, living }: Built, turn: number, today: IsoDate): Promise<void> {
  for (const { id, steps } of living)
    for (const { kind, which, units } of steps.filter(({ at }) => at === turn)) {
      const { id: componentID, otherVersionId, isMetered } = components[which] as Component
      const path = `/v1/subscriptions/${id}/components`
      const modified = (change: object) =>
        client.put(`${path}/modify`, { componentUsage: [{ componentID, ...change }] })
      const used = (Date: IsoDate) => client.put(`${path}/recordusage`, { componentID, NumUnits: units, Date })
      const reply = await {
        use: () => used(today),
        late: () => used(addDays(today, -40)),
        number: () => (isMetered ? used(addDays(today, -1)) : modified({ NumUnits: units })),
        leaveOut: () => client.put(`${path}/modify`, { componentUsage: [] }),
        version: () => modified({ componentVersionID: otherVersionId, NumUnits: units }),
      }[kind]!()
      expect(reply.status, reply.text).toBeLessThan(500)
    }
}

async function build(world: World): Promise<Built> {
  const client = await service.newAccount({
    clockAt: `${addDays(world.clock, -420)}T08:00:00.000Z`,
  })
  await ok(client.put('/v1/account', { TimeZone: world.TimeZone }))
  for (const CurrencyCode of CURRENCIES.slice(1)) await client.post('/v1/currencies', { CurrencyCode })
  await addTaxes(client)
  if (world.hasTexts)
    await ok(client.put('/v1/account', { Notes: 'Plain', Texts: { de: { Notes: 'Danke', Terms: 'Sofort' } } }))
  if (world.hasDunning) await ok(client.put('/v1/collectionrules', { isForUntried: true }))
  if (world.hasWebhook)
    await ok(client.post('/v1/webhooks', { Url: 'https://127.0.0.1:9/hook', Types: ['invoice.issued'] }))
  const offers = [
    { price: world.price, setupFee: 5 },
    { price: 31, term: 3 },
    { price: 7.7, term: 10, termType: 'days' as const, trialPeriod: 12, trialFee: 1 },
    { price: 0 },
    { price: 120, term: 12 },
  ]
  const packages: number[] = []
  for (const offer of offers)
    packages.push((await addPackage(client, ...CURRENCIES.map((currency) => ({ ...offer, currency })))).packageID)
  const components = await addComponents(client)
  const living: Living[] = []
  const shop = { client, components, packages, living }
  const [wish, lasting, stepsOf] = world.crowd
  for (const [one, subscriptions] of world.members) await addMember(shop, world, one, subscriptions)
  for (const steps of [...ALIKE.map(() => lasting.steps), ...stepsOf])
    await addMember(shop, world, wish, [{ ...lasting, steps }])
  return { client, components, living }
}

async function ok<R extends { status: number; text: string; body: any }>(reply: Promise<R>): Promise<any> {
  const { status, text, body } = await reply
  expect(status, text).toBeLessThan(300)
  return body
}

async function addMember(
  { client, components, packages, living }: Built & { packages: readonly number[] },
  world: World,
  wish: World['members'][number][0] | World['crowd'][0],
  subscriptions: readonly (World['members'][number][1][number] | World['crowd'][1])[],
): Promise<void> {
  const { country, exempt, hasCard, hasEmail, unallocated, isSuspended, ...fields } = wish
  const { customerID } = await ok(
    client.post('/v1/customers', {
      Name: 'Ada',
      LastName: 'L',
      ...fields,
      countryID: country,
      ...(exempt && {
        isWaiveTaxes: true,
        TaxCategory: exempt === 'plain' ? null : exempt,
        TaxReason: exempt === 'plain' ? null : 'Exempt',
      }),
      ...(hasEmail && { Email: 'ada@example.com' }),
    }),
  )
  if (hasCard && wish.PaymentMethod === 'credit_card') await addCard(client, customerID, CARDS.good)
  for (const one of subscriptions) {
    const StartDate = addDays(world.clock, -one.startsDaysAgo)
    const added = await ok(
      client.post('/v1/subscriptions', {
        customerID,
        packageID: packages[one.offer],
        StartDate,
        isProRata: one.isProRata,
        numDaysBeforeToInv: one.leadDays,
        poNumber: one.poNumber,
        CollectionMethod: one.method,
        componentUsage: (one.components as readonly Having[]).map((having) => usageOf(components, having)),
        ...(one.syncsAfter !== null && one.isProRata && { firstProrataSyncDate: addDays(StartDate, one.syncsAfter) }),
        ...(one.endsAfter !== null && { EndDate: addDays(StartDate, one.endsAfter) }),
      }),
    )
    living.push({ id: added.subscriptionID, steps: one.steps })
    if (one.isCancelled) await client.put(`/v1/subscriptions/${added.subscriptionID}/cancel`, { CancelType: 'renewal' })
  }
  const paid = {
    customerID,
    Amount: unallocated,
    Date: addDays(world.clock, -420),
    CurrencyCode: wish.CurrencyCode,
    Method: 'eft',
    Allocations: [],
  }
  if (unallocated > 0) await ok(client.post('/v1/payments', paid))
  if (isSuspended) await client.put(`/v1/customers/${customerID}/suspend`)
}

const tables = (
  await owner.query<{ name: string }>(`
    select table_name as name from information_schema.columns where table_schema = 'perennial' and column_name = 'account_id' order by 1`)
).rows.flatMap(({ name }) => (ELSEWHERE.has(name) ? [] : [name]))

const sequences = async (): Promise<Map<string, string>> => {
  const { rows } = await owner.query(
    `select sequencename as name, coalesce(last_value, 0) as last from pg_sequences where schemaname = 'perennial'`,
  )
  return new Map(rows.map(({ name, last }) => [name, String(last)]))
}

async function rewind(to: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, last] of to)
    await owner.query('select setval($1::regclass, greatest($2::bigint, 1), $2::bigint > 0)', [
      `perennial.${name}`,
      last,
    ])
}

/** Mails have random names. */
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g

class Undone extends Error {}

/** Does a piece of work, returns the rows that it leaves in all tables of an account, and takes it back. */
async function leftBy(account: bigint, work: (tx: Transaction) => Promise<void>): Promise<Record<string, string[]>> {
  const before = await sequences()
  const found: Record<string, string[]> = {}
  await service.db
    .transaction(account, async (tx) => {
      await work(tx)
      for (const table of tables) {
        const rows = await tx.savepoint(() => rowsOf(tx, table)).catch(() => undefined)
        if (rows) found[table] = rows
      }
      found['ledger'] = await entriesOf(tx)
      throw new Undone()
    })
    .catch((error) => {
      if (!(error instanceof Undone)) throw error
    })
  await rewind(before)
  return found
}

const DUE_ON_ALONE = fragment` || jsonb_build_object('due_on', coalesce(t.due_on, t.due_in_cycle_on))`

const rowsOf = async (tx: Transaction, table: string): Promise<string[]> =>
  (
    await tx.rows<{ row: string }>(sql`
      select (to_jsonb(t) - ${`{${OF_THE_MOMENT[table] ?? (table === 'invoices' ? OF_PLACES : '')}}`}::text[]${table === 'subscription_billing' ? DUE_ON_ALONE : NOTHING})::text as "row" from ${namesOf(table)} t where t.account_id = ${tx.account} order by 1`)
  ).map(({ row }) => row.replaceAll(UUID, 'uuid'))

/** Returns the entries of the ledger in their order. */
const entriesOf = async (tx: Transaction): Promise<string[]> =>
  (
    await tx.rows<{ row: string }>(sql`
      select (to_jsonb(l) - '{entry_id,pack_id}'::text[])::text as "row" from ledger l where l.account_id = ${tx.account} order by entry_id`)
  ).map(({ row }) => row)

interface Due {
  day: IsoDate
  customers: CustomerId[]
}

async function nextDue(account: bigint, after: IsoDate): Promise<Due | null> {
  const db = service.db.reader(account)
  const day = await subscriptionsDue.findAfter(db, account, after, '2030-01-01')
  if (day === null) return null
  const customers = await subscriptionsDue.listCustomers(db, account, { day, after: 0n, limit: 100, runId: 0n })
  return { day, customers }
}

/** Bills what is due on a day by one kind, for groups of customers one after the other. */
async function bill(tx: Transaction, kind: DueKind, day: IsoDate, groups: readonly CustomerId[][]): Promise<Planned[]> {
  const account = await getAccount(tx, tx.account)
  const moment = { ...momentOf(account, Date.now), today: day, now: `${day}T12:00:00.000Z` }
  const context: DueContext = { account, moment, actor: 'test', memory: {} }
  const all: Planned[] = []
  for (const customers of groups.filter((group) => group.length > 0)) {
    const { active: locked } = await lockCustomers(tx, customers, true)
    if (locked.length > 0) all.push(await kind.work(tx, context, locked, { day, runId: 0n }))
  }
  return all
}

const countsOf = (all: readonly Planned[]) => {
  const plans = all.flatMap((one) => one.plans)
  return {
    invoices: plans.reduce((sum, plan) => sum + plan.invoices.length, 0),
    renewals: plans.reduce((sum, plan) => sum + plan.renewals, 0),
    dueOn: plans.map(({ state }) => state.dueOn ?? '').toSorted(),
    failures: all.flatMap(({ failures }) => failures).length,
  }
}

async function listAlike(tx: Transaction, customers: readonly CustomerId[], day: IsoDate) {
  const due = { day, runId: 0n }
  const { groups } = await listSharedBilling(tx, tx.account, customers, due)
  return groupsByFacts(tx, splitGroups(groups, await listTaxRules(tx, tx.account)), due)
}

/** Counts of what was billed by shared plans: subscriptions, those with components, those of them that shared a plan, and templates with lines of some kinds; invoices whose lines of components are kept, or are rows. */
const counts = { stamped: 0, components: 0, shared: 0, zero: 0, metered: 0, rises: 0, kept: 0, rows: 0 }

/** Counts the invoices of a day by where their lines of components stand. */
async function countPlaces(tx: Transaction, day: IsoDate): Promise<void> {
  const [found] = await tx.rows<{ kept: number; rows: number }>(sql`
    select count(distinct i.invoice_id) filter (where i.template_id is not null)::integer as "kept",
           count(distinct i.invoice_id) filter (where i.template_id is null)::integer as "rows"
      from invoices i join charges c on c.account_id = ${tx.account} and c.invoice_id = i.invoice_id
     where i.account_id = ${tx.account} and i.invoice_date = ${day} and c.kind in ('component', 'rise', 'metered')`)
  counts.kept += found?.kept ?? 0
  counts.rows += found?.rows ?? 0
}

/** The customers whose subscriptions are billed by shared plans on a day, and the others. */
async function partsOf(tx: Transaction, { day, customers }: Due): Promise<CustomerId[][]> {
  const account = await getAccount(tx, tx.account)
  const plans = await planContext(tx, { account, moment: { ...momentOf(account, Date.now), today: day } })
  const { active: unpaused } = await lockCustomers(tx, customers, true)
  if (unpaused.length === 0) return []
  const alike: CustomerId[] = []
  for (const { facts, members } of await listAlike(tx, unpaused, day)) {
    const plan = planSharedBilling(facts, plans, day)
    if (!plan) continue
    alike.push(...members.map(({ customerId }) => customerId))
    if (facts.components.length > 0) counts.components += members.length
    if (members.length > 1) counts.shared += facts.components.length > 0 ? members.length : 0
    counts.zero += plan.zeroCharges.length
    counts.metered += plan.invoices[0]?.lines.some((line) => 'kind' in line && line.kind === 'metered') ? 1 : 0
    counts.rises += plan.invoices[0]?.lines.some((line) => 'kind' in line && line.kind === 'rise') ? 1 : 0
  }
  await expectPlans(tx, unpaused, day)
  return [unpaused.filter((id) => alike.includes(id)), unpaused.filter((id) => !alike.includes(id))]
}

/** Holds the plan of each group against that of each of its subscriptions on its own: equal except for their ids. */
async function expectPlans(tx: Transaction, customers: readonly CustomerId[], day: IsoDate): Promise<void> {
  const account = await getAccount(tx, tx.account)
  const about = { account, moment: { ...momentOf(account, Date.now), today: day } }
  const due = { day, runId: 0n }
  const records = await listDueSubscriptions(tx, tx.account, customers, due)
  const plans = await planContext(tx, about, records)
  for (const { facts, members } of await listAlike(tx, customers, day)) {
    const plan = planSharedBilling(facts, plans, day)
    if (!plan) continue
    for (const { id } of members) {
      const record = records.find((one) => one.id === id)
      if (!record) throw new Error(`subscription ${id} is due`)
      const own = planSubscription(record, plans, day)
      const nobody = { id: 0n, customerId: 0n, subscriptionId: 0n }
      const ofCustomer = {
        customerId: 0n,
        subscriptionId: 0n,
        customerVersion: 0,
        customerVatNumber: null,
        poNumber: null,
      }
      expect(own.invoices.map((invoice) => ({ ...invoice, ...ofCustomer }))).toEqual(plan.invoices)
      expect({ ...own.state, ...nobody }).toEqual({ ...plan.state, ...nobody })
      expect(own.components && { ...own.components, ...nobody }).toEqual(
        plan.components && { ...plan.components, ...nobody },
      )
      expect(own.zeroCharges.map((one) => ({ ...one, subscriptionId: 0n }))).toEqual(plan.zeroCharges)
      expect([own.renewals, own.ended, own.credits ?? []]).toEqual([plan.renewals, null, []])
    }
  }
}

const property = fc.asyncProperty(WORLDS, async (world) => {
  const built = await build(world)
  const { client } = built
  await moveTo(client, addDays(world.clock, -1))
  let after: IsoDate = addDays(world.clock, -1)
  for (let times = 0; times < 6; times += 1) {
    await live(built, times, after)
    const due = await nextDue(client.id, after)
    if (due === null) break
    // What is remembered of the first chunk serves the second.
    const middle = Math.ceil(due.customers.length / 2)
    const chunks = [due.customers.slice(0, middle), due.customers.slice(middle)].filter((chunk) => chunk.length > 0)
    const parts: CustomerId[][] = []
    for (const customers of chunks)
      await leftBy(client.id, async (tx) => {
        const [alike = [], others = []] = await partsOf(tx, { ...due, customers })
        parts.push(alike, others)
        counts.stamped += alike.length
      })
    let made: unknown
    const byShapes = await leftBy(client.id, async (tx) => {
      made = countsOf(await bill(tx, subscriptionsDue, due.day, chunks))
      await countPlaces(tx, due.day)
    })
    const oneByOne = await leftBy(client.id, async (tx) => {
      expect(countsOf(await bill(tx, subscriptionsDueOneByOne, due.day, parts))).toEqual(made)
    })
    expect(Object.keys(byShapes).length).toBeGreaterThan(60)
    expect(byShapes).toEqual(oneByOne)
    expect([byShapes['charges'], byShapes['invoice_taxes']]).not.toContain(undefined)
    await moveTo(client, due.day)
    after = due.day
  }
  expect(await differencesOf(service, client)).toEqual([])
})

describe('billing by shapes', () => {
  test('leaves what billing one by one leaves, to the byte, for random subscriptions', async () => {
    await fc.assert(property, { numRuns: Number(process.env['STAMP_RUNS'] ?? 5), endOnFailure: true })
    const few = Object.entries(counts).filter(([name, count]) => count < (name === 'stamped' ? 12 : 1))
    expect(few, JSON.stringify(counts)).toEqual([])
  })
})
