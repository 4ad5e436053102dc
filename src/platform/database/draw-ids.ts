import { assert } from '../../kernel/assert.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from './database.ts'
import { type Fragment, fragment, namesOf, sql } from './sql.ts'

/** Identifiers drawn ahead from sequences that every writer draws from without a lock. */

/** Identifiers that follow each other without a gap. */
export interface IdRange {
  first: Id
  count: number
}

/** A sequence, as it stands in the code, and how many identifiers are drawn from it. */
export interface Draw {
  sequence: string
  count: number
}

/**
 * Draws identifiers from sequences. Returns those of each, in rising order, as ranges: mostly one, more where another writer drew in between. A
 * sequence gives a session ever higher ones, so nothing is sorted.
 */
export async function drawIds(tx: Transaction, draws: readonly Draw[]): Promise<IdRange[][]> {
  const rows = await tx.rows<{ place: number; first: Id | null; count: number; all: string | null }>(
    sql`${draws.map(drawnFrom).reduce((all, one) => fragment`${all} union all ${one}`)}`,
  )
  return draws.map((_, place) => {
    const row = rows.find((one) => one.place === place)
    assert(row, 'each sequence has a row')
    if (row.first === null) return []
    return row.all === null ? [{ first: row.first, count: row.count }] : rangesOf(row.all.split(',').map(BigInt))
  })
}

// A list made by a subquery costs half of what aggregates over the same rows cost, and a set made in a select list is not stored first.
const drawnFrom = ({ sequence, count }: Draw, place: number): Fragment => fragment`
  select ${namesOf(String(place))} as "place", ids[1] as "first", cardinality(ids) as "count",
         case when ids[cardinality(ids)] - ids[1] >= cardinality(ids) then array_to_string(ids, ',') end as "all"
    from (select array(select nextval('${namesOf(sequence)}') from (select generate_series(1, ${count}::integer)) as each) as ids) as drawn`

function rangesOf(ids: readonly Id[]): IdRange[] {
  const found: IdRange[] = []
  for (const id of ids) {
    const last = found.at(-1)
    if (last && id === last.first + BigInt(last.count)) last.count += 1
    else found.push({ first: id, count: 1 })
  }
  return found
}

/** Returns the identifiers of ranges one by one. */
export const idsOfRanges = (stretches: readonly IdRange[]): Id[] =>
  stretches.flatMap(({ first, count }) => Array.from({ length: count }, (_, place) => first + BigInt(place)))
