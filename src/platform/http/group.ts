import { assert } from '../../kernel/assert.ts'
import type { Account } from '../../kernel/context.ts'
import { BY_ROWS, type Transaction } from '../database/database.ts'
import type { Statement } from '../database/sql.ts'
import type { Notable } from '../failover/memory.ts'
import type { Grouping } from './operation.ts'
import type { Answer } from './answer.ts'

/** The transaction of a group: its requests take their steps at the same time, so that each step is one exchange with the database. */

/** The end of a request: its answer with what follows the commit, or its refusal. Undefined where it has to be done alone. */
export type MemberOutcome = { answer: Answer; committed: readonly (() => void)[] } | { refusal: unknown } | undefined

/** Thrown where a request cannot share a transaction. */
class Alone extends Error {
  constructor() {
    super('a request leaves its group')
  }
}

/** Of one request in the transaction. */
class Member {
  readonly request: Groupable
  readonly tx: Transaction
  readonly #committed: (() => void)[] = []
  readonly notes: (() => Notable)[] = []
  #hasLeft = false
  #hasWritten = false
  #isWorking = false
  outcome: MemberOutcome
  work: (() => Promise<Answer>) | undefined

  constructor(shared: Transaction, request: Groupable) {
    this.request = request
    const leave = () => {
      this.#hasLeft = true
      throw new Alone()
    }
    const enter = (isWrite: boolean) => {
      if (this.#hasLeft) leave()
      if (isWrite) this.#hasWritten = true
    }
    const own = shared.part()
    this.tx = {
      ...BY_ROWS,
      account: shared.account,
      rows: async <Row>(statement: Statement) => {
        enter(!writesNothing(statement))
        return own.rows<Row>(statement)
      },
      tryLock: async (name) => {
        enter(false)
        return own.tryLock(name)
      },
      send: (statement) => {
        enter(true)
        own.send(statement)
      },
      grouped: async (ofMany, items, isOf) => {
        enter(false)
        return own.grouped(ofMany, items, isOf)
      },
      sendGrouped: (ofMany, items, refusals) => {
        enter(true)
        own.sendGrouped(ofMany, items, refusals)
      },
      afterCommit: (callback) => this.#committed.push(callback),
      remember: (note) => this.notes.push(note),
      portions: leave,
      savepoint: async () => leave(),
      alone: leave,
      part: leave,
    }
  }

  /** Takes a step. What is refused before it has written anything leaves no trace, and needs not be undone. */
  async step(take: () => Promise<Answer | undefined>): Promise<void> {
    try {
      const answer = await take()
      if (this.#hasLeft) throw new Alone()
      if (answer) this.outcome = { answer, committed: this.#committed }
    } catch (thrown) {
      const hasLeft = this.#hasLeft
      // What it began besides may not write any more.
      this.#hasLeft = true
      this.work = undefined
      // Nothing of the group is committed then.
      if (this.#hasWritten) throw thrown
      // A refusal of the second step may have seen what others of the group have written.
      this.outcome = hasLeft || this.#isWorking ? undefined : { refusal: thrown }
    }
  }

  /** Makes the checks. */
  check(account: () => Promise<Account>): Promise<void> {
    return this.step(async () => {
      const begun = await this.request.begin(this.tx, account)
      if (typeof begun !== 'function') return begun
      this.work = begun
      return undefined
    })
  }

  /** Does the work. */
  write(): Promise<void> {
    const { work } = this
    assert(work, 'work follows from checks')
    this.#isWorking = true
    return this.step(work)
  }
}

const WRITES = /\b(insert|delete|merge|call)\b|(?<!\bfor(\s+no\s+key)?\s+)\bupdate\b/i
const known = new Map<string, boolean>()

/** Returns whether a statement writes nothing. Locks and drawn identifiers are no writes: who gives them up leaves nothing behind. */
export function writesNothing({ text }: Statement): boolean {
  let isKnown = known.get(text)
  if (isKnown === undefined) known.set(text, (isKnown = !WRITES.test(text)))
  return isKnown
}

/** Locks the customers of all requests without waiting for any. Returns the requests whose customer is held; of one customer the first. */
async function held(tx: Transaction, requests: readonly Groupable[]): Promise<ReadonlySet<Groupable>> {
  const groupings = new Set(requests.map(({ grouping }) => grouping))
  const customers = new Map<Grouping, ReadonlyMap<bigint, bigint>>()
  await Promise.all(
    [...groupings].map(async (grouping) => {
      const records = requests.flatMap(({ grouping: own, record }) =>
        own === grouping && record !== null ? [record] : [],
      )
      if (grouping.hold && records.length > 0) customers.set(grouping, await grouping.hold(tx, records))
    }),
  )
  const taken = new Set<bigint>()
  return new Set(
    requests.filter(({ grouping, record }) => {
      if (record === null) return true
      const customer = customers.get(grouping)?.get(record)
      if (customer === undefined || taken.has(customer)) return false
      taken.add(customer)
      return true
    }),
  )
}

/** Waits for all, and then throws the first failure. */
async function allOf(steps: readonly Promise<void>[]): Promise<void> {
  for (const step of await Promise.allSettled(steps)) if (step.status === 'rejected') throw step.reason
}

/**
 * Does requests of one account in one transaction; each has its own record, whose customer is locked. All make their checks before any of them writes, so a
 * refusal is what it would be if the request were alone. Returns what came of each; throws where nothing may be committed.
 */
export async function together(
  tx: Transaction,
  freshAccount: (tx: Transaction) => Promise<Account>,
  requests: readonly Groupable[],
): Promise<MemberOutcome[]> {
  const [account, present] = await Promise.all([freshAccount(tx), held(tx, requests)])
  const members = requests.map((request) => (present.has(request) ? new Member(tx, request) : undefined))
  const inGroup = members.filter((member) => member !== undefined)
  await allOf(inGroup.map((member) => member.check(async () => account)))
  await allOf(inGroup.filter(({ work }) => work).map((member) => member.write()))
  for (const { outcome, notes } of inGroup)
    if (outcome && 'answer' in outcome) for (const note of notes) tx.remember(note)
  return members.map((member) => member?.outcome)
}

/** A request that may share a transaction. */
export interface Groupable {
  grouping: Grouping
  /** The record whose customer it is about; null where it adds one. */
  record: bigint | null
  /** The hash of its Idempotency-Key. */
  key: string | undefined
  /** Makes its checks. Returns its work, or the answer that was kept for it. */
  begin(tx: Transaction, account: () => Promise<Account>): Promise<Answer | (() => Promise<Answer>)>
  /** Does all of it in a transaction of its own. */
  alone(): Promise<Answer>
}
