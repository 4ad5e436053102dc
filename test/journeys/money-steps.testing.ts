import fc from 'fast-check'
import { expect } from 'vitest'
import {
  type Allocation,
  allocationsOf,
  allocationsTo,
  type Ask,
  type Entry,
  type Given,
  isLocked,
  openOf,
  type Owed,
  refusalsOf,
  replaceAllocations,
  takeUnallocated,
  wantedOf,
} from './money-model.testing.ts'
import { CURRENCIES, dayOf, expectOutcome, inDays, minorOf, wire, type World } from './money-world.testing.ts'

/** What may happen to money, each with what the model says of it. Choices are numbers, so that a failing history can be made smaller. */

export type Perform = (world: World) => Promise<void>

/** A step that a counterexample shows as what it was chosen to be. */
const stepOf = <Wish>(
  name: string,
  wishes: fc.Arbitrary<Wish>,
  perform: (world: World, wish: Wish) => Promise<void>,
): fc.Arbitrary<Perform> =>
  wishes.map((wish) =>
    Object.assign((world: World) => perform(world, wish), {
      [fc.toStringMethod]: () => `${name} ${JSON.stringify(wish)}`,
    }),
  )

/** One of some by a number; undefined where there is none. */
const pickOf = <T>(some: readonly T[], pick: number): T | undefined => some[pick % Math.max(some.length, 1)]

const pick = fc.nat(999)
/** Mostly the customer's own currency. */
const currencyPick = fc.constantFrom(0, 0, 0, 1, 2)
const day = fc.oneof({ weight: 3, arbitrary: fc.integer({ min: -3, max: 3 }) }, fc.integer({ min: -70, max: 40 }))
const amount = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 30_000 }))

const entryPicks = fc.record({
  target: pick,
  /** Whether it is any document, or one of those that fit. */
  isAny: fc.constantFrom(false, false, false, false, false, true),
  part: fc.constantFrom('all', 'all', 'half', 'one', 'third', 'over'),
  byNumber: fc.boolean(),
})
type EntryPick = typeof entryPicks extends fc.Arbitrary<infer T> ? T : never

const asks = fc.record({
  isAuto: fc.constantFrom(true, false, false),
  /** What becomes of present allocations, one after the other. */
  present: fc.array(fc.constantFrom('keep', 'keep', 'drop', 'less', 'more', 'move'), { maxLength: 4 }),
  added: fc.array(entryPicks, { maxLength: 3 }),
})
type AskPick = typeof asks extends fc.Arbitrary<infer T> ? T : never

function targetOf({ books }: World, given: Given, { target, isAny }: EntryPick): Owed | undefined {
  const fitting = books.owed.filter(
    (o) => o.customer === given.customer && o.currency === given.currency && openOf(books, o) > 0 && o.state === 'open',
  )
  return pickOf(isAny || fitting.length === 0 ? books.owed : fitting, target)
}

function partOf(part: EntryPick['part'], most: number): number {
  const parts = { all: most, half: Math.ceil(most / 2), third: Math.ceil(most / 3), one: 1, over: most + 1 }
  return Math.max(1, parts[part])
}

const changed = {
  keep: (n: number) => n,
  less: (n: number) => n - 1,
  more: (n: number) => n + 1,
  move: (n: number) => n,
}

/** A list as it is asked for, from what there is and from what can be paid. */
function entriesOf(world: World, given: Given, before: readonly Allocation[], wish: AskPick): Entry[] {
  const { books } = world
  const entries: Entry[] = []
  before.forEach((present, index) => {
    const fate = wish.present[index] ?? 'keep'
    if (fate === 'drop') return
    const other =
      fate === 'move' ? books.owed.find((o) => o !== present.owed && o.customer === given.customer) : undefined
    entries.push({ present, owed: other ?? present.owed, amount: Math.max(1, changed[fate](present.amount)) })
  })
  for (const one of wish.added) {
    const owed = targetOf(world, given, one)
    if (!owed) continue
    const left = given.amount - entries.reduce((sum, entry) => sum + entry.amount, 0)
    entries.push({ present: null, owed, amount: partOf(one.part, Math.min(left, openOf(books, owed))) })
  }
  return entries
}

