import { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'

/** A bounded number of connections, of which one account can hold only a share: who has its share waits, and the next one goes first. */

interface Waiting {
  account: AccountId
  enter(): void
}

/** Long enough for a short rush, and shorter than most callers wait. */
const PATIENCE_MS = 20_000

const tooBusy = () =>
  new Fault(
    'unavailable',
    [{ code: 'too_busy', message: 'Too many reads are being answered; try again shortly.', field: null }],
    2,
  )

export class Shares {
  #free: number
  readonly #share: number
  readonly #held = new Map<AccountId, number>()
  readonly #waiting = new Set<Waiting>()

  constructor(total: number, share: number) {
    this.#free = total
    this.#share = share
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Waits for a connection to be free and returns how to give it back. Throws unavailable (503) when none became free in time, and what the signal was
   * aborted with when it was.
   */
  async take(account: AccountId, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    if (this.#mayEnter(account)) this.#enter(account)
    else await this.#wait(account, signal)
    let isHeld = true
    return () => {
      if (isHeld) this.#leave(account)
      isHeld = false
    }
  }

  #mayEnter(account: AccountId): boolean {
    return this.#free > 0 && (this.#held.get(account) ?? 0) < this.#share
  }

  #enter(account: AccountId): void {
    this.#free -= 1
    this.#held.set(account, (this.#held.get(account) ?? 0) + 1)
  }

  #leave(account: AccountId): void {
    this.#free += 1
    const held = (this.#held.get(account) ?? 0) - 1
    if (held > 0) this.#held.set(account, held)
    else this.#held.delete(account)
    for (const waiting of this.#waiting) if (this.#mayEnter(waiting.account)) waiting.enter()
  }

  #wait(account: AccountId, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting)
        clearTimeout(patience)
        signal?.removeEventListener('abort', abort)
      }
      const abort = () => {
        leave()
        reject(signal?.reason as Error)
      }
      const waiting: Waiting = {
        account,
        enter: () => {
          leave()
          this.#enter(account)
          resolve()
        },
      }
      const patience = setTimeout(() => {
        leave()
        reject(tooBusy())
      }, PATIENCE_MS)
      signal?.addEventListener('abort', abort)
      this.#waiting.add(waiting)
    })
  }
}
