/** Thrown at a state that only a bug, or a hand in the database, can produce. */
export class FailedAssertion extends Error {
  constructor(story: string) {
    super(`assertion failed: ${story}`)
  }
}

/** Stops at a state that only a bug can produce. A refusal meant for a caller is a Fault instead. */
export function assert(condition: unknown, story: string): asserts condition {
  if (!condition) throw new FailedAssertion(story)
}

/** Marks a branch that a closed union makes impossible, so that the compiler proves every case is handled. */
export function unreachable(value: never): never {
  throw new FailedAssertion(`unexpected ${String(value)}`)
}
