import type { Frequency } from './queries.ts'

/** Facts of a mandate that follow from others: reference, action days, where its signee may return to. */

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
