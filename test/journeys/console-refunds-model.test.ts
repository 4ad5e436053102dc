import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chargedCard } from '../../src/features/gateway-reports/console.testing.ts'
import { startTestService } from '../support/app.ts'
import { assertInTime } from '../support/in-time.ts'
import { differencesOf } from '../support/shop.ts'

/**
 * Whatever a gateway's console does with a charge, and whatever is done here meanwhile, the books are those of a book-keeper who knows a few rules: what is
 * received, refunded, lost and won of the charge, what is listed instead, and that nothing of it is dunned. CONSOLE_RUNS sets how many random histories are
 * lived, CONSOLE_SECONDS for how long at most, SEED which; a failure names its seed.
 */

const service = await startTestService()
const RUNS = Number(process.env['CONSOLE_RUNS'] ?? 6)
const LIMIT_MS = Number(process.env['CONSOLE_SECONDS'] ?? 15) * 1000

const CHARGED = 11_500
const cents = (amount: number): number => Math.round(amount * 100)

/** A loss of the charge, as it was booked, and what was won back of it. */
interface Loss {
  reference: string
  booked: number
  won: number
}

interface World {
  of: Awaited<ReturnType<typeof chargedCard>>
  day: number
  count: number
  /** Of the charge, received and not lost or given back, in minor units. */
  left: number
  /** The customer's Balance, and the cash of the account. */
  balance: number
  cash: number
  losses: Loss[]
  consoles: { reference: string; booked: number; hasFailed: boolean }[]
  /** Reports of which something was not booked. */
  listed: number
}

const amount = fc.constantFrom(1, 500, 1000, 3478, 4000, 5750, 7500, 11_500)
const which = fc.nat(3)
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant('refunded' as const), amount }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('failed' as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('disputed' as const), amount }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('won' as const), which, amount }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('ours' as const), amount }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('credit' as const), amount, isFreePayments: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('note' as const), amount }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant('take' as const), which, amount }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('place' as const), which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('eft' as const), amount }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('lock' as const), days: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('day' as const), days: fc.integer({ min: 1, max: 20 }) }) },
)
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never
type Live<Act extends Step['act']> = (world: World, wish: Extract<Step, { act: Act }>) => Promise<void>

const dayOf = (day: number): string => new Date(Date.UTC(2027, 0, day)).toISOString().slice(0, 10)

/** Books that so much went out of the charge, or came in: the customer owes it, or has it. */
function move(world: World, out: number): void {
  world.left -= out
  world.balance += out
  world.cash -= out
}

/** Answers of callers' requests: done, or refused for what stands against it. */
const isDone = ({ status, text }: { status: number; text: string }): boolean => {
  expect([200, 201, 204, 409], text).toContain(status)
  return status !== 409
}

/** Has the console do something of which no more is booked than there is; what is over is listed. */
async function there(world: World, kind: 'refunded' | 'disputed', amount: number): Promise<number> {
  const booked = Math.min(amount, Math.max(0, world.left))
  if (booked < amount) world.listed += 1
  const reference = `re_${(world.count += 1)}`
  await world.of.console({ kind, reference, on: dayOf(world.day), amountMinor: BigInt(amount) })
  move(world, booked)
  if (kind === 'refunded') world.consoles.push({ reference, booked, hasFailed: false })
  else world.losses.push({ reference, booked, won: 0 })
  return booked
}

const paymentOf = async ({ of }: World, which: number) => {
  const charged = ((await of.client.get('/v1/payments')).body as any[]).filter(({ Method }) => Method === 'credit_card')
  const standing = charged.filter(({ Status }) => Status !== 'Failed')
  return standing.length === 0 ? undefined : standing[which % standing.length]
}

const freeOf = ({ Amount, Allocations }: any): number =>
  (Allocations as any[]).reduce((left, { amountApplied }) => left - cents(amountApplied), cents(Amount))

