import { assert } from './assert.ts'

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

/** Days in a month; month counts from 1. */
export const daysInMonth = (year: number, month: number): number =>
  month === 2 && isLeapYear(year) ? 29 : (MONTH_DAYS[month - 1] ?? 0)

export const pad = (value: number, width: number): string => String(value).padStart(width, '0')

export const dateOf = (year: number, month: number, day: number): IsoDate =>
  `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`

/** True for a day that exists between 1900 and 2999. */
export function isDate(text: string): text is IsoDate {
  const match = DATE.exec(text)
  if (!match) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  return isDay(year, month, day)
}

export const isDay = (year: number, month: number, day: number): boolean =>
  year >= YEAR_MIN && year <= YEAR_MAX && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)

/** Year, month (from 1) and day of a date. */
export function partsOf(date: IsoDate): { year: number; month: number; day: number } {
  return { year: Number(date.slice(0, 4)), month: Number(date.slice(5, 7)), day: Number(date.slice(8, 10)) }
}

/** Days since 1970-01-01: dates become numbers where they are subtracted. */
export const dayNumberOf = (date: IsoDate): number => {
  const { year, month, day } = partsOf(date)
  return Date.UTC(year, month - 1, day) / 86_400_000
}

export const dateOfDayNumber = (dayNumber: number): IsoDate =>
  new Date(dayNumber * 86_400_000).toISOString().slice(0, 10)

export const addDays = (date: IsoDate, days: number): IsoDate => dateOfDayNumber(dayNumberOf(date) + days)

/** Whole days from one date to another; negative when the second is earlier. */
export const daysBetween = (from: IsoDate, until: IsoDate): number => dayNumberOf(until) - dayNumberOf(from)

/**
 * The date n months after (or before) another, on the wanted day of the month or the last day that the month has.
 * Always count from the anchor: adding a month to 28 February again and again would forget that it was the 31st.
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

/** The earliest of some dates, null when none is given. */
export function earliest(...dates: readonly (IsoDate | null)[]): IsoDate | null {
  let found: IsoDate | null = null
  for (const date of dates) if (date !== null && (found === null || date < found)) found = date
  return found
}

export const firstOfNextMonth = (date: IsoDate): IsoDate => addMonths(`${date.slice(0, 8)}01`, 1)

export function checkedDate(text: string): IsoDate {
  assert(isDate(text), `${text} is a date`)
  return text
}
