import type pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Turns } from '../turns.ts'
import { BY_ROWS, type LookupSize, type Queryable } from './database.ts'
import { readFault, serverSilent, TooManyRows, unavailable } from './failures.ts'
import { limitReads } from './reads.ts'
import { sendReads } from './row-query.ts'
import type { Scopes } from './scoped-query.ts'
import { ServerClient } from './server-client.ts'
import { cut, isWaitedOn } from './silence.ts'
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

/** A page takes the place of so many records. It costs as much as ten, but with fewer than 16 on their way each costs a fifth more. */
const WEIGHTS: Record<LookupSize, number> = { record: 1, page: 2 }
/** The statements of a look-up. */
interface Lookup {
  account: AccountId
  size: LookupSize
  asked: Asked[]
}

interface Asked {
  statement: Statement
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

export class Lanes {
  readonly #config: pg.ClientConfig
  readonly #turns: Turns
  readonly #scopes: Scopes
  readonly #lanes: (Promise<pg.Client> | undefined)[]
  /** The line of each account that has look-ups. No `Places`, because each of several thousand a second passes through it. */
  readonly #lines = new Map<AccountId, { sent: number; waiting: Lookup[] }>()
  #turn = 0
  #isClosed = false

  /** The connections are repeatable read by their settings: an exchange, being one implicit transaction, is one snapshot. */
  constructor(config: pg.ClientConfig, lanes: number, { turns, scopes }: { turns: Turns; scopes: Scopes }) {
    this.#turns = turns
    this.#scopes = scopes
    this.#config = { ...config, pipeline: true } as pg.ClientConfig
    this.#lanes = Array.from({ length: lanes }, () => undefined)
  }

  /**
   * Makes a look-up: its statements are gathered until the program waits, and leave as one exchange. None can need the answer of another.
   * Rejects with TooManyRows where one has more rows than LOOKUP_ROWS_MAX.
   */
  lookup(account: AccountId, size: LookupSize = 'record'): Queryable {
    const asked: Asked[] = []
    let isSent = false
    const send = () => {
      isSent = true
      this.#sendInTurn({ account, size, asked })
    }
    return {
      ...BY_ROWS,
      rowsMax: LOOKUP_ROWS_MAX,
      rows: <Row>(statement: Statement) =>
        new Promise<Row[]>((resolve, reject) => {
          assert(!isSent, 'a look-up asks for everything at once')
          if (asked.length === 0) process.nextTick(send)
          asked.push({ statement, resolve: resolve as Asked['resolve'], reject })
        }),
    }
  }

  #sendInTurn(lookup: Lookup): void {
    const { account } = lookup
    const weight = WEIGHTS[lookup.size]
    const line = this.#lines.get(account)
    if (line && (line.waiting.length > 0 || line.sent + weight > OF_ACCOUNT)) {
      line.waiting.push(lookup)
      return
    }
    if (line) line.sent += weight
    else this.#lines.set(account, { sent: weight, waiting: [] })
    void this.#send(lookup)
  }

  #ended({ account, size }: Lookup): void {
    const line = this.#lines.get(account)
    assert(line, 'a look-up that ended was sent')
    line.sent -= WEIGHTS[size]
    for (let [next] = line.waiting; next && line.sent + WEIGHTS[next.size] <= OF_ACCOUNT; [next] = line.waiting) {
      line.waiting.shift()
      line.sent += WEIGHTS[next.size]
      void this.#send(next)
    }
    if (line.sent === 0) this.#lines.delete(account)
  }

  async #send(lookup: Lookup): Promise<void> {
    const { account, asked } = lookup
    const refuse = (error: unknown) => {
      const refusal = readFault(error) ?? error
      for (const { reject } of asked) reject(refusal)
      this.#ended(lookup)
    }
    try {
      const exchange = {
        before: [lookup.size === 'page' ? this.#scopes.page(account) : this.#scopes.account(account)],
        statements: asked.map(({ statement }) => statement),
        rowsMax: LOOKUP_ROWS_MAX + 1,
      }
      sendReads(await this.#lane(), this.#scopes, exchange, (error, found, hasMore) => {
        if (error) return refuse(error)
        if (hasMore) return refuse(new TooManyRows())
        const handOn = () => {
          for (let place = 0; place < asked.length; place += 1) asked[place]?.resolve(found[place] ?? [])
          this.#ended(lookup)
        }
        // The answer of a page is written and sent in that turn, which takes as long as many records.
        if (lookup.size === 'page') this.#turns.handOn(account, handOn)
        else handOn()
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
    if (this.#scopes.lastingPlans !== undefined) await client.query(this.#scopes.lastingPlans)
    return client
  }

  /** Ends the connections on which an answer is waited for, because none is to come: whoever waits gets 503, and the next look-up a new connection. */
  cutWaiting(): void {
    for (const lane of this.#lanes)
      lane?.then(
        (client) => isWaitedOn(client) && cut(client, serverSilent()),
        () => {},
      )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#lanes.map(async (lane) => (await lane)?.end()))
  }
}
