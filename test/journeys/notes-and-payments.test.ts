import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../support/app.ts'
import { differencesOf, moveTo } from '../support/shop.ts'
import { assertInTime } from '../support/in-time.ts'

/**
 * Invoices that are credited, paid and written off by every door, in random order: each credit of an invoice moves the money that follows from what
 * was open, what lost its payment is filled by its notes, a past day never changes by what is done today, and the books hold.
 * NOTES_RUNS sets how many random histories are lived, NOTES_SECONDS for how long at most, SEED which; a failure names its seed.
 */

const service = await startTestService()
const RUNS = Number(process.env['NOTES_RUNS'] ?? 6)
const LIMIT_MS = Number(process.env['NOTES_SECONDS'] ?? 25) * 1000

const PRICES = [[3, 6.99], [100], [0.04, 0.04, 0.12]]

interface World {
  client: TestClient
  customerID: number
  currency: string
  invoices: number[]
  /** Taxes of closed notes as they were when these were made. */
  taxes: Map<number, object>
  day: number
  /** Closed books, and what reports said of them then. */
  lock: { day: number; reports: unknown } | null
  /** Bad debts by their identifiers. */
  debts: Map<number, { invoiceID: number; amount: number }>
  count: number
}

const dayOf = (day: number): string => new Date(Date.UTC(2027, 0, day)).toISOString().slice(0, 10)

async function newWorld(isYen: boolean): Promise<World> {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const currency = isYen ? 'JPY' : 'USD'
  if (isYen) await client.post('/v1/currencies', { CurrencyCode: currency })
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true, CurrencyCode: currency }))
    .body
  const world: World = {
    client,
    customerID,
    currency,
    invoices: [],
    taxes: new Map(),
    day: 1,
    lock: null,
    debts: new Map(),
    count: 0,
  }
  for (const nets of PRICES) {
    const Charges = nets.map((net) => ({ UnitCostEx: isYen ? Math.round(net * 100) : net }))
    const { body, text } = await client.post('/v1/invoices', { customerID, Charges })
    expect(body.invoiceID, text).toBeTypeOf('number')
    world.invoices.push(body.invoiceID)
  }
  return world
}

const digitsOf = ({ currency }: World): number => (currency === 'JPY' ? 0 : 2)
const unitOf = (world: World): number => 10 ** digitsOf(world)
const minor = (world: World, amount: number): number => Math.round(amount * unitOf(world))
const amountOf = (world: World, amount: number): number => amount / unitOf(world)

const invoice = fc.constantFrom(0, 0, 1, 1, 2)
const part = fc.record({ invoice, percent: fc.constantFrom(1, 10, 33, 50, 100) })
const which = fc.nat(5)
const at = fc.constantFrom(0, 0, 0, 3)
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constant('pay' as const), to: part, more: fc.constantFrom(0, 0, 300), ago: at }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('credit' as const),
      to: part,
      by: fc.constantFrom('amount' as const, 'amount' as const, 'line' as const, 'whole' as const),
      place: fc.constantFrom(
        'waits' as const,
        'free' as const,
        'free' as const,
        'auto' as const,
        'both' as const,
        'refund' as const,
      ),
      ago: at,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant('note' as const), to: part, isFor: fc.boolean(), ago: at }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('fail' as const), which, ago: at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('edit payment' as const),
      which,
      how: fc.constantFrom('back' as const, 'free' as const, 'day' as const, 'lower' as const, 'currency' as const),
      to: part,
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('delete payment' as const), which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('free note' as const), which, to: part }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('send' as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('delete note' as const), which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('cancel' as const), to: part }) },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant('write off' as const), to: part, isRelieved: fc.boolean(), ago: at }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('delete debt' as const), which }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('day' as const), days: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('lock' as const), ago: fc.integer({ min: 1, max: 8 }) }) },
)
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never
type Of<Act extends Step['act']> = Extract<Step, { act: Act }>

const all = async ({ client }: World, path: string): Promise<any[]> => (await client.get(`${path}?page_size=200`)).body

/** Returns the records of a customer as they are answered now. */
async function read(world: World) {
  const [invoices, payments, notes] = await Promise.all([
    Promise.all(world.invoices.map(async (id) => (await world.client.get(`/v1/invoices/${id}`)).body)),
    all(world, '/v1/payments'),
    all(world, '/v1/credits'),
  ])
  return { invoices, payments, notes }
}
type Records = Awaited<ReturnType<typeof read>>

