import type { GoOn } from '../duty.ts'
import type { Id } from '../../kernel/ids.ts'
import type { PageEnds, Span } from './pages-queries.ts'

/** Records a statement reads at once: memory is bounded by this, whatever the size of the account. */
export const PAGE_SIZE = 1000

/** In so many clean nights everything is verified once, whatever the size of the account. */
export const NIGHTS = 7

/** Identifiers that take their turn together: many pages, so that few are read in vain, and few of what an account has. */
const BLOCK = 16_384n

/** A portion of an account, as one night verifies it. */
export interface Part {
  /** From 0 until NIGHTS: of every list the blocks whose turn it is. */
  turn: number
  /** Identifier of the ledger: entries from it on are new since the last clean night. */
  since: Id
  /** Last record that the last clean night saw of each list; what lies behind is new. */
  ends: Ends
}

/** By check and place of the list in it. */
export type Ends = Readonly<Record<string, Id>>

/** How a check reads: all, or a portion. */
export interface CheckReading {
  /** Called between pages; throws to end the work. */
  goOn: GoOn
  /** Undefined where everything is read. */
  part: Part | undefined
  /** Takes the last record that was there of the check's next list; returns the one that the last clean night saw, if there was one. */
  endOf(): { before: Id | undefined; keep: (last: Id) => void }
}

const isTurn = (part: Part, id: Id): boolean => (id / BLOCK) % BigInt(NIGHTS) === BigInt(part.turn)

/** Reports whether a record is read: all are, or those whose turn it is and those behind the last that a clean night saw. */
export const isRead = ({ part }: Pick<CheckReading, 'part'>, id: Id, before?: Id): boolean =>
  part === undefined || isTurn(part, id) || (before !== undefined && id > before)

/** Returns the identifier behind which reading goes on after one: the same, or the end of the blocks whose turn it is not. */
export function nextRead(reading: Pick<CheckReading, 'part'>, after: Id, before?: Id): Id {
  const { part } = reading
  const next = after + 1n
  if (part === undefined || isRead(reading, next, before)) return after
  const round = BigInt(NIGHTS)
  const ahead = (BigInt(part.turn) - ((next / BLOCK) % round) + round) % round
  const begin = (next / BLOCK + ahead) * BLOCK - 1n
  return before !== undefined && before < begin ? before : begin
}

/** Goes through records in the order of their identifiers, a page of so many at a time; answers how many there were. */
export async function eachPage<Row extends { id: Id }>(
  reading: CheckReading,
  read: (after: Id, limit: number) => Promise<readonly Row[]>,
  look: (rows: readonly Row[]) => Promise<void> | void,
  size = PAGE_SIZE,
): Promise<number> {
  const { before, keep } = reading.endOf()
  let after = nextRead(reading, 0n, before)
  let count = 0
  let last = 0n
  for (;;) {
    reading.goOn()
    const page = await read(after, size)
    const rows = reading.part === undefined ? page : page.filter(({ id }) => isRead(reading, id, before))
    if (rows.length > 0) await look(rows)
    count += rows.length
    last = page.at(-1)?.id ?? last
    if (page.length < size) break
    after = nextRead(reading, last, before)
  }
  keep(before !== undefined && before > last ? before : last)
  return count
}

/**
 * Goes through the identifiers of a list in spans with so many records at most, for statements that answer only what is wanted of a span; answers how many
 * records were looked at, by what `look` answers.
 */
export async function eachSpan(
  reading: CheckReading,
  find: (after: Id, limit: number) => Promise<PageEnds>,
  look: (span: Span) => Promise<number>,
  size: number,
): Promise<number> {
  const { before, keep } = reading.endOf()
  let after = nextRead(reading, 0n, before)
  let looked = 0
  let last = 0n
  for (;;) {
    reading.goOn()
    const page = await find(after, size)
    if (page.last === null || page.first === null) break
    last = page.last
    const end = endOfRead(reading, after + 1n, before)
    const upTo = end !== undefined && end < page.last ? end : page.last
    if (page.first <= upTo) looked += await look({ after, upTo })
    if (upTo === page.last && page.count < size) break
    after = nextRead(reading, page.first > upTo ? page.first - 1n : upTo, before)
  }
  keep(before !== undefined && before > last ? before : last)
  return looked
}

/** Returns the last identifier of those that are read from one on; undefined where all are. */
function endOfRead({ part }: CheckReading, first: Id, before: Id | undefined): Id | undefined {
  if (part === undefined || (before !== undefined && first > before)) return undefined
  return (first / BLOCK + 1n) * BLOCK - 1n
}
