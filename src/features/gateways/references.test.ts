import { expect, test } from 'vitest'
import { drawNonce, readReference, referenceFor } from './references.ts'

test('a reference is an identifier of ours with or without a nonce, and is read as it was written', () => {
  const nonce = drawNonce()
  expect(nonce).toMatch(/^[A-Za-z0-9_-]{12}$/)
  expect(drawNonce()).not.toBe(nonce)
  for (const one of [
    { id: 9n, nonce },
    { id: 9n, nonce: null },
    { id: 999_999_999_999_999_999n, nonce: 'Qm3kz0aXw1Yb' },
  ])
    expect(readReference(referenceFor(one))).toEqual(one)
  expect(referenceFor({ id: 9n, nonce: 'Qm3kz0aXw1Yb' })).toBe('9.Qm3kz0aXw1Yb')
})

test('any other text is no reference', () => {
  for (const text of [
    '',
    '0',
    '01',
    '-1',
    '1.0',
    '1e3',
    ' 1',
    '1 ',
    '0x1',
    '9'.repeat(19),
    '١',
    '9.',
    '9.Qm3kz0aXw1Y',
    '9.Qm3kz0aXw1Ybc',
  ])
    expect(readReference(text)).toBeUndefined()
  for (const text of ['9.Qm3kz0aXw1Y=', '9.Qm3kz0aXw1Yb.', '.Qm3kz0aXw1Yb', '9:Qm3kz0aXw1Yb'])
    expect(readReference(text)).toBeUndefined()
})
