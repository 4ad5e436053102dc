import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isWeakApiKey, repeatsPattern } from './weak-secrets.ts'

const repeated = (pattern: number[]): Buffer => Buffer.alloc(32, Buffer.from(pattern))

describe('an encryption key repeats a pattern', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('of %d bytes, also where its end cuts the pattern', (length) => {
    expect(repeatsPattern(repeated(Array.from({ length }, (_, index) => 17 * index + 1)))).toBe(true)
  })

  test('not of 9 bytes, not where one byte differs, not one that was drawn', () => {
    expect(repeatsPattern(repeated([1, 2, 3, 4, 5, 6, 7, 8, 9]))).toBe(false)
    const differs = repeated([1, 2])
    differs[31] = 3
    expect(repeatsPattern(differs)).toBe(false)
    expect(repeatsPattern(randomBytes(32))).toBe(false)
  })
})

test.each([
  ['', true],
  ['a-key-of-my-own-choice', true],
  ['abcdefghijklmnopqrstuvwxyz01234', true],
  ['abcdefghijklmnopqrstuvwxyz012345', false],
  ['abcdefg'.repeat(10), true],
  ['abcdefgh'.repeat(4), false],
])('the API key %j is weak: %s', (key, isWeak) => {
  expect(isWeakApiKey(key)).toBe(isWeak)
})
