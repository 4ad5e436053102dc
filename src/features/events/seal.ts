import { createHash, type Hash } from 'node:crypto'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import type { GoOn } from '../../platform/duty.ts'
import {
  type AlikeEvents,
  type EventSeal,
  type EventSpan,
  findNewestEventSeal,
  insertEventSeal,
  listRowsToSeal,
  listSharedToSeal,
} from './seal-queries.ts'

/**
 * Seals of events. A seal hashes onto the one before it what no anonymising changes of each event, in their order: identifier, type, record, customer, instant,
 * actor and reason, and where no person can stand in it the record itself. It does not matter in which rows events lie.
 */

/** Most events of a seal, so that the one that differs shows where. */
const EVENTS_OF_SEAL = 100_000
/** Most seals of an account in one night: what an upgrade finds is sealed within some nights. */
const SEALS_OF_NIGHT = 100
/** Rows read at once: of one event, and of up to 256. */
const PAGE_SIZE = 1000
const SHARED_PAGE_SIZE = 64

/** Number and hash of the events of a span, and its end. */
export type SealedEvents = Pick<EventSeal, 'below' | 'events' | 'seal'>

/**
 * Hashes the seal before and the events of a span: a line of what it has in common with others (type, instant, actor, reason) wherever that is not as
 * of the event before, and a line of its own. With a limit, the span ends behind so many events.
 */
export async function foldEvents(
  db: Queryable,
  account: AccountId,
  before: Buffer,
  span: EventSpan,
  { limit = Infinity, goOn = () => {} }: { limit?: number; goOn?: GoOn } = {},
): Promise<SealedEvents> {
  const hash = createHash('sha256').update(before)
  let common = ''
  let events = 0
  for await (const alike of eventsInOrder(db, account, span, goOn)) {
    const taken = cutTo(alike, limit - events)
    common = addTo(hash, taken, common)
    events += taken.count
    if (events === limit)
      return { below: taken.first + BigInt(taken.count), events: BigInt(events), seal: hash.digest() }
  }
  return { below: span.below, events: BigInt(events), seal: hash.digest() }
}

/** Returns the first events of some that are alike. Those of one row have identifiers that follow each other. */
function cutTo(alike: AlikeEvents, count: number): AlikeEvents {
  if (alike.count <= count) return alike
  const lines = alike.lines.split('\n').slice(0, count)
  return { ...alike, count, lines: `${lines.join('\n')}\n` }
}

function addTo(hash: Hash, { type, happenedAt, actor, reason, lines }: AlikeEvents, before: string): string {
  const common = `${JSON.stringify([type, happenedAt, actor, reason])}\n`
  if (common !== before) hash.update(common)
  hash.update(lines)
  return common
}

/** Goes through events of both kinds of rows in the order of their identifiers. */
async function* eventsInOrder(
  db: Queryable,
  account: AccountId,
  span: EventSpan,
  goOn: GoOn,
): AsyncGenerator<AlikeEvents> {
  const own = inPages(span, PAGE_SIZE, goOn, (from) => listRowsToSeal(db, account, from, PAGE_SIZE))
  const shared = inPages(span, SHARED_PAGE_SIZE, goOn, (from) => listSharedToSeal(db, account, from, SHARED_PAGE_SIZE))
  let [nextOwn, nextShared] = [await own.next(), await shared.next()]
  while (!nextOwn.done || !nextShared.done)
    if (nextShared.done || (!nextOwn.done && nextOwn.value.first < nextShared.value.first)) {
      yield nextOwn.value as AlikeEvents
      nextOwn = await own.next()
    } else {
      yield nextShared.value
      nextShared = await shared.next()
    }
}

async function* inPages(
  { from, below }: EventSpan,
  size: number,
  goOn: GoOn,
  read: (span: EventSpan) => Promise<AlikeEvents[]>,
): AsyncGenerator<AlikeEvents> {
  let next: Id = from
  for (;;) {
    goOn()
    const page = await read({ from: next, below })
    yield* page
    const last = page.at(-1)
    if (!last || page.length < size) return
    next = last.first + BigInt(last.count)
  }
}

/** The beginning of the first seal of an account. */
export const NOTHING_SEALED: Pick<EventSeal, 'below' | 'seal'> = { below: 0n, seal: Buffer.alloc(0) }

/** Seals the events of an account below a mark that no seal has yet, a transaction for each seal; returns how many seals were made. */
export async function sealEvents(
  db: Pick<Database, 'transaction'>,
  account: AccountId,
  { at, below, goOn, most = EVENTS_OF_SEAL }: { at: Instant; below: Id; goOn: GoOn; most?: number },
): Promise<number> {
  for (let seals = 0; seals < SEALS_OF_NIGHT; seals += 1) {
    goOn()
    const sealed = await db.transaction(account, async (tx) => {
      const newest = (await findNewestEventSeal(tx, account)) ?? NOTHING_SEALED
      if (newest.below >= below) return undefined
      const span = { from: newest.below, below }
      const made = await foldEvents(tx, account, newest.seal, span, { limit: most, goOn })
      if (made.events === 0n) return undefined
      await insertEventSeal(tx, made, at)
      return made
    })
    if (!sealed) return seals
    if (sealed.below >= below) return seals + 1
  }
  return SEALS_OF_NIGHT
}
