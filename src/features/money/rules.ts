/** The words and refusals of money records, whichever door they come through. */

/** Rule: the service's word for how much of given money is allocated. */
export const allocatedStatus = (amountMinor: bigint, appliedMinor: bigint): 'Allocated' | 'Partial' | 'Unallocated' =>
  appliedMinor === 0n ? 'Unallocated' : appliedMinor < amountMinor ? 'Partial' : 'Allocated'

/** The words for money given: of a credit note only three of them ever come about. */
export const GIVEN_STATUSES = ['Pending', 'Allocated', 'Partial', 'Unallocated', 'Failed'] as const
