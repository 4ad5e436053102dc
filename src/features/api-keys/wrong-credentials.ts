import { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'

/**
 * Repeated wrong credentials are slowed down, per address and per account. A request without any is no guess and is not counted; right ones
 * always pass, so nobody can lock an account out by guessing.
 */

const FREE_TRIES = 10
const WINDOW_MS = 60_000
const ENTRIES_MAX = 50_000

interface Tries {
  count: number
  untilMs: number
}

export class WrongCredentials {
  readonly #tries = new Map<string, Tries>()

  /** Counts a wrong try and throws 429 once there were too many. */
  refuse(address: string, account: AccountId | undefined): void {
    const names = [`address ${address}`, ...(account === undefined ? [] : [`account ${account}`])]
    const waits = names.map((name) => this.#count(name))
    const wait = Math.max(...waits)
    if (wait > 0)
      throw new Fault(
        'throttled',
        [
          {
            code: 'too_many_wrong_credentials',
            message: `Too many wrong credentials; try again in ${wait} seconds.`,
            field: null,
          },
        ],
        wait,
      )
  }

  #count(name: string): number {
    const nowMs = Date.now()
    let tries = this.#tries.get(name)
    if (!tries || tries.untilMs < nowMs) {
      if (this.#tries.size >= ENTRIES_MAX) this.#tries.clear()
      tries = { count: 0, untilMs: nowMs + WINDOW_MS }
      this.#tries.set(name, tries)
    }
    tries.count += 1
    return tries.count > FREE_TRIES ? Math.ceil((tries.untilMs - nowMs) / 1000) : 0
  }
}
