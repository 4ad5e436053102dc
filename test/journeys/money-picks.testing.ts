import fc from 'fast-check'
import { type Allocation, type Entry, type Given, openOf, type Owed } from './money-model.testing.ts'
import type { World } from './money-world.testing.ts'

/** Choices of random histories: numbers and words that mean something only beside what is there, so that a failing history can be made smaller. */

export type Perform = (world: World) => Promise<void>

/** A step that a counterexample shows as what it was chosen to be. */
export const stepOf = <Wish>(
  name: string,
  wishes: fc.Arbitrary<Wish>,
  perform: (world: World, wish: Wish) => Promise<void>,
): fc.Arbitrary<Perform> =>
  wishes.map((wish) =>
    Object.assign((world: World) => perform(world, wish), {
      [fc.toStringMethod]: () => `${name} ${JSON.stringify(wish)}`,
    }),
  )

/** Picks one of some by a number; undefined if there is none. */
export const pickOf = <T>(some: readonly T[], pick: number): T | undefined => some[pick % Math.max(some.length, 1)]

export const pick = fc.nat(999)
/** Mostly the same customer, so that documents meet; the first and the second are of one currency. */
export const customerPick = fc.constantFrom(0, 0, 0, 0, 1, 2, 2)
/** Mostly the customer's own currency. */
export const currencyPick = fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2)
export const day = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: -3, max: 3 }) },
  fc.integer({ min: -70, max: 40 }),
)
export const amount = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 30_000 }))

const entryPicks = fc.record({
  target: pick,
  /** Whether it is any document, or one of those that fit. */
  isAny: fc.constantFrom(false, false, false, false, false, true),
  part: fc.constantFrom('all', 'all', 'half', 'one', 'third', 'over'),
  byNumber: fc.boolean(),
})
type EntryPick = typeof entryPicks extends fc.Arbitrary<infer T> ? T : never

export const asks = fc.record({
  isAuto: fc.constantFrom(true, false, false),
  /** Fates of the present allocations, one after the other. */
  present: fc.array(fc.constantFrom('keep', 'keep', 'drop', 'less', 'more', 'move'), { maxLength: 4 }),
  added: fc.oneof({ weight: 3, arbitrary: fc.array(entryPicks, { minLength: 1, maxLength: 3 }) }, fc.constant([])),
})
export type AskPick = typeof asks extends fc.Arbitrary<infer T> ? T : never

function targetOf({ books }: World, given: Given, { target, isAny }: EntryPick): Owed | undefined {
  const fitting = books.owed.filter(
    (o) => o.customer === given.customer && o.currency === given.currency && openOf(books, o) > 0 && o.state === 'open',
  )
  return pickOf(isAny || fitting.length === 0 ? books.owed : fitting, target)
}

export function partOf(part: EntryPick['part'], most: number): number {
  const parts = { all: most, half: Math.ceil(most / 2), third: Math.ceil(most / 3), one: 1, over: most + 1 }
  return Math.max(1, parts[part])
}

export const changed = {
  keep: (n: number) => n,
  less: (n: number) => n - 1,
  more: (n: number) => n + 1,
  move: (n: number) => n,
}

/** A list as it is asked for, from what there is and from what can be paid. */
export function entriesOf(world: World, given: Given, before: readonly Allocation[], wish: AskPick): Entry[] {
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
