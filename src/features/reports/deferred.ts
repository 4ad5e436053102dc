import { deferredByMonth } from '../../engine/books/deferred.ts'
import type { Snapshot } from '../../platform/database/database.ts'
import { type AlikeCharges, chargesBeyond } from './deferred-queries.ts'
import { SALES_KINDS } from './line-queries.ts'
import type { AsAt } from './period-queries.ts'

/** Deferred revenue as at a day: charges are added up while they are read, and only the sums are kept. */

export const DEFERRED_BY = ['month', 'package'] as const
export type DeferredBy = (typeof DEFERRED_BY)[number]

/** Sum of one currency: of a month, or of a kind and package. */
export interface Deferred extends Pick<AlikeCharges, 'currency' | 'kind' | 'packageId' | 'code' | 'name'> {
  /** YYYY-MM; by package the first one. */
  month: string
  amountMinor: bigint
}

const keyOf = ({ currency, kind, packageId, month }: Deferred, by: DeferredBy): string =>
  by === 'month' ? `${currency} ${month}` : `${currency} ${SALES_KINDS.indexOf(kind)} ${packageId}`

const byKey = (a: Deferred, b: Deferred, by: DeferredBy): number => {
  if (a.currency !== b.currency) return a.currency < b.currency ? -1 : 1
  if (by === 'month') return a.month < b.month ? -1 : 1
  const byKind = SALES_KINDS.indexOf(a.kind) - SALES_KINDS.indexOf(b.kind)
  if (byKind !== 0) return byKind
  if (a.packageId === null || b.packageId === null) return a.packageId === null ? 1 : -1
  return a.packageId < b.packageId ? -1 : 1
}

/** Reads what is deferred at the end of a day, in one portion: by the months that it belongs to, or by package. */
export async function* deferredAsAt(db: Snapshot, asAt: AsAt, by: DeferredBy): AsyncGenerator<Deferred[]> {
  const sums = new Map<string, Deferred>()
  for await (const portion of chargesBeyond(db, asAt, by)) {
    for (const { count, currency, kind, packageId, code, name, ...charge } of portion) {
      for (const { month, amountMinor } of deferredByMonth(charge, asAt.date)) {
        const part = { currency, kind, packageId, code, name, month, amountMinor: amountMinor * count }
        const key = keyOf(part, by)
        const sum = sums.get(key)
        if (sum === undefined) sums.set(key, part)
        else sum.amountMinor += part.amountMinor
      }
    }
  }
  yield [...sums.values()].filter(({ amountMinor }) => amountMinor !== 0n).toSorted((a, b) => byKey(a, b, by))
}
