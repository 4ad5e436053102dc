import { type IsoDate, later } from '../../kernel/calendar.ts'

/** Range of identifiers of entries, of which days after one are in no batch yet. */
export interface EntryRange {
  from: bigint
  until: bigint
  /** Null: none of them is. */
  after: IsoDate | null
}

/** Returns which entries up to a day no batch has yet, by how far the batches before reach: those below a mark were in it up to its last day. */
export function rangesAfter(
  reaches: readonly { below: bigint; to: IsoDate }[],
  { below, to }: { below: bigint; to: IsoDate },
): EntryRange[] {
  const ranges: EntryRange[] = []
  let after: IsoDate | null = null
  let until = below
  for (const reach of reaches.toReversed()) {
    if (reach.below < until) {
      ranges.push({ from: reach.below, until, after })
      until = reach.below
    }
    after = after === null ? reach.to : later(after, reach.to)
  }
  ranges.push({ from: 0n, until, after })
  return ranges.filter((range) => range.from < range.until && (range.after === null || range.after < to)).toReversed()
}
