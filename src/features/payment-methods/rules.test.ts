import { describe, expect, test } from 'vitest'
import { hasAccountChanged } from '../batches/to-build.ts'
import { mandateProblem } from './mandates.ts'
import { mandateAfter } from './rules.ts'

const [OLD, NEW] = [Buffer.from('old'), Buffer.from('new')]
const EM1 = { mandateReference: 'EM1', mandateDate: '2026-01-01', emandateId: null, mandateNumberHash: OLD }
const NONE = { mandateReference: null, mandateDate: null, emandateId: null, mandateNumberHash: null }
const BOTH = { mandateReference: 'EM1', mandateDate: '2026-01-01' }

describe('the mandate of an edited account', () => {
  const edited = (present: typeof EM1 | typeof NONE, sent: object, hash: Buffer) =>
    mandateAfter({ ...present, kind: 'sepa' }, sent, { kind: 'sepa', numberHash: hash }, !hash.equals(OLD))

  test('stays with the same account, as far as nothing else is sent', () => {
    expect(edited(EM1, {}, OLD)).toEqual(EM1)
    expect(edited(EM1, { mandateDate: '2026-02-01' }, OLD)).toEqual({ ...EM1, mandateDate: '2026-02-01' })
    expect(edited(EM1, { mandateReference: null }, OLD)).toMatchObject({
      mandateReference: null,
      mandateNumberHash: null,
    })
  })

  test('ends with another account, unless both of its fields are sent: then it remembers the account it was given for', () => {
    expect(edited(EM1, {}, NEW)).toEqual(NONE)
    expect(edited(EM1, { mandateReference: 'EM1' }, NEW)).toEqual(NONE)
    expect(edited(EM1, BOTH, NEW)).toEqual(EM1)
  })

  test('of another reference is a new one, given for the account of the edit', () => {
    expect(edited(EM1, { ...BOTH, mandateReference: 'EM2' }, NEW)).toMatchObject({ mandateNumberHash: NEW })
    expect(edited(NONE, BOTH, OLD)).toEqual(EM1)
    expect(mandateAfter({ ...EM1, kind: 'ach' }, BOTH, { kind: 'sepa', numberHash: NEW }, true)).toMatchObject({
      mandateNumberHash: NEW,
    })
  })
})

test.each([
  [EM1, null, '2029-01-01', null],
  [EM1, null, '2029-01-02', 'mandate_lapsed'],
  [EM1, '2028-06-30', '2031-06-30', null],
  [EM1, '2028-06-30', '2031-07-01', 'mandate_lapsed'],
  // A month without the day ends with its last.
  [{ ...EM1, mandateDate: '2028-02-29' }, null, '2031-02-28', null],
  [{ ...EM1, mandateDate: '2028-02-29' }, null, '2031-03-01', 'mandate_lapsed'],
  // Signed anew under its reference after its last use.
  [EM1, '2022-01-01', '2029-01-01', null],
  [EM1, null, '2026-01-01', null],
  [EM1, null, '2025-12-31', 'mandate_unfit'],
  [{ ...EM1, mandateReference: 'MÄ1' }, null, '2027-01-04', 'mandate_unfit'],
  [{ ...EM1, mandateReference: null }, null, '2027-01-04', 'mandate_missing'],
  [{ ...EM1, mandateDate: null }, '2026-12-01', '2027-01-04', 'mandate_missing'],
])('a mandate %j, last used %s, for a debit of %s: %s', (method, lastUsedOn, actionDate, code) => {
  expect(mandateProblem('sepa', method, lastUsedOn, actionDate)?.code ?? null).toBe(code)
})

test.each<[Partial<typeof EM1> | { mandateReference: null } | { mandateDate: null }, string, string | null]>([
  // Outside of SEPA no mandate lapses, and its reference is of no account.
  [{}, '2039-01-01', null],
  [{ mandateReference: null }, '2027-01-04', null],
  [{ mandateReference: 'MÄ1' }, '2027-01-04', null],
  [{}, '2025-12-31', 'mandate_unfit'],
  [{ mandateDate: null }, '2027-01-04', 'mandate_missing'],
])('where a mandate only has to be signed, %j serves a debit of %s: %s', (more, actionDate, code) => {
  expect(mandateProblem('signed', { ...EM1, ...more }, null, actionDate)?.code ?? null).toBe(code)
})

test('the account has changed when it is another than that of the last debit, or that of the mandate before any', () => {
  const changed = (numberHash: Buffer, mandateNumberHash: Buffer | null, sentNumberHash: Buffer | null) =>
    hasAccountChanged({ numberHash, mandateNumberHash }, { sentNumberHash })
  expect(changed(OLD, OLD, null)).toBe(false)
  expect(changed(NEW, OLD, null)).toBe(true)
  expect(changed(NEW, OLD, OLD)).toBe(true)
  expect(changed(NEW, OLD, NEW)).toBe(false)
  // Changed and changed back before a debit named the other.
  expect(changed(OLD, OLD, OLD)).toBe(false)
  expect(changed(NEW, null, null)).toBe(false)
})
