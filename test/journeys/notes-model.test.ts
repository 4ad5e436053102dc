import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../support/app.ts'
import { differencesOf, moveTo } from '../support/shop.ts'
import {
  allocate,
  cancel,
  canTake,
  creditableOf,
  hasClosedNote,
  type ModelNote,
  type NotesModel,
  type Part,
  sum,
  sumTo,
} from './notes-model.testing.ts'
import { assertInTime } from '../support/in-time.ts'

/**
 * Whatever is done with credit notes by either door and in whatever order, they correct what a model of a few lines says, and the books hold.
 * NOTES_RUNS sets how many random histories are lived, NOTES_SECONDS for how long at most, SEED which; a failure names its seed.
 */

const service = await startTestService()
const RUNS = Number(process.env['NOTES_RUNS'] ?? 8)
const LIMIT_MS = Number(process.env['NOTES_SECONDS'] ?? 25) * 1000

const PRICES = [9.99, 100, 60, 0.2]
const cents = (amount: number): number => Math.round(amount * 100)

interface World {
  client: TestClient
  customerID: number
  model: NotesModel
  /** Answers of closed notes, as they were when these were closed. */
  closed: Map<number, object>
  day: number
  count: number
}

async function newWorld(): Promise<World> {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body
  const model: NotesModel = { invoices: [], notes: [], badDebt: [] }
  for (const UnitCostEx of PRICES) {
    const { body } = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx }] })
    const total = cents(body.Total)
    model.invoices.push({ id: body.invoiceID, total, tax: total - cents(UnitCostEx), isCancelled: false })
  }
  return { client, customerID, model, closed: new Map(), day: 1, count: 0 }
}

const invoice = fc.constantFrom(0, 0, 1, 1, 1, 2, 2, 2, 3)
const portion = fc.record({ invoice, amount: fc.constantFrom(1, 7, 23, 100, 400, 400, 900, 1149) })
const which = fc.nat(2)
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant('add' as const),
      amount: fc.integer({ min: 1, max: 6000 }),
      to: fc.array(portion, { maxLength: 3 }),
      for: fc.option(invoice, { freq: 2 }),
      isOther: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      act: fc.constant('edit' as const),
      which,
      amount: fc.option(fc.integer({ min: 1, max: 6000 }), { freq: 3 }),
      to: fc.array(portion, { maxLength: 3 }),
      isOther: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('return' as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('send' as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('delete' as const), which, isOther: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('cancel' as const), which: invoice }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('write off' as const), to: portion }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('day' as const), days: fc.integer({ min: 1, max: 20 }) }) },
)
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

/** Turns portions of a wish into parts of the model's invoices: one for each, so that their order is that of their first allocation. */
const partsOf = ({ invoices }: NotesModel, to: readonly { invoice: number; amount: number }[]): Part[] =>
  to.map(({ invoice, amount }) => ({ invoice: invoices[invoice]!.id, amount }))

const listOf = (parts: readonly Part[]) =>
  parts.map(({ invoice, amount }) => ({ invoiceID: invoice, amountApplied: amount / 100 }))
const linkedOf = (parts: readonly Part[]) =>
  parts.map(({ invoice, amount }) => ({ objectID: invoice, AmtAllocated: amount / 100 }))

const DATE = '2027-01-01'
const dayOf = (day: number): string => new Date(Date.UTC(2027, 0, day)).toISOString().slice(0, 10)

