import fc from 'fast-check'
import { expect } from 'vitest'
import { endLine, failBuildOf, lineOf, putIntoBuild } from '../../src/features/batches/lines.testing.ts'
import { acting, creditOf, moneyShop, paymentOf } from '../../src/features/money/money.testing.ts'
import type { TestService } from '../support/app.ts'

/** A model of invoices, the money on them and the lines that give way, in minor units, beside the service that does the same. */

interface Part {
  invoice: number
  amount: number
}

/** Money given, as the model has it; what is deleted is not in it. */
interface Given {
  id: number
  kind: 'payment' | 'credit' | 'line'
  amount: number
  state: 'received' | 'waits' | 'built' | 'failed'
  /** The service's: true until a caller changes it. */
  isOfService: boolean
  parts: Part[]
  /** Invoices that a credit note corrects: those it was allocated to when it was made. */
  settled?: readonly number[]
}

const TOTAL = 11500

export async function newLinedWorld(service: TestService) {
  const { client, customerID, invoices } = await moneyShop(service, 3)
  return {
    service,
    client,
    customerID,
    invoices,
    cancelled: new Set<number>(),
    givens: [] as Given[],
    log: [] as string[],
  }
}
export type LinedWorld = Awaited<ReturnType<typeof newLinedWorld>>

const sum = (amounts: readonly number[]) => amounts.reduce((a, b) => a + b, 0)
const partTo = ({ parts }: Given, invoice: number) =>
  sum(parts.filter((part) => part.invoice === invoice).map(({ amount }) => amount))
const givesWay = ({ kind, state, isOfService }: Given) => kind === 'line' && state === 'waits' && isOfService

/** Returns what nothing is allocated to, of an invoice. */
const freeOf = (world: LinedWorld, invoice: number, but?: Given) =>
  TOTAL - sum(world.givens.filter((one) => one !== but).map((one) => partTo(one, invoice)))

const placesOf = (world: LinedWorld, invoice: number, but?: Given) =>
  sum(world.givens.filter((one) => one !== but && givesWay(one)).map((one) => partTo(one, invoice)))

/** Lowers lines, the newest first, until as much is free as wanted; one of which nothing is left goes. */
function makeRoom(world: LinedWorld, invoice: number, wanted: number, but?: Given): void {
  let missing = wanted - freeOf(world, invoice, but)
  for (const line of world.givens.filter((one) => one !== but && givesWay(one)).toReversed()) {
    for (const part of line.parts.filter((one) => one.invoice === invoice).toReversed()) {
      const cut = Math.min(Math.max(missing, 0), part.amount)
      part.amount -= cut
      line.amount -= cut
      missing -= cut
    }
    line.parts = line.parts.filter(({ amount }) => amount > 0)
  }
  world.givens = world.givens.filter((one) => one.amount > 0)
}

/** Returns whether a list can be allocated: every invoice is there, and has enough that is free or gives way. */
const fits = (world: LinedWorld, parts: readonly Part[], but?: Given) =>
  parts.every(({ invoice }) => {
    const wanted = sum(parts.filter((part) => part.invoice === invoice).map(({ amount }) => amount))
    return !world.cancelled.has(invoice) && wanted <= freeOf(world, invoice, but) + placesOf(world, invoice, but)
  })

const listOf = ({ invoices }: LinedWorld, parts: readonly Part[]) =>
  parts.map(({ invoice, amount }) => ({ invoiceID: invoices[invoice], amountApplied: amount / 100 }))

const takePlaces = (world: LinedWorld, parts: readonly Part[], but?: Given) => {
  for (const invoice of new Set(parts.map((part) => part.invoice)))
    makeRoom(world, invoice, sum(parts.filter((part) => part.invoice === invoice).map(({ amount }) => amount)), but)
}

type Step = (world: LinedWorld) => Promise<void>

const step =
  <Wish>(name: string, perform: (world: LinedWorld, wish: Wish) => Promise<string | void>) =>
  (wish: Wish): Step =>
  async (world) => {
    // The model lowers parts as it goes on; a wish that is lived again has to be as it was.
    const what = await perform(world, structuredClone(wish))
    world.log.push(`${name} ${JSON.stringify(wish)} ${what ?? ''}`)
  }

interface MoneyWish {
  isCredit: boolean
  parts: Part[]
  over: number
}

