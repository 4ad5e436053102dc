import { Fault } from '../kernel/fault.ts'

/**
 * Bounds on work of one kind in this process. Owners who wait take turns, so that one who asks for much waits for itself and hardly anybody
 * waits for it.
 */
export interface PlaceBounds {
  /** Pieces of work at a time. */
  running: number
  /** Pieces that wait for a place, of all owners. */
  waiting: number
  /** Pieces of one owner, running and waiting together. */
  perOwner: number
}

/** The refusal of work that there is no room for: 503. */
const tooBusy = (): Fault =>
  new Fault(
    'unavailable',
    [{ code: 'too_busy', message: 'Too much work of this kind is waiting; try again shortly.', field: null }],
    2,
  )

export class Places {
  readonly #bounds: PlaceBounds
  readonly #countOf = new Map<bigint, number>()
  /** Owners in the order of their turns. */
  readonly #waitingOf = new Map<bigint, (() => void)[]>()
  #running = 0
  #waiting = 0

  constructor(bounds: PlaceBounds) {
    this.#bounds = bounds
  }

  /** Runs the work as soon as there is a place. Throws `refusal` at once where the owner has as much here as it may, and 503 where too much waits. */
  async run<T>(owner: bigint, work: () => Promise<T>, refusal: () => Fault = tooBusy): Promise<T> {
    const count = this.#countOf.get(owner) ?? 0
    if (count >= this.#bounds.perOwner) throw refusal()
    if (this.#running >= this.#bounds.running && this.#waiting >= this.#bounds.waiting) throw tooBusy()
    this.#countOf.set(owner, count + 1)
    await this.#enter(owner)
    try {
      return await work()
    } finally {
      this.#leave(owner)
    }
  }

  async #enter(owner: bigint): Promise<void> {
    if (this.#running < this.#bounds.running) {
      this.#running += 1
      return
    }
    const queue = this.#waitingOf.get(owner) ?? []
    this.#waitingOf.set(owner, queue)
    this.#waiting += 1
    await new Promise<void>((go) => queue.push(go))
    this.#waiting -= 1
  }

  /** Hands the place to whose turn it is; the owner's other work goes to the end of the turns. */
  #leave(owner: bigint): void {
    const count = (this.#countOf.get(owner) ?? 1) - 1
    if (count > 0) this.#countOf.set(owner, count)
    else this.#countOf.delete(owner)
    const [turn] = this.#waitingOf
    if (!turn) {
      this.#running -= 1
      return
    }
    const [next, queue] = turn
    this.#waitingOf.delete(next)
    const go = queue.shift()
    if (queue.length > 0) this.#waitingOf.set(next, queue)
    go?.()
  }
}
