import { randomUUID } from 'node:crypto'
import { Fault, type Problem } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database } from '../database/database.ts'
import { type Lease, releaseLease } from '../database/lease.ts'
import { type LongKind, processName } from './kinds.ts'
import { findLongLease, type LongState, startLongLease, takeLongLease, updateLongLease } from './queries.ts'

/**
 * Presence of a long operation: a row that all processes see while it waits or runs. Its holder writes into it every few seconds how far it is; the row
 * of a holder that died lapses as any lease does.
 */

/** Well within a lease, and often enough for somebody who watches. */
const WRITE_EVERY_MS = 5_000

/** Notes of a long operation about itself while it works. */
export interface LongWork {
  /** Notes how far it is. */
  progress(done: number, total?: number | null): void
  /** Notes the identifier of what it works on, once that is known. */
  isAbout(id: string): void
}

export interface Presence extends LongWork {
  /** Shows that it no longer waits for its place. */
  runs(): Promise<void>
  /** Ends it, so that the next may begin at once. */
  end(): Promise<void>
}

/** Operation of a kind of which an account has one at a time, as the one that has to wait for it learns of it. */
type Other = NonNullable<Awaited<ReturnType<typeof findLongLease>>>

interface Announced {
  kind: LongKind
  state: LongState['state']
  about?: string
  /** Of an account one at a time, in all processes; left out: any number. */
  isAlone?: boolean
}

type Writing = Pick<Database, 'transaction'>

/**
 * Makes an operation known. Answers the one that stands in its way instead, where there is one. `renewing` lends the connections on which it stays known.
 */
async function announce(
  db: Writing,
  account: AccountId,
  { kind, state, about, isAlone = false }: Announced,
  renewing = db,
): Promise<{ presence: Presence } | { other: Other | undefined }> {
  const holder = randomUUID()
  const lease: Lease = { name: isAlone ? `long ${kind}` : `long ${kind} ${holder}`, holder }
  const now: LongState = { state, about: about ?? null, done: null, total: null }
  const other = await db.transaction(account, async (tx) =>
    (await takeLongLease(tx, lease, { ...now, kind, process: processName() }))
      ? null
      : await findLongLease(tx, lease.name),
  )
  return other === null ? { presence: presenceOf(renewing, account, lease, now) } : { other }
}

function presenceOf(db: Writing, account: AccountId, lease: Lease, now: LongState): Presence {
  const write = () => db.transaction(account, (tx) => updateLongLease(tx, lease, now))
  // A write that fails is made up for by the next: nothing that is done depends on it.
  const timer = setInterval(() => void write().catch(() => {}), WRITE_EVERY_MS)
  timer.unref()
  return {
    progress: (done, total = now.total) => {
      now.done = done
      now.total = total
    },
    isAbout: (id) => {
      now.about = id
    },
    runs: async () => void (await db.transaction(account, (tx) => startLongLease(tx, lease))),
    end: async () => {
      clearInterval(timer)
      await db.transaction(account, (tx) => releaseLease(tx, lease)).catch(() => {})
    },
  }
}

/** Does work that an account does one at a time of its kind, in all processes. Throws the refusal, which names what runs, where another is at work. */
export async function whileAlone<T>(
  db: Writing,
  account: AccountId,
  { refusal, renewing, ...announced }: Omit<Announced, 'isAlone'> & { refusal(): Fault; renewing?: Writing },
  work: (presence: Presence) => Promise<T>,
): Promise<T> {
  const made = await announce(db, account, { ...announced, isAlone: true }, renewing)
  if ('other' in made) throw refusedFor(refusal(), made.other)
  try {
    return await work(made.presence)
  } finally {
    await made.presence.end()
  }
}

/** Returns a refusal that also names what stands in the way. */
function refusedFor(refusal: Fault, other: Other | undefined): Fault {
  const [first, ...others] = refusal.problems
  if (!first || !other) return refusal
  const problem: Problem = { ...first, message: `${first.message} ${sentenceOf(other)}` }
  return new Fault(refusal.kind, [problem, ...others], refusal.retryAfterSeconds)
}

function sentenceOf({ state, begunAt, done, total }: Other): string {
  const since = `since ${begunAt.slice(0, 19)}Z`
  if (state === 'waiting') return `It has waited for its place ${since}.`
  const far = done === null ? '' : total === null ? `, ${done} done` : `, ${done} of ${total} done`
  return `It has run ${since}${far}.`
}

/** Work that is over sooner is not worth two writes. */
const SHOWN_AFTER_MS = 1_000

/**
 * Does work of a kind of which any number may run, so that all processes see it once it has lasted a moment. It is done also where it cannot be made
 * known.
 */
export async function whilePresent<T>(
  db: Writing,
  account: AccountId,
  announced: Omit<Announced, 'state' | 'isAlone'>,
  work: (about: { progress(done: number, total: number): void }) => Promise<T>,
  afterMs = SHOWN_AFTER_MS,
): Promise<T> {
  let [done, total]: [number, number | null] = [0, null]
  let presence: Presence | undefined
  const show = async () => {
    const made = await announce(db, account, { ...announced, state: 'running' }).catch(() => undefined)
    if (made && 'presence' in made) presence = made.presence
    if (total !== null) presence?.progress(done, total)
  }
  let shown: Promise<void> | undefined
  const timer = setTimeout(() => (shown = show()), afterMs)
  try {
    return await work({
      progress: (now, all) => {
        ;[done, total] = [now, all]
        presence?.progress(now, all)
      },
    })
  } finally {
    clearTimeout(timer)
    await shown
    await presence?.end()
  }
}
