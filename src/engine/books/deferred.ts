import { addDays, addMonths, daysBetween, earlier, type IsoDate, later } from '../../kernel/calendar.ts'
import { divideHalfAway } from '../../kernel/decimal.ts'

/** Deferred revenue: what of a charge belongs to days after a date. */

/** Charge of days as it stood on a date, half-open; amounts in minor units. */
export interface DeferredCharge {
  netMinor: bigint
  /** Net amount that credits had taken of it. */
  creditedMinor: bigint
  from: IsoDate
  until: IsoDate
  /** First day that had been given back; null when none was. */
  givenBackFrom: IsoDate | null
}

/** Part that belongs to the days of one calendar month. */
export interface DeferredMonth {
  /** YYYY-MM. */
  month: string
  amountMinor: bigint
}

/**
 * Returns what of a charge belongs to days after a date, by month. Rules: what credits left of it, × days after the date ÷ its days, rounded once; days
 * given back end the charge. Each month has the difference between what is left before it and after it, so that months add up to that amount.
 */
export function deferredByMonth(charge: DeferredCharge, date: IsoDate): DeferredMonth[] {
  const until = earlier(charge.until, charge.givenBackFrom ?? charge.until)
  const first = later(charge.from, addDays(date, 1))
  if (until <= first) return []
  const leftMinor = charge.netMinor - charge.creditedMinor
  const days = BigInt(daysBetween(charge.from, until))
  const leftFrom = (day: IsoDate): bigint => divideHalfAway(leftMinor * BigInt(daysBetween(day, until)), days)
  const months: DeferredMonth[] = []
  for (let day = first; day < until;) {
    const month = day.slice(0, 7)
    const next = earlier(addMonths(`${month}-01`, 1), until)
    const amountMinor = leftFrom(day) - leftFrom(next)
    if (amountMinor !== 0n) months.push({ month, amountMinor })
    day = next
  }
  return months
}
