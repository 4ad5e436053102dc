import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { vatNumberStatus } from './vat-numbers.ts'
import { VAT_NUMBER_CHECKS } from './vat-number-checks.ts'

/** Numbers that are right: examples of tax authorities and of firms that print theirs. */
const RIGHT: Readonly<Record<string, readonly string[]>> = {
  AT: ['U13585627'],
  BE: ['0428759497', '428759497'],
  BG: ['175074752', '7552010005'],
  CH: ['CHE107787577', 'CHE107787577IVA'],
  CY: ['10259033P'],
  CZ: ['25123891', '7103192745', '991231123', '640903926'],
  DE: ['136695976'],
  DK: ['13585628'],
  EE: ['100931558'],
  ES: ['B58378431', '54362315K', 'X5253868R', 'M1234567L'],
  FI: ['20774740'],
  FR: ['40303265045', '23334175221', 'K7399859412', '4Z123456782'],
  GB: ['980780684', 'GD001', 'HA500', 'GD888800101'],
  GR: ['094259216', '23456780'],
  HR: ['33392005961'],
  HU: ['12892312'],
  IE: ['6433435F', '6433435OA', '8D79739I'],
  IT: ['00743110157'],
  LT: ['119511515', '100001919017'],
  LU: ['15027442'],
  LV: ['40003521600', '16117519997'],
  MT: ['11679112'],
  NL: ['004495445B01', '123456782B90'],
  NO: ['995525828', '995525828MVA'],
  PL: ['8567346215'],
  PT: ['501964843'],
  RO: ['18547290', '1630615123457'],
  SE: ['123456789701'],
  SI: ['50223054'],
  SK: ['2022749619'],
  XI: ['980780684'],
  ZA: ['4090105588', '0001339050'],
}

const rightOnes = Object.entries(RIGHT).flatMap(([country, numbers]) =>
  numbers.map((number) => [country, number] as const),
)

test.each(rightOnes)('%s %s is right in form', (country, number) => {
  expect(VAT_NUMBER_CHECKS[country]!(number)).toBe(true)
})

test('every country that has a check has an example', () => {
  expect(Object.keys(RIGHT).sort()).toEqual(Object.keys(VAT_NUMBER_CHECKS).sort())
})

test.each(rightOnes)(
  '%s %s with another last digit or letter is mostly wrong, and never with one too many',
  (country, number) => {
    const check = VAT_NUMBER_CHECKS[country]!
    const others = [...'0123456789'].map((digit) => number.slice(0, -1) + digit).filter((other) => other !== number)
    const allowed = /^(GD|HA)/.test(number) || country === 'NL' || (country === 'CZ' && number.length === 9) ? 9 : 2
    expect(others.filter(check).length).toBeLessThanOrEqual(allowed)
    expect(check(`${number}00000`)).toBe(false)
  },
)

describe('the number of a customer', () => {
  test.each([
    ['DE136695976', 276, 'valid'],
    ['DE136695977', 276, 'invalid'],
    ['de 136.695.976', 276, 'valid'],
    ['136695976', 276, 'valid'],
    ['136695976', null, 'unknown'],
    ['DE136695976', 250, 'invalid'],
    ['DE136695976', 840, 'valid'],
    ['DE136695976', null, 'valid'],
    ['EL094259216', 300, 'valid'],
    ['GR 094259216', 300, 'valid'],
    ['EL094259217', 300, 'invalid'],
    ['FR 40 303 265 045', 492, 'valid'],
    ['XI980780684', 826, 'valid'],
    ['GB980780684', 826, 'valid'],
    ['XI980780684', 372, 'invalid'],
    ['CHE-107.787.577 MWST', 756, 'valid'],
    ['NO 995 525 828 MVA', 578, 'valid'],
    ['4090105588', 710, 'valid'],
    ['4090105589', 710, 'invalid'],
    ['12-3456789', 840, 'unknown'],
    ['DE', 276, 'invalid'],
    ['', null, 'unknown'],
    ['ATU13585627', 40, 'valid'],
    ['ＤＥ１３６６９５９７６', 276, 'valid'],
  ])('%s of a customer in %s is %s', (text, countryId, status) => expect(vatNumberStatus(text, countryId)).toBe(status))

  test('is not looked at where it is no number any more, however long', () => {
    // The best of some: a machine with other work pauses now and then.
    const tries = Array.from({ length: 10 }, () => {
      const startedAt = performance.now()
      expect(vatNumberStatus('DE' + '1 '.repeat(32_768), 276)).toBe('invalid')
      return performance.now() - startedAt
    })
    expect(Math.min(...tries)).toBeLessThan(50)
  })

  test('is judged without a fault, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.option(fc.constantFrom(276, 250, 300, 840, 756, 710, 826)),
        (text, country) => {
          expect(['valid', 'invalid', 'unknown']).toContain(vatNumberStatus(text, country))
        },
      ),
    )
  })
})

