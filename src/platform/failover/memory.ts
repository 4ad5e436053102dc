import type { AccountId, Id } from '../../kernel/ids.ts'
import type { ClockExchange } from '../database/clock-offset.ts'
import type { ServerIdentity } from '../database/servers.ts'
import { steadyClock } from '../steady-clock.ts'

/**
 * Memory of this process: the last changes that it acknowledged and of the effects that left, so that after a failover somebody knows what is missing
 * on the server that took over. No names and no bodies. See docs/decisions/0058-what-is-remembered-across-a-failover.md.
 */

const ENTRIES_MAX = 10_000
const BYTES_MAX = 2_000_000
/** Bytes of an entry beside its texts, about. */
const ENTRY_BYTES = 120
const ACCOUNTS_MAX = 10_000
/** The last ones decide what a failover has lost: before them the log went on. */
const COMMITS_KEPT = 2_000

/** Change that a transaction makes. */
export interface Change {
  /** Of openapi.json, or a name of work of the service. */
  operation: string
  /** The record that it is about, by the word of its path. */
  type: string | null
  id: string | null
  /** Of a document. */
  number: string | null
}

/** Numbers that a transaction gives: the highest. */
export interface NumbersGiven {
  of: 'invoice' | 'credit note'
  number: bigint
}

/** A transaction that has written, by which a server that took over knows whether it has it. */
export interface Commit {
  /** Its number: as PostgreSQL counts them, with epoch. */
  transaction: string
  /** The position of the log, in bytes, before which all stands that it wrote, and at or behind which its commit does. */
  position: number
}

/** Effect that left the service and that no rollback takes back: a mail, a call that moved money, a file. */
export interface Effect {
  account: AccountId
  operation: string
  gatewayId: Id | null
  /** By which it is known where it went. */
  reference: string
}

/** Change or numbers of a transaction, which are remembered once it is committed. */
export type Notable = Change | NumbersGiven

/** Effect that is about to leave, and is remembered as one that perhaps has until one of these is called. */
export interface EffectUnderWay {
  left(): void
  /** Nothing has left. */
  stayed(): void
}

/** A thing that is remembered, with the instants between which it was committed, or left, by the clock of the database's server. */
export interface Remembered extends Change {
  /** Its number among all that this process has remembered: by it one is written down once. */
  position: number
  kind: 'change' | 'effect'
  account: AccountId
  gatewayId: Id | null
  /** Of a change; null: it is that of no single transaction, or of a timeline that was left. */
  commit: Commit | null
  sentMs: number
  answeredMs: number
}

/** End of a timeline, as the server that took over has it. */
export interface TimelineEnd {
  /** The instant of the last commit, in milliseconds since 1970; null: nobody knows. */
  replayedAtMs: number | null
  /** The position of the log, in bytes; null: nobody knows. */
  replayedTo: number | null
  /** Transactions that it has not, of those that a process named. */
  lost: readonly string[]
}

/** A thing that a failover has lost, or perhaps has. */
export type Missing = Remembered & { state: 'lost' | 'perhaps' }

/** Knowledge of a process about the server before. */
export interface ServerKnowledge {
  /** The furthest position of its log that was seen; null: none. */
  seen: string | null
  /** Begin of the last acknowledged commit, in milliseconds since 1970 by that server's clock; null: none. */
  lastSentMs: number | null
  /** Of accounts, the highest invoice and credit note number; 0: none. */
  numbers: readonly [account: string, invoice: string, creditNote: string][]
  /** The last commits. */
  commits: readonly Commit[]
}

const EXCHANGES_KEPT = 5
/** Servers of higher timelines can be seen before anything is settled there. */
const TIMELINES_KEPT = 4
/** By how much two clocks may drift from each other. */
const DRIFT = 0.0005

/** By how much the clock of the wall is ahead of the steady one, which stands still while the machine sleeps. */
type WallAhead = () => number

/** Bounds the database's clock by the last exchanges with it, whose moments are of the steady clock. */
class Bounds {
  #exchanges: ClockExchange[] = []
  readonly #wallAhead: WallAhead
  /** As it was at the last exchange. */
  #aheadMs = 0

  constructor(wallAhead: WallAhead) {
    this.#wallAhead = wallAhead
  }

