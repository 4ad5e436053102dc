import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eachPage, NIGHTS, type Part } from './pages.ts'

/** Reads a list of identifiers as one night does; returns what it read, the end that it keeps, and how many rows were read for it. */
async function night(
  ids: readonly bigint[],
  turn: number,
  before: bigint | undefined,
  place = (after: bigint) => {
    const found = ids.findIndex((id) => id > after)
    return found < 0 ? ids.length : found
  },
) {
  const seen: bigint[] = []
  let kept = -1n
  let rows = 0
  await eachPage(
    {
      goOn: () => {},
      part: { turn, since: 0n, ends: {} } satisfies Part,
      endOf: () => ({ before, keep: (last) => (kept = last) }),
    },
    (after, limit) => {
      const first = place(after)
      const page = ids.slice(first, first + limit)
      rows += page.length
      return Promise.resolve(page.map((id) => ({ id })))
    },
    (page) => {
      seen.push(...page.map(({ id }) => id))
    },
  )
  return { seen, kept, rows }
}

const anyIds = fc
  .uniqueArray(fc.oneof(fc.bigInt({ min: 1n, max: 400_000n }), fc.bigInt({ min: 1n, max: 2n ** 62n })), {
    maxLength: 3000,
    minLength: 1,
    size: 'max',
  })
  .map((ids) => ids.toSorted((a, b) => (a < b ? -1 : 1)))

test('in a round of nights each record is read once, and each night what is new since the last', () =>
  fc.assert(
    fc.asyncProperty(anyIds, fc.nat(), async (ids, place) => {
      const before = ids[place % ids.length]!
      const old: bigint[] = []
      for (let turn = 0; turn < NIGHTS; turn += 1) {
        const { seen, kept } = await night(ids, turn, before)
        expect(kept).toBe(ids.at(-1))
        expect(seen.filter((id) => id > before)).toEqual(ids.filter((id) => id > before))
        old.push(...seen.filter((id) => id <= before))
      }
      expect(old.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(ids.filter((id) => id <= before))
    }),
    { numRuns: 50 },
  ))

test('of a long list a night reads about its part and no more', async () => {
  const ids = Array.from({ length: 16_384 * NIGHTS * 2 }, (_, place) => BigInt(place + 1))
  for (let turn = 0; turn < NIGHTS; turn += 1)
    expect((await night(ids, turn, ids.at(-1), Number)).rows).toBeLessThan(ids.length / NIGHTS + 3000)
})
