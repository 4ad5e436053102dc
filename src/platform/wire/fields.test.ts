import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decimal, decimalText } from '../../kernel/decimal.ts'
import { Problems } from '../../kernel/fault.ts'
import {
  currencyCode,
  date,
  decimalField,
  email,
  flag,
  instant,
  longText,
  price,
  rate,
  reference,
  requiredReference,
  text,
  whole,
} from './fields.ts'
import { type Json, parseJson } from './json.ts'
import { type Field, REFUSED } from './read.ts'

/** Reads JSON text with a field: its value, or the codes of its problems. */
function read<T>(field: Field<T>, json: string): T | string[] {
  const problems = new Problems()
  const value = field.read(parseJson(json) as Json, 'X', {
    problems,
    timeZone: 'UTC',
    isStrict: false,
    isSecret: false,
  })
  if ((value === REFUSED) !== problems.found.length > 0) throw new Error('a refusal notes its problem, a value none')
  return value === REFUSED ? problems.found.map(({ code }) => code) : value
}

describe('text', () => {
  test('is trimmed and kept as it is otherwise', () => {
    expect(read(text(), '"  Zoë O’Néill 𝔘  "')).toBe('Zoë O’Néill 𝔘')
  })

  test('control characters, NUL and lone surrogates are refused, line breaks only where texts have lines', () => {
    for (const bad of ['"a\\u0000b"', '"a\\u0007b"', '"a\\u0085b"', '"a\\u007fb"'])
      for (const field of [text(), longText()]) expect(read(field, bad)).toEqual(['control_character'])
    expect(read(text(), '"a\\nb"')).toEqual(['control_character'])
    expect(read(text(), '"a\\tb"')).toEqual(['control_character'])
    expect(read(longText(), '"a\\r\\nb\\tc\\rd"')).toBe('a\nb\tc\nd')
    for (const lone of ['"\\ud800"', '"a\\udc00b"']) expect(read(text(), lone)).toEqual(['not_text'])
  })

  test('longer than allowed is refused and never cut; a letter outside the basic plane counts once', () => {
    expect(read(text(), JSON.stringify('x'.repeat(255)))).toBe('x'.repeat(255))
    expect(read(text(), JSON.stringify('x'.repeat(256)))).toEqual(['too_long'])
    expect(read(text(), JSON.stringify('𝔘'.repeat(255)))).toBe('𝔘'.repeat(255))
    expect(read(longText(), JSON.stringify('x'.repeat(65_535)))).toHaveLength(65_535)
    expect(read(longText(), JSON.stringify('x'.repeat(65_536)))).toEqual(['too_long'])
  })

  test('no other type becomes text, but numbers where the interface lists them', () => {
    for (const other of ['5', 'true', '{}', '[]']) expect(read(text(), other)).toEqual(['wrong_type'])
    expect(read(text({ takesNumbers: true }), '4012345678901234567')).toBe('4012345678901234567')
    expect(read(text({ takesNumbers: true }), '12.50')).toBe('12.5')
    expect(read(text({ takesNumbers: true }), '{"isLosslessNumber":true}')).toEqual(['wrong_type'])
  })

  test('addresses of e-mail have the shape of one', () => {
    for (const good of ['a@b.co', 'first.last+tag@sub.example.org', 'ünï@exämple.de'])
      expect(read(email(), JSON.stringify(good))).toBe(good)
    for (const bad of [
      'a',
      'a@b',
      '@b.co',
      'a@b..co',
      'a b@c.de',
      'a@b.co,c@d.eu',
      '<a@b.co>',
      'a\u200b@b.co',
      'a@b.co\u202e',
    ])
      expect(read(email(), JSON.stringify(bad)), bad).toEqual(['invalid'])
  })
})

