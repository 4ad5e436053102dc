import fc from 'fast-check'
import { expect } from 'vitest'
import {
  type Allocation,
  allocationsOf,
  type Ask,
  type Entry,
  type Given,
  isLocked,
  refusalsOf,
  replaceAllocations,
  settle,
  takePlaceOf,
  wantedOf,
} from './money-model.testing.ts'
import {
  amount,
  asks,
  type AskPick,
  currencyPick,
  day,
  entriesOf,
  pick,
  customerPick,
  pickOf,
  type Perform,
  stepOf,
} from './money-picks.testing.ts'
import { CURRENCIES, expectOutcome, inDays, wire, type World } from './money-world.testing.ts'

/** Payments, credit notes and bad debts, through each door that shows them. */

interface Sent {
  path: string
  body: object
}

interface Door {
  kinds: readonly Given['kind'][]
  /** AutoApply pays invoices only. */
  isCreditsDoor: boolean
  /** It gives new records the customer's currency, and edits keep what they have. */
  hasOwnCurrency: boolean
  add(given: Given, list: object): Sent
  idOf(body: any): number
  edit(given: Given, list: object): Sent
  /** The path of a deletion. */
  remove(given: Given): string
  list(entries: readonly Entry[], given: Given, byNumber: readonly boolean[]): object
}

/** A list as payments and credit notes take it. */
const plainList: Door['list'] = (entries, given, byNumber) => ({
  Allocations: entries.map(({ present, owed, amount: minor }, index) => ({
    ...(present ? { allocationID: present.id } : {}),
    ...(owed.kind !== 'invoice'
      ? { positiveAdjustmentID: owed.id }
      : byNumber[index] && owed.number !== null
        ? { invoiceNumber: owed.number }
        : { invoiceID: owed.id }),
    amountApplied: wire(given.currency, minor),
  })),
})

/** The same as adjustments take it. */
const linkedList: Door['list'] = (entries, given) => ({
  LinkedAllocations: entries.map(({ present, owed, amount: minor }) => ({
    ...(present ? { allocationID: present.id } : {}),
    objectID: owed.id,
    isAdjustment: owed.kind !== 'invoice',
    AmtAllocated: wire(given.currency, minor),
  })),
})

const common = (given: Given) => ({
  customerID: given.customer,
  Amount: wire(given.currency, given.amount),
  Date: given.dated,
})

const paymentBody = (given: Given, list: object) => ({
  ...common(given),
  CurrencyCode: given.currency,
  Method: 'eft',
  ...list,
})
const creditBody = (given: Given, list: object) => ({
  ...common(given),
  CurrencyCode: given.currency,
  CreditNumber: given.ref,
  ...list,
})
const adjustmentBody = (given: Given, list: object) => ({
  ...common(given),
  Type: 'negative',
  AdjustmentType: given.kind,
  Ref: given.ref,
  ...list,
})

const doors: Door[] = [
  {
    kinds: ['payment'],
    isCreditsDoor: false,
    hasOwnCurrency: false,
    add: (given, list) => ({ path: '/v1/payments', body: paymentBody(given, list) }),
    idOf: ({ paymentID }) => paymentID,
    edit: (given, list) => ({ path: `/v1/payments/${given.id}`, body: paymentBody(given, list) }),
    remove: ({ id }) => `/v1/payments/${id}`,
    list: plainList,
  },
  {
    kinds: ['credit_note'],
    isCreditsDoor: true,
    hasOwnCurrency: false,
    add: (given, list) => ({ path: '/v1/credits', body: creditBody(given, list) }),
    idOf: ({ creditNoteID }) => creditNoteID,
    edit: (given, list) => ({ path: `/v1/credits/${given.id}`, body: creditBody(given, list) }),
    remove: ({ id }) => `/v1/credits/${id}`,
    list: plainList,
  },
  {
    kinds: ['credit_note', 'bad_debt'],
    isCreditsDoor: false,
    hasOwnCurrency: true,
    add: (given, list) => ({ path: '/v1/adjustment/add', body: adjustmentBody(given, list) }),
    idOf: ({ AdjustmentID }) => AdjustmentID,
    edit: (given, list) => ({
      path: '/v1/adjustment/edit',
      body: { ...adjustmentBody(given, list), AdjustmentID: given.id },
    }),
    remove: ({ id, customer }) => `/v1/adjustment/delete?type=negative&adjustmentID=${id}&customerID=${customer}`,
    list: linkedList,
  },
]