const give = step('give', async (world, { isCredit, parts, over }: MoneyWish) => {
  const amount = sum(parts.map((part) => part.amount)) + over
  const list = { Allocations: listOf(world, parts) }
  const reply = isCredit
    ? await world.client.post('/v1/credits', creditOf(world.customerID, amount / 100, list))
    : await world.client.post('/v1/payments', paymentOf(world.customerID, amount / 100, list))
  expect(reply.status, reply.text).toBe(fits(world, parts) ? 201 : 409)
  if (reply.status !== 201) return 'refused'
  takePlaces(world, parts)
  const id = isCredit ? reply.body.creditNoteID : reply.body.paymentID
  const settled = parts.map(({ invoice }) => invoice)
  const made = { id, amount, state: 'received', isOfService: false, parts } as const
  world.givens.push(isCredit ? { ...made, kind: 'credit', settled } : { ...made, kind: 'payment' })
})

const giveByItself = step('give by itself', async (world, amount: number) => {
  const body = paymentOf(world.customerID, amount / 100, { AutoApply: true })
  const reply = await world.client.post('/v1/payments', body)
  expect(reply.status, reply.text).toBe(201)
  let left = amount
  const parts: Part[] = []
  for (const invoice of world.invoices.keys()) {
    if (world.cancelled.has(invoice)) continue
    const part = Math.min(left, freeOf(world, invoice) + placesOf(world, invoice))
    if (part > 0) parts.push({ invoice, amount: part })
    left -= part
  }
  takePlaces(world, parts)
  const id = reply.body.paymentID
  world.givens.push({ id, kind: 'payment', amount, state: 'received', isOfService: false, parts })
})

const debit = step('debit', async (world, { parts, isOfService }: { parts: Part[]; isOfService: boolean }) => {
  const isRoom = isOfService
    ? parts.every(
        ({ invoice }) =>
          !world.cancelled.has(invoice) &&
          sum(parts.filter((part) => part.invoice === invoice).map(({ amount }) => amount)) <= freeOf(world, invoice),
      )
    : fits(world, parts)
  const to = parts.map(({ invoice, amount }) => [world.invoices[invoice]!, BigInt(amount)] as const)
  const made = await lineOf(world.service, world.client, world.customerID, to, { givesWay: isOfService }).catch(
    () => null,
  )
  expect(made !== null).toBe(isRoom)
  if (!made) return 'refused'
  if (!isOfService) takePlaces(world, parts)
  const amount = Number(made.amountMinor)
  world.givens.push({ id: Number(made.id), kind: 'line', amount, state: 'waits', isOfService, parts })
})

const pick = <T>(some: readonly T[], at: number): T | undefined => some[at % Math.max(some.length, 1)]

const edit = step('edit', async (world, { at, parts }: { at: number; parts: Part[] }) => {
  const given = pick(
    world.givens.filter(({ kind, state }) => kind !== 'credit' && state !== 'failed'),
    at,
  )
  if (!given) return 'nothing'
  const { body } = await world.client.get(`/v1/payments/${given.id}`)
  const put = { ...body, customerID: world.customerID, Allocations: listOf(world, parts) }
  const reply = await world.client.put(`/v1/payments/${given.id}`, put)
  const isRight = fits(world, parts, given) && sum(parts.map(({ amount }) => amount)) <= given.amount
  expect(reply.status, reply.text).toBe(isRight ? 204 : 409)
  if (!isRight) return 'refused'
  takePlaces(world, parts, given)
  given.parts = parts
  given.isOfService = false
})

const remove = step('remove', async (world, at: number) => {
  const given = pick(
    world.givens.filter(({ kind }) => kind !== 'line'),
    at,
  )
  if (!given) return 'nothing'
  const path = given.kind === 'credit' ? 'credits' : 'payments'
  expect((await world.client.delete(`/v1/${path}/${given.id}`)).status).toBe(204)
  world.givens = world.givens.filter((one) => one !== given)
})

const build = step('build', async (world, { at, isBuilt }: { at: number; isBuilt: boolean }) => {
  const from = isBuilt ? 'waits' : 'built'
  const given = pick(
    world.givens.filter(({ state, isOfService }) => state === from && isOfService),
    at,
  )
  if (!given) return 'nothing'
  await acting(world.service, world.client, (tx) => (isBuilt ? putIntoBuild : failBuildOf)(tx, BigInt(given.id)))
  given.state = isBuilt ? 'built' : 'waits'
})

