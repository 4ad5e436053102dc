import type { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database } from '../database/database.ts'
import { Places } from '../places.ts'
import { ASKED_KINDS, type AskedKind, LONG_BOUNDS, tooManyOf } from './kinds.ts'
import { type LongWork, type Presence, whileAlone } from './presence.ts'

/**
 * Long operations that callers ask for: of an account one of a kind at a time, in all processes, and of a process a few. Each kind has places of its own, so
 * that none waits for another.
 */

export interface AskedOperation {
  kind: AskedKind
  account: AccountId
  /** Test accounts have fewer places. */
  isTest: boolean
  /** Makes the refusal of a second one of the account. */
  refusal(): Fault
  /** Ends the waiting when it is aborted. */
  gone?: AbortSignal | undefined
}

export class LongOperations {
  readonly #db: Database
  readonly #longDb: Database
  readonly #places: Record<AskedKind, Places>

  constructor({ db, longDb }: { db: Database; longDb: Database }, bounds: Partial<typeof LONG_BOUNDS> = {}) {
    this.#db = db
    this.#longDb = longDb
    this.#places = Object.fromEntries(
      ASKED_KINDS.map((kind) => [kind, new Places({ ...LONG_BOUNDS, ...bounds }[kind], tooManyOf(kind))]),
    ) as Record<AskedKind, Places>
  }

  /** Runs work in a place of its kind. Throws the refusal (409) where the account has one of the kind, unavailable (503) where there is no place in time. */
  async run<T>(asked: AskedOperation, work: (about: LongWork) => Promise<T>): Promise<T> {
    const { kind, account, isTest, refusal, gone } = asked
    gone?.throwIfAborted()
    // As any write of a caller: one who asks again and again waits for itself.
    const shared: Pick<Database, 'transaction'> = {
      transaction: (whose, write) => this.#db.transaction(whose, write, { isShared: true }),
    }
    const announced = { kind, state: 'waiting', refusal, renewing: this.#longDb } as const
    return whileAlone(shared, account, announced, (presence) =>
      this.#inPlace({ kind, account, isLimited: isTest, refusal, gone }, presence, work),
    )
  }

  async #inPlace<T>(
    { kind, account, isLimited, refusal, gone }: Omit<AskedOperation, 'isTest'> & { isLimited: boolean },
    presence: Presence,
    work: (about: LongWork) => Promise<T>,
  ): Promise<T> {
    const leave = await this.#places[kind].take(account, { refusal, isLimited, ...(gone && { signal: gone }) })
    try {
      await presence.runs()
      gone?.throwIfAborted()
      return await work(presence)
    } finally {
      leave()
    }
  }
}
