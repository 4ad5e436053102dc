import type pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import { sendExchange, sendTogether } from './row-query.ts'
import type { Statement } from './sql.ts'

/** Statements of a transaction that several requests share: those that are asked for before the program waits leave as one exchange. */

interface Asked {
  statement: Statement
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

export interface Gathered {
  /** Runs a statement after those before it. Rejects where the transaction is over. */
  rows<Row>(statement: Statement): Promise<Row[]>
  /** Sends what was gathered, and takes nothing more: before the commit. */
  finish(): void
  /** Rejects what was gathered and not sent, and takes nothing more: before the rollback. */
  drop(): void
}

/**
 * Gathers the statements of a connection; `before` are executed in front of the first of them. One exchange has one Sync, so the server answers all
 * of its statements at once and the program wakes up once for them. They fail together: the first failure is that of each.
 */
export function gatherOn(client: pg.ClientBase, before: readonly Statement[]): Gathered {
  let asked: Asked[] = []
  let inFront = before
  let isOver = false
  const flush = () => {
    if (asked.length === 0) return
    const sent = asked
    asked = []
    sendTogether(client)
    const statements = sent.map(({ statement }) => statement)
    sendExchange(client, { before: inFront, statements }, (error, found) => {
      for (const [place, { resolve, reject }] of sent.entries()) {
        if (error) reject(error)
        else resolve(found[place] ?? [])
      }
    })
    inFront = []
  }
  return {
    rows: <Row>(statement: Statement) =>
      new Promise<Row[]>((resolve, reject) => {
        assert(!isOver, 'a transaction that is over takes no statement')
        if (asked.length === 0) process.nextTick(flush)
        asked.push({ statement, resolve: resolve as Asked['resolve'], reject })
      }),
    finish: () => {
      isOver = true
      flush()
    },
    drop: () => {
      isOver = true
      for (const { reject } of asked.splice(0)) reject(new Error('the transaction was rolled back'))
    },
  }
}
