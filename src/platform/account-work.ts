import type { AccountId, Id } from '../kernel/ids.ts'
import { Places } from './places.ts'

/** A piece of work: an account's, or one record's of an account. */
export interface AccountTask {
  account: AccountId
  id?: Id
}

/** Makes pieces of work that are one account's each. */
export const piecesOf = (accounts: readonly AccountId[]): AccountTask[] => accounts.map((account) => ({ account }))

/**
 * Work of accounts that rounds of a duty begin, so many pieces at a time. Accounts take turns, and none has all places, so what takes long of one holds up no
 * other's. A round passes over what an earlier one has at work or waiting.
 */
export class AccountWork {
  readonly #places: Places
  readonly #begun = new Set<string>()

  /** `ofAccount`: pieces of one account at a time; left out: half of all. */
  constructor(atOnce: number, ofAccount = Math.ceil(atOnce / 2)) {
    this.#places = new Places({ running: atOnce, runningOfOwner: ofAccount })
  }

  /**
   * Works through the pieces that no earlier round has begun, and returns how many these were. Once one fails none of this round is begun any more; those at
   * work are waited for, and the first failure is thrown.
   */
  async each<T extends AccountTask>(pieces: Iterable<T>, work: (piece: T) => Promise<void>): Promise<number> {
    let hasFailed = false
    const one = (piece: T, name: string) =>
      this.#places
        .run(piece.account, async () => {
          if (!hasFailed) await work(piece)
        })
        .catch((error: unknown) => {
          hasFailed = true
          throw error
        })
        .finally(() => this.#begun.delete(name))
    const begun: Promise<void>[] = []
    for (const piece of pieces) {
      const name = `${piece.account} ${piece.id}`
      if (this.#begun.has(name)) continue
      this.#begun.add(name)
      begun.push(one(piece, name))
    }
    for (const end of await Promise.allSettled(begun)) if (end.status === 'rejected') throw end.reason
    return begun.length
  }
}
