import { expect, test } from 'vitest'
import { unexplainedOf } from './numbers.ts'

const gap = (from: number, until: number) => ({ from: BigInt(from), until: BigInt(until) })
const raise = (from: number, to: number) => ({ from: BigInt(from), to: BigInt(to) })

test.each([
  ['nobody raised the number', [], gap(5, 10)],
  ['it was raised over the whole gap', [raise(5, 10)], undefined],
  ['it was raised twice in a row', [raise(5, 7), raise(7, 10)], undefined],
  ['it was raised over a part of the gap', [raise(5, 7)], gap(7, 10)],
  ['it was raised elsewhere', [raise(20, 30)], gap(5, 10)],
  ['it was raised beyond the gap, where numbers were given all the same', [raise(5, 20)], gap(5, 10)],
  ['an event tells of a raise to the same number', [raise(5, 5)], gap(5, 10)],
])('of a gap from 5 to 9, when %s', (_, raises, left) => {
  expect(unexplainedOf(gap(5, 10), raises)).toEqual(left)
})