const LIVES: { [Act in Step['act']]: Live<Act> } = {
  refunded: async (world, { amount }) => void (await there(world, 'refunded', amount)),
  disputed: async (world, { amount }) => void (await there(world, 'disputed', amount)),
  failed: async (world, { which }) => {
    const open = world.consoles.filter(({ hasFailed }) => !hasFailed)
    const refund = open[which % Math.max(1, open.length)]
    if (refund === undefined) return
    refund.hasFailed = true
    const { reference: undoes, booked } = refund
    const about = { reference: `${undoes}/failed`, undoes, on: dayOf(world.day), amountMinor: BigInt(booked || 1) }
    await world.of.console({ kind: 'refund_failed', ...about })
    move(world, -booked)
  },
  won: async (world, { which, amount }) => {
    const loss = world.losses[which % Math.max(1, world.losses.length)]
    if (loss === undefined) return
    const booked = Math.min(amount, loss.booked - loss.won)
    if (booked < amount) world.listed += 1
    loss.won += booked
    const about = { reference: `won_${(world.count += 1)}`, undoes: loss.reference, on: dayOf(world.day) }
    await world.of.console({ kind: 'dispute_won', ...about, amountMinor: BigInt(amount) })
    move(world, -booked)
  },
  ours: async (world, { amount }) => {
    const made = await world.of.client.post(`${world.of.path}/refund`, { Amount: amount / 100 })
    if (!isDone(made)) return
    expect(amount, 'no more is refunded than is left').toBeLessThanOrEqual(world.left)
    move(world, amount)
  },
  credit: async (world, { amount, isFreePayments }) => {
    const body = { Amount: amount / 100, Reason: 'Less was delivered', isFreePayments }
    if (isDone(await world.of.client.post(`/v1/invoices/${world.of.invoiceID}/credit`, body))) world.balance -= amount
  },
  note: async (world, { amount }) => {
    const { customerID, invoiceID, client } = world.of
    const CreditNumber = `N${(world.count += 1)}`
    const body = {
      customerID,
      CurrencyCode: 'USD',
      Date: dayOf(world.day),
      Amount: amount / 100,
      CreditNumber,
      invoiceID,
    }
    if (isDone(await client.post('/v1/credits', { ...body, Allocations: [] }))) world.balance -= amount
  },
  take: async (world, { which, amount }) => {
    const payment = await paymentOf(world, which)
    if (payment === undefined) return
    let over = amount
    const Allocations = (payment.Allocations as any[]).flatMap(
      ({ allocationID, invoiceID, positiveAdjustmentID, amountApplied }) => {
        const cut = Math.min(over, cents(amountApplied))
        over -= cut
        const left = (cents(amountApplied) - cut) / 100
        return left === 0 ? [] : [{ allocationID, invoiceID, positiveAdjustmentID, amountApplied: left }]
      },
    )
    isDone(await world.of.client.put(`/v1/payments/${payment.paymentID}`, { ...payment, Allocations }))
  },
  place: async (world, { which }) => {
    const payment = await paymentOf(world, which)
    if (payment === undefined) return
    isDone(await world.of.client.put(`/v1/payments/${payment.paymentID}`, { ...payment, AutoApply: true }))
  },
  eft: async (world, { amount }) => {
    const { customerID, client } = world.of
    const body = {
      customerID,
      CurrencyCode: 'USD',
      Date: dayOf(world.day),
      Amount: amount / 100,
      Method: 'eft',
      Ref: 'EFT',
    }
    if (!isDone(await client.post('/v1/payments', { ...body, Allocations: [] }))) return
    world.balance -= amount
    world.cash += amount
  },
  lock: async (world, { days }) => {
    isDone(await world.of.client.put('/v1/account', { LockDate: dayOf(world.day - days) }))
  },
  day: async (world, { days }) => {
    world.day += days
    await world.of.move(dayOf(world.day))
  },
}