function wireEntry({ present, owed, amount: minor }: Entry, currency: string, byNumber: boolean): object {
  const target =
    owed.kind !== 'invoice'
      ? { positiveAdjustmentID: owed.id }
      : byNumber && owed.number !== null
        ? { invoiceNumber: owed.number }
        : { invoiceID: owed.id }
  return { ...(present ? { allocationID: present.id } : {}), ...target, amountApplied: wire(currency, minor) }
}

/** What a body says of allocations, and what the model makes of it. */
function asked(world: World, given: Given, before: readonly Allocation[], wish: AskPick): { ask: Ask; body: object } {
  if (wish.isAuto) return { ask: 'auto', body: { AutoApply: true } }
  const entries = entriesOf(world, given, before, wish)
  const list = entries.map((entry, index) => wireEntry(entry, given.currency, wish.added[index]?.byNumber ?? false))
  return { ask: { entries }, body: { Allocations: list } }
}

const invoices = stepOf(
  'invoice',
  fc.record({
    customer: pick,
    currency: currencyPick,
    nets: fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 3 }),
    day,
    isDraft: fc.constantFrom(false, false, false, false, false, true),
  }),
  async (world, wish) => {
    const { books, client } = world
    const customer = pickOf(world.customers, wish.customer) as { id: number; currency: string }
    const currency = wish.currency === 0 ? customer.currency : (CURRENCIES[wish.currency - 1] as string)
    const InvoiceDate = inDays(world, wish.day)
    const Charges = wish.nets.map((net) => ({ UnitCostEx: wire(currency, net) }))
    const body = { customerID: customer.id, CurrencyCode: currency, InvoiceDate, Charges, isDraft: wish.isDraft }
    world.log.push(`invoice ${JSON.stringify(body)}`)
    const reply = await client.post('/v1/invoices', body)
    if (!expectOutcome(world, reply, isLocked(books, InvoiceDate) ? ['books_locked'] : [], 201)) return
    const net = wish.nets.reduce((sum, one) => sum + one, 0)
    // 15 %, half away from zero.
    const tax = Math.floor((net * 15 + 50) / 100)
    books.owed.push({
      kind: 'invoice',
      id: reply.body.invoiceID,
      number: reply.body.invoiceNum,
      customer: customer.id,
      currency,
      amount: net + tax,
      tax,
      dated: InvoiceDate,
      due: dayOf(reply.body.DueDate),
      state: wish.isDraft ? 'draft' : 'open',
    })
  },
)

const cancellations = stepOf('cancellations', pick, async (world, which) => {
  const { books, client } = world
  const invoice = pickOf(
    books.owed.filter(({ kind }) => kind === 'invoice'),
    which,
  )
  if (!invoice) return
  const applied = allocationsTo(books, invoice)
  const refusals = [
    ...(invoice.state === 'cancelled' ? ['invoice_cancelled'] : []),
    ...(books.given.some(({ credits }) => credits?.invoice === invoice) ? ['invoice_credited'] : []),
    ...(applied.some(({ isServiceMade }) => !isServiceMade) ? ['invoice_allocated'] : []),
  ]
  world.log.push(`cancel invoice ${invoice.id}`)
  if (!expectOutcome(world, await client.delete(`/v1/invoices/${invoice.id}`), refusals, 204)) return
  replaceAllocations(books, applied, [])
  if (invoice.state === 'draft') books.owed = books.owed.filter((one) => one !== invoice)
  else invoice.state = 'cancelled'
})

const paymentBody = ({ customer, amount: minor, currency, dated }: Given) => ({
  customerID: customer,
  Amount: wire(currency, minor),
  CurrencyCode: currency,
  Date: dated,
  Method: 'eft',
})

