import type { BankKind } from '../../kernel/rails.ts'
import type { Frequency } from './types.ts'

/** Facts of a mandate that follow from others: reference, action days, where its signee may return to. */

/**
 * How long mandates are kept: unsigned ones in days after they were made, signed ones that no method names in months after their last debit, or after the
 * signature. Rules of the schemes: 14 months (SEPA), 2 years (Nacha), 7 years (South African debit orders).
 */
export const KEEPING_TIMES = {
  unsignedDays: 90,
  signedMonths: { sepa: 14, ach: 24, debit_order: 84 },
} as const satisfies {
  unsignedDays: number
  signedMonths: Record<BankKind, number>
}

/** Returns a number of which only the end is shown. */
export const maskedNumber = (lastFour: string): string => `****${lastFour}`

/** Returns the days that an action day may name: of a week from Monday, or of a month; null where a frequency has none. */
export function actionDaysOf(frequency: Frequency): number | null {
  if (frequency === 'Weekly') return 7
  return frequency === 'Daily' || frequency === 'Once' ? null : 31
}

/** Hosts of the computer itself, which a test account may name without https. */
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/

/** Returns whether a signee may be sent back to an address: https, or the computer itself for a test account; nobody's password in it. */
export function isReturnUrl(address: string, mode: 'test' | 'live'): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, username, password } = new URL(address)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (mode === 'test' && protocol === 'http:' && LOOPBACK.test(hostname))
}
