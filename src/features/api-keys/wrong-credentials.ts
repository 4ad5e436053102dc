import type { Logger } from 'pino'
import { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { CountedWindows, networkOf } from '../../platform/http/counted-windows.ts'
import { type SteadyClock, steadyClock } from '../../platform/steady-clock.ts'

/**
 * Repeated wrong credentials are slowed down, per address and per account. A request without any is no guess and is not counted; right ones
 * always pass, so nobody can lock an account out by guessing.
 */

const FREE_TRIES = 10
const WARN_EVERY_MS = 60_000

interface WrongCredentialsOptions {
  clock?: SteadyClock
  /** How many addresses and accounts are counted at a time. */
  namesMax?: number
  log?: Pick<Logger, 'warn'>
}

export class WrongCredentials {
  readonly #tries: CountedWindows
  readonly #clock: SteadyClock
  readonly #log: Pick<Logger, 'warn'> | undefined
  #refused = 0
  #warnedAtMs = -Infinity

  constructor({ clock = steadyClock, namesMax, log }: WrongCredentialsOptions = {}) {
    this.#tries = new CountedWindows(clock, namesMax)
    this.#clock = clock
    this.#log = log
  }

  /** Counts a wrong try and throws 429 once there were too many. */
  refuse(address: string, account: AccountId | undefined): void {
    const names = [`address ${networkOf(address)}`, ...(account === undefined ? [] : [`account ${account}`])]
    const wait = Math.max(
      ...names.map((name) => {
        const { count, secondsLeft } = this.#tries.add(name)
        return count > FREE_TRIES ? secondsLeft : 0
      }),
    )
    if (wait === 0) return
    this.#warn(address, account)
    const message = `Too many wrong credentials; try again in ${wait} seconds.`
    throw new Fault('throttled', [{ code: 'too_many_wrong_credentials', message, field: null }], wait)
  }

  /** Writes one line a minute: how many tries were refused since the line before, and of whom the newest is. */
  #warn(address: string, account: AccountId | undefined): void {
    this.#refused += 1
    const nowMs = this.#clock()
    if (nowMs - this.#warnedAtMs < WARN_EVERY_MS) return
    const facts = { address, ...(account === undefined ? {} : { account: String(account) }), refused: this.#refused }
    this.#log?.warn(facts, 'wrong credentials are sent again and again, and refused')
    this.#warnedAtMs = nowMs
    this.#refused = 0
  }
}