const payments = stepOf(
  'payments',
  fc.record({ customer: pick, currency: currencyPick, amount, day, ask: asks }),
  async (world, wish) => {
    const { books, client } = world
    const customer = pickOf(world.customers, wish.customer) as { id: number; currency: string }
    const given: Given = {
      kind: 'payment',
      id: 0,
      customer: customer.id,
      currency: wish.currency === 0 ? customer.currency : (CURRENCIES[wish.currency - 1] as string),
      amount: wish.amount,
      dated: inDays(world, wish.day),
      ref: null,
      isFailed: false,
      credits: null,
    }
    const { ask, body } = asked(world, given, [], wish.ask)
    const wanted = wantedOf(books, given, [], ask, false)
    const refusals = refusalsOf(books, given, [], wanted)
    if (isLocked(books, given.dated)) refusals.push('books_locked')
    const sent = { ...paymentBody(given), ...body }
    world.log.push(`pay ${JSON.stringify(sent)}`)
    const reply = await client.post('/v1/payments', sent)
    if (!expectOutcome(world, reply, refusals, 201)) return
    given.id = reply.body.paymentID
    books.given.push(given)
    replaceAllocations(books, [], wanted)
  },
)

const edits = stepOf(
  'edits',
  fc.record({
    which: pick,
    amount: fc.option(amount),
    more: fc.constantFrom(0, 0, 0, -1, 1, -100),
    day: fc.option(day, { freq: 3 }),
    currency: fc.constantFrom(0, 0, 0, 0, 0, 1, 2),
    ask: asks,
  }),
  async (world, wish) => {
    const { books, client } = world
    const present = pickOf(
      books.given.filter(({ kind }) => kind === 'payment'),
      wish.which,
    )
    if (!present) return
    const before = allocationsOf(books, present)
    const edited: Given = {
      ...present,
      amount: wish.amount ?? Math.max(1, present.amount + wish.more),
      dated: wish.day === null ? present.dated : inDays(world, wish.day),
      currency: wish.currency === 0 ? present.currency : (CURRENCIES[wish.currency - 1] as string),
    }
    const isOtherCurrency = edited.currency !== present.currency
    const isChanged = edited.amount !== present.amount || edited.dated !== present.dated || isOtherCurrency
    const { ask, body } = asked(world, edited, before, present.isFailed ? { ...wish.ask, isAuto: false } : wish.ask)
    const wanted = wantedOf(books, edited, before, ask, false)
    const refusals = refusalsOf(books, edited, before, wanted)
    if (isChanged && (isLocked(books, present.dated) || isLocked(books, edited.dated))) refusals.push('books_locked')
    if (present.isFailed && isChanged) refusals.push('payment_fixed')
    if (present.isFailed && wanted.length > 0) refusals.push('payment_failed')
    if (isOtherCurrency && (ask === 'auto' ? before.length > 0 : wanted.length > 0)) refusals.push('currency_allocated')
    const sent = { ...paymentBody(edited), ...body }
    world.log.push(`edit payment ${present.id} ${JSON.stringify(sent)}`)
    if (!expectOutcome(world, await client.put(`/v1/payments/${present.id}`, sent), refusals, 204)) return
    Object.assign(present, edited)
    replaceAllocations(
      books,
      before,
      wanted.map((one) => ({ ...one, given: present })),
    )
  },
)

const removals = stepOf('removals', pick, async (world, which) => {
  const { books, client } = world
  const given = pickOf(
    books.given.filter(({ kind }) => kind === 'payment'),
    which,
  )
  if (!given) return
  world.log.push(`delete payment ${given.id}`)
  const refusals = isLocked(books, given.dated) ? ['books_locked'] : []
  if (!expectOutcome(world, await client.delete(`/v1/payments/${given.id}`), refusals, 204)) return
  expect((await client.delete(`/v1/payments/${given.id}`)).status).toBe(404)
  replaceAllocations(books, allocationsOf(books, given), [])
  books.given = books.given.filter((one) => one !== given)
})

