import { assert } from '../../kernel/assert.ts'
import type { Account } from '../../kernel/context.ts'
import { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../database/database.ts'
import { steadyClock } from '../steady-clock.ts'
import { type Groupable, type MemberOutcome, together } from './group.ts'
import type { Grouping } from './operation.ts'
import type { Answer } from './answer.ts'

/**
 * Writes of one account that come at once share a transaction: what arrives while others are under way goes into the next one together. Each is
 * accepted or refused as if it were alone, and answered after the commit; what cannot share is done alone.
 * See docs/decisions/0037-writes-that-come-at-once.md.
 */

/** Counts requests that shared a transaction, and those that were to and were done alone after all. */
export type CountGrouped = (outcome: 'together' | 'alone', count: number) => void

interface Waiting {
  request: Groupable
  sinceMs: number
  answered(answer: Answer): void
  failed(error: unknown): void
}

interface Begun {
  atMs: number
}

interface Line {
  /** Requests that are done alone at present, and groups. */
  alone: Set<Begun>
  groups: Set<Begun>
  waiting: Waiting[]
  isLooked: boolean
  /** Looks again after a time in which nothing has ended. */
  timer: NodeJS.Timeout | undefined
  /** Until then nothing is grouped, because a group has failed. */
  apartUntilMs: number
}

/** Requests under way from which on they share a transaction: below, each is done alone and waits for nobody. */
const SHARED_FROM = 3
/** Of one transaction: its locks are held, and its answers wait, until the last of them is done. */
const GROUP_MAX = 16
/** Of an account at a time: while the database does one, the next is made ready. */
const GROUPS_MAX = 2
/** Requests of one record, which no group can have together, that wait for each other in the database. */
const ALONE_MAX = 4
/** How long an account's writes are done alone after a group of them has failed. */
const APART_MS = 1_000
/** Of one statement in a group; alone it may take as long as any other. */
const STATEMENT_MS = 5_000
/** Whoever would wait longer for a lock is done alone. */
const LOCK_MS = 50
const GROUP_MS = 60_000
/** How long a request waits for a group at most: the patience with the database is that of being done alone. */
const WAIT_MS = 2_000

/** A request or group that began longer ago holds nothing up: its server may never answer. */
const UNDER_WAY_MS = 2_000

const underWay = (begun: ReadonlySet<Begun>, nowMs: number): number => {
  let count = 0
  for (const { atMs } of begun) if (nowMs - atMs < UNDER_WAY_MS) count += 1
  return count
}

/** Refusals after which nothing is tried again: the database is away, so that nobody knows what it has done, or has no place. */
const FINAL = new Set(['database_unavailable', 'too_busy'])

const isFinal = (error: unknown): boolean =>
  error instanceof Fault && error.problems.some(({ code }) => FINAL.has(code))

/** Takes requests out of those that wait, in their order: of one key, and of one record, the first. */
function takeMembers(waiting: Waiting[]): Waiting[] {
  const members: Waiting[] = []
  const keys = new Set<string>()
  const records = new Map<Grouping, Set<bigint>>()
  const mayJoin = ({ request: { grouping, record, key } }: Waiting): boolean => {
    if (members.length >= GROUP_MAX || (key !== undefined && keys.has(key))) return false
    const ofGrouping = records.get(grouping) ?? new Set()
    if (record !== null && ofGrouping.has(record)) return false
    if (key !== undefined) keys.add(key)
    if (record !== null) records.set(grouping, ofGrouping.add(record))
    return true
  }
  for (const one of waiting.splice(0)) (mayJoin(one) ? members : waiting).push(one)
  return members
}

/** Takes the first request of those that wait. */
function takeFirst({ waiting }: Line): Waiting {
  const first = waiting.shift()
  assert(first, 'a request waits')
  return first
}

const doAlone = ({ request, answered, failed }: Waiting): Promise<void> => request.alone().then(answered, failed)

/** Answers a request of a group that was committed. */
function settle({ answered, failed }: Waiting, outcome: NonNullable<MemberOutcome>): void {
  if ('refusal' in outcome) return failed(outcome.refusal)
  try {
    for (const callback of outcome.committed) callback()
    answered(outcome.answer)
  } catch (error) {
    failed(error)
  }
}

export class GroupedWrites {
  readonly #db: Pick<Database, 'transaction'>
  readonly #freshAccount: (tx: Transaction) => Promise<Account>
  readonly #count: CountGrouped
  readonly #lines = new Map<AccountId, Line>()

  constructor(deps: {
    db: Pick<Database, 'transaction'>
    freshAccount: (tx: Transaction) => Promise<Account>
    count: CountGrouped
  }) {
    this.#db = deps.db
    this.#freshAccount = deps.freshAccount
    this.#count = deps.count
  }

  /** Does a request as soon as it may, with others or alone. */
  run(account: AccountId, request: Groupable): Promise<Answer> {
    return new Promise((answered, failed) => {
      let line = this.#lines.get(account)
      if (!line)
        this.#lines.set(
          account,
          (line = {
            alone: new Set(),
            groups: new Set(),
            waiting: [],
            isLooked: false,
            timer: undefined,
            apartUntilMs: 0,
          }),
        )
      line.waiting.push({ request, sinceMs: steadyClock(), answered, failed })
      this.#lookSoon(account, line)
    })
  }

  /** Looks at what waits once all that has arrived with it is read. */
  #lookSoon(account: AccountId, line: Line): void {
    if (line.isLooked) return
    line.isLooked = true
    setImmediate(() => {
      line.isLooked = false
      this.#look(account, line)
    })
  }

  #look(account: AccountId, line: Line): void {
    const nowMs = steadyClock()
    const isApart = nowMs < line.apartUntilMs
    for (let [first] = line.waiting; first; [first] = line.waiting) {
      const isFew =
        underWay(line.groups, nowMs) === 0 && line.waiting.length + underWay(line.alone, nowMs) < SHARED_FROM
      if (isApart || isFew || nowMs - first.sinceMs >= WAIT_MS) void this.#aloneInLine(account, line, takeFirst(line))
      else if (line.waiting.length < SHARED_FROM || !this.#beginGroup(account, line)) break
    }
    clearTimeout(line.timer)
    line.timer = undefined
    if (line.waiting.length > 0) line.timer = setTimeout(() => this.#look(account, line), WAIT_MS)
    else if (line.alone.size === 0 && line.groups.size === 0 && !isApart) this.#lines.delete(account)
  }

  /** Begins a group of what waits; of requests that cannot be in one together, does the first alone. Returns whether anything could begin. */
  #beginGroup(account: AccountId, line: Line): boolean {
    const nowMs = steadyClock()
    if (underWay(line.groups, nowMs) >= GROUPS_MAX) return false
    const members = takeMembers(line.waiting)
    if (members.length > 1) void this.#group(account, line, members)
    else if (underWay(line.alone, nowMs) < ALONE_MAX)
      for (const one of members) void this.#aloneInLine(account, line, one)
    else {
      line.waiting.unshift(...members)
      return false
    }
    return true
  }

  async #aloneInLine(account: AccountId, line: Line, one: Waiting): Promise<void> {
    const begun = { atMs: steadyClock() }
    line.alone.add(begun)
    await doAlone(one)
    line.alone.delete(begun)
    this.#lookSoon(account, line)
  }

  async #group(account: AccountId, line: Line, members: readonly Waiting[]): Promise<void> {
    const begun = { atMs: steadyClock() }
    line.groups.add(begun)
    const left = await this.#together(account, line, members)
    line.groups.delete(begun)
    this.#lookSoon(account, line)
    if (left.length > 0) this.#count('alone', left.length)
    // What was in a group does not wait a second time.
    for (const one of left) void doAlone(one)
  }

  /** Does requests in one transaction and answers them. Returns those that have to be done alone. */
  async #together(account: AccountId, line: Line, members: readonly Waiting[]): Promise<readonly Waiting[]> {
    let isCommitted = false
    const work = (tx: Transaction) => {
      tx.afterCommit(() => (isCommitted = true))
      return together(
        tx,
        this.#freshAccount,
        members.map(({ request }) => request),
      )
    }
    const settings = {
      plans: 'lasting',
      statementMs: STATEMENT_MS,
      boundMs: GROUP_MS,
      isShared: true,
      gathered: { lockMs: LOCK_MS },
    } as const
    try {
      const outcomes = await this.#db.transaction(account, work, settings)
      const left: Waiting[] = []
      for (const [place, one] of members.entries()) {
        const outcome = outcomes[place]
        if (outcome === undefined) left.push(one)
        else settle(one, outcome)
      }
      this.#count('together', members.length - left.length)
      return left
    } catch (error) {
      if (isCommitted || isFinal(error)) {
        for (const { failed } of members) failed(error)
        return []
      }
      line.apartUntilMs = steadyClock() + APART_MS
      return members
    }
  }
}
