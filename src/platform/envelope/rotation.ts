import type { Queryable } from '../database/database.ts'
import type { KeyRing } from './key-ring.ts'
import {
  byteaText,
  countWrappedBy,
  listWrappedBy,
  listWrappingKeys,
  replaceWrapped,
  type WrappedKey,
} from './queries.ts'

/** Rotation of ENCRYPTION_KEY: data keys are wrapped anew, what they seal stays as it is. Killed at any moment it leaves everything readable. */

const BATCH = 2000

export interface KeyUse {
  id: string
  /** New data keys are wrapped by it; else it only opens. */
  isFirst: boolean
  dataKeys: number
}

/** Counts what each key wraps, the keys of this process first. */
export async function countKeyUse(db: Queryable, ring: KeyRing): Promise<KeyUse[]> {
  const ids = new Set([...ring.ids, ...(await listWrappingKeys(db))])
  const uses: KeyUse[] = []
  for (const id of ids) uses.push({ id, isFirst: id === ring.ids[0], dataKeys: await countWrappedBy(db, id) })
  return uses
}

/** Wraps all data keys by the first key, 2,000 at a time, each time in a transaction of its own. Returns how many there were. */
export async function rotateKeys(db: Queryable, ring: KeyRing): Promise<number> {
  let rotated = 0
  const others = (await listWrappingKeys(db)).filter((id) => id !== ring.ids[0])
  for (const id of others) {
    for (;;) {
      const found = await listWrappedBy(db, id, BATCH)
      if (found.length === 0) break
      for (const keys of byColumn(found)) await rewrap(db, ring, keys)
      rotated += found.length
    }
  }
  return rotated
}

function byColumn(found: readonly WrappedKey[]): WrappedKey[][] {
  const columns = new Map<string, WrappedKey[]>()
  for (const key of found) {
    const name = `${key.table}.${key.column}`
    columns.set(name, [...(columns.get(name) ?? []), key])
  }
  return [...columns.values()]
}

async function rewrap(db: Queryable, ring: KeyRing, keys: readonly WrappedKey[]): Promise<void> {
  const [one] = keys
  if (!one) return
  const pairs = keys.map(({ wrapped }) => ({
    before: byteaText(wrapped),
    after: byteaText(ring.wrap(ring.unwrap(wrapped))),
  }))
  await replaceWrapped(db, one, pairs)
}
