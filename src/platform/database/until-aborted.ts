import { setTimeout as rest } from 'node:timers/promises'
import type pg from 'pg'
import { isQuiet, requestCancel } from './cancel.ts'
import { BY_ROWS, type Database, type StatementsOfPart, type Transaction } from './database.ts'

/** Transactions of callers who may hang up: the statement that runs is ended then, nothing more is sent, and nothing of the transaction is left. */

/** How often a statement that still runs is ended anew: a request that arrives between two statements ends none. */
const AGAIN_MS = 200

type Work<T> = (tx: Transaction) => Promise<T>

/**
 * Does the work of a transaction until a signal is aborted; then throws the reason of that. `transact` runs it on the connection, which is quiet
 * afterwards, or was given up.
 */
export async function untilAborted<T>(
  client: pg.PoolClient,
  signal: AbortSignal,
  work: Work<T>,
  transact: (work: Work<T>) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const stop = endOnAbort(client, signal)
  try {
    return await transact(async (tx) => {
      const done = await work(heeding(tx, signal))
      signal.throwIfAborted()
      return done
    })
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    await stop()
  }
}

/**
 * Returns the same database, whose transactions have so many milliseconds to come to their end once the signal is aborted. For work in portions,
 * which ends between two of them.
 */
export function endingAfter(db: Database, signal: AbortSignal | undefined, graceMs: number): Database {
  if (!signal) return db
  const late = new AbortController()
  const onAbort = () => void setTimeout(() => late.abort(signal.reason), graceMs).unref()
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    ...db,
    transaction: (account, work, settings) => db.transaction(account, work, { ...settings, signal: late.signal }),
  }
}

/** Ends every statement on a connection from the abort on, until what it returns is called. */
function endOnAbort(client: pg.PoolClient, signal: AbortSignal): () => Promise<void> {
  let isOver = false
  let ending: Promise<void> | undefined
  const endAll = async () => {
    while (!isOver) {
      await requestCancel(client)
      if (!isOver) await rest(AGAIN_MS)
    }
  }
  const onAbort = () => {
    ending ??= endAll()
  }
  signal.addEventListener('abort', onAbort)
  return async () => {
    isOver = true
    signal.removeEventListener('abort', onAbort)
    if (!ending) return
    await ending
    if (await isQuiet(client)) return
    const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection
    stream.destroy()
  }
}

/** Returns the same transaction, which sends nothing once the signal is aborted. */
function heeding(tx: Transaction, signal: AbortSignal): Transaction {
  const heed = <Given extends unknown[], Done>(run: (...given: Given) => Done) => {
    return (...given: Given): Done => {
      signal.throwIfAborted()
      return run(...given)
    }
  }
  const heeded = (statements: StatementsOfPart): StatementsOfPart => ({
    ...BY_ROWS,
    rows: async (statement) => heed(statements.rows)(statement) as never,
    grouped: async (ofMany, items, isOf) => heed(statements.grouped)(ofMany, items, isOf as never) as never,
    tryLock: async (name) => heed(statements.tryLock)(name),
    send: heed(statements.send),
    sendGrouped: (ofMany, items, refusals) => {
      signal.throwIfAborted()
      statements.sendGrouped(ofMany, items, refusals)
    },
  })
  return {
    ...tx,
    ...heeded(tx),
    part: () => heeded(tx.part()),
    async *portions(statement, size) {
      signal.throwIfAborted()
      for await (const rows of tx.portions(statement, size)) {
        yield rows as never
        signal.throwIfAborted()
      }
    },
    savepoint: async (work) => {
      signal.throwIfAborted()
      return tx.savepoint(work)
    },
  }
}
