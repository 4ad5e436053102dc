import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { RATE_KINDS, type RateKind, rateKindsOf } from '../../rails/nacha/codes.ts'
import type { RatesReported } from './queries.ts'

/** Rates at which debits of ACH come back, beside the limits of Nacha: over a limit the bank asks questions, and may end the agreement. */

/** Days of ActionDate that count, today included. */
const DAYS = 60

/** The limits of Nacha in hundredths of a per cent. */
export const RATE_LIMITS: Readonly<Record<RateKind, number>> = { unauthorised: 50, administrative: 300, all: 1_500 }

/** Returns of a kind below which its rate means nothing: one of a hundred debits would be over a limit. */
const REPORTED_FROM = 5

/** Days for which a bound that was reported is not reported again. */
const REPORTED_DAYS = 30

export interface ReturnRates {
  from: IsoDate
  to: IsoDate
  debits: number
  counts: Readonly<Record<RateKind, number>>
}

/** Returns the days that count on a day of the account. */
export const daysOfRates = (today: IsoDate): Pick<ReturnRates, 'from' | 'to'> => ({
  from: addDays(today, 1 - DAYS),
  to: today,
})

/** Returns the rates of some days from the debits that left then, counted by the code with which they came back; null: they did not. */
export function ratesFrom(
  days: Pick<ReturnRates, 'from' | 'to'>,
  found: readonly { code: string | null; count: number }[],
): ReturnRates {
  const counts = { unauthorised: 0, administrative: 0, all: 0 }
  let debits = 0
  for (const { code, count } of found) {
    debits += count
    for (const kind of rateKindsOf(code)) counts[kind] += count
  }
  return { ...days, debits, counts }
}

/** Returns the bound that a rate has reached: the limit, or half of it. */
function reachedBy(kind: RateKind, { counts, debits }: Pick<ReturnRates, 'counts' | 'debits'>) {
  const count = counts[kind]
  if (count < REPORTED_FROM) return null
  if (count * 10_000 >= RATE_LIMITS[kind] * debits) return 'limit' as const
  return count * 20_000 >= RATE_LIMITS[kind] * debits ? ('half' as const) : null
}

/** Returns the bounds that rates have reached and that were not reported lately. Rule: a limit that was reported covers its half. */
export function boundsToReport(
  rates: ReturnRates,
  reported: RatesReported,
): { kind: RateKind; bound: 'half' | 'limit' }[] {
  return RATE_KINDS.flatMap((kind) => {
    const bound = reachedBy(kind, rates)
    const last = reported[kind]
    if (bound === null) return []
    const isReported =
      last && rates.to < addDays(last.on, REPORTED_DAYS) && (last.bound === 'limit' || bound === 'half')
    return isReported ? [] : [{ kind, bound }]
  })
}