const appliedOf = (world: World, { Allocations }: any, invoiceID?: number): number =>
  Allocations.filter((one: any) => invoiceID === undefined || one.invoiceID === invoiceID).reduce(
    (sum: number, { amountApplied }: any) => sum + minor(world, amountApplied),
    0,
  )

const settledOf = (world: World, { notes }: Records, invoiceID: number): { gross: number; tax: number } => {
  const taxes = notes.flatMap(({ Taxes }: any) => Taxes).filter((tax: any) => tax.invoiceID === invoiceID)
  const sum = (field: string) => taxes.reduce((total: number, tax: any) => total + minor(world, tax[field]), 0)
  return { gross: sum('Base') + sum('TaxAmount'), tax: sum('TaxAmount') }
}

async function pay(world: World, wish: Of<'pay'>): Promise<void> {
  const { client, customerID, currency } = world
  const invoiceID = world.invoices[wish.to.invoice]!
  const { Balance } = (await client.get(`/v1/invoices/${invoiceID}`)).body
  const amount = Math.floor((minor(world, Balance) * wish.to.percent) / 100)
  const { status, text } = await client.post('/v1/payments', {
    customerID,
    Amount: amountOf(world, Math.max(amount + wish.more, 1)),
    CurrencyCode: currency,
    Date: dayOf(world.day - wish.ago),
    Method: 'cheque',
    allocations: amount > 0 ? [{ invoiceID, amountApplied: amountOf(world, amount) }] : [],
  })
  expect([201, 409, 400], text).toContain(status)
}

/** Returns what follows from the records before a credit: whether the invoice has as much left, and where the money of the note goes. */
function expectedOf(world: World, before: Records, wish: Of<'credit'>, amount: number, left: number) {
  const invoice = before.invoices[wish.to.invoice]!
  const open = minor(world, invoice.Balance)
  const paid = before.payments
    .filter(({ Status }: any) => Status !== 'Failed')
    .reduce((sum: number, payment: any) => sum + appliedOf(world, payment, invoice.invoiceID), 0)
  const freed = wish.place === 'free' || wish.place === 'both' ? Math.min(Math.max(amount - open, 0), paid) : 0
  const toInvoice = Math.min(amount, open + freed)
  const others = before.invoices
    .filter(({ invoiceID, Status }) => invoiceID !== invoice.invoiceID && Status !== 'Cancelled')
    .reduce((sum, { Balance }) => sum + minor(world, Balance), 0)
  const onwards = wish.place === 'auto' || wish.place === 'both' ? Math.min(amount - toInvoice, others) : 0
  const refunded = wish.place === 'refund' ? amount - toInvoice : 0
  return { open, freed, paid, toInvoice, onwards, refunded, isOver: amount > left || left <= 0 }
}