async function add(world: World, wish: Extract<Step, { act: 'add' }>): Promise<void> {
  const { client, customerID, model } = world
  const parts = partsOf(model, wish.to)
  const invoice = wish.for === null ? null : model.invoices[wish.for]!
  const CreditNumber = `N${(world.count += 1)}`
  const common = { customerID, Amount: wish.amount / 100, Date: dayOf(world.day), invoiceID: invoice?.id ?? null }
  const { status, body, text } = wish.isOther
    ? await client.post('/v1/adjustment/add', {
        ...common,
        Type: 'negative',
        AdjustmentType: 'credit_note',
        Ref: CreditNumber,
        Allocations: linkedOf(parts),
      })
    : await client.post('/v1/credits', { ...common, CurrencyCode: 'USD', CreditNumber, Allocations: listOf(parts) })
  const canFor = invoice === null || (!invoice.isCancelled && wish.amount <= creditableOf(model, invoice))
  expect(status, text).toBe(canFor && canTake(model, null, wish.amount, parts) ? 201 : 409)
  if (status !== 201) return
  const id: number = body.creditNoteID ?? body.AdjustmentID
  const note: ModelNote = { id, amount: wish.amount, allocated: [], settled: [], isClosed: false, isSent: false }
  model.notes.push(note)
  if (invoice) {
    note.settled.push({ invoice: invoice.id, amount: wish.amount })
    note.isClosed = true
  }
  allocate(model, note, wish.amount, parts)
}

async function edit(world: World, wish: Extract<Step, { act: 'edit' }>, note: ModelNote): Promise<void> {
  const { client, customerID, model } = world
  const parts = partsOf(model, wish.to)
  const amount = wish.amount ?? note.amount
  const now = (await client.get(`/v1/credits/${note.id}`)).body
  const { status, text } = wish.isOther
    ? await client.put('/v1/adjustment/edit', {
        customerID,
        Type: 'negative',
        AdjustmentType: 'credit_note',
        AdjustmentID: note.id,
        Date: now.Date,
        Amount: amount / 100,
        LinkedAllocations: linkedOf(parts),
      })
    : await client.put(`/v1/credits/${note.id}`, { ...now, Amount: amount / 100, Allocations: listOf(parts) })
  const isFixed = note.isClosed && amount !== note.amount
  expect(status, text).toBe(!isFixed && canTake(model, note, amount, parts) ? 204 : 409)
  if (status === 204) allocate(model, note, amount, parts)
}

const entriesOf = async (client: TestClient): Promise<number> =>
  (await client.get('/v1/ledger/entries?page_size=500&total=true')).body.length

async function live(world: World, wish: Step): Promise<void> {
  const { client, customerID, model } = world
  const noteOf = (which: number): ModelNote | undefined => model.notes[which % Math.max(model.notes.length, 1)]
  if (wish.act === 'add') return add(world, wish)
  if (wish.act === 'day') {
    world.day += wish.days
    await moveTo(client, dayOf(world.day))
    return
  }
  if (wish.act === 'cancel') {
    const invoice = model.invoices[wish.which]!
    const isTaken = model.notes.some(({ allocated }) => sumTo(allocated, invoice.id) > 0)
    const isFree = !isTaken && sumTo(model.badDebt, invoice.id) === 0 && !hasClosedNote(model, invoice)
    const { status, text } = await client.delete(`/v1/invoices/${invoice.id}`)
    expect(status, text).toBe(isFree && !invoice.isCancelled ? 204 : 409)
    if (status === 204) cancel(model, invoice)
    return
  }
  if (wish.act === 'write off') {
    const [part] = partsOf(model, [wish.to]) as [Part]
    const debt = { customerID, Type: 'negative', AdjustmentType: 'bad_debt', Ref: 'B', Date: DATE }
    const sent = { ...debt, Amount: part.amount / 100, Allocations: linkedOf([part]) }
    const { status, text } = await client.post('/v1/adjustment/add', sent)
    expect(status, text).toBe(canTake(model, null, part.amount, [part]) ? 201 : 409)
    if (status === 201) model.badDebt.push(part)
    return
  }
  const note = noteOf(wish.which)
  if (!note) return
  if (wish.act === 'edit') return edit(world, wish, note)
  const path = `/v1/credits/${note.id}`
  if (wish.act === 'return') {
    const entries = await entriesOf(client)
    expect((await client.put(path, (await client.get(path)).body)).status).toBe(204)
    expect(await entriesOf(client), 'a note sent back posts nothing').toBe(entries)
  } else if (wish.act === 'send') {
    const { status, headers } = await client.put(`${path}/send`, { isMailed: false })
    const unsettled = note.amount - sum(note.settled)
    const warning = unsettled === 0 ? undefined : `unsettled;amount=${(unsettled / 100).toFixed(2)}`
    expect([status, headers['perennial-warning']]).toEqual([204, warning])
    note.isClosed = note.isSent = true
  } else {
    const query = `type=negative&adjustmentID=${note.id}&customerID=${customerID}`
    const reply = await client.delete(wish.isOther ? `/v1/adjustment/delete?${query}` : path)
    expect(reply.status, reply.text).toBe(note.isSent ? 409 : 204)
    if (reply.status === 204) model.notes = model.notes.filter((one) => one !== note)
  }
}

