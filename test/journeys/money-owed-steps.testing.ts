import fc from 'fast-check'
import { expect } from 'vitest'
import {
  type Allocation,
  allocationsTo,
  freeOf,
  isLocked,
  type Owed,
  refusalsOfOwed,
  replaceAllocations,
  takeUnallocated,
  wantedByOwed,
} from './money-model.testing.ts'
import {
  amount,
  type AskPick,
  asks,
  changed,
  day,
  partOf,
  pick,
  customerPick,
  pickOf,
  stepOf,
} from './money-picks.testing.ts'
import { expectOutcome, inDays, wire, type World } from './money-world.testing.ts'

/** Positive adjustments: what is owed beside invoices, and the money that their lists join to them. */

const bodyOf = (owed: Owed) => ({
  Type: 'positive',
  AdjustmentType: owed.kind,
  customerID: owed.customer,
  Amount: wire(owed.currency, owed.amount),
  Date: owed.dated,
  DueDate: owed.due,
  Ref: 'R',
})

const additions = stepOf(
  'add positive',
  fc.record({
    customer: customerPick,
    kind: fc.constantFrom('refund' as const, 'refund' as const, 'interest' as const, 'opening_balance' as const),
    amount,
    day,
    dueIn: fc.nat(30),
  }),
  async (world, wish) => {
    const { books, client } = world
    const customer = pickOf(world.customers, wish.customer) as { id: number; currency: string }
    const owed: Owed = {
      kind: wish.kind,
      id: 0,
      number: null,
      customer: customer.id,
      currency: customer.currency,
      amount: wish.amount,
      tax: 0,
      dated: inDays(world, wish.day),
      due: inDays(world, wish.day + wish.dueIn),
      state: 'open',
    }
    world.log.push(`add positive ${JSON.stringify(bodyOf(owed))}`)
    const reply = await client.post('/v1/adjustment/add', bodyOf(owed))
    if (!expectOutcome(world, reply, isLocked(books, owed.dated) ? ['books_locked'] : [], 201)) return
    owed.id = reply.body.AdjustmentID
    books.owed.push(owed)
    if (owed.kind === 'refund') takeUnallocated(books, owed)
  },
)

const positives = ({ books }: World): Owed[] => books.owed.filter(({ kind }) => kind !== 'invoice')

/** The list of money that is to pay it, from what there is and from what is free. */
function listed({ books }: World, edited: Owed, before: readonly Allocation[], wish: AskPick): Allocation[] {
  const wanted: Allocation[] = []
  before.forEach((present, index) => {
    const fate = wish.present[index] ?? 'keep'
    if (fate === 'drop') return
    const other =
      fate === 'move' ? books.given.find((g) => g !== present.given && g.customer === edited.customer) : undefined
    const given = other ?? present.given
    const entry = { ...present, given, owed: edited, amount: Math.max(1, changed[fate](present.amount)) }
    const isSame = given === present.given && entry.amount === present.amount
    wanted.push({ ...entry, isServiceMade: isSame && present.isServiceMade })
  })
  for (const one of wish.added) {
    const fitting = books.given.filter(
      (g) => g.customer === edited.customer && g.currency === edited.currency && !g.isFailed && freeOf(books, g) > 0,
    )
    const given = pickOf(one.isAny || fitting.length === 0 ? books.given : fitting, one.target)
    if (!given) continue
    const left = edited.amount - wanted.reduce((sum, entry) => sum + entry.amount, 0)
    const part = partOf(one.part, Math.min(left, freeOf(books, given)))
    wanted.push({ id: null, given, owed: edited, amount: part, isServiceMade: false })
  }
  return wanted
}

const wireEntry = ({ id, given, amount: minor }: Allocation, currency: string) => ({
  ...(id === null ? {} : { allocationID: id }),
  objectID: given.id,
  isAdjustment: given.kind !== 'payment',
  AmtAllocated: wire(currency, minor),
})

function asked(world: World, edited: Owed, before: readonly Allocation[], mode: string, wish: AskPick) {
  if (mode === 'keep') return { wanted: [...before], list: {} }
  if (mode === 'auto') return { wanted: wantedByOwed(world.books, edited, before), list: { isAutoApply: true } }
  const wanted = listed(world, edited, before, wish)
  return { wanted, list: { LinkedAllocations: wanted.map((entry) => wireEntry(entry, edited.currency)) } }
}

const edits = stepOf(
  'edit positive',
  fc.record({
    which: pick,
    amount: fc.option(amount),
    more: fc.constantFrom(0, 0, 0, -1, 1, 100),
    day: fc.option(day, { freq: 3 }),
    dueIn: fc.nat(30),
    mode: fc.constantFrom('keep', 'auto', 'list', 'list'),
    ask: asks,
  }),
  async (world, wish) => {
    const { books, client } = world
    const present = pickOf(positives(world), wish.which)
    if (!present) return
    const before = allocationsTo(books, present)
    const dated = wish.day === null ? present.dated : inDays(world, wish.day)
    const edited: Owed = {
      ...present,
      amount: wish.amount ?? Math.max(1, present.amount + wish.more),
      dated,
      due: wish.day === null ? present.due : inDays(world, wish.day + wish.dueIn),
    }
    const { wanted, list } = asked(world, edited, before, wish.mode, wish.ask)
    const refusals = refusalsOfOwed(books, edited, before, wanted)
    const isMoved = edited.amount !== present.amount || edited.dated !== present.dated
    if (isMoved && (isLocked(books, present.dated) || isLocked(books, edited.dated))) refusals.push('books_locked')
    const body = { ...bodyOf(edited), AdjustmentID: present.id, ...list }
    world.log.push(`edit positive ${JSON.stringify(body)}`)
    if (!expectOutcome(world, await client.put('/v1/adjustment/edit', body), refusals, 204)) return
    Object.assign(present, edited)
    replaceAllocations(
      books,
      before,
      wanted.map((one) => ({ ...one, owed: present })),
    )
  },
)

const removals = stepOf('remove positive', pick, async (world, which) => {
  const { books, client } = world
  const owed = pickOf(positives(world), which)
  if (!owed) return
  const refusals = [
    ...(allocationsTo(books, owed).length > 0 ? ['adjustment_allocated'] : []),
    ...(isLocked(books, owed.dated) ? ['books_locked'] : []),
  ]
  const path = `/v1/adjustment/delete?type=positive&adjustmentID=${owed.id}&customerID=${owed.customer}`
  world.log.push(`DELETE ${path}`)
  if (!expectOutcome(world, await client.delete(path), refusals, 204)) return
  expect((await client.delete(path)).status).toBe(404)
  books.owed = books.owed.filter((one) => one !== owed)
})

export const owedSteps = [
  { weight: 3, arbitrary: additions },
  { weight: 3, arbitrary: edits },
  { weight: 1, arbitrary: removals },
]
