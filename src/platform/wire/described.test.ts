import { expect, test } from 'vitest'
import { amountColumn, recordShape } from './columns.ts'
import { described, leftOut } from './described.ts'
import { date, text } from './fields.ts'
import { LEFT_OUT, whenLeftOut } from './left-out.ts'
import { objectOf, optional, required } from './read.ts'
import { orNull, outText } from './write.ts'

const sentencesOf = ({ schema }: { schema: { [keyword: string]: unknown } }) =>
  Object.fromEntries(
    Object.entries(schema['properties'] as Record<string, { description?: string }>).map(([name, { description }]) => [
      name,
      description,
    ]),
  )

test('a field has its meaning, then how it is written, what else it is called, and what leaving it out means', () => {
  const inputs = {
    Day: optional(date(), 'The day of the note.', LEFT_OUT.today, ['Date']),
    Note: leftOut(optional(text({ description: 'A note of your own' })), LEFT_OUT.none),
    Name: required(text(), 'The name.'),
  }
  const { Day, ...others } = sentencesOf(objectOf(inputs))
  expect(Day).toMatch(
    /^The day of the note\. Calendar date: a date such as .*\. Also taken as Date\. Left out, it is today\.$/,
  )
  expect(others).toEqual({ Note: 'A note of your own. Left out, there is none.', Name: 'The name.' })
})

test('a body that shares its fields with another says what differs when one is left out', () => {
  const inputs = {
    Note: optional(text(), 'A note.', LEFT_OUT.none),
    Name: required(text(), 'A name.'),
  }
  expect(sentencesOf(objectOf(whenLeftOut(inputs, { Note: LEFT_OUT.cleared })))).toEqual({
    Note: 'A note. Left out, it is cleared.',
    Name: 'A name.',
  })
  expect(sentencesOf(objectOf(inputs))['Note']).toBe('A note. Left out, there is none.')
})

test('a column that is described once more has the second meaning alone, and is written as before', () => {
  interface Row {
    note: string | null
    amountMinor: bigint
    currency: string
  }
  const { Note } = recordShape<Row>()(undefined, { Note: [orNull(outText('A note.')), ({ note }) => note] }).columns
  const shape = recordShape<Row>()(undefined, {
    Note: described(Note!, 'The note of the refund.'),
    Amount: described(
      amountColumn(({ amountMinor }) => amountMinor, 'With tax'),
      'The amount.',
    ),
  })
  expect(sentencesOf(shape)).toEqual({ Note: 'The note of the refund.', Amount: 'The amount.' })
  expect(shape.columns['Amount']![0].isAmount).toBe(true)
  expect(
    shape.write({ note: null, amountMinor: 1050n, currency: 'EUR' }, { timeZone: 'UTC', today: '2027-01-01' }),
  ).toBe('{"Note":null,"Amount":10.5}')
})
