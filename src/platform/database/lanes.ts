import type pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from './database.ts'
import { readFault, TooManyRows, unavailable } from './failures.ts'
import { limitReads } from './reads.ts'
import { sendExchange } from './row-query.ts'
import { accountScope } from './scoped-query.ts'
import { ServerClient } from './server-client.ts'
import type { Statement } from './sql.ts'

/** Few connections on which short reads of all callers are sent without waiting for each other. */

/**
 * Most rows of one statement of a look-up: as many lines as an invoice may have, or allocations as a payment may be given. What has more would
 * keep everybody waiting who is behind it on its lane.
 */
export const LOOKUP_ROWS_MAX = 1000

/**
 * Look-ups of one account on the lanes at a time: who asks for much stands in a line of its own, and whoever comes behind finds no more than these
 * in front. It is enough to keep both lanes at work.
 */
const OF_ACCOUNT = 32

interface Asked {
  statement: Statement
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

export class Lanes {
  readonly #config: pg.ClientConfig
  readonly #lanes: (Promise<pg.Client> | undefined)[]
  /** The line of each account that has look-ups. No `Places`, because each of several thousand a second passes through it. */
  readonly #lines = new Map<AccountId, { sent: number; waiting: (readonly Asked[])[] }>()
  #turn = 0
  #isClosed = false

  /** The connections are repeatable read by their settings: an exchange, being one implicit transaction, is one snapshot. */
  constructor(config: pg.ClientConfig, lanes: number) {
    this.#config = { ...config, pipeline: true } as pg.ClientConfig
    this.#lanes = Array.from({ length: lanes }, () => undefined)
  }

  /**
   * Makes a look-up: its statements are gathered until the program waits, and leave as one exchange. None can need the answer of another.
   * Rejects with TooManyRows where one has more rows than LOOKUP_ROWS_MAX.
   */
  lookup(account: AccountId): Queryable {
    const asked: Asked[] = []
    let isSent = false
    const send = () => {
      isSent = true
      this.#sendInTurn(account, asked)
    }
    return {
      rowsMax: LOOKUP_ROWS_MAX,
      rows: <Row>(statement: Statement) =>
        new Promise<Row[]>((resolve, reject) => {
          assert(!isSent, 'a look-up asks for everything at once')
          if (asked.length === 0) process.nextTick(send)
          asked.push({ statement, resolve: resolve as Asked['resolve'], reject })
        }),
    }
  }

  #sendInTurn(account: AccountId, asked: readonly Asked[]): void {
    const line = this.#lines.get(account)
    if (line && line.sent >= OF_ACCOUNT) {
      line.waiting.push(asked)
      return
    }
    if (line) line.sent += 1
    else this.#lines.set(account, { sent: 1, waiting: [] })
    void this.#send(account, asked)
  }

  #ended(account: AccountId): void {
    const line = this.#lines.get(account)
    assert(line, 'a look-up that ended was sent')
    const next = line.waiting.shift()
    if (next) void this.#send(account, next)
    else if (line.sent > 1) line.sent -= 1
    else this.#lines.delete(account)
  }

  async #send(account: AccountId, asked: readonly Asked[]): Promise<void> {
    const refuse = (error: unknown) => {
      const refusal = readFault(error) ?? error
      for (const { reject } of asked) reject(refusal)
      this.#ended(account)
    }
    try {
      const exchange = {
        before: [accountScope(account)],
        statements: asked.map(({ statement }) => statement),
        rowsMax: LOOKUP_ROWS_MAX + 1,
      }
      sendExchange(await this.#lane(), exchange, (error, found, hasMore) => {
        if (error) return refuse(error)
        if (hasMore) return refuse(new TooManyRows())
        for (let place = 0; place < asked.length; place += 1) asked[place]?.resolve(found[place] ?? [])
        this.#ended(account)
      })
    } catch (error) {
      refuse(error)
    }
  }

  async #lane(): Promise<pg.Client> {
    if (this.#isClosed) throw unavailable()
    this.#turn = (this.#turn + 1) % this.#lanes.length
    const position = this.#turn
    let lane = this.#lanes[position]
    if (!lane) {
      lane = this.#open(position)
      this.#lanes[position] = lane
      lane.catch(() => {
        this.#lanes[position] = undefined
      })
    }
    return lane
  }

  async #open(position: number): Promise<pg.Client> {
    const client = new ServerClient(this.#config)
    const forget = () => {
      this.#lanes[position] = undefined
    }
    client.on('error', forget)
    client.on('end', forget)
    await client.connect()
    await limitReads(client)
    return client
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#lanes.map(async (lane) => (await lane)?.end()))
  }
}
