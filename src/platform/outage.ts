import type { Logger } from 'pino'
import type { AwayNodes } from './database/away-nodes.ts'
import { isOfWorkerAway } from './database/failures.ts'
import { errorFacts } from './error-facts.ts'
import { steadyClock } from './steady-clock.ts'

/**
 * The outage of the database as one process meets it: a line when it begins, one a minute with what it has cost, and one when it is over. Everything else
 * that it brings about is counted, and written nowhere.
 */

const EVERY_MS = 60_000
const LOOK_EVERY_MS = 1_000

export interface OutageDeps {
  log: Pick<Logger, 'error' | 'warn' | 'info'>
  /** Requests of callers, or rounds of duties. */
  counted: 'requests' | 'rounds'
  /** Returns whether the database can be used, by an answer that is younger than this moment of the steady clock; left out: `isOver` is called. */
  answersSince?: (momentMs: number) => boolean
  /** Takes failures of a worker of a cluster that is away: the database itself answers. */
  away: Pick<AwayNodes, 'met'>
}

export class Outage {
  readonly #deps: OutageDeps
  #sinceMs: number | undefined
  #count = 0
  #minutes: NodeJS.Timeout | undefined
  #looking: NodeJS.Timeout | undefined
  #isStopping = false

  constructor(deps: OutageDeps) {
    this.#deps = deps
  }

  /** Whether failures are now those of a process that ends. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Notes that a request or a round has met it. Of the failure its reason is written, and no more. */
  met(failure: unknown): void {
    if (isOfWorkerAway(failure)) {
      if (!this.#isStopping) this.#deps.away.met(failure)
      return
    }
    this.#count += 1
    if (this.#sinceMs !== undefined || this.#isStopping) return
    this.#sinceMs = steadyClock()
    this.#count = 1
    // It may be the silence of a worker, which is named then, too.
    this.#deps.away.met()
    const cause = failure instanceof Error ? (failure.cause ?? failure) : failure
    const { message: reason, code } = errorFacts(cause)
    this.#deps.log.error({ reason, ...(code === undefined ? {} : { code }) }, 'the database cannot be reached')
    this.#minutes = setInterval(
      () => this.#deps.log.warn(this.#cost(), 'the database still cannot be reached'),
      EVERY_MS,
    )
    this.#minutes.unref()
    if (this.#deps.answersSince) this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Notes that what began at this moment of the steady clock is done. */
  isOver(beganAtMs: number): void {
    if (this.#sinceMs === undefined || beganAtMs < this.#sinceMs) return
    this.#deps.log.info(this.#cost(), 'the database can be reached again')
    this.#end()
  }

  /** Ends it with the process: whatever fails from now on is no outage. */
  stop(): void {
    this.#isStopping = true
    this.#end()
  }

  #cost() {
    const seconds = Math.round((steadyClock() - (this.#sinceMs ?? 0)) / 1000)
    return { seconds, [this.#deps.counted]: this.#count }
  }

  #end(): void {
    this.#sinceMs = undefined
    clearInterval(this.#minutes)
    clearInterval(this.#looking)
  }

  #look(): void {
    if (this.#sinceMs !== undefined && this.#deps.answersSince?.(this.#sinceMs)) this.isOver(this.#sinceMs)
  }
}
