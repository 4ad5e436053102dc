import { expect, test } from 'vitest'
import { DECLINE_CLASSES } from '../../kernel/rails.ts'
import { classOfCode, isFailure, readReason } from './reasons.ts'

/** Reasons of failures as people and banks give them. */

test.each([
  ['insufficient_funds', 'insufficient_funds', null],
  ['Insufficient_Funds', 'insufficient_funds', null],
  ['NOT_SENT', 'not_sent', null],
  ['AC04', 'account_closed', 'AC04'],
  ['ac04', 'account_closed', 'AC04'],
  ['R03', 'invalid_account', 'R03'],
  ['26', 'invalid_account', '26'],
  ['R20', 'invalid_account', 'R20'],
  ['R24', 'duplicate', 'R24'],
  ['R21', 'format', 'R21'],
  ['RR04', 'format', 'RR04'],
  ['MD06', 'refunded_late', 'MD06'],
  ['30', 'no_mandate', '30'],
  ['R10', 'no_mandate', 'R10'],
  ['ZZ99', 'unknown', 'ZZ99'],
  ['R99', 'unknown', 'R99'],
  ['99', 'unknown', '99'],
  ['The bank called.', 'unknown', null],
  ['2', 'unknown', null],
  ['', 'declined', null],
  [' ', 'declined', null],
  [undefined, 'declined', null],
])('%s is of class %s', (text, declineClass, code) => {
  expect(readReason(text)).toMatchObject({ class: declineClass, code })
})

test('free text stays as it is', () => {
  expect(readReason(' The bank called. ').message).toBe('The bank called.')
})

test('every class can be named', () => {
  for (const declineClass of DECLINE_CLASSES) expect(readReason(declineClass).class).toBe(declineClass)
})

test.each([
  // An unauthorised debit of ACH comes back late as a rule, and must not be made again.
  ['R10', 'no_mandate'],
  ['R11', 'no_mandate'],
  ['30', 'refunded_late'],
  ['36', 'refunded_late'],
  ['R01', 'insufficient_funds'],
  ['02', 'insufficient_funds'],
  ['AC04', 'account_closed'],
])('%s after a success is of class %s', (code, declineClass) => {
  expect(classOfCode(code, true)).toBe(declineClass)
})

test.each([
  ['AC04', true],
  ['r03', true],
  ['ZZ99', true],
  ['Account_Closed', true],
  ['00', false],
  ['Paid by telephone', false],
  [' ', false],
  [null, false],
])('%s is the reason of a failure: %s', (reason, is) => {
  expect(isFailure(reason)).toBe(is)
})