/** Compares the books with the model, and what is open with what could cover it. */
async function expectAgreement(world: World): Promise<void> {
  const { client, customerID, invoiceID, path } = world.of
  const get = async (url: string) => (await client.get(url)).body as any
  const [balances] = await get(`/v1/customers/${customerID}/balances`)
  expect(cents(balances.Balance), 'what the customer owes').toBe(world.balance)
  const ledger = (await get('/v1/ledger/balances?date=2028-12-31')) as any[]
  expect(cents(ledger.find(({ Account }) => Account === 'cash')?.Balance ?? 0), 'cash').toBe(world.cash)
  const refunds = (await get(`${path}/refunds`)) as any[]
  const booked = world.consoles.filter((one) => one.booked > 0).map((one) => [one.reference, one.booked])
  const theirs = refunds.filter(({ isFromGateway }) => isFromGateway)
  expect(theirs.map(({ transactionID, Amount }) => [transactionID, cents(Amount)])).toEqual(booked)
  const lines = await world.of.lines()
  expect(lines.filter(({ Kind }) => Kind === 'other')).toHaveLength(world.listed)
  await expectCovered(world, theirs, lines)
  // Nothing is dunned because of a refund: the charge is the only try, and only money that was lost is followed by a mail.
  expect(await world.of.attempts(invoiceID)).toHaveLength(1)
  if (world.losses.every(({ booked: lost }) => lost === 0)) {
    expect((await world.of.attempts(invoiceID))[0].Outcome).toBe('succeeded')
    expect(await world.of.mails()).toEqual([])
  }
}

/** Rule: what is open of a refund of the console is covered by all that is unallocated of the charge and of notes of invoices that it pays, and by nothing else. */
async function expectCovered(world: World, theirs: any[], lines: any[]): Promise<void> {
  const { client, adjustment } = world.of
  const payments = (await client.get('/v1/payments')).body as any[]
  const adjustments = await Promise.all(theirs.map(({ AdjustmentID }) => adjustment(AdjustmentID)))
  const open = adjustments.filter(({ Status }) => Status !== 'Paid')
  const openLines = lines.filter(({ Kind, State }) => Kind === 'refund' && State === 'open')
  for (const { paymentID } of openLines) expect(paymentID).toBe(world.of.paymentID)
  if (open.length === 0) return void expect(openLines).toEqual([])
  const ofCharge = payments.filter(({ Method, Status }) => Method === 'credit_card' && Status !== 'Failed')
  expect(
    ofCharge.filter((payment) => freeOf(payment) > 0),
    'unallocated of the charge',
  ).toEqual([])
  const paid = new Set(ofCharge.flatMap(({ Allocations }) => Allocations.map(({ invoiceID }: any) => invoiceID)))
  const notes = ((await client.get('/v1/credits')).body as any[]).filter((note) => freeOf(note) > 0)
  if (paid.has(world.of.invoiceID)) expect(notes, 'unallocated notes of the invoice').toEqual([])
  const eft = payments.filter(({ Ref }) => Ref === 'EFT').flatMap(({ Allocations }) => Allocations)
  expect(
    eft.filter(({ positiveAdjustmentID }: any) => positiveAdjustmentID),
    'other money',
  ).toEqual([])
}

const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16, size: 'max' }), async (steps) => {
  const of = await chargedCard(service, '4242424242424242')
  const world: World = {
    of,
    day: 5,
    count: 0,
    left: CHARGED,
    balance: 0,
    cash: CHARGED,
    losses: [],
    consoles: [],
    listed: 0,
  }
  for (const wish of steps) {
    await (LIVES[wish.act] as Live<Step['act']>)(world, wish)
    await expectAgreement(world)
  }
  expect(await differencesOf(service, of.client)).toEqual([])
})

const bounds = { numRuns: RUNS, limitMs: LIMIT_MS }

test(
  'every history of a charge at its console agrees with the model after each step, from a fixed seed',
  () => assertInTime(property, { ...bounds, seed: 20270331 }),
  300_000 + 2 * LIMIT_MS,
)

test(
  'every history of a charge at its console agrees with the model after each step, from the seed of the run',
  () => assertInTime(property, bounds),
  300_000 + 2 * LIMIT_MS,
)
