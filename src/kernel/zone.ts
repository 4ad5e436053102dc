import { dateOf, type Instant, type IsoDate } from './calendar.ts'

/** Time zones: the only place where calendar days and instants meet. Zone names are IANA names. */

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(zone)
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formatters.set(zone, formatter)
  }
  return formatter
}

/** Returns true for a name of the IANA database that this Node knows; offsets such as "+02:00" are not names. */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(name)) return false
  try {
    formatterOf(name)
    return true
  } catch {
    return false
  }
}

interface LocalTime {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
}

function localTimeOf(epochMs: number, zone: string): LocalTime {
  const found: LocalTime = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 }
  for (const { type, value } of formatterOf(zone).formatToParts(epochMs))
    if (type in found) found[type as keyof LocalTime] = Number(value)
  return found
}

/** Milliseconds that local clocks are ahead of UTC at an instant. */
function offsetMsAt(epochMs: number, zone: string): number {
  if (zone === 'UTC') return 0
  const local = localTimeOf(epochMs, zone)
  const asUtc = Date.UTC(local.year, local.month - 1, local.day, local.hour, local.minute, local.second)
  return asUtc - Math.floor(epochMs / 1000) * 1000
}

/** Returns the calendar day that an instant falls on in a zone. */
export function dateIn(instant: Instant | number, zone: string): IsoDate {
  const epochMs = typeof instant === 'number' ? instant : Date.parse(instant)
  if (zone === 'UTC') return new Date(epochMs).toISOString().slice(0, 10)
  const local = localTimeOf(epochMs, zone)
  return dateOf(local.year, local.month, local.day)
}

/** Returns the local wall-clock time of an instant in a zone, as hh:mm. */
export function timeIn(instant: Instant, zone: string): string {
  const { hour, minute } = localTimeOf(Date.parse(instant), zone)
  return [hour, minute].map((value) => String(value).padStart(2, '0')).join(':')
}

/**
 * Returns the instant of a local wall-clock time, in milliseconds. A time that does not exist is read with the offset before the change,
 * one that comes twice is the earlier.
 */
export function instantOfLocal(date: IsoDate, timeMs: number, zone: string): number {
  const asUtc = Date.parse(`${date}T00:00:00Z`) + timeMs
  if (zone === 'UTC') return asUtc
  const before = offsetMsAt(asUtc - 86_400_000, zone)
  const after = offsetMsAt(asUtc + 86_400_000, zone)
  const early = asUtc - Math.max(before, after)
  const late = asUtc - Math.min(before, after)
  if (early + offsetMsAt(early, zone) === asUtc) return early
  if (late + offsetMsAt(late, zone) === asUtc) return late
  return asUtc - before
}

export const instantOf = (epochMs: number): Instant => new Date(epochMs).toISOString()

/** Returns the first instant of a day in a zone. */
export const midnightOf = (date: IsoDate, zone: string): Instant => instantOf(instantOfLocal(date, 0, zone))

/**
 * Writes an offset as "+02:00". Old local times were ahead by odd seconds. Floored, not rounded: the next whole minute would fall on the
 * day before.
 */
function offsetText(offsetMs: number): string {
  const ahead = Math.floor(offsetMs / 60_000)
  const minutes = Math.abs(ahead)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${ahead < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

const rendered = new Map<string, Map<IsoDate, string>>()
const RENDERED_MAX = 20_000

/**
 * Writes a calendar date as the interface writes it: midnight with the offset that makes it fall on that very date when read back in the
 * zone, also on a day whose midnight is skipped. "Z" in UTC.
 */
export function dateWithOffset(date: IsoDate, zone: string): string {
  if (zone === 'UTC') return `${date}T00:00:00Z`
  let ofZone = rendered.get(zone)
  if (!ofZone) rendered.set(zone, (ofZone = new Map()))
  let text = ofZone.get(date)
  if (text === undefined) {
    if (ofZone.size >= RENDERED_MAX) ofZone.clear()
    text = `${date}T00:00:00${offsetText(midnightOffsetMs(date, zone))}`
    ofZone.set(date, text)
  }
  return text
}

function midnightOffsetMs(date: IsoDate, zone: string): number {
  const asUtc = Date.parse(`${date}T00:00:00Z`)
  return asUtc - instantOfLocal(date, 0, zone)
}