/** Returns of an answer what stays once a note is closed, and more once it is sent. */
const fixedOf = ({ Allocations: _a, Status: _s, Memo, CreditNumber, isSent, DateSent, ...fixed }: any) => ({
  ...fixed,
  ...(isSent ? { Memo, CreditNumber, DateSent } : {}),
})

async function expectAgreement({ client, model, closed }: World): Promise<void> {
  const notes = (await client.get('/v1/credits?page_size=500')).body
  expect(notes.map((note: any) => note.creditNoteID)).toEqual(model.notes.map(({ id }) => id))
  for (const [place, answer] of notes.entries()) {
    const note = model.notes[place]!
    const grosses = answer.Taxes.map((tax: any) => [tax.invoiceID, cents(tax.Base + tax.TaxAmount)])
    const expected = [...new Set(note.settled.map(({ invoice }) => invoice))].map((id) => [id, sumTo(note.settled, id)])
    expect(new Map(grosses), `what note ${note.id} settles`).toEqual(new Map(expected as [number, number][]))
    expect([answer.isClosed, answer.isSent, cents(answer.Unsettled)]).toEqual([
      note.isClosed,
      note.isSent,
      note.amount - sum(note.settled),
    ])
    expect(cents(answer.TotalEx) + cents(answer.TotalTax)).toBe(note.amount)
    if (!note.isClosed) continue
    const before = closed.get(note.id)
    if (before) expect(fixedOf(answer)).toMatchObject(before)
    closed.set(note.id, fixedOf(answer))
  }
  for (const invoice of model.invoices) {
    const taxes = notes.flatMap(({ Taxes }: any) => Taxes).filter(({ invoiceID }: any) => invoiceID === invoice.id)
    const settled = sumTo(
      model.notes.flatMap((note) => note.settled),
      invoice.id,
    )
    const tax = taxes.reduce((all: number, { TaxAmount }: any) => all + cents(TaxAmount), 0)
    expect(settled).toBeLessThanOrEqual(invoice.total)
    expect(tax).toBeLessThanOrEqual(invoice.tax)
    if (settled === invoice.total) expect(tax, 'all is credited').toBe(invoice.tax)
  }
}

const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25, size: 'max' }), async (steps) => {
  const world = await newWorld()
  for (const wish of steps) {
    await live(world, wish)
    await expectAgreement(world)
  }
  expect(await differencesOf(service, world.client)).toEqual([])
})

// A failing history is made smaller as long as there is time for it.
const bounds = { numRuns: RUNS, limitMs: LIMIT_MS }

test(
  'every history of notes agrees with the model after each step, from a fixed seed',
  async () => {
    await assertInTime(property, { ...bounds, seed: 20270131 })
  },
  300_000 + 2 * LIMIT_MS,
)

test(
  'every history of notes agrees with the model after each step, from the seed of the run',
  async () => {
    await assertInTime(property, bounds)
  },
  300_000 + 2 * LIMIT_MS,
)
