import { equals, parseDecimal } from '../../kernel/decimal.ts'
import { readDate, readInstant } from './dates.ts'
import { isJsonNumber, type Json } from './json.ts'

/** Computed fields of a request beside what is answered: a number in other digits, or a date in another form, is the same. */

/** Returns whether a value that was sent is the one that is answered; dates without an offset are of the zone. */
export function sameAsAnswered(sent: Json, answered: Json, timeZone: string): boolean {
  if (isJsonNumber(answered)) return isSameNumber(sent, answered.digits)
  if (typeof answered !== 'string') return sent === answered
  if (isJsonNumber(sent)) return isSameNumber(answered, sent.digits)
  if (typeof sent !== 'string') return false
  return sent.trim() === answered || isSameDate(sent, answered, timeZone)
}

function isSameNumber(value: Json, digits: string): boolean {
  const text = isJsonNumber(value) ? value.digits : typeof value === 'string' ? value.trim() : ''
  const [one, other] = [parseDecimal(text), parseDecimal(digits)]
  return one !== undefined && other !== undefined && equals(one, other)
}

/** Rule: an answer at midnight of the zone is a day, and any instant of that day means it. */
function isSameDate(sent: string, answered: string, timeZone: string): boolean {
  const instant = readInstant(answered, timeZone)
  if (instant === undefined || !/^\d{4}-\d\d-\d\dT/.test(answered)) return false
  if (readInstant(sent, timeZone) === instant) return true
  const day = readDate(answered, timeZone)
  return day !== undefined && readInstant(day, timeZone) === instant && readDate(sent, timeZone) === day
}
