import { dateOf, type Instant, isDay, type IsoDate } from '../../kernel/calendar.ts'
import { dateIn, instantOf, instantOfLocal } from '../../kernel/zone.ts'

/** The shapes in which dates arrive: ISO date-times and dates, ISO basic dates, and "03 Apr 2026". */

const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const BASIC_DATE = /^(\d{4})(\d{2})(\d{2})$/
const TEXT_DATE = /^(\d{1,2})[ -]([A-Za-z]{3,9})[ -](\d{4})$/
const DATE_TIME =
  /^(\d{4})-?(\d{2})-?(\d{2})[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?$/

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH_NAMES = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]

const checked = (year: string, month: number, day: string): IsoDate | undefined =>
  isDay(Number(year), month, Number(day)) ? dateOf(Number(year), month, Number(day)) : undefined

function monthOf(name: string): number {
  const lower = name.toLowerCase()
  return (lower.length === 3 ? MONTHS.indexOf(lower) : MONTH_NAMES.indexOf(lower)) + 1
}

/** Reads a date without a time; it never slips a day. */
function plainDate(text: string): IsoDate | undefined {
  const iso = ISO_DATE.exec(text) ?? BASIC_DATE.exec(text)
  if (iso) return checked(iso[1] ?? '', Number(iso[2]), iso[3] ?? '')
  const words = TEXT_DATE.exec(text)
  return words ? checked(words[3] ?? '', monthOf(words[2] ?? ''), words[1] ?? '') : undefined
}

interface DateTime {
  date: IsoDate
  timeMs: number
  offsetMinutes: number | undefined
}

function offsetMinutesOf(text: string | undefined): number | undefined | 'impossible' {
  if (text === undefined) return undefined
  if (text === 'Z' || text === 'z') return 0
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(3).replace(':', '') || '0')]
  if (hours > 15 || minutes > 59) return 'impossible'
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

function dateTime(text: string): DateTime | undefined {
  const match = DATE_TIME.exec(text)
  if (!match) return undefined
  const date = checked(match[1] ?? '', Number(match[2]), match[3] ?? '')
  const [hour, minute, second] = [Number(match[4]), Number(match[5]), Number(match[6] ?? '0')]
  const offsetMinutes = offsetMinutesOf(match[8])
  const isMidnightAtEnd = hour === 24 && minute === 0 && second === 0
  if (!date || (hour > 23 && !isMidnightAtEnd) || minute > 59 || second > 59 || offsetMinutes === 'impossible')
    return undefined
  const milliseconds = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  return { date, timeMs: ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds, offsetMinutes }
}

const epochOf = ({ date, timeMs, offsetMinutes }: DateTime, zone: string): number =>
  offsetMinutes === undefined
    ? instantOfLocal(date, timeMs, zone)
    : Date.parse(`${date}T00:00:00Z`) + timeMs - offsetMinutes * 60_000

const inYears = (date: IsoDate): IsoDate | undefined =>
  date >= '1900-01-01' && date <= '2999-12-31' ? date : undefined

/** Returns the calendar day that a text means; undefined when it means none. */
export function readDate(text: string, zone: string): IsoDate | undefined {
  const tidy = text.trim()
  const plain = plainDate(tidy)
  if (plain) return plain
  const moment = dateTime(tidy)
  if (!moment) return undefined
  // Without an offset the day written is the day meant, also at a time that the zone skips.
  if (moment.offsetMinutes === undefined && moment.timeMs < 86_400_000) return moment.date
  return inYears(dateIn(epochOf(moment, zone), zone))
}

/** Returns the instant that a text means; a date without a time is midnight of the zone. */
export function readInstant(text: string, zone: string): Instant | undefined {
  const tidy = text.trim()
  const plain = plainDate(tidy)
  const moment = plain ? { date: plain, timeMs: 0, offsetMinutes: undefined } : dateTime(tidy)
  if (!moment) return undefined
  const epoch = epochOf(moment, zone)
  return inYears(dateIn(epoch, 'UTC')) && instantOf(epoch)
}
