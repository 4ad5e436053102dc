import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { TurnsOf } from '../turns.ts'

/** Answers that are written while they are read: what is short leaves whole, with its length; what is long leaves in pieces. */

/** In characters: an answer within these is known whole before its first byte leaves, and fails as any other does. */
const WHOLE_MAX = 256 * 1024

/** In characters that are written in one turn of the event loop while other accounts wait for theirs: a millisecond. */
const TURN = 32 * 1024

/** Body that leaves in pieces, and a promise for the moment after which nothing more is read for it, however it ends. */
export interface PiecedBody {
  body: string | Buffer | Readable
  over: Promise<unknown>
}

/** Joins pieces: texts to a text, bytes to bytes. */
function joined(pieces: readonly (string | Buffer)[]): string | Buffer {
  const bytes = pieces.filter((piece) => typeof piece !== 'string')
  return bytes.length > 0 ? Buffer.concat(bytes) : pieces.join('')
}

/**
 * Collects the pieces of an answer: their text or bytes where it is short, else a stream of them that goes on only as fast as it is read and stops
 * when it is destroyed. Rejects with what the first pieces throw.
 */
export async function bodyOf(pieces: AsyncGenerator<string | Buffer>, turns: TurnsOf): Promise<PiecedBody> {
  const begun: (string | Buffer)[] = []
  let nextTurn = TURN
  for (let length = 0; length <= WHOLE_MAX;) {
    const { done, value } = await pieces.next()
    if (done) return { body: joined(begun), over: Promise.resolve() }
    begun.push(value)
    length += value.length
    if (length < nextTurn || !turns.areShared) continue
    nextTurn = length + TURN
    await turns.next()
  }
  // Bytes and not objects: the stream then asks for more only while little waits.
  const body = Readable.from(inTurns(begun, pieces, turns), { objectMode: false })
  // Also where the caller has gone, perhaps before the first byte: whoever reads for it then stops.
  const over = once(body, 'close').then(
    () => pieces.return(undefined),
    () => pieces.return(undefined),
  )
  return { body, over }
}

/**
 * Loads the records of a page some at a time: `loadFirst` completes the first of those that it is given, as many as may be in memory together and
 * at least one. It is given few more than it could complete the last time, so that what it has to look through stays bounded.
 */
export async function* someAtATime<Row, Item>(
  rows: readonly Row[],
  loadFirst: (rows: readonly Row[]) => Promise<Item[]>,
): AsyncGenerator<Item[]> {
  for (let rest = rows, count = rest.length; rest.length > 0; rest = rest.slice(count)) {
    const items = await loadFirst(rest.slice(0, 2 * count))
    yield items
    count = items.length
  }
}

/**
 * Passes pieces on in turns. A caller who reads quickly must not keep everybody else waiting: after each piece the event loop has a turn.
 */
async function* inTurns(begun: readonly (string | Buffer)[], pieces: AsyncGenerator<string | Buffer>, turns: TurnsOf) {
  yield* begun
  for await (const piece of pieces) {
    yield piece
    await turns.next()
  }
}
