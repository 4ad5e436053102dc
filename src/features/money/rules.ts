import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict } from '../../kernel/fault.ts'

/** What is refused of money records, whichever door they come through. */

/** Rule: no document is made or corrected that is dated on or before the day up to which the books are closed. */
export function checkNotLocked(lockDate: IsoDate | null, days: readonly IsoDate[], what: string): void {
  const locked = days.find((day) => lockDate !== null && day <= lockDate)
  if (locked !== undefined)
    throw conflict(
      'books_locked',
      `The books are closed up to ${lockDate}; ${what} is dated ${locked} and must lie after that.`,
      'Date',
    )
}

/** Rule: the service's word for how much of given money is allocated. */
export const allocatedStatus = (amountMinor: bigint, appliedMinor: bigint): 'Allocated' | 'Partial' | 'Unallocated' =>
  appliedMinor === 0n ? 'Unallocated' : appliedMinor < amountMinor ? 'Partial' : 'Allocated'

/** The words for money given: of a credit note only three of them ever come about. */
export const GIVEN_STATUSES = ['Pending', 'Allocated', 'Partial', 'Unallocated', 'Failed'] as const