const PYTHON = '/usr/bin/python3'
const hasStdnum = spawnSync(PYTHON, ['-c', 'import stdnum.eu.vat']).status === 0 || process.env['CI'] !== undefined

/** Reads JSON lines [country, number] and answers each with true or false. A VAT number of South Africa begins with 4, which stdnum does not know. */
const ORACLE = `
import json, sys
from stdnum import luhn
from stdnum.eu import vat
from stdnum.gb import vat as gb
from stdnum.ch import uid, vat as ch
from stdnum.no import mva, orgnr
from stdnum.za import tin
others = {
    'GB': gb.is_valid,
    'CH': lambda n: uid.is_valid(n) or ch.is_valid(n),
    'NO': lambda n: orgnr.is_valid(n) or mva.is_valid(n),
    'ZA': lambda n: tin.is_valid(n) or (len(n) == 10 and n[0] == '4' and luhn.is_valid(n)),
}
def answer(country, number):
    # stdnum passes over the letters of the country once more.
    if country != 'CH' and number.startswith('EL' if country == 'GR' else country):
        return False
    return others[country](number) if country in others else vat.is_valid(country + number)
for line in sys.stdin:
    print(json.dumps(answer(*json.loads(line))))
`

function askStdnum(asked: readonly (readonly [string, string])[]): boolean[] {
  const input = asked.map((one) => JSON.stringify(one)).join('\n')
  const { stdout, stderr } = spawnSync(PYTHON, ['-c', ORACLE], { input, encoding: 'utf8', maxBuffer: 1 << 26 })
  expect(stderr).toBe('')
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as boolean)
}

const DIGITS = '0123456789'
const SIGNS = `${DIGITS}ABCDEFGHIJKLMNOPQRSTUVWXYZ`

/** A number of random digits in the shape of a right one, whose letters mostly stay. */
const alike = (number: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...[...number].map((sign) =>
        DIGITS.includes(sign)
          ? fc.oneof({ weight: 1, arbitrary: fc.constant(sign) }, { weight: 2, arbitrary: fc.constantFrom(...DIGITS) })
          : fc.oneof({ weight: 4, arbitrary: fc.constant(sign) }, { weight: 1, arbitrary: fc.constantFrom(...SIGNS) }),
      ),
    )
    .map((signs) => signs.join(''))

/** The number, its digits drawn anew, with the last signs in place that make it right where some do, or a slip of a finger. */
const aNumber = (country: string): fc.Arbitrary<string> => {
  const check = VAT_NUMBER_CHECKS[country]!
  const drawn = fc.constantFrom(...RIGHT[country]!).chain(alike)
  const slip = fc.tuple(fc.nat(4), fc.nat(20), fc.constantFrom(...SIGNS))
  return fc.tuple(drawn, slip).map(([number, [kind, at, sign]]) => {
    const place = at % number.length
    const [head, tail] = [number.slice(0, place), number.slice(place)]
    if (kind === 0) return head + sign + tail.slice(1)
    if (kind === 1) return head + tail.slice(1)
    if (kind === 2) return head + sign + tail
    for (let last = number.length - 1; last >= 0; last -= 1)
      for (const other of SIGNS) {
        const mended = number.slice(0, last) + other + number.slice(last + 1)
        if (check(mended)) return mended
      }
    return number
  })
}

describe.skipIf(!hasStdnum)('beside python3-stdnum, which Debian has', () => {
  test.each(Object.keys(RIGHT))('numbers of %s are right or wrong alike', (country) => {
    const numbers = [...RIGHT[country]!, ...fc.sample(aNumber(country), 1_000)]
    const expected = askStdnum(numbers.map((number) => [country, number] as const))
    const ours = numbers.map((number) => VAT_NUMBER_CHECKS[country]!(number))
    expect(numbers.filter((_, index) => ours[index] !== expected[index])).toEqual([])
    expect(expected.filter(Boolean).length).toBeGreaterThan(numbers.length / 50)
  })
})
