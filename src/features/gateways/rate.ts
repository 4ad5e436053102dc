import { type SteadyClock, steadyClock } from '../../platform/steady-clock.ts'

/**
 * How often gateways are called: each call takes a place first. Rule (§30): a gateway has as many places a second as its type allows, of which a process
 * has its share; those with the customer present go first; where no place comes within 20 seconds nothing is sent.
 */

const WAIT_MS = 20_000

export interface WantedPlace {
  /** The gateway among all of all accounts. */
  gateway: string
  /** Calls a second that its type allows. */
  perSecond: number
  isFirst: boolean
  signal: AbortSignal
}

/** Takes a place; false where none came in time. */
export type TakePlace = (place: WantedPlace) => Promise<boolean>

interface Waiting {
  isFirst: boolean
  end(hasPlace: boolean): void
}

/** Makes the places of this process; `shareOf` returns how many of a gateway's calls a second are its own, 1 at least. */
export function makePlaces(
  shareOf: (perSecond: number) => number,
  { clock = steadyClock, waitMs = WAIT_MS }: { clock?: SteadyClock; waitMs?: number } = {},
): TakePlace {
  const buckets = new Map<string, Bucket>()
  return ({ gateway, perSecond, isFirst, signal }) => {
    const bucket = buckets.get(gateway) ?? new Bucket(() => Math.max(1, shareOf(perSecond)), clock)
    buckets.set(gateway, bucket)
    return bucket.place(isFirst, signal, waitMs)
  }
}

/** Holds the places of at most one second, so that a gateway that was not called for long is not called more often than it allows. */
class Bucket {
  readonly #perSecond: () => number
  readonly #clock: SteadyClock
  readonly #waiting = new Set<Waiting>()
  #places: number
  #filledAt: number
  #timer: NodeJS.Timeout | undefined

  constructor(perSecond: () => number, clock: SteadyClock) {
    this.#perSecond = perSecond
    this.#clock = clock
    this.#places = perSecond()
    this.#filledAt = clock()
  }

  place(isFirst: boolean, signal: AbortSignal, waitMs: number): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const leave = () => waiting.end(false)
      const timer = setTimeout(leave, waitMs)
      const waiting: Waiting = {
        isFirst,
        end: (hasPlace) => {
          this.#waiting.delete(waiting)
          clearTimeout(timer)
          signal.removeEventListener('abort', leave)
          resolve(hasPlace)
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.add(waiting)
      this.#serve()
    })
  }

  #serve(): void {
    clearTimeout(this.#timer)
    const perSecond = this.#perSecond()
    const now = this.#clock()
    this.#places = Math.min(perSecond, this.#places + ((now - this.#filledAt) * perSecond) / 1_000)
    this.#filledAt = now
    while (this.#places >= 1 && this.#waiting.size > 0) {
      this.#places -= 1
      this.#next()?.end(true)
    }
    if (this.#waiting.size === 0) return
    this.#timer = setTimeout(() => this.#serve(), Math.ceil(((1 - this.#places) * 1_000) / perSecond))
  }

  #next(): Waiting | undefined {
    const all = [...this.#waiting]
    return all.find(({ isFirst }) => isFirst) ?? all[0]
  }
}
