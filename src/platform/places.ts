import { Fault } from '../kernel/fault.ts'

/**
 * Bounds on work of one kind in this process. Owners who wait take turns, so that one who asks for much waits for itself and hardly anybody
 * waits for it.
 */
export interface PlaceBounds {
  /** Pieces of work at a time. */
  running: number
  /** Of these, pieces of one owner; left out: all of them. */
  runningOfOwner?: number
  /** Of these, pieces of owners that are limited, all together; left out: all of them. */
  runningOfLimited?: number
  /** Pieces that wait for a place, of all owners; left out: any number. */
  waiting?: number
  /** Pieces of one owner, running and waiting together; left out: any number. */
  perOwner?: number
  /** How long a piece waits for its place, in milliseconds; left out: until there is one. */
  patienceMs?: number
}

export interface Wish {
  /** The refusal where the owner has as much here as it may; left out: 503. */
  refusal?: () => Fault
  /** The owner is one of those that leave places to others, see `runningOfLimited`. */
  isLimited?: boolean
  /** Ends the waiting when it is aborted, with its reason. */
  signal?: AbortSignal
}

/** Makes the refusal of work that there is no room for: 503. */
const tooBusy = (): Fault =>
  new Fault(
    'unavailable',
    [{ code: 'too_busy', message: 'Too much work of this kind is waiting; try again shortly.', field: null }],
    2,
  )

interface Owned {
  readonly isLimited: boolean
  running: number
  /** In the order in which they came. */
  waiting: Set<() => void>
}

export class Places {
  readonly #bounds: Required<PlaceBounds>
  readonly #owned = new Map<bigint, Owned>()
  /** Owners who wait, in the order of their turns. */
  readonly #turns = new Map<bigint, Owned>()
  readonly #busy: () => Fault
  #running = 0
  #runningOfLimited = 0
  #waiting = 0

  /** `busy` makes the refusal of what there is no room for; left out: 503. */
  constructor({ running, ...bounds }: PlaceBounds, busy = tooBusy) {
    const { runningOfOwner = running, runningOfLimited = running } = bounds
    const { waiting = Infinity, perOwner = Infinity, patienceMs = 0 } = bounds
    this.#bounds = { running, runningOfOwner, runningOfLimited, waiting, perOwner, patienceMs }
    this.#busy = busy
  }

  get waiting(): number {
    return this.#waiting
  }

  /** Runs the work as soon as there is a place. Throws what `take` throws. */
  async run<T>(owner: bigint, work: () => Promise<T>, refusal?: () => Fault): Promise<T> {
    const leave = await this.take(owner, refusal ? { refusal } : {})
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /**
   * Waits for a place and returns how to leave it. Throws the refusal at once where the owner has as much here as it may; the one of too much work
   * where too much waits, or where no place became free in time.
   */
  async take(owner: bigint, { refusal = this.#busy, signal, isLimited = false }: Wish = {}): Promise<() => void> {
    signal?.throwIfAborted()
    const owned = this.#owned.get(owner) ?? { isLimited, running: 0, waiting: new Set() }
    if (owned.running + owned.waiting.size >= this.#bounds.perOwner) throw refusal()
    if (this.#mayEnter(owned)) this.#enter(owner, owned)
    else {
      if (this.#waiting >= this.#bounds.waiting) throw this.#busy()
      await this.#wait(owner, owned, signal)
    }
    let isHeld = true
    return () => {
      if (isHeld) this.#leave(owner, owned)
      isHeld = false
    }
  }

  #mayEnter({ running, isLimited }: Owned): boolean {
    const bounds = this.#bounds
    if (isLimited && this.#runningOfLimited >= bounds.runningOfLimited) return false
    return this.#running < bounds.running && running < bounds.runningOfOwner
  }

  #enter(owner: bigint, owned: Owned): void {
    this.#running += 1
    if (owned.isLimited) this.#runningOfLimited += 1
    owned.running += 1
    this.#owned.set(owner, owned)
  }

  #wait(owner: bigint, owned: Owned, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#waiting -= 1
        owned.waiting.delete(go)
        if (owned.waiting.size === 0) this.#turns.delete(owner)
        clearTimeout(patience)
        signal?.removeEventListener('abort', abort)
      }
      const give = (reason: Error) => {
        stop()
        if (owned.running === 0 && owned.waiting.size === 0) this.#owned.delete(owner)
        reject(reason)
      }
      const abort = () => give(signal?.reason as Error)
      const go = () => {
        stop()
        this.#enter(owner, owned)
        resolve()
      }
      const { patienceMs } = this.#bounds
      const patience = patienceMs > 0 ? setTimeout(() => give(this.#busy()), patienceMs) : undefined
      signal?.addEventListener('abort', abort)
      this.#waiting += 1
      owned.waiting.add(go)
      this.#owned.set(owner, owned)
      this.#turns.set(owner, owned)
    })
  }

  /** Hands the place to whose turn it is; the owner's other work goes to the end of the turns. */
  #leave(owner: bigint, owned: Owned): void {
    this.#running -= 1
    if (owned.isLimited) this.#runningOfLimited -= 1
    owned.running -= 1
    if (owned.running === 0 && owned.waiting.size === 0) this.#owned.delete(owner)
    for (const [next, theirs] of this.#turns) {
      if (!this.#mayEnter(theirs)) continue
      const [go] = theirs.waiting
      go?.()
      if (this.#turns.delete(next)) this.#turns.set(next, theirs)
      return
    }
  }
}
