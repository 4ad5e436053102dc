import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'

/** Identifiers that lines and taxes of invoices were given when these were issued together, as the hash of their batch covers them. */
export interface LineIdentifiers {
  /** How many lines and taxes an invoice has, by the place of its shape. */
  counts: { charges: readonly number[]; taxes: readonly number[] }
  /** Of each invoice; null where it has none. */
  firstChargeIds: (Id | null)[]
  firstTaxIds: (Id | null)[]
}

/**
 * Returns the text of identifiers that invoices of a batch were given: a line for each invoice whose first one does not follow the last one before it, with its
 * place, counted from 0. Identifiers of a batch mostly follow each other, so that there is one line.
 */
export function textOfIdentifiers(firsts: readonly (Id | null)[], countAt: (place: number) => number): string {
  let text = ''
  let next: Id | undefined
  // By number: an iterator makes two objects for each.
  for (let place = 0; place < firsts.length; place += 1) {
    const first = firsts[place]
    if (first == null) continue
    if (first !== next) text += `\n${place}\u001f${first}`
    next = first + BigInt(countAt(place))
  }
  return text
}

/** Returns the texts of identifiers of lines and of taxes as the hash of a batch covers them. */
export const joinedIdentifiers = (charges: string, taxes: string): string => `\n${charges}\n${taxes}`

/** Invoices that follow each other, posted in one batch. */
export interface InvoiceRange {
  /** Identifier of the first entry of the batch. */
  batchId: Id
  firstInvoiceId: InvoiceId
  count: number
}

/** Lists the identifiers that lines and taxes of the invoices of batches have, as the texts that `joinedIdentifiers` takes. */
export type ListLineIdentifiers = (
  db: Queryable,
  account: AccountId,
  ranges: readonly InvoiceRange[],
) => Promise<{ batchId: Id; charges: string; taxes: string }[]>
