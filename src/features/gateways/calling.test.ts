import { expect, test } from 'vitest'
import { sharesOf } from './calling.ts'

const processes = (kinds: [kind: string, isLive: boolean][]) => ({
  onWatch: { rows: async () => kinds.map(([kind, isLive]) => ({ kind, isLive })) } as never,
})

test('a fifth of the calls is shared by those who answer callers, the rest by those who work jobs', async () => {
  let now = 0
  const live: [string, boolean][] = [
    ['serve', true],
    ['serve', true],
    ['serve', false],
    ['work', true],
    ['work', true],
    ['work', true],
    ['work', true],
  ]
  const db = processes(live)
  const [serve, work, both] = [['serve'], ['work'], ['serve', 'work']].map((roles) =>
    sharesOf(db, roles as ('serve' | 'work')[], () => now),
  )
  const shares = () => [serve, work, both].map((share) => share!(20))
  // Until the others were counted, it is as if there were none.
  expect(shares()).toEqual([4, 16, 20])
  await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  expect(shares()).toEqual([2, 4, 6])
  live.length = 0
  now = 9_999
  expect(shares()).toEqual([2, 4, 6])
  now = 10_000
  shares()
  await new Promise((resolve) => setImmediate(resolve))
  expect(shares()).toEqual([4, 16, 20])
})
