import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Metrics } from '../metrics.ts'

/** Requests that took long: a line of the log for each, a few in a second, then their count. */

/** Lines in a second. */
const LINES_MAX = 10
const SECOND_MS = 1_000

type AnsweredRequest = Pick<FastifyRequest, 'id' | 'caller' | 'times' | 'routeOptions'>

export class SlowRequests {
  readonly #log: Pick<Logger, 'info'>
  readonly #metrics: Pick<Metrics, 'slowRequest'>
  readonly #slowMs: number
  #lines = 0
  #untold = 0
  #isSecondBegun = false

  /** `slowMs` of 0: none is slow. */
  constructor(deps: { log: Pick<Logger, 'info'>; metrics: Pick<Metrics, 'slowRequest'>; slowMs: number }) {
    this.#log = deps.log
    this.#metrics = deps.metrics
    this.#slowMs = deps.slowMs
  }

  /** Takes a request that was answered, and how long that took. */
  answered(
    operation: string,
    request: AnsweredRequest,
    { elapsedTime, statusCode }: Pick<FastifyReply, 'elapsedTime' | 'statusCode'>,
  ): void {
    if (this.#slowMs === 0 || elapsedTime < this.#slowMs) return
    this.#metrics.slowRequest(operation)
    if (!this.#isSecondBegun) setTimeout(() => this.#endSecond(), SECOND_MS).unref()
    this.#isSecondBegun = true
    if (this.#lines >= LINES_MAX) {
      this.#untold += 1
      return
    }
    this.#lines += 1
    const { id, caller, times, routeOptions } = request
    // Long work and pages ask the database in ways of their own.
    const isTimed = (routeOptions.config.operation?.kind ?? 'long') !== 'long'
    this.#log.info(
      {
        requestId: id,
        operation,
        ...(caller && { account: caller.account.id, key: caller.keyId }),
        status: statusCode,
        ms: Math.round(elapsedTime),
        placeMs: Math.round(times.placeMs),
        ...(isTimed ? { databaseMs: Math.round(times.databaseMs) } : {}),
      },
      'slow',
    )
  }

  #endSecond(): void {
    if (this.#untold > 0) this.#log.info({ requests: this.#untold }, 'further slow requests')
    this.#lines = 0
    this.#untold = 0
    this.#isSecondBegun = false
  }
}
