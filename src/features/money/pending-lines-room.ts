import type { OwedRef } from '../../engine/money/allocating.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { OwedDocument } from './types.ts'

/** Room on an invoice that lines have to make, before other money or credit can be allocated there. */
export interface Room {
  invoiceId: InvoiceId
  amountMinor: bigint
}

/** Returns the room that lines have to make. `before` and `after` are what the record is allocated to a document, in minor units. */
export const roomFor = (
  owed: readonly OwedDocument[],
  before: (document: OwedRef) => bigint,
  after: (document: OwedRef) => bigint,
): Room[] =>
  owed.flatMap((document) => {
    if (document.givesWayMinor === 0n) return []
    const freeMinor = document.openMinor - document.givesWayMinor + before(document)
    const amountMinor = after(document) - freeMinor
    return amountMinor > 0n ? [{ invoiceId: document.id, amountMinor }] : []
  })
