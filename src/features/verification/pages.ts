import type { GoOn } from '../../platform/duty.ts'
import type { Id } from '../../kernel/ids.ts'

/** Records a statement reads at once: memory is bounded by this, whatever the size of the account. */
export const PAGE_SIZE = 1000

/** Goes through records in the order of their identifiers, a page at a time; answers how many there were. */
export async function eachPage<Row extends { id: Id }>(
  goOn: GoOn,
  read: (after: Id, limit: number) => Promise<readonly Row[]>,
  look: (rows: readonly Row[]) => Promise<void> | void,
): Promise<number> {
  let after: Id = 0n
  let count = 0
  for (;;) {
    goOn()
    const rows = await read(after, PAGE_SIZE)
    if (rows.length > 0) await look(rows)
    count += rows.length
    if (rows.length < PAGE_SIZE) return count
    after = rows.at(-1)!.id
  }
}