describe('numbers and flags', () => {
  test('nothing is coerced', () => {
    for (const other of ['"true"', '1', '0', '"yes"', '[]']) expect(read(flag(), other)).toEqual(['wrong_type'])
    for (const other of ['"12.5"', 'true', '{}']) expect(read(price(), other)).toEqual(['wrong_type'])
    for (const other of ['"1"', '1.5', '1e-1', 'true']) expect(read(whole(0, 9), other)).toEqual(['wrong_type'])
  })

  test('whole numbers are whole however they are written, and within their bounds', () => {
    expect(read(whole(0, 100), '1e2')).toBe(100)
    expect(read(whole(0, 100), '7.000')).toBe(7)
    expect(read(whole(0, 100), '-0')).toBe(0)
    for (const out of ['101', '-1', '1e400', '99999999999999999999'])
      expect(read(whole(0, 100), out)).toEqual(['out_of_range'])
  })

  test('a reference takes 0 as "not given", and nothing beyond exact integers', () => {
    expect(read(reference(), '0')).toBe(null)
    expect(read(reference(), '9007199254740991')).toBe(9007199254740991n)
    for (const bad of ['9007199254740992', '-1', '1.5', '"7"', 'true'])
      expect(read(reference(), bad)).toEqual(['wrong_type'])
    expect(read(requiredReference(), '0')).toEqual(['required'])
  })

  test('more than 15 digits are the decimal of at most 15 that is the same double, and refused where there is none', () => {
    const taken = (digits: string) => {
      const value = read(decimalField({ decimalsMax: 17 }), digits)
      return Array.isArray(value) ? value : decimalText(value)
    }
    expect(taken('19.989999999999998')).toBe('19.99')
    expect(taken('0.1000000000000000055511151231257827')).toBe('0.1')
    expect(taken('0.30000000000000004')).toEqual(['too_many_digits'])
    expect(taken('123456789012.3456')).toEqual(['too_many_digits'])
    expect(taken('100000000000.00000')).toBe('100000000000')
    expect(taken('0.000000000000001')).toBe('0.000000000000001')
  })

  test('every decimal of up to 15 digits is kept exactly, also when it comes as a double is printed', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 999_999_999_999_999n }),
        fc.integer({ min: 4, max: 15 }),
        (digits, scale) => {
          const exact = { coefficient: digits, scale }
          const given = decimalText(exact)
          const field = decimalField({ decimalsMax: 15 })
          const value = read(field, given)
          expect(Array.isArray(value) ? value : decimalText(value)).toBe(decimalText(decimal(given)))
          const printed = Number(given).toPrecision(17)
          const again = read(field, printed.includes('e') ? given : printed)
          expect(Array.isArray(again) ? again : decimalText(again)).toBe(decimalText(decimal(given)))
        },
      ),
    )
  })

  test('a rate that was sent in percent is answered with how it is written', () => {
    const problems = new Problems()
    rate().read(parseJson('19') as Json, 'Perc', { problems, timeZone: 'UTC', isStrict: false, isSecret: false })
    expect(problems.found.map(({ message }) => message)).toEqual(['Perc must be at most 1; 19 was sent. 19 % is 0.19.'])
  })

  test('prices and rates keep their bounds and decimals', () => {
    expect(read(price(), '0.00000001')).toEqual({ coefficient: 1n, scale: 8 })
    expect(read(price(), '0.000000001')).toEqual(['too_many_decimals'])
    for (const out of ['-0.01', '1e12', '1e400']) expect(read(price(), out)).toEqual(['out_of_range'])
    expect(read(rate(), '1')).toEqual({ coefficient: 1n, scale: 0 })
    for (const out of ['1.00000001', '-0.1', '14']) expect(read(rate(), out)).toEqual(['out_of_range'])
    expect(read(decimalField({ decimalsMax: 2, min: decimal('0'), isMinOpen: true }), '0.00')).toEqual(['out_of_range'])
  })
})

describe('currencies and dates', () => {
  test('a currency is one of ISO 4217 with a minor unit, in capital letters', () => {
    expect(read(currencyCode(), '"ZAR"')).toBe('ZAR')
    for (const bad of ['"zar"', '"XAU"', '"XXX"', '"XTS"', '"ZA"', '5', '"__proto__"'])
      expect(read(currencyCode(), bad)).toEqual(['unknown_currency'])
  })

  test('dates are texts', () => {
    expect(read(date(), '"20260403"')).toBe('2026-04-03')
    expect(read(instant(), '"20260403"')).toBe('2026-04-03T00:00:00.000Z')
    for (const bad of ['20260403', 'true', '"31 Feb 2026"', '{}'])
      for (const field of [date(), instant()] as Field<string>[]) expect(read(field, bad)).toEqual(['invalid_date'])
  })
})