/** Returns the allocations of a body, and those that the model makes of it. */
function asked(
  world: World,
  door: Door,
  given: Given,
  before: readonly Allocation[],
  wish: AskPick,
): { ask: Ask; list: object } {
  if (wish.isAuto) return { ask: 'auto', list: door.list === linkedList ? { isAutoApply: true } : { AutoApply: true } }
  const entries = entriesOf(world, given, before, wish)
  const byNumber = entries.map((_, index) => wish.added[index]?.byNumber ?? false)
  return { ask: { entries }, list: door.list(entries, given, byNumber) }
}

/** Few numbers, so that some are in use; in any letter case. */
const refs = fc.constantFrom('n1', 'N1', 'n2', 'N3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9')

const isNumberTaken = ({ books }: World, { id, kind, ref }: Given): boolean =>
  kind === 'credit_note' &&
  books.given.some((g) => g.kind === kind && g.id !== id && g.ref?.toLowerCase() === ref?.toLowerCase())

const additions = (door: Door): fc.Arbitrary<Perform> =>
  stepOf(
    `add ${door.kinds.join('/')}`,
    fc.record({ kind: pick, customer: customerPick, currency: currencyPick, amount, day, ref: refs, ask: asks }),
    async (world, wish) => {
      const { books, client } = world
      const customer = pickOf(world.customers, wish.customer) as { id: number; currency: string }
      const isOwn = door.hasOwnCurrency || wish.currency === 0
      const given: Given = {
        kind: pickOf(door.kinds, wish.kind) as Given['kind'],
        id: 0,
        customer: customer.id,
        currency: isOwn ? customer.currency : (CURRENCIES[wish.currency - 1] as string),
        amount: wish.amount,
        dated: inDays(world, wish.day),
        ref: wish.ref,
        isFailed: false,
        credits: null,
      }
      const { ask, list } = asked(world, door, given, [], wish.ask)
      const wanted = wantedOf(books, given, [], ask, door.isCreditsDoor)
      const refusals = refusalsOf(books, given, [], wanted)
      if (isLocked(books, given.dated)) refusals.push('books_locked')
      if (isNumberTaken(world, given)) refusals.push('credit_number_taken')
      const { path, body } = door.add(given, list)
      world.log.push(`POST ${path} ${JSON.stringify(body)}`)
      const reply = await client.post(path, body)
      if (!expectOutcome(world, reply, refusals, 201)) return
      given.id = door.idOf(reply.body)
      books.given.push(given)
      settle(books, given, [], wanted)
      replaceAllocations(books, [], wanted)
    },
  )

const ofDoor = ({ books }: World, door: Door): Given[] => books.given.filter(({ kind }) => door.kinds.includes(kind))

function refusalsOfEdit(
  { books }: World,
  present: Given,
  edited: Given,
  ask: Ask,
  before: readonly Allocation[],
  wanted: readonly Allocation[],
): string[] {
  const refusals = refusalsOf(books, edited, before, wanted)
  const isOtherCurrency = edited.currency !== present.currency
  const isChanged = edited.amount !== present.amount || edited.dated !== present.dated || isOtherCurrency
  // Of a bad debt whose books are closed the amount may fall: that is money that came in.
  const isRecovered =
    present.kind === 'bad_debt' && edited.amount < present.amount && edited.dated === present.dated && !isOtherCurrency
  if (isChanged && !isRecovered && (isLocked(books, present.dated) || isLocked(books, edited.dated)))
    refusals.push('books_locked')
  if (isChanged && present.isFailed) refusals.push('payment_fixed')
  if (isChanged && present.credits) refusals.push('note_closed')
  if (present.isFailed && wanted.length > 0) refusals.push('payment_failed')
  if (isOtherCurrency && (ask === 'auto' ? before.length > 0 : wanted.length > 0)) refusals.push('currency_allocated')
  return refusals
}

