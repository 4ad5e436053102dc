import type { DeclineClass } from '../../kernel/rails.ts'

/**
 * The consequence of a class for an invoice. `goes_on`: its steps go on with tries; `once_more`: likewise, until the class comes a second
 * time; `stops`: its steps go on without tries until the method changes; `holds`: a person has to look; `again`: it was no try at all.
 */
export type Consequence = 'goes_on' | 'once_more' | 'stops' | 'holds' | 'again'

const OTHERS: Partial<Record<DeclineClass, Consequence>> = {
  insufficient_funds: 'goes_on',
  declined: 'goes_on',
  unknown: 'once_more',
  format: 'holds',
  duplicate: 'holds',
  deceased: 'holds',
  not_sent: 'again',
}

export const consequenceOf = (declineClass: DeclineClass): Consequence => OTHERS[declineClass] ?? 'stops'

const REJECTING: readonly DeclineClass[] = ['account_closed', 'invalid_account', 'no_mandate']

/** Returns true for the classes by which a bank account counts as rejected: it takes no new debit until it is edited or validated. */
export const rejectsMethod = (declineClass: DeclineClass): boolean => REJECTING.includes(declineClass)