async function credit(world: World, wish: Of<'credit'>): Promise<void> {
  const { client } = world
  const before = await read(world)
  const invoice = before.invoices[wish.to.invoice]!
  const { invoiceID } = invoice
  const total = minor(world, invoice.Total)
  const writtenOff = [...world.debts.values()]
    .filter((debt) => debt.invoiceID === invoiceID)
    .reduce((sum, { amount }) => sum + amount, 0)
  const left = total - settledOf(world, before, invoiceID).gross - writtenOff
  const line = invoice.Charges[0]
  const portion = (sum: number) => Math.max(1, Math.floor((sum * wish.to.percent) / 100))
  const what =
    wish.by === 'amount'
      ? { Amount: amountOf(world, portion(total)) }
      : wish.by === 'whole'
        ? { isWhole: true }
        : { Lines: [{ chargeID: line.chargeID, AmountEx: amountOf(world, portion(minor(world, line.UnitCostEx))) }] }
  const Date = dayOf(Math.max(1, world.day - wish.ago))
  const body = {
    ...what,
    Reason: 'Late',
    Date,
    CreditNumber: `C${(world.count += 1)}`,
    ...(wish.place === 'free' || wish.place === 'both' ? { isFreePayments: true } : {}),
    ...(wish.place === 'auto' || wish.place === 'both' ? { AutoApply: true } : {}),
    ...(wish.place === 'refund' ? { Refund: { Ref: 'Cash' } } : {}),
  }
  const path = `/v1/invoices/${invoiceID}/credit`
  const preview = await client.post(`${path}?preview=true`, body)
  const key = { 'idempotency-key': `k-${world.count}` }
  const made = await client.post(path, body, key)
  expect(preview.status, preview.text).toBe(made.status === 201 ? 200 : made.status)
  if (made.status !== 201) {
    expect(made.status, made.text).toBe(409)
    const codes = made.body.Errors.map(({ Code }: any) => Code)
    const amount = wish.by === 'amount' ? portion(total) : left
    const { isOver, refunded } = expectedOf(world, before, wish, amount, left)
    const isCancelled = invoice.Status === 'Cancelled'
    const isLocked = world.lock !== null && Date <= dayOf(world.lock.day)
    if (codes[0] === 'too_little_creditable') expect(isOver || wish.by === 'line', made.text).toBe(true)
    else if (codes[0] === 'nothing_to_refund') expect(wish.by === 'line' || refunded <= 0, made.text).toBe(true)
    else expect([isCancelled && 'invoice_cancelled', isLocked && 'books_locked'], made.text).toContain(codes[0])
    expect(await read(world)).toEqual(before)
    return
  }
  expect((await client.post(path, body, key)).body).toEqual(made.body)
  expect(made.body).toMatchObject({ Amount: preview.body.Amount, TotalTax: preview.body.TotalTax })
  expect(minor(world, preview.body.Amount)).toBe(minor(world, made.body.Amount))
  const amount = minor(world, made.body.Amount)
  if (wish.by !== 'line') expect(amount).toBe(wish.by === 'whole' ? left : portion(total))
  const expected = expectedOf(world, before, wish, amount, left)
  expect(expected.isOver).toBe(false)
  const after = await read(world)
  const note = after.notes.find(({ creditNoteID }) => creditNoteID === made.body.creditNoteID)
  const { refundAdjustmentID, ...answered } = made.body
  expect(note).toEqual(answered)
  expect(appliedOf(world, note, invoiceID), 'applied to its invoice').toBe(expected.toInvoice)
  const toRefund = note.Allocations.filter((one: any) => one.positiveAdjustmentID)
  expect(toRefund.map((one: any) => minor(world, one.amountApplied))).toEqual(
    expected.refunded > 0 ? [expected.refunded] : [],
  )
  expect(refundAdjustmentID !== null).toBe(expected.refunded > 0)
  expect(appliedOf(world, note), 'applied in all').toBe(expected.toInvoice + expected.onwards + expected.refunded)
  const now = after.invoices[wish.to.invoice]!
  expect(minor(world, now.Balance)).toBe(expected.open + expected.freed - expected.toInvoice)
  const kept = after.payments
    .filter(({ Status }: any) => Status !== 'Failed')
    .reduce((sum: number, payment: any) => sum + appliedOf(world, payment, invoiceID), 0)
  expect(kept, 'payments keep').toBe(expected.paid - expected.freed)
}

/** Fails a payment: notes settled for its invoices then have nothing unallocated while these are open. */
async function fail(world: World, wish: Of<'fail'>): Promise<void> {
  const before = await read(world)
  const payment = before.payments[wish.which % Math.max(before.payments.length, 1)]
  if (!payment) return
  const { status, text } = await world.client.put(`/v1/payments/${payment.paymentID}/fail`, {
    Date: dayOf(world.day - wish.ago),
    Reason: 'bounced',
  })
  if (status !== 204) {
    expect([400, 409], text).toContain(status)
    expect(await read(world)).toEqual(before)
    return
  }
  const after = await read(world)
  for (const [place, { invoiceID, Balance }] of after.invoices.entries()) {
    const lost = appliedOf(world, payment, invoiceID)
    if (lost === 0) {
      expect(Balance).toBe(before.invoices[place]!.Balance)
      continue
    }
    const notes = after.notes.filter(({ Taxes }) => Taxes.some((tax: any) => tax.invoiceID === invoiceID))
    const free = notes.reduce((sum, note) => sum + minor(world, note.Amount) - appliedOf(world, note), 0)
    if (minor(world, Balance) > 0) expect(free, `notes of invoice ${invoiceID} are spent`).toBe(0)
  }
}