const edits = (door: Door): fc.Arbitrary<Perform> =>
  stepOf(
    `edit ${door.kinds.join('/')}`,
    fc.record({
      which: pick,
      amount: fc.option(amount),
      more: fc.constantFrom(0, 0, 0, -1, 1, -100),
      day: fc.option(day, { freq: 3 }),
      currency: fc.constantFrom(0, 0, 0, 0, 0, 1, 2),
      ref: fc.option(refs, { freq: 3 }),
      ask: asks,
    }),
    async (world, wish) => {
      const { books, client } = world
      const present = pickOf(ofDoor(world, door), wish.which)
      if (!present) return
      const before = allocationsOf(books, present)
      const isOwn = door.hasOwnCurrency || wish.currency === 0
      // What the service made is often sent back as it is, as only that is allowed.
      const keeps = present.credits !== null && wish.more === 0
      const edited: Given = {
        ...present,
        amount: keeps ? present.amount : (wish.amount ?? Math.max(1, present.amount + wish.more)),
        dated: keeps || wish.day === null ? present.dated : inDays(world, wish.day),
        currency: keeps || isOwn ? present.currency : (CURRENCIES[wish.currency - 1] as string),
        ref: wish.ref ?? present.ref,
      }
      const { ask, list } = asked(world, door, edited, before, {
        ...wish.ask,
        isAuto: wish.ask.isAuto && !present.isFailed,
      })
      const wanted = wantedOf(books, edited, before, ask, door.isCreditsDoor)
      const refusals = refusalsOfEdit(world, present, edited, ask, before, wanted)
      if (isNumberTaken(world, edited)) refusals.push('credit_number_taken')
      const { path, body } = door.edit(edited, list)
      world.log.push(`PUT ${path} ${JSON.stringify(body)}`)
      if (!expectOutcome(world, await client.put(path, body), refusals, 204)) return
      const isOtherCurrency = edited.currency !== present.currency
      Object.assign(present, edited)
      settle(books, present, before, wanted, isOtherCurrency)
      replaceAllocations(
        books,
        before,
        wanted.map((one) => ({ ...one, given: present })),
      )
    },
  )

const removals = (door: Door): fc.Arbitrary<Perform> =>
  stepOf(`remove ${door.kinds.join('/')}`, pick, async (world, which) => {
    const { books, client } = world
    const given = pickOf(ofDoor(world, door), which)
    if (!given) return
    const path = door.remove(given)
    world.log.push(`DELETE ${path}`)
    const refusals = isLocked(books, given.dated) ? ['books_locked'] : []
    if (!expectOutcome(world, await client.delete(path), refusals, 204)) return
    expect((await client.delete(path)).status).toBe(404)
    replaceAllocations(books, allocationsOf(books, given), [])
    books.given = books.given.filter((one) => one !== given)
    books.settled = books.settled.filter(({ note }) => note !== given)
  })

const failures = stepOf('fail payment', fc.record({ which: pick, daysAgo: fc.nat(20) }), async (world, wish) => {
  const { books, client } = world
  const payments = books.given.filter(({ kind }) => kind === 'payment')
  const given = pickOf(payments, wish.which)
  if (!given) return
  const body = { Date: inDays(world, -wish.daysAgo), Reason: 'bounced' }
  world.log.push(`fail payment ${given.id} ${body.Date}`)
  const reply = await client.put(`/v1/payments/${given.id}/fail`, body)
  if (!expectOutcome(world, reply, given.isFailed ? ['payment_failed'] : [], 204)) return
  given.isFailed = true
  const before = allocationsOf(books, given)
  replaceAllocations(books, before, [])
  takePlaceOf(books, before)
})

export const givenSteps = [
  ...doors.flatMap((door) => [
    { weight: 4, arbitrary: additions(door) },
    { weight: 4, arbitrary: edits(door) },
    { weight: 1, arbitrary: removals(door) },
  ]),
  { weight: 2, arbitrary: failures },
]
