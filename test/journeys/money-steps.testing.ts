import fc from 'fast-check'
import { expect } from 'vitest'
import { givenSteps } from './money-given-steps.testing.ts'
import {
  allocationsTo,
  isLocked,
  type Given,
  creditableOf,
  type Owed,
  placeNotes,
  replaceAllocations,
  takeUnallocated,
} from './money-model.testing.ts'
import { owedSteps } from './money-owed-steps.testing.ts'
import { currencyPick, day, type Perform, pick, customerPick, pickOf, stepOf } from './money-picks.testing.ts'
import { CURRENCIES, dayOf, expectOutcome, inDays, minorOf, wire, type World } from './money-world.testing.ts'

/** Steps that may happen to money, each with the result that the model expects. */

const invoices = stepOf(
  'invoice',
  fc.record({
    customer: customerPick,
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
  books.settled = books.settled.filter((one) => one.invoice !== invoice)
  if (invoice.state === 'draft') books.owed = books.owed.filter((one) => one !== invoice)
  else invoice.state = 'cancelled'
})

/** Invoices that the rules have made since: their totals are taken from the service, what they take is not. */
async function discoverInvoices(world: World): Promise<Owed[]> {
  const made: Owed[] = []
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
    made.push(owed)
  }
  return made
}

async function discoverTaking(world: World): Promise<void> {
  for (const invoice of await discoverInvoices(world)) takeUnallocated(world.books, invoice)
}

const moves = stepOf('moves', fc.integer({ min: 1, max: 45 }), async (world, days) => {
  const { books, client } = world
  books.today = inDays(world, days)
  world.log.push(`move to ${books.today}`)
  const reply = await client.put('/v1/clock', { Now: `${books.today}T12:00:00Z` })
  expect(reply.text).toContain('"Failed":[]')
  await discoverTaking(world)
})

const subscriptions = stepOf(
  'subscriptions',
  fc.record({ customer: customerPick, day: fc.integer({ min: -40, max: 10 }) }),
  async (world, wish) => {
    const customer = pickOf(world.customers, wish.customer) as { id: number; currency: string }
    const body = { customerID: customer.id, packageID: world.packages[0], StartDate: inDays(world, wish.day) }
    world.log.push(`subscribe ${JSON.stringify(body)}`)
    const reply = await world.client.post('/v1/subscriptions', body)
    expect(reply.status, reply.text).toBe(201)
    world.subscriptions.push(reply.body.subscriptionID)
    await discoverTaking(world)
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

/** Changes a subscription. The operation may make credit notes and an invoice; the notes are placed first. */
async function changeSubscription(world: World, path: string, body?: object): Promise<void> {
  world.log.push(`PUT ${path} ${JSON.stringify(body ?? '')}`)
  const { status, text } = await world.client.put(path, body)
  expect([204, 409], text).toContain(status)
  const made = await discoverInvoices(world)
  await discoverNotes(world, made)
  for (const invoice of made) takeUnallocated(world.books, invoice)
}

const cancelledSubscriptions = stepOf(
  'cancel subscription',
  fc.record({ which: pick, kind: fc.constantFrom('prorata', 'prorata', 'fullcredit', 'norefund') }),
  async (world, { which, kind }) => {
    const id = pickOf(world.subscriptions, which)
    if (id !== undefined) await changeSubscription(world, `/v1/subscriptions/${id}/cancel/${kind}`)
  },
)

const changedSubscriptions = stepOf(
  'change package',
  fc.record({ which: pick, to: pick }),
  async (world, { which, to }) => {
    const id = pickOf(world.subscriptions, which)
    const packageID = pickOf(world.packages, to)
    if (id !== undefined)
      await changeSubscription(world, `/v1/subscriptions/${id}/changepackage`, { packageID, When: 'now' })
  },
)

const issues = stepOf('issue draft', pick, async (world, which) => {
  const { books, client } = world
  const draft = pickOf(
    books.owed.filter(({ state }) => state === 'draft'),
    which,
  )
  if (!draft) return
  world.log.push(`issue ${draft.id}`)
  const reply = await client.put(`/v1/invoices/${draft.id}/issue`)
  // Its day was given when it was written.
  if (!expectOutcome(world, reply, isLocked(books, draft.dated) ? ['books_locked'] : [], 204)) return
  const { invoiceNum, InvoiceDate, DueDate } = (await client.get(`/v1/invoices/${draft.id}`)).body
  Object.assign(draft, { state: 'open', number: invoiceNum, dated: dayOf(InvoiceDate), due: dayOf(DueDate) })
})

/** Credit notes that the service has made since: what they come to is taken from it, where they go is not. */
async function discoverNotes(world: World, made: readonly Owed[]): Promise<void> {
  const { books, client } = world
  const known = new Set(books.given.filter(({ kind }) => kind === 'credit_note').map(({ id }) => id))
  const told: any[] = (await client.get('/v1/credits?page_size=200')).body
  const fresh = told.filter(({ creditNoteID }) => !known.has(creditNoteID))
  if (fresh.length === 0) return
  const invoices: any[] = (await client.get('/v1/invoices?page_size=200')).body
  const notes: Given[] = []
  for (const note of fresh) {
    const { CurrencyCode: currency } = note
    const { Taxes, Lines } = (await client.get(`/v1/credits/${note.creditNoteID}/explanation`)).body
    const ofCharge = invoices.find(({ Charges }) => Charges.some((c: any) => c.chargeID === Lines[0].chargeID))
    const invoice = books.owed.find(({ kind, id }) => kind === 'invoice' && id === ofCharge?.invoiceID) as Owed
    const amount = minorOf(currency, note.Amount)
    expect(amount, `note ${note.creditNoteID}`).toBeLessThanOrEqual(creditableOf(books, invoice))
    const tax = Taxes.reduce((sum: number, { Amount }: any) => sum + minorOf(currency, Amount), 0)
    const given: Given = {
      kind: 'credit_note',
      id: note.creditNoteID,
      customer: note.customerID,
      currency,
      amount,
      dated: dayOf(note.Date),
      ref: note.CreditNumber,
      isFailed: false,
      credits: { invoice, tax },
    }
    books.given.push(given)
    books.settled.push({ note: given, invoice, amount, tax })
    notes.push(given)
  }
  placeNotes(books, notes, made)
}

export const steps: fc.Arbitrary<Perform> = fc.oneof(
  { weight: 8, arbitrary: invoices },
  { weight: 2, arbitrary: cancellations },
  { weight: 2, arbitrary: moves },
  { weight: 2, arbitrary: subscriptions },
  { weight: 2, arbitrary: cancelledSubscriptions },
  { weight: 2, arbitrary: changedSubscriptions },
  { weight: 1, arbitrary: issues },
  { weight: 1, arbitrary: locks },
  { weight: 1, arbitrary: settings },
  ...givenSteps,
  ...owedSteps,
)
