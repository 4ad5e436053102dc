/** Draws that only look like chance: the same seed gives the same ones, so that a demo can be made again. */

export interface Draw {
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number
  /** True as often as that in a hundred. */
  chance(percent: number): boolean
  pick<T>(list: readonly T[]): T
  /** Draws one of the words, each as often as its weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T
}

/** Draws of a seed (a whole number); `salt` keeps the draws of one topic apart from those of another. */
export function drawOf(seed: number, salt: number): Draw {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b)) >>> 0
  // Neighbouring seeds must not give neighbouring draws: a counter is stirred until every bit of it shows in every bit of the result.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number): number => Math.floor(next() * bound)
  return {
    between: (from, to) => from + below(Math.max(0, to - from) + 1),
    chance: (percent) => next() * 100 < percent,
    pick: <T>(list: readonly T[]) => list[below(list.length)] as T,
    weighted: <T extends string>(weights: Readonly<Record<T, number>>) => {
      const entries = Object.entries(weights) as [T, number][]
      let left = below(entries.reduce((sum, [, weight]) => sum + weight, 0))
      for (const [word, weight] of entries) {
        if (left < weight) return word
        left -= weight
      }
      return (entries.at(-1) as [T, number])[0]
    },
  }
}
