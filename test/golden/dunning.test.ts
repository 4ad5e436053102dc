import { describe, expect, test } from 'vitest'
import type { DeclineClass } from '../../src/kernel/rails.ts'
import { type Answer, DunnedLife } from '../../src/engine/collection/dunned-life.testing.ts'
import type { Action, CollectionRules } from '../../src/engine/collection/rules.ts'
import { goldenRows, type Row } from './table.ts'

/** Invoices that are not paid, day by day. */

const rows = goldenRows('dunning').map((row) => [`${row['id']}: ${row['why']}`, row] as const)
const LAST_DAY = '2027-04-30'

const listOf = (cell: string, separator: string): string[] => (cell === '-' ? [] : cell.split(separator))
const dayOf = (text: string): string => `2027-${text}`

function answerOf(text: string): Answer {
  const [declineClass, days] = text.split('@')
  const answer = { declineClass: declineClass === 'paid' ? null : (declineClass as DeclineClass) }
  if (days === undefined) return answer
  const [actionDate, knownOn] = days.split('>').map(dayOf)
  return { ...answer, actionDate: actionDate!, knownOn: knownOn! }
}

const attemptsOf = (cell: string): CollectionRules['attempts'] =>
  cell.split(',').map((text) => {
    const [days, action] = text.split('=')
    return { daysAfterDue: Number(days), action: action as Action }
  })

const EVENTS: Record<string, (life: DunnedLife, what: string) => void> = {
  rules: (life, what) => (life.rules = { ...life.rules, attempts: attemptsOf(what) }),
  untried: (life) => (life.rules = { ...life.rules, untriedSince: life.today }),
  method: (life) => life.changeMethod(),
  gone: (life) => (life.hasMethod = false),
  suspend: (life) => (life.customer = 'suspended_by_hand'),
  archive: (life) => (life.customer = 'archived'),
  back: (life) => life.comeBack(),
  hold: (life) => (life.isHeld = true),
  unhold: (life) => (life.isHeld = false),
  reopened: (life) => (life.isPaid = false),
}

function lifeOf(row: Row): string[] {
  const answers = listOf(row['answers']!, ', ').map(answerOf)
  const due = row['due']!
  const life = new DunnedLife(due, row['issued'] === '-' ? due : row['issued']!, () =>
    answers.length > 1 ? answers.shift()! : answers[0]!,
  )
  const events = listOf(row['events']!, '; ').map((text) => {
    const [on = '', name = '', ...what] = text.split(' ')
    return { on: dayOf(on), name, what: what.join(' ') }
  })
  // What happened before the invoice was made is true on its first day.
  for (const { on, name, what } of events) if (on < life.today) EVENTS[name]!(life, what)
  for (; life.today <= LAST_DAY; life.nextDay()) {
    const ofToday = events.filter(({ on }) => on === life.today)
    if (ofToday.some(({ name }) => name === 'end')) break
    for (const { name, what } of ofToday) if (name === 'lost') life.lose(what === '' ? null : (what as DeclineClass))
    life.pass()
    for (const { name, what } of ofToday) if (name !== 'lost') EVENTS[name]!(life, what)
  }
  const days = new Map<string, string[]>()
  for (const { on, what } of life.log) days.set(on, [...(days.get(on) ?? []), what])
  return [...days].map(([on, done]) => `${on.slice(5)}:${done.join('+')}`)
}

describe('an unpaid invoice', () => {
  test.each(rows)('%s', (_, row) => {
    expect(lifeOf(row)).toEqual(listOf(row['life']!, ' '))
  })
})
