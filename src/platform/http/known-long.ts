import { type SteadyClock, steadyClock } from '../steady-clock.ts'

/** How long it is taken for granted that an answer is long, in milliseconds: a record that became shorter is a usual one again after it. */
const KNOWN_MS = 60_000
const KNOWN_MAX = 10_000

/**
 * Requests whose answers were lately too long to be tried as short ones. To try costs as much as the longest short answer: callers who ask again
 * and again, and are refused because their account has as many long answers as it may, are to cost next to nothing. A request that is
 * forgotten, or wrongly remembered, is answered the same.
 */
export class KnownLong {
  /** By request: until when, on the steady clock. The oldest stand in front. */
  readonly #until = new Map<string, number>()
  readonly #clock: SteadyClock

  constructor(clock = steadyClock) {
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#until.size === 0
  }

  has(request: string): boolean {
    const until = this.#until.get(request)
    if (until === undefined) return false
    if (until > this.#clock()) return true
    this.#until.delete(request)
    return false
  }

  add(request: string): void {
    this.#until.delete(request)
    this.#until.set(request, this.#clock() + KNOWN_MS)
    if (this.#until.size <= KNOWN_MAX) return
    const [oldest = ''] = this.#until.keys()
    this.#until.delete(oldest)
  }
}