const failures = stepOf(
  'failures',
  fc.record({ which: pick, daysAgo: fc.nat(20) }),
  async (world, { which, daysAgo }) => {
    const { books, client } = world
    const given = pickOf(
      books.given.filter(({ kind }) => kind === 'payment'),
      which,
    )
    if (!given) return
    const body = { Date: inDays(world, -daysAgo), Reason: 'bounced' }
    world.log.push(`fail payment ${given.id} ${body.Date}`)
    const reply = await client.put(`/v1/payments/${given.id}/fail`, body)
    if (!expectOutcome(world, reply, given.isFailed ? ['payment_failed'] : [], 204)) return
    given.isFailed = true
    replaceAllocations(books, allocationsOf(books, given), [])
  },
)

/** Invoices that the rules have made since: their totals are taken from the service, what they take is not. */
async function discoverInvoices(world: World): Promise<void> {
  const { books, client } = world
  const known = new Set(books.owed.filter(({ kind }) => kind === 'invoice').map(({ id }) => id))
  const told: any[] = (await client.get('/v1/invoices?page_size=200')).body
  for (const one of told
    .filter(({ invoiceID }) => !known.has(invoiceID))
    .toSorted((a, b) => a.invoiceNum - b.invoiceNum)) {
    const { CurrencyCode: currency } = one
    const net = one.Charges.reduce((sum: number, { AmountEx }: any) => sum + minorOf(currency, AmountEx), 0)
    const owed: Owed = {
      kind: 'invoice',
      id: one.invoiceID,
      number: one.invoiceNum,
      customer: one.customerID,
      currency,
      amount: minorOf(currency, one.Total),
      tax: minorOf(currency, one.Total) - net,
      dated: dayOf(one.InvoiceDate),
      due: dayOf(one.DueDate),
      state: 'open',
    }
    books.owed.push(owed)
    takeUnallocated(books, owed)
  }
}

const moves = stepOf('moves', fc.integer({ min: 1, max: 45 }), async (world, days) => {
  const { books, client } = world
  books.today = inDays(world, days)
  world.log.push(`move to ${books.today}`)
  const reply = await client.put('/v1/clock', { Now: `${books.today}T12:00:00Z` })
  expect(reply.text).toContain('"Failed":[]')
  await discoverInvoices(world)
})

const subscriptions = stepOf(
  'subscriptions',
  fc.record({ customer: pick, day: fc.integer({ min: -40, max: 10 }) }),
  async (world, wish) => {
    const customer = pickOf(world.customers, wish.customer) as { id: number; currency: string }
    const body = { customerID: customer.id, packageID: world.packageID, StartDate: inDays(world, wish.day) }
    world.log.push(`subscribe ${JSON.stringify(body)}`)
    const reply = await world.client.post('/v1/subscriptions', body)
    expect(reply.status, reply.text).toBe(201)
    world.subscriptions.push(reply.body.subscriptionID)
    await discoverInvoices(world)
  },
)

const locks = stepOf('locks', fc.option(fc.integer({ min: 1, max: 40 }), { freq: 4 }), async (world, daysAgo) => {
  const LockDate = daysAgo === null ? null : inDays(world, -daysAgo)
  world.log.push(`lock ${LockDate}`)
  expect((await world.client.put('/v1/account', { LockDate })).status).toBe(204)
  world.books.lock = LockDate
  world.wasLocked ||= LockDate !== null
})

const settings = stepOf('settings', fc.boolean(), async (world, isOn) => {
  world.log.push(`unallocated money is taken: ${isOn}`)
  expect((await world.client.put('/v1/account', { isAutoApplyUnallocated: isOn })).status).toBe(204)
  world.books.takesUnallocated = isOn
})

export const steps: fc.Arbitrary<Perform> = fc.oneof(
  { weight: 6, arbitrary: invoices },
  { weight: 2, arbitrary: cancellations },
  { weight: 6, arbitrary: payments },
  { weight: 6, arbitrary: edits },
  { weight: 2, arbitrary: removals },
  { weight: 2, arbitrary: failures },
  { weight: 2, arbitrary: moves },
  { weight: 1, arbitrary: subscriptions },
  { weight: 1, arbitrary: locks },
  { weight: 1, arbitrary: settings },
)
