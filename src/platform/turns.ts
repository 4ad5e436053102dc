import { setTimeout as rest } from 'node:timers/promises'
import type { AccountId } from '../kernel/ids.ts'

/** Turns of the event loop for large pieces of work, while several accounts want it. */

/** Accounts whose requests come within this time share the event loop: a large piece of work of one must not keep the other waiting. */
const TOGETHER_MS = 1000

/** Requests came within this time: background work leaves the event loop to them now and then. */
const CALLED_MS = 1000

/** A piece that took less needs no rest after it; a timer waits a millisecond at least. */
const REST_MS_MIN = 0.5
/** A process that has to wait for a processor measures that as well. */
const REST_MS_MAX = 5

/** The turns of one account. */
export interface TurnsOf {
  readonly areShared: boolean
  next(): Promise<void>
}

export class Turns {
  /** The account of the newest request, and when it came after another's. */
  #newest: AccountId | undefined
  #togetherMs = -TOGETHER_MS
  #requestMs = -CALLED_MS
  /** Pieces that wait, by account, in the order of the accounts' turns. */
  readonly #waiting = new Map<AccountId, (() => void)[]>()
  #isTaken = false
  readonly #nowMs: () => number

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Notes a request of an account. */
  note(account: AccountId): void {
    this.#requestMs = this.#nowMs()
    if (account === this.#newest) return
    this.#newest = account
    this.#togetherMs = this.#requestMs
  }

  /** Leaves the event loop to requests for some milliseconds, between two pieces of background work; returns at once where none came of late. */
  async leaveToRequests(ms: number): Promise<void> {
    if (this.#nowMs() - this.#requestMs < CALLED_MS) await rest(ms)
  }

  /** Returns whether requests of several accounts come at present. An account that is alone needs no turns, which cost it time. */
  get areShared(): boolean {
    return this.#nowMs() - this.#togetherMs < TOGETHER_MS
  }

  /** Does a large piece of work: at once where its account is alone, else in a turn of the event loop in which no other one is done. */
  handOn(account: AccountId, piece: () => void): void {
    if (this.areShared) this.#queue(account, piece)
    else piece()
  }

  /** Returns when the account may do its next large piece of work: in another turn of the event loop than any other one. */
  next(account: AccountId): Promise<void> {
    return new Promise((resolve) => this.#queue(account, resolve))
  }

  /** Returns the turns of one account. */
  of(account: AccountId): TurnsOf {
    const areShared = () => this.areShared
    return {
      get areShared() {
        return areShared()
      },
      next: () => this.next(account),
    }
  }

  #queue(account: AccountId, piece: () => void): void {
    const waiting = this.#waiting.get(account)
    if (waiting) waiting.push(piece)
    else this.#waiting.set(account, [piece])
    if (this.#isTaken) return
    this.#isTaken = true
    setImmediate(() => this.#doOne())
  }

  /** Leaves the event loop to others for as long as a piece took, where that was long: they have half of the time at least. */
  #rest(tookMs: number): void {
    if (tookMs < REST_MS_MIN || !this.areShared) this.#doOne()
    else setTimeout(() => this.#doOne(), Math.min(tookMs, REST_MS_MAX))
  }

  /** Does a piece of the account whose turn it is; its other pieces go behind those of other accounts. */
  #doOne(): void {
    const [entry] = this.#waiting
    if (!entry) {
      this.#isTaken = false
      return
    }
    const [account, waiting] = entry
    const piece = waiting.shift()
    this.#waiting.delete(account)
    if (waiting.length > 0) this.#waiting.set(account, waiting)
    const begunMs = this.#nowMs()
    // The turn is over when all is done that follows from the piece.
    setImmediate(() => this.#rest(this.#nowMs() - begunMs))
    piece?.()
  }
}
