import type pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { OfMany } from './database.ts'
import { sendExchange, sendTogether } from './row-query.ts'
import type { Statement } from './sql.ts'

/** Statements of a transaction that several requests share: those that are asked for before the program waits leave as one exchange. */

interface Asked {
  statement: () => Statement
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

/** Items of several requests, of which one statement is made. */
interface Joint {
  items: unknown[]
  answers: Promise<unknown[]>
}

export interface Gathered {
  /** Runs a statement after those before it. Rejects where the transaction is over. */
  rows<Row>(statement: Statement): Promise<Row[]>
  /** Asks for the rows of items, by one statement with all that is asked for in the same way before the program waits. */
  joint<Item, Row>(ofMany: OfMany<Item>, items: readonly Item[]): Promise<Row[]>
  /** Sends what was gathered, and takes nothing more: before the commit. */
  finish(): void
  /** Rejects what was gathered and not sent, and takes nothing more: before the rollback. */
  drop(): void
}

/**
 * Gathers the statements of a connection; `before` are executed in front of the first of them. One exchange has one Sync, so the server answers all
 * of its statements at once and the program wakes up once for them. They fail together: the first failure is that of each.
 */
export function gatherOn(client: pg.ClientBase, account: AccountId, before: readonly Statement[]): Gathered {
  let asked: Asked[] = []
  let last: Asked[] = []
  let joints = new Map<OfMany<any>, Joint>()
  let inFront = before
  let isOver = false
  let isAwaited = false
  const flush = () => {
    isAwaited = false
    const sent = [...asked, ...last]
    if (sent.length === 0) return
    asked = []
    last = []
    joints = new Map()
    sendTogether(client)
    const statements = sent.map(({ statement }) => statement())
    sendExchange(client, { before: inFront, statements }, (error, found) => {
      for (const [place, { resolve, reject }] of sent.entries()) {
        if (error) reject(error)
        else resolve(found[place] ?? [])
      }
    })
    inFront = []
  }
  const ask = (line: Asked[], statement: () => Statement): Promise<unknown[]> =>
    new Promise((resolve, reject) => {
      assert(!isOver, 'a transaction that is over takes no statement')
      if (!isAwaited) process.nextTick(flush)
      isAwaited = true
      line.push({ statement, resolve, reject })
    })
  return {
    rows: <Row>(statement: Statement) => ask(asked, () => statement) as Promise<Row[]>,
    joint: async <Item, Row>(ofMany: OfMany<Item>, items: readonly Item[]) => {
      let one = joints.get(ofMany)
      if (!one) {
        const all: Item[] = []
        joints.set(ofMany, (one = { items: all, answers: ask(last, () => ofMany(account, all)) }))
      }
      const from = one.items.length
      for (const item of items) one.items.push(item)
      return (await one.answers).slice(from, from + items.length) as Row[]
    },
    finish: () => {
      isOver = true
      flush()
    },
    drop: () => {
      isOver = true
      for (const { reject } of [...asked.splice(0), ...last.splice(0)])
        reject(new Error('the transaction was rolled back'))
    },
  }
}
