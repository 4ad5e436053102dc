import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { CardNumber, holdsCardNumber } from './card-number.ts'

test('a card number shows its last four digits however it is printed', () => {
  const number = new CardNumber('4242424242424242')
  const printed = [
    String(number),
    JSON.stringify({ number }),
    inspect({ number }),
    `${number}`,
    inspect(number, { showHidden: true }),
  ]
  expect(printed.join()).not.toContain('42424242')
  expect([String(number), number.lastFour, number.reveal()]).toEqual(['**** 4242', '4242', '4242424242424242'])
})

describe('a text holds a card number', () => {
  test.each([
    '4242424242424242',
    'card 4242 4242 4242 4242, please',
    '4242-4242-4242-4242',
    '4242 - 4242\t4242\n4242',
    '4242\u00a04242\u20134242 4242',
    '４２４２４２４２４２４２４２４２',
    '17 5555555555554444',
    '4242424242424242 5555555555554444',
    '378282246310005',
    'x4222222222222',
    '4242.4242.4242.4242',
    '4242\u200b4242\ufeff42424242',
    '٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢',
  ])('%j', (text) => expect(holdsCardNumber(text)).toBe(true))

  test.each(['4242424242424241', '424242424242', '12345678901234567890123456789012', '', 'four two'])(
    'not %j',
    (text) => expect(holdsCardNumber(text)).toBe(false),
  )
})