  note(exchange: ClockExchange): void {
    const { sentMs, answeredMs, databaseMs } = exchange
    const [earliest = databaseMs, latest = databaseMs] = [this.earliest(sentMs), this.#latestAwake(answeredMs)]
    // Those from before the machine slept, or the server's clock was set, are of no use now.
    if (earliest > databaseMs || latest < databaseMs) this.#exchanges = []
    this.#exchanges.push(exchange)
    if (this.#exchanges.length > EXCHANGES_KEPT) this.#exchanges.shift()
    this.#aheadMs = this.#wallAhead()
  }

  forget(): void {
    this.#exchanges = []
  }

  /** Returns the earliest instant that a moment of the steady clock can be; undefined before the first exchange. */
  earliest(steadyMs: number): number | undefined {
    let found: number | undefined
    for (const { answeredMs, databaseMs } of this.#exchanges) {
      const at = databaseMs + (steadyMs - answeredMs) - Math.abs(steadyMs - answeredMs) * DRIFT
      if (found === undefined || at > found) found = at
    }
    return found
  }

  /** Returns the latest instant that a moment of the steady clock can be; undefined before the first exchange. */
  latest(steadyMs: number): number | undefined {
    const found = this.#latestAwake(steadyMs)
    // The machine may have slept since the last exchange.
    return found === undefined ? undefined : found + Math.max(0, this.#wallAhead() - this.#aheadMs)
  }

  #latestAwake(steadyMs: number): number | undefined {
    let found: number | undefined
    for (const { sentMs, databaseMs } of this.#exchanges) {
      const at = databaseMs + (steadyMs - sentMs) + Math.abs(steadyMs - sentMs) * DRIFT
      if (found === undefined || at < found) found = at
    }
    return found
  }
}

/** Returns a position of the log, as PostgreSQL writes it, in bytes. */
const bytesAt = (position: string): bigint => {
  const [high = '0', low = '0'] = position.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

const bytesOf = ({ operation, id, number }: Remembered): number =>
  ENTRY_BYTES + operation.length + (id?.length ?? 0) + (number?.length ?? 0)

/** The last entries of one kind; the oldest stands at `#first`. */
class Ring {
  readonly #entries: (Remembered | undefined)[] = []
  #first = 0
  #count = 0
  bytes = 0

  add(one: Remembered): void {
    if (this.#count === ENTRIES_MAX) this.forgetOldest()
    this.#entries[(this.#first + this.#count) % ENTRIES_MAX] = one
    this.#count += 1
    this.bytes += bytesOf(one)
  }

  forgetOldest(): void {
    const oldest = this.#entries[this.#first]
    if (oldest) this.bytes -= bytesOf(oldest)
    this.#entries[this.#first] = undefined
    this.#first = (this.#first + 1) % ENTRIES_MAX
    this.#count -= 1
  }

  *[Symbol.iterator](): Iterator<Remembered> {
    for (let place = 0; place < this.#count; place += 1)
      yield this.#entries[(this.#first + place) % ENTRIES_MAX] as Remembered
  }
}

/** Before the first answer of the watch nothing can be dated. */
export const NOT_REMEMBERED: EffectUnderWay = { left: () => {}, stayed: () => {} }

export class Memory {
  readonly #bounds: Bounds
  #server = ''
  readonly #changes = new Ring()
  /** Of their own: many changes do not push out a charge. */
  readonly #effects = new Ring()
  /** Effects about which it is not known whether they have left: as many as calls are under way. */
  readonly #underWay = new Set<Remembered>()
  #positions = 0
  #lastSentMs: number | null = null
  #commits: Commit[] = []
  #committed = 0
  #hasCommitted = false
  readonly #numbers = new Map<AccountId, { invoice: bigint; creditNote: bigint }>()
  /** The position seen last on each of the last timelines. */
  #seen: { system: string | null; timeline: number; position: string }[] = []
  /** The last lossy failover: when it was settled, and what takes changes that are noted later though they began before. */
  #failover: { settledMs: number; noteLater: (change: Missing) => void } | undefined

  /** Without the clock of the wall nobody knows whether the machine slept. */
  constructor(realClock?: () => number) {
    this.#bounds = new Bounds(realClock ? () => realClock() - steadyClock() : () => 0)
  }

  /**
   * Takes an answer of the watch. Returns whether the log of the server ends before what was seen of it: a copy from before stands in its place, with the
   * same timeline.
   */
  noteExchange(
    exchange: ClockExchange,
    { system, startedAt, timeline }: ServerIdentity,
    flushed: string | null,
  ): boolean {
    // Another server has another clock.
    const server = `${system} ${startedAt}`
    if (server !== this.#server) this.#bounds.forget()
    this.#server = server
    this.#bounds.note(exchange)
    if (timeline === null || flushed === null) return false
    const last = this.#seen.at(-1)
    if (last?.timeline !== timeline || last.system !== system) {
      this.#seen = [...this.#seen.slice(1 - TIMELINES_KEPT), { system, timeline, position: flushed }]
      return false
    }
    const isBefore = bytesAt(flushed) < bytesAt(last.position)
    last.position = flushed
    return isBefore
  }

  /**
   * Takes a transaction that wrote, committed between two moments of the steady clock, with what is to be remembered of it. Work of several transactions
   * has no commit of its own.
   */
  noteCommit(
    account: AccountId,
    notes: readonly Notable[],
    sentMs: number,
    answeredMs: number,
    commit: Commit | null = null,
  ): void {
    if (commit) {
      this.#commits[this.#committed % COMMITS_KEPT] = commit
      this.#committed += 1
      this.#hasCommitted = true
    }
    const earliest = this.#bounds.earliest(sentMs)
    const latest = this.#bounds.latest(answeredMs)
    const isKnown = earliest !== undefined && latest !== undefined
    if (isKnown && earliest > (this.#lastSentMs ?? 0)) this.#lastSentMs = earliest
    for (const note of notes)
      if ('of' in note) this.noteNumbers(account, [note])
      else if (isKnown) {
        const kind = { position: this.#nextPosition(), kind: 'change', account, gatewayId: null, commit } as const
        const change: Remembered = { ...note, ...kind, sentMs: earliest, answeredMs: latest }
        this.#keep(this.#changes, change)
        // The failover was met without it. Its parts may be on either server.
        if (this.#failover && sentMs < this.#failover.settledMs)
          this.#failover.noteLater({ ...change, state: 'perhaps' })
      }
  }

  /** Something was written, on whichever timeline. */
  get hasCommitted(): boolean {
    return this.#hasCommitted
  }

  /** Takes numbers of documents that callers have. */
  noteNumbers(account: AccountId, numbers: readonly NumbersGiven[]): void {
    if (numbers.length === 0) return
    const known = this.#numbers.get(account) ?? { invoice: 0n, creditNote: 0n }
    for (const { of, number } of numbers) {
      const part = of === 'invoice' ? 'invoice' : 'creditNote'
      if (number > known[part]) known[part] = number
    }
    // The account that gave a number last is forgotten last.
    this.#numbers.delete(account)
    this.#numbers.set(account, known)
    if (this.#numbers.size <= ACCOUNTS_MAX) return
    for (const oldest of this.#numbers.keys()) {
      this.#numbers.delete(oldest)
      return
    }
  }

  /** Takes an effect that is about to leave at a moment of the steady clock. */
  beginEffect({ account, operation, gatewayId, reference }: Effect, sentMs: number): EffectUnderWay {
    const earliest = this.#bounds.earliest(sentMs)
    if (earliest === undefined) return NOT_REMEMBERED
    const about = { operation, type: null, id: reference, number: null, account, gatewayId, commit: null }
    const position = this.#nextPosition()
    const effect: Remembered = { ...about, position, kind: 'effect', sentMs: earliest, answeredMs: earliest }
    this.#underWay.add(effect)
    return {
      left: () => {
        if (!this.#underWay.delete(effect)) return
        this.#keep(this.#effects, { ...effect, answeredMs: this.#latestOf(effect) })
      },
      stayed: () => void this.#underWay.delete(effect),
    }
  }

  /** Returns what it knows of the server of a timeline that it has worked on until now. */
  evidence(timeline: number): ServerKnowledge {
    return {
      seen: this.#seen.findLast((one) => one.timeline === timeline)?.position ?? null,
      lastSentMs: this.#lastSentMs,
      numbers: [...this.#numbers].map(([account, { invoice, creditNote }]) => [
        String(account),
        String(invoice),
        String(creditNote),
      ]),
      commits: this.#commits,
    }
  }

  /**
   * Lists what was committed, or left, after the end of a timeline, or perhaps was; where the end is not known, all. A commit is there or it is not; what has
   * none is judged by the clock.
   */
  after({ replayedAtMs, replayedTo, lost }: TimelineEnd): Missing[] {
    const found: Missing[] = []
    const isLost = new Set(lost)
    for (const ring of [this.#changes, this.#effects])
      for (const one of ring)
        if (one.commit && replayedTo !== null) {
          if (one.commit.position >= replayedTo || isLost.has(one.commit.transaction))
            found.push({ ...one, state: 'lost' })
        } else if (replayedAtMs === null || one.answeredMs > replayedAtMs)
          found.push({ ...one, state: replayedAtMs !== null && one.sentMs > replayedAtMs ? 'lost' : 'perhaps' })
    for (const one of this.#underWay) found.push({ ...one, answeredMs: this.#latestOf(one), state: 'perhaps' })
    return found
  }

  /** Forgets commits of a timeline that was left: on the next one others have their numbers and positions. */
  forgetCommits(): void {
    this.#commits = []
    this.#committed = 0
    for (const change of this.#changes) change.commit = null
  }

  /** Takes, after a lossy failover, a function for each change that is noted from now on and began before. */
  noteLater(settledMs: number, noteLater: (change: Missing) => void): void {
    this.#failover = { settledMs, noteLater }
  }

  #nextPosition(): number {
    this.#positions += 1
    return this.#positions
  }

  /** Returns the latest instant that it can be now, for an effect that began before. */
  #latestOf({ sentMs }: Remembered): number {
    return Math.max(sentMs, this.#bounds.latest(steadyClock()) ?? sentMs)
  }

  #keep(ring: Ring, one: Remembered): void {
    ring.add(one)
    while (this.#changes.bytes + this.#effects.bytes > BYTES_MAX)
      (this.#changes.bytes > this.#effects.bytes ? this.#changes : this.#effects).forgetOldest()
  }
}
