import { expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import { Problems } from '../../kernel/fault.ts'
import { amountIn } from './amounts.ts'

test('an amount has no more decimals than its currency, trailing zeros aside', () => {
  const problems = new Problems()
  expect(amountIn(problems, 'X', decimal('12.30'), 'ZAR')).toBe(1230n)
  expect(amountIn(problems, 'X', decimal('100'), 'JPY')).toBe(100n)
  expect(amountIn(problems, 'X', decimal('1.234'), 'KWD')).toBe(1234n)
  expect(amountIn(problems, 'X', undefined, 'ZAR')).toBeUndefined()
  expect(problems.found).toEqual([])
  expect(amountIn(problems, 'SetupFee', decimal('100.5'), 'JPY')).toBeUndefined()
  expect(amountIn(problems, 'SetupFee', decimal('1.234'), 'USD')).toBeUndefined()
  expect(problems.found.map(({ message }) => message)).toEqual([
    'SetupFee is an amount in JPY, which has no decimals; 100.5 was sent.',
    'SetupFee is an amount in USD, which has at most 2 decimals; 1.234 was sent.',
  ])
})
