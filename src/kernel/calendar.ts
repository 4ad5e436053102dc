/** A calendar day, "2026-02-28". Never an instant: it has no zone and no time. */
export type IsoDate = string & { readonly kind?: 'IsoDate' }

/** A moment in UTC with milliseconds, "2026-02-28T13:45:00.000Z". */
export type Instant = string & { readonly kind?: 'Instant' }

export type TermType = 'months' | 'days'

export const YEAR_MIN = 1900
export const YEAR_MAX = 2999

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/

export const isLeapYear = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Returns the days in a month; month counts from 1. */
export const daysInMonth = (year: number, month: number): number =>
  month === 2 && isLeapYear(year) ? 29 : (MONTH_DAYS[month - 1] ?? 0)

export const pad = (value: number, width: number): string => String(value).padStart(width, '0')

/** "-01" to "-31", written once: a billing run makes millions of dates. */
const DASHED = Array.from({ length: 32 }, (_, value) => `-${pad(value, 2)}`)

export const dateOf = (year: number, month: number, day: number): IsoDate =>
  `${year > 999 ? year : pad(year, 4)}${DASHED[month]}${DASHED[day]}`

/** Returns true for a day that exists between 1900 and 2999. */
export function isDate(text: string): text is IsoDate {
  const match = DATE.exec(text)
  if (!match) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  return isDay(year, month, day)
}

export const isDay = (year: number, month: number, day: number): boolean =>
  year >= YEAR_MIN && year <= YEAR_MAX && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)

/** Reads two digits as a number; several times faster than cutting the text and parsing it. */
const digitsAt = (text: string, index: number): number =>
  text.charCodeAt(index) * 10 + text.charCodeAt(index + 1) - 48 * 11

/** Returns year, month (from 1) and day of a date. */
export function partsOf(date: IsoDate): { year: number; month: number; day: number } {
  return { year: digitsAt(date, 0) * 100 + digitsAt(date, 2), month: digitsAt(date, 5), day: digitsAt(date, 8) }
}

/** From 0000-03-01, the first day of the reckoning below, to 1970-01-01. */
const DAYS_BEFORE_1970 = 719_468
/** The calendar repeats after 400 years. */
const DAYS_OF_400_YEARS = 146_097

/**
 * Returns the days since 1970-01-01: dates become numbers where they are subtracted. Years are counted from March, so that the leap day
 * comes last and the months before it follow one pattern (153 days in five of them). Plain arithmetic: ten times faster than a Date.
 */
export function dayNumberOf(date: IsoDate): number {
  const { year, month, day } = partsOf(date)
  const marchYear = month > 2 ? year : year - 1
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400)
  return marchYear * 365 + leapDays + dayOfYear - DAYS_BEFORE_1970
}

/** Returns the date of a day number: the same reckoning backwards. */
export function dateOfDayNumber(dayNumber: number): IsoDate {
  const days = dayNumber + DAYS_BEFORE_1970
  const era = Math.floor(days / DAYS_OF_400_YEARS)
  const dayOfEra = days - era * DAYS_OF_400_YEARS
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  const dayOfYear = dayOfEra - yearOfEra * 365 - leapDays
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  return dateOf(era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
}

export const addDays = (date: IsoDate, days: number): IsoDate => dateOfDayNumber(dayNumberOf(date) + days)

/** Returns the whole days from one date to another; negative when the second is earlier. */
export const daysBetween = (from: IsoDate, until: IsoDate): number => dayNumberOf(until) - dayNumberOf(from)

/**
 * Returns the date n months after (or before) another, on the wanted day of the month or the last day that the month has. Always count from
 * the anchor: adding a month to 28 February again and again would forget that it was the 31st.
 */
export function addMonths(date: IsoDate, months: number, dayOfMonth?: number): IsoDate {
  const { year, month, day } = partsOf(date)
  const index = year * 12 + (month - 1) + months
  const targetYear = Math.floor(index / 12)
  const targetMonth = (index % 12) + 1
  return dateOf(targetYear, targetMonth, Math.min(dayOfMonth ?? day, daysInMonth(targetYear, targetMonth)))
}

export const earlier = (a: IsoDate, b: IsoDate): IsoDate => (a < b ? a : b)
export const later = (a: IsoDate, b: IsoDate): IsoDate => (a > b ? a : b)

/** Returns the earliest of some dates, null when none is given. */
export function earliest(...dates: readonly (IsoDate | null)[]): IsoDate | null {
  let found: IsoDate | null = null
  for (const date of dates) if (date !== null && (found === null || date < found)) found = date
  return found
}

export const firstOfNextMonth = (date: IsoDate): IsoDate => addMonths(`${date.slice(0, 8)}01`, 1)