async function editPayment(world: World, wish: Of<'edit payment'>): Promise<void> {
  const { client } = world
  const payments = await all(world, '/v1/payments')
  const payment = payments[wish.which % Math.max(payments.length, 1)]
  if (!payment) return
  const path = `/v1/payments/${payment.paymentID}`
  const now = (await client.get(path)).body
  const Amount = amountOf(world, Math.max(1, Math.floor(minor(world, now.Amount) / 2)))
  const changes = {
    back: {},
    free: { Allocations: [] },
    day: { Date: dayOf(Math.max(1, world.day - 2)) },
    lower: { Amount, Allocations: [] },
    currency: { CurrencyCode: 'EUR', Allocations: [] },
  }[wish.how]
  const posted = wish.how === 'back' ? await entriesOf(world) : 0
  const { status, text } = await client.put(path, { ...now, ...changes })
  expect([204, 400, 409], text).toContain(status)
  if (wish.how === 'back')
    expect([status, await entriesOf(world)], text).toEqual([now.Status === 'Failed' ? status : 204, posted])
}

const entriesOf = async ({ client }: World): Promise<number> =>
  (await client.get('/v1/ledger/entries?page_size=500')).body.length

async function note(world: World, wish: Of<'note'>): Promise<void> {
  const { client, customerID, currency } = world
  const invoiceID = world.invoices[wish.to.invoice]!
  const { Balance, Total } = (await client.get(`/v1/invoices/${invoiceID}`)).body
  const open = Math.floor((minor(world, Balance) * wish.to.percent) / 100)
  const amount = Math.max(1, Math.floor((minor(world, Total) * wish.to.percent) / 100))
  const { status, text } = await client.post('/v1/credits', {
    customerID,
    CurrencyCode: currency,
    Amount: amountOf(world, amount),
    Date: dayOf(Math.max(1, world.day - wish.ago)),
    CreditNumber: `N${(world.count += 1)}`,
    ...(wish.isFor ? { invoiceID } : {}),
    Allocations: open > 0 && !wish.isFor ? [{ invoiceID, amountApplied: amountOf(world, Math.min(open, amount)) }] : [],
  })
  expect([201, 409], text).toContain(status)
}

async function writeOff(world: World, wish: Of<'write off'>): Promise<void> {
  const { client, customerID } = world
  const objectID = world.invoices[wish.to.invoice]!
  const { Balance } = (await client.get(`/v1/invoices/${objectID}`)).body
  const amount = Math.floor((minor(world, Balance) * wish.to.percent) / 100)
  if (amount === 0) return
  const Date = dayOf(Math.max(1, world.day - wish.ago))
  const { status, body, text } = await client.post('/v1/adjustment/add', {
    customerID,
    Type: 'negative',
    AdjustmentType: 'bad_debt',
    Ref: 'B',
    CurrencyCode: world.currency,
    Date,
    Amount: amountOf(world, amount),
    ...(wish.isRelieved ? { TaxReliefDate: dayOf(world.day) } : {}),
    LinkedAllocations: [{ objectID, AmtAllocated: amountOf(world, amount), isAdjustment: false }],
  })
  expect([201, 409], text).toContain(status)
  if (status === 201) world.debts.set(body.AdjustmentID, { invoiceID: objectID, amount })
}

const reportsUntil = async ({ client }: World, day: number) => {
  const [tax, balances] = await Promise.all([
    client.get(`/v1/reports/tax?from=2027-01-01&to=${dayOf(day)}`),
    client.get(`/v1/ledger/balances?date=${dayOf(day)}`),
  ])
  const ofDay = balances.body.map(({ Debit = 0, Credit = 0, ...rest }: any) => ({
    ...rest,
    Net: Number((Debit - Credit).toFixed(3)),
  }))
  return { tax: tax.body, balances: ofDay.filter(({ Net, Balance }: any) => Net !== 0 || (Balance ?? 0) !== 0) }
}

