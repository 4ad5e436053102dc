import { describe, expect, test } from 'vitest'
import { isTooLate, nextOpenDay } from '../../src/engine/collection/batch-days.ts'
import { DunnedLife } from '../../src/engine/collection/dunned-life.testing.ts'
import { type BatchDays, lastMoment } from '../../src/kernel/batch-days.ts'
import type { BankCalendar } from '../../src/kernel/bank-days.ts'
import type { DeclineClass } from '../../src/kernel/rails.ts'
import { goldenRows, type Row } from './table.ts'

/** Invoices that are collected in batches, day by day, and the batches that nobody submits. */

const rowsOf = (table: string) => goldenRows(table).map((row) => [`${row['id']}: ${row['why']}`, row] as const)
const LAST_DAY = '2027-07-31'

function daysOf(cell: string): BatchDays {
  const [calendar, leadDays, submitDays, cutOff] = cell.split(' ')
  return {
    calendar: calendar as BankCalendar,
    leadDays: Number(leadDays),
    submitDays: Number(submitDays),
    cutOff: cutOff!,
  }
}

function noticeOf(cell: string): { first: number; retry: number } | null {
  if (cell === '-') return null
  const [first, retry] = cell.split('/').map(Number)
  return { first: first!, retry: retry! }
}

function lifeOf(row: Row): string[] {
  const answers = row['answers']!.split(', ').map((text) => {
    const [declineClass, knownOn] = text.split('>')
    return {
      declineClass: declineClass === 'paid' ? null : (declineClass as DeclineClass),
      knownOn: `2027-${knownOn}`,
    }
  })
  const life = new DunnedLife(row['due']!, row['issued']!, () => answers.shift()!)
  life.batches = { ...daysOf(row['days']!), timeZone: 'UTC', notice: noticeOf(row['notice']!) }
  for (; life.today <= LAST_DAY; life.nextDay()) life.pass()
  const days = new Map<string, string[]>()
  for (const { on, what } of life.log) days.set(on, [...(days.get(on) ?? []), what])
  return [...days].map(([on, done]) => `${on.slice(5)}:${done.join('+')}`)
}

describe('an invoice that is debited', () => {
  test.each(rowsOf('debits'))('%s', (_, row) => {
    expect(lifeOf(row)).toEqual(row['life']!.split(' '))
  })
})

describe('a batch that nobody submits', () => {
  test.each(rowsOf('moves'))('%s', (_, row) => {
    const days = daysOf(row['days']!)
    let actionDate = row['action date']!
    expect(lastMoment(days, actionDate, 'UTC')).toBe(`${row['last moment']}:00.000Z`)
    const moved = row['moved']!.split(' ').map((text) => {
      const [moment] = text.split('>')
      const at = { now: `2027-${moment}:00.000Z`, timeZone: 'UTC' }
      if (!isTooLate(days, actionDate, at)) return `${moment}>stays`
      actionDate = nextOpenDay(days, actionDate, at)
      return `${moment}>${actionDate.slice(5)}`
    })
    expect(moved).toEqual(row['moved']!.split(' '))
  })
})
