import type pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Grouped, OfMany } from './database.ts'
import { rolledBack } from './failures.ts'
import { sendExchange, sendTogether } from './row-query.ts'
import type { Statement } from './sql.ts'

/** Statements of a transaction that several requests share: those that are asked for before the program waits leave as one exchange. */

/** A statement of the next exchange. */
interface Slot {
  statement(): Statement
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

/** A statement of the next exchange that is made of the items of several requests. */
interface JointSlot {
  place: number
  items: any[]
  rows: Promise<any[]>
}

/** Statements of one of the requests: they run in the order in which it asks for them. */
export interface SharedPart {
  /** Runs a statement. Rejects where the transaction is over. */
  rows<Row>(statement: Statement): Promise<Row[]>
  grouped: Grouped
}

export interface Pipelined {
  part(): SharedPart
  /** Sends what was gathered, and takes nothing more: before the commit. */
  finish(): void
  /** Rejects what was gathered and not sent, and takes nothing more: before the rollback. */
  drop(): void
}

/** How statements leave. */
interface Sending {
  /** Executed in front of the first. */
  before: readonly Statement[]
  /** Returns what is sent in the place of a statement. */
  sent(statement: Statement): Statement
}

/** Statements that wait for the program to wait. */
class NextExchange {
  readonly #client: pg.ClientBase
  readonly #sent: Sending['sent']
  #inFront: readonly Statement[]
  slots: Slot[] = []
  joints = new Map<OfMany<any>, JointSlot>()
  /** Counts exchanges that were sent. */
  sent = 0
  isOver = false

  constructor(client: pg.ClientBase, { before, sent }: Sending) {
    this.#client = client
    this.#inFront = before
    this.#sent = sent
  }

  add(statement: () => Statement): Promise<any[]> {
    return new Promise((resolve, reject) => {
      assert(!this.isOver, 'a transaction that is over takes no statement')
      if (this.slots.length === 0) process.nextTick(() => this.send())
      this.slots.push({ statement, resolve, reject })
    })
  }

  send(): void {
    const { slots } = this
    if (slots.length === 0) return
    this.slots = []
    this.joints = new Map()
    this.sent += 1
    sendTogether(this.#client)
    const statements = slots.map(({ statement }) => this.#sent(statement()))
    sendExchange(this.#client, { before: this.#inFront, statements }, (error, found) => {
      for (const [place, { resolve, reject }] of slots.entries()) {
        if (error) reject(error)
        else resolve(found[place] ?? [])
      }
    })
    this.#inFront = []
  }
}

/** Makes the part of a request. It joins a statement of others only where that comes after all that it has asked for. */
function partOf(next: NextExchange, account: AccountId): SharedPart {
  let sent = next.sent
  let last = -1
  const begin = () => {
    if (sent !== next.sent) last = -1
    sent = next.sent
  }
  const jointAt = (ofMany: OfMany<any>): JointSlot => {
    const known = next.joints.get(ofMany)
    if (known && known.place > last) return known
    const items: any[] = []
    const one = { place: next.slots.length, items, rows: next.add(() => ofMany(account, items)) }
    next.joints.set(ofMany, one)
    return one
  }
  return {
    rows: (statement) => {
      begin()
      last = next.slots.length
      return next.add(() => statement)
    },
    grouped: async (ofMany, items, isOf) => {
      begin()
      const { place, items: all, rows } = jointAt(ofMany)
      last = place
      const from = all.length
      for (const item of items) all.push(item)
      const found = await rows
      if (all.length === items.length) return found
      return isOf ? found.filter((row) => isOf(row, items)) : found.slice(from, from + items.length)
    },
  }
}

/**
 * Gathers the statements of a connection. One exchange has one Sync, so the server answers all
 * of its statements at once and the program wakes up once for them. They fail together: the first failure is that of each.
 */
export function pipelineOn(client: pg.ClientBase, account: AccountId, sending: Sending): Pipelined {
  const next = new NextExchange(client, sending)
  return {
    part: () => partOf(next, account),
    finish: () => {
      next.send()
      next.isOver = true
    },
    drop: () => {
      next.isOver = true
      for (const { reject } of next.slots.splice(0)) reject(rolledBack())
    },
  }
}
