import type { AccountId } from '../../kernel/ids.ts'
import { Fault } from '../../kernel/fault.ts'
import { Places } from '../places.ts'
import { Turns } from '../turns.ts'
import type { PlainWay } from './plain-body.ts'
import { type CountedBody, readSentBodyInSlices, type SentBody } from './request-body.ts'

/** Bounds on large bodies: what they take of the memory while they arrive and are worked on, and of the event loop while they are read. */

/** In bytes: bodies that are known to be smaller cost nothing to speak of, and are not counted. */
export const LARGE_BYTES = 64 * 1024

export interface BodyBounds {
  /** Bytes of the bodies of one account at a time. */
  accountBytes: number
  /** Bytes of all bodies at a time. */
  bytes: number
}

/** An account may send some thirty bodies of a megabyte at once, or one import of the largest size. */
export const BODY_BOUNDS: BodyBounds = { accountBytes: 64 * 1024 * 1024, bytes: 256 * 1024 * 1024 }

const tooManyBytes = () =>
  new Fault(
    'unavailable',
    [{ code: 'bodies_waiting', message: 'Too many large bodies arrive at a time; try again shortly.', field: null }],
    2,
  )

/** In characters of a body that are read without a break: a millisecond or two. */
const SLICE = 128 * 1024

export class Bodies {
  readonly #bounds: BodyBounds
  readonly #bytesOf = new Map<AccountId, number>()
  readonly #turns: Turns
  readonly #reading = new Places({ running: 1 })
  #bytes = 0

  constructor(bounds = BODY_BOUNDS, turns = new Turns()) {
    this.#bounds = bounds
    this.#turns = turns
  }

  /** Bytes of all bodies at present. */
  get bytes(): number {
    return this.#bytes
  }

  /** Begins to count the body of a request. */
  count(account: AccountId): CountedBody {
    let counted = 0
    let isEnded = false
    return {
      add: (bytes) => {
        if (isEnded) return
        const ofAccount = (this.#bytesOf.get(account) ?? 0) + bytes
        if (ofAccount > this.#bounds.accountBytes || this.#bytes + bytes > this.#bounds.bytes) throw tooManyBytes()
        counted += bytes
        this.#bytes += bytes
        this.#bytesOf.set(account, ofAccount)
      },
      next: () => (this.#turns.areShared ? this.#turns.next(account) : undefined),
      end: () => {
        if (isEnded) return
        isEnded = true
        this.#bytes -= counted
        const left = (this.#bytesOf.get(account) ?? 0) - counted
        if (left > 0) this.#bytesOf.set(account, left)
        else this.#bytesOf.delete(account)
      },
    }
  }

  /** Reads a body; of large ones one at a time, accounts in turns, and whatever else waits comes between two slices of them. */
  async read(account: AccountId, bytes: Buffer, plainWay?: PlainWay<any>): Promise<SentBody> {
    return this.#reading.run(account, async () => {
      const reading = readSentBodyInSlices(bytes, SLICE, plainWay)
      for (;;) {
        await this.#turns.next(account)
        const { done, value } = reading.next()
        if (done) return value
      }
    })
  }
}

/** Bodies above 64 KiB at an address that is open to everybody: so many are held at a time, from their arrival to the answer, and any other is refused. */
export class LargeBodies {
  readonly #most: number
  readonly #refusal: () => Fault
  #held = 0

  constructor(most: number, refusal: () => Fault) {
    this.#most = most
    this.#refusal = refusal
  }

  /** Begins to count the body of a request. */
  count(): CountedBody {
    let bytes = 0
    let isHeld = false
    let isEnded = false
    return {
      add: (more) => {
        bytes += more
        if (isEnded || isHeld || bytes <= LARGE_BYTES) return
        if (this.#held >= this.#most) throw this.#refusal()
        this.#held += 1
        isHeld = true
      },
      next: () => undefined,
      end: () => {
        isEnded = true
        if (isHeld) this.#held -= 1
        isHeld = false
      },
    }
  }
}