const end = step('end', async (world, { at, isPaid }: { at: number; isPaid: boolean }) => {
  const given = pick(
    world.givens.filter(({ state }) => state === 'built'),
    at,
  )
  if (!given) return 'nothing'
  await acting(world.service, world.client, (tx, context) => endLine(tx, context, BigInt(given.id), isPaid))
  given.state = isPaid ? 'received' : 'failed'
  if (isPaid) return
  const lost = given.parts.map(({ invoice }) => invoice)
  given.parts = []
  for (const invoice of new Set(lost)) payByNotesOf(world, invoice)
})

/** Gives an invoice that lost money what is unallocated of the notes that correct it, the oldest first. */
function payByNotesOf(world: LinedWorld, invoice: number): void {
  for (const note of world.givens.filter(({ settled }) => settled?.includes(invoice))) {
    const left = note.amount - sum(note.parts.map(({ amount }) => amount))
    const part = { invoice, amount: Math.min(left, freeOf(world, invoice) + placesOf(world, invoice)) }
    if (part.amount === 0) continue
    takePlaces(world, [part])
    note.parts.push(part)
  }
}

const cancel = step('cancel', async (world, at: number) => {
  const invoice = at % world.invoices.length
  const reply = await world.client.delete(`/v1/invoices/${world.invoices[invoice]}`)
  const stands = world.givens.some(
    (one) =>
      partTo(one, invoice) > 0 &&
      !givesWay(one) &&
      !(one.kind === 'line' && one.isOfService && one.state === 'received'),
  )
  const isRight = !world.cancelled.has(invoice) && !stands
  expect(reply.status, reply.text).toBe(isRight ? 204 : 409)
  if (!isRight) return 'refused'
  makeRoom(world, invoice, TOTAL)
  for (const given of world.givens) given.parts = given.parts.filter((part) => part.invoice !== invoice)
  world.cancelled.add(invoice)
})

/** Compares every invoice and every line with the model. */
export async function expectPlaces(world: LinedWorld): Promise<void> {
  for (const [invoice, id] of world.invoices.entries()) {
    const to = (isWanted: (given: Given) => boolean) =>
      sum(world.givens.filter(isWanted).map((given) => partTo(given, invoice))) / 100
    const isPending = ({ state }: Given) => state === 'waits' || state === 'built'
    const { body } = await world.client.get(`/v1/invoices/${id}`)
    if (world.cancelled.has(invoice)) continue
    expect([body.TotalPendingPaid, body.TotalActualPaid, body.Balance], `invoice ${invoice}`).toEqual([
      to(isPending),
      to((given) => !isPending(given) && given.kind !== 'credit'),
      (TOTAL - 100 * to(() => true)) / 100,
    ])
  }
  const shown = (await world.client.get('/v1/payments?page_size=200')).body
  const kept = world.givens.filter(({ kind }) => kind !== 'credit')
  expect(shown.map(({ paymentID, Amount }: any) => [paymentID, Amount])).toEqual(
    kept.map(({ id, amount }) => [id, amount / 100]),
  )
}

const part = fc.record({ invoice: fc.nat({ max: 2 }), amount: fc.integer({ min: 1, max: 9 }).map((n) => n * 500) })
const parts = fc.array(part, { minLength: 1, maxLength: 2 })
const at = fc.nat({ max: 20 })

/** Random steps; debits and what takes their place are frequent. */
export const linedSteps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ parts, isOfService: fc.boolean() }).map(debit) },
  { weight: 3, arbitrary: fc.record({ parts, isOfService: fc.constant(true) }).map(debit) },
  { weight: 5, arbitrary: fc.record({ isCredit: fc.boolean(), parts, over: fc.constantFrom(0, 700) }).map(give) },
  {
    weight: 2,
    arbitrary: fc
      .integer({ min: 1, max: 40 })
      .map((n) => n * 500)
      .map(giveByItself),
  },
  { weight: 3, arbitrary: fc.record({ at, parts }).map(edit) },
  { weight: 1, arbitrary: at.map(remove) },
  { weight: 3, arbitrary: fc.record({ at, isBuilt: fc.boolean() }).map(build) },
  { weight: 2, arbitrary: fc.record({ at, isPaid: fc.boolean() }).map(end) },
  { weight: 1, arbitrary: at.map(cancel) },
)
