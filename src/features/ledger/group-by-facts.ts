import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { CheckReading } from '../../platform/checks/pages.ts'
import type { TemplateEntry } from './batch-queries.ts'
import { findBatchBefore, listTemplateEntries, type StoredPack } from './group-by-facts-queries.ts'

/** Batches of postings as checks read them: their members, and the shapes that these have. */

/** Batches of a page, which have some thousand invoices. */
export const BATCHES_AT_ONCE = 16

/** An invoice of a batch. */
export interface Member {
  invoiceId: InvoiceId
  customerId: CustomerId
  shapeId: Id
}

/** Returns the invoices of a batch, in their order. */
export function membersOf({ firstInvoiceId, customerIds, shapeIds }: StoredPack): Member[] {
  const shapes = shapeIds.split(',').map(BigInt)
  return customerIds.split(',').map((customerId, place) => ({
    invoiceId: firstInvoiceId + BigInt(place),
    customerId: BigInt(customerId),
    shapeId: (shapes.length === 1 ? shapes[0] : shapes[place])!,
  }))
}

/** Returns the identifiers of the shapes that invoices of some batches have, each once. */
export const shapeIdsOf = (batches: readonly StoredPack[]): Id[] =>
  [...new Set(batches.flatMap(({ shapeIds }) => shapeIds.split(',')))].map(BigInt)

/** A shape as it is stored. */
export interface StoredShape {
  entries: readonly TemplateEntry[]
  /** In hexadecimal; null where the entries belong to no shape. */
  hash: string | null
}

/** Shapes kept in memory, which are mostly those of the next batches too. */
const SHAPES_KEPT = 5000

/** Returns a function that reads shapes by identifier; those that it has read it keeps, because they never change within a snapshot. */
export function shapeReader(db: Queryable, account: Id) {
  const known = new Map<Id, StoredShape>()
  return async (ids: readonly Id[]): Promise<ReadonlyMap<Id, StoredShape>> => {
    const wanted = new Set(ids)
    const missing = [...wanted].filter((id) => !known.has(id))
    if (missing.length === 0) return known
    if (known.size > SHAPES_KEPT) known.clear()
    const rows = await listTemplateEntries(db, account, known.size === 0 ? [...wanted] : missing)
    for (const { shapeId, hash, ...entry } of rows) {
      const shape = known.get(shapeId)
      known.set(shapeId, { hash, entries: [...(shape?.entries ?? []), entry] })
    }
    return known
  }
}

/** Returns the identifier behind which batches have entries from one on, that which lies across it among them. */
export async function behindBatches(tx: Transaction, since: Id): Promise<Id> {
  const first = await findBatchBefore(tx, tx.account, since)
  return (first ?? since) - 1n
}

/** Returns a reading that also takes batches from the mark of the last clean night on: those that were not yet committed then. */
export async function fromMark(tx: Transaction, reading: CheckReading): Promise<CheckReading> {
  if (reading.part === undefined) return reading
  const mark = await behindBatches(tx, reading.part.since)
  return {
    ...reading,
    endOf() {
      const { before, keep } = reading.endOf()
      return { before: before !== undefined && before > mark ? mark : before, keep }
    },
  }
}
