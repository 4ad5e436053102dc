import type pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import { steadyClock } from '../steady-clock.ts'
import { unavailable } from './failures.ts'

/** The bound of every transaction. */

/**
 * How long a transaction that writes may last, in milliseconds. `settled_below` relies on it where other servers write too
 * (docs/decisions/0012-what-is-settled-below.md).
 */
export const TRANSACTION_MS = 10 * 60_000

/** A transaction's time, from its begin. */
export interface Bound {
  /** Throws when the time is over: to be called before a commit is sent. */
  check(): void
  /** To be called when the transaction has ended. */
  clear(): void
}

/** Ends the connection of a transaction, and with it the transaction, when it lasts longer than its bound. */
export function boundTransaction(client: pg.ClientBase, boundMs: number): Bound {
  assert(boundMs > 0, 'a transaction has time')
  const endsAtMs = steadyClock() + boundMs
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection
  const limit = setTimeout(() => stream.destroy(), boundMs)
  limit.unref()
  return {
    check: () => {
      // A busy process may come to its timers late.
      if (steadyClock() >= endsAtMs) throw unavailable()
    },
    clear: () => clearTimeout(limit),
  }
}
