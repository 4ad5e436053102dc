import { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { CountedWindows } from '../../platform/http/counted-windows.ts'
import { steadyClock } from '../../platform/steady-clock.ts'

/**
 * Repeated wrong credentials are slowed down, per address and per account. A request without any is no guess and is not counted; right ones
 * always pass, so nobody can lock an account out by guessing.
 */

const FREE_TRIES = 10

export class WrongCredentials {
  readonly #tries: CountedWindows

  constructor(clock = steadyClock, namesMax?: number) {
    this.#tries = new CountedWindows(clock, namesMax)
  }

  /** Counts a wrong try and throws 429 once there were too many. */
  refuse(address: string, account: AccountId | undefined): void {
    const names = [`address ${address}`, ...(account === undefined ? [] : [`account ${account}`])]
    const wait = Math.max(
      ...names.map((name) => {
        const { count, secondsLeft } = this.#tries.add(name)
        return count > FREE_TRIES ? secondsLeft : 0
      }),
    )
    if (wait === 0) return
    const message = `Too many wrong credentials; try again in ${wait} seconds.`
    throw new Fault('throttled', [{ code: 'too_many_wrong_credentials', message, field: null }], wait)
  }
}