async function live(world: World, wish: Step): Promise<void> {
  const { client, customerID } = world
  const some = async (path: string, which: number): Promise<any> => {
    const list = await all(world, path)
    return list[which % Math.max(list.length, 1)]
  }
  switch (wish.act) {
    case 'pay':
      return pay(world, wish)
    case 'credit':
      return credit(world, wish)
    case 'fail':
      return fail(world, wish)
    case 'edit payment':
      return editPayment(world, wish)
    case 'note':
      return note(world, wish)
    case 'write off':
      return writeOff(world, wish)
    case 'day':
      world.day += wish.days
      await moveTo(client, dayOf(world.day))
      return
    case 'lock': {
      const day = Math.max(world.day - wish.ago, world.lock?.day ?? 0)
      if (day < 1) return
      const LockDate = dayOf(day)
      expect((await client.put('/v1/account', { LockDate })).status).toBe(204)
      world.lock = { day, reports: await reportsUntil(world, day) }
      return
    }
    case 'delete payment': {
      const payment = await some('/v1/payments', wish.which)
      if (payment) expect([204, 409]).toContain((await client.delete(`/v1/payments/${payment.paymentID}`)).status)
      return
    }
    case 'free note': {
      const one = await some('/v1/credits', wish.which)
      if (!one) return
      const { status, text } = await client.put(`/v1/credits/${one.creditNoteID}`, { ...one, Allocations: [] })
      expect([204, 409], text).toContain(status)
      return
    }
    case 'send': {
      const one = await some('/v1/credits', wish.which)
      if (one) expect((await client.put(`/v1/credits/${one.creditNoteID}/send`, { isMailed: false })).status).toBe(204)
      return
    }
    case 'delete note': {
      const one = await some('/v1/credits', wish.which)
      if (!one) return
      const { status, text } = await client.delete(`/v1/credits/${one.creditNoteID}`)
      expect(one.isSent ? [409] : [204, 409], text).toContain(status)
      if (status === 204) world.taxes.delete(one.creditNoteID)
      return
    }
    case 'cancel': {
      // Late only: nothing happens to an invoice after that.
      if (world.day < 15) return
      const { status, text } = await client.delete(`/v1/invoices/${world.invoices[wish.to.invoice]}`)
      expect([204, 409], text).toContain(status)
      return
    }
    case 'delete debt': {
      const debts = [...world.debts.keys()]
      const debt = debts[wish.which % Math.max(debts.length, 1)]
      if (debt === undefined) return
      const query = `type=negative&adjustmentID=${debt}&customerID=${customerID}`
      const { status, text } = await client.delete(`/v1/adjustment/delete?${query}`)
      if (status === 204) world.debts.delete(debt)
      expect([204, 409], text).toContain(status)
    }
  }
}

async function expectAgreement(world: World): Promise<void> {
  const records = await read(world)
  for (const { invoiceID, Total, Taxes } of records.invoices) {
    const { gross, tax } = settledOf(world, records, invoiceID)
    const total = minor(world, Total)
    const charged = Taxes.reduce((sum: number, one: any) => sum + minor(world, one.TaxAmount ?? one.Amount ?? 0), 0)
    expect(gross).toBeLessThanOrEqual(total)
    expect(tax).toBeLessThanOrEqual(charged)
    if (gross === total) expect(tax, 'all is credited').toBe(charged)
  }
  for (const { creditNoteID, isClosed, Taxes, Amount } of records.notes) {
    if (!isClosed) continue
    const before = world.taxes.get(creditNoteID)
    if (before) expect({ Taxes, Amount }).toEqual(before)
    world.taxes.set(creditNoteID, { Taxes, Amount })
  }
  if (world.lock) expect(await reportsUntil(world, world.lock.day), 'closed books').toEqual(world.lock.reports)
  expect(await differencesOf(service, world.client)).toEqual([])
}

const property = fc.asyncProperty(
  fc.boolean(),
  fc.array(step, { minLength: 6, maxLength: 22, size: 'max' }),
  async (isYen, steps) => {
    const world = await newWorld(isYen)
    for (const wish of steps) {
      const isToday = (wish.act === 'credit' || wish.act === 'fail') && wish.ago === 0 && world.day > 1
      const before = isToday ? await reportsUntil(world, world.day - 1) : null
      await live(world, wish)
      if (isToday) expect(await reportsUntil(world, world.day - 1), 'days before').toEqual(before)
      await expectAgreement(world)
    }
  },
)

const bounds = { numRuns: RUNS, limitMs: LIMIT_MS }

test(
  'every history of credits and payments keeps money, taxes and closed books right, from a fixed seed',
  async () => {
    await assertInTime(property, { ...bounds, seed: 20271110 })
  },
  300_000 + 2 * LIMIT_MS,
)

test(
  'every history of credits and payments keeps money, taxes and closed books right, from the seed of the run',
  async () => {
    await assertInTime(property, bounds)
  },
  300_000 + 2 * LIMIT_MS,
)
