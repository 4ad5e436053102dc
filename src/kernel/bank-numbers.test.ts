import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CARD_BRANDS,
  cardBrandOf,
  compactNumber,
  ibanLength,
  ibanProblem,
  isBic,
  isCreditorIdentifier,
  isIban,
  isInSepa,
  isRoutingNumber,
  passesLuhn,
} from './bank-numbers.ts'
import { IBAN_FORMS } from './iban-table.ts'

describe('IBAN', () => {
  test.each(['DE89370400440532013000', 'GB29NWBK60161331926819', 'MT84MALT011000012345MTLCAST001S', 'NO9386011117947'])(
    '%s is one',
    (iban) => expect(ibanProblem(iban)).toBeNull(),
  )

  test.each([
    ['', 'country'],
    ['ZA89370400440532013000', 'country'],
    ['__proto__', 'country'],
    ['DE8937040044053201300', 'length'],
    ['DE893704004405320130000', 'length'],
    ['DE8937040044053201300O', 'characters'],
    ['DEA9370400440532013000', 'characters'],
    ['DE89 37040044053201300', 'characters'],
    ['GB2912BK60161331926819', 'characters'],
    ['DE88370400440532013000', 'checksum'],
    ['DE89370400440532013003', 'checksum'],
    ['DE89370400440532010300', 'checksum'],
  ])('%s has the wrong %s', (iban, problem) => expect(ibanProblem(iban)).toBe(problem))

  test('length is that of the country', () => {
    expect([ibanLength('NO'), ibanLength('DE'), ibanLength('LC'), ibanLength('ZA')]).toEqual([15, 22, 32, undefined])
  })

  test('is taken with spaces and in lower case; other letters stay what they are', () => {
    expect(compactNumber(' de89 3704 0044\u00a00532 0130 00\n')).toBe('DE89370400440532013000')
    expect(compactNumber('gß12ı')).toBe('Gß12ı')
  })
})

describe('SEPA', () => {
  test('41 countries take part, and Gibraltar with IBANs of its own', () => {
    const countries = [...IBAN_FORMS.keys()].filter((country) => isInSepa(country, '2026-06-01'))
    expect(countries).toHaveLength(42)
    expect(countries).toContain('GI')
  })

  test.each([
    ['DE', '2020-01-01', true],
    ['ME', '2025-10-04', false],
    ['ME', '2025-10-05', true],
    ['RS', '2026-04-30', false],
    ['RS', '2026-05-01', true],
    ['TR', '2099-12-31', false],
    ['GL', '2099-12-31', false],
  ])('%s on %s: %s', (country, day, expected) => expect(isInSepa(country, day)).toBe(expected))
})

test.each([
  ['DEUTDEFF', true],
  ['DEUTDEFF500', true],
  ['deutdeff', false],
  ['DEUTDEF', false],
  ['DEUTDEFF5', false],
  ['DEUTDEFF50', false],
  ['DEU1DEFF', false],
  ['DEUT1EFF', false],
])('%s has the shape of a BIC: %s', (bic, expected) => expect(isBic(bic)).toBe(expected))

test.each([
  ['DE98ZZZ09999999999', true],
  ['DE98ABC09999999999', true],
  ['DE99ZZZ09999999999', false],
  ['DE98ZZZ', false],
  ['ES23ZZZ47690558N', true],
  ['9898ZZZ09999999999', false],
])('%s is a creditor identifier: %s', (identifier, expected) => expect(isCreditorIdentifier(identifier)).toBe(expected))

test.each([
  ['111000025', true],
  ['021000021', true],
  ['112000025', false],
  ['11100002', false],
  ['1110000250', false],
  ['11100002B', false],
])('%s is a routing number: %s', (routingNumber, expected) => expect(isRoutingNumber(routingNumber)).toBe(expected))

test.each([
  ['4242424242424242', 'Visa'],
  ['4222222222222', 'Visa'],
  ['5555555555554444', 'Mastercard'],
  ['2223003122003222', 'Mastercard'],
  ['2720999999999996', 'Mastercard'],
  ['378282246310005', 'American Express'],
  ['36227206271667', 'Diners Club'],
  ['3056930009020004', 'Diners Club'],
  ['6011111111111117', 'Discover'],
  ['3566002020360505', 'JCB'],
  ['5019717010103742', 'Dankort'],
  ['6759649826438453', 'Maestro'],
  ['6007220000000004', 'Forbrugsforeningen'],
])('%s passes Luhn and is a %s', (number, brand) => {
  expect([passesLuhn(number), cardBrandOf(number)]).toEqual([true, brand])
  const last = Number(number.at(-1))
  expect(passesLuhn(`${number.slice(0, -1)}${(last + 1) % 10}`)).toBe(false)
})

test.each([
  '2721000000000004',
  '2220999999999999',
  '6212345678901232',
  '9999999999999995',
  '42424242',
  '4242 4242 4242 4242',
  '',
])('%s is of no brand that the interface names', (number) => expect(cardBrandOf(number)).toBe('Unknown'))

test('each brand but Unknown has numbers', () => {
  const found = new Set(Array.from({ length: 10_000 }, (_, first) => cardBrandOf(String(first).padEnd(16, '0'))))
  found.add(cardBrandOf('340000000000000'))
  expect([...found].sort()).toEqual([...CARD_BRANDS].sort())
})

const PYTHON = '/usr/bin/python3'
const hasStdnum = spawnSync(PYTHON, ['-c', 'import stdnum.iban']).status === 0

/** Reads JSON lines [check, text] and answers each with true or false. */
const ORACLE = `
import json, sys
from stdnum import bic, iban, luhn
from stdnum.eu import at_02
from stdnum.us import rtn
checks = {
    'iban': lambda text: iban.is_valid(text, check_country=False),
    'bic': bic.is_valid, 'creditor': at_02.is_valid, 'routing': rtn.is_valid, 'luhn': luhn.is_valid,
}
for line in sys.stdin:
    check, text = json.loads(line)
    print(json.dumps(checks[check](text)))
`

function askStdnum(check: string, texts: readonly string[]): boolean[] {
  const input = texts.map((text) => JSON.stringify([check, text])).join('\n')
  const { stdout, stderr } = spawnSync(PYTHON, ['-c', ORACLE], { input, encoding: 'utf8', maxBuffer: 1 << 26 })
  expect(stderr).toBe('')
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as boolean)
}

const DIGITS = '0123456789'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const BOTH = DIGITS + LETTERS

const textOf = (characters: string, minLength: number, maxLength = minLength): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...characters), minLength, maxLength })

/** The text with the check digits in place of "??" that make it right. */
function withCheckDigits(text: string, isRight: (text: string) => boolean): string {
  const candidates = Array.from({ length: 100 }, (_, value) => text.replace('??', String(value).padStart(2, '0')))
  return candidates.find(isRight) ?? text
}

/** The text, or one that differs by a slip of a finger: a character changed, left out, put in, two swapped, or letter case and spaces. */
function slipped(right: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const slip = fc.record({ kind: fc.nat(7), at: fc.nat(40), character: fc.constantFrom(...BOTH) })
  return fc.tuple(right, slip).map(([text, { kind, at, character }]) => {
    const place = at % (text.length + 1)
    const [head, tail] = [text.slice(0, place), text.slice(place)]
    if (kind === 0) return head + character + tail.slice(1)
    if (kind === 1) return head + tail.slice(1)
    if (kind === 2) return head + character + tail
    if (kind === 3) return head + (tail[1] ?? '') + (tail[0] ?? '') + tail.slice(2)
    if (kind === 4) return `${head} ${tail}`
    if (kind === 5) return head + tail.toLowerCase()
    return text
  })
}

/** Countries whose IBANs came into the registry after the release of python3-stdnum. */
const NEWER = ['FK', 'HN', 'MN', 'NI', 'OM', 'SO', 'YE']

const PARTS: Readonly<Record<string, string>> = { n: DIGITS, a: LETTERS, c: BOTH }

const nationalNumber = (form: string): fc.Arbitrary<string> =>
  fc
    .tuple(...[...form.matchAll(/(\d+)([nac])/g)].map(([, length, kind]) => textOf(PARTS[kind!]!, Number(length))))
    .map((parts) => parts.join(''))

const anIban = fc
  .constantFrom(...[...IBAN_FORMS].filter(([country]) => !NEWER.includes(country)))
  .chain(([country, form]) =>
    nationalNumber(form).map((national) => withCheckDigits(`${country}??${national}`, isIban)),
  )

const aCreditor = fc
  .tuple(textOf(LETTERS, 2), textOf(BOTH, 3), textOf(BOTH, 1, 28))
  .map(([country, own, national]) => withCheckDigits(`${country}??${own}${national}`, isCreditorIdentifier))

const aBic = fc
  .tuple(textOf(LETTERS, 6), textOf(BOTH, 2), fc.oneof(fc.constant(''), textOf(BOTH, 3)))
  .map((parts) => parts.join(''))

const digitsThatFit = (length: fc.Arbitrary<number>, fits: (digits: string) => boolean): fc.Arbitrary<string> =>
  length
    .chain((length) => textOf(DIGITS, length - 1))
    .map((digits) => Array.from(DIGITS, (last) => digits + last).find(fits) ?? `${digits}0`)

describe('python3-stdnum thinks the same of random and mutated numbers (needs python3-stdnum)', () => {
  const compacted = (check: (text: string) => boolean) => (text: string) => check(compactNumber(text))
  // Where we are stricter on purpose: stdnum takes letters for check digits, and creditor identifiers of any country, length and national part.
  const isSpecified = (text: string) => /^[A-Z]{2}[0-9]{2}/.test(compactNumber(text))
  // It also drops each small m from creditor identifiers.
  const isWhole = (text: string) => isSpecified(text) && /^.{8,35}$/.test(compactNumber(text)) && !text.includes('m')
  const always = () => true

  test.skipIf(!hasStdnum).each([
    ['iban', anIban, compacted(isIban), isSpecified, textOf(BOTH, 0, 34)],
    ['creditor', aCreditor, compacted(isCreditorIdentifier), isWhole, textOf(BOTH, 8, 35)],
    ['bic', aBic, compacted(isBic), always, textOf(BOTH, 0, 12)],
    ['routing', digitsThatFit(fc.constant(9), isRoutingNumber), isRoutingNumber, always, textOf(DIGITS, 7, 11)],
    ['luhn', digitsThatFit(fc.integer({ min: 12, max: 19 }), passesLuhn), passesLuhn, always, textOf(DIGITS, 0, 24)],
  ])('%s', (check, right, isValid, isCompared, random) => {
    const isOfDigits = check === 'routing' || check === 'luhn'
    const rights = fc.sample(right, 1000)
    expect(rights.filter((text) => !isValid(text))).toEqual([])
    const slips = fc.sample(slipped(right), 2000).filter((text) => !isOfDigits || !/\s/.test(text))
    const texts = [...rights, ...slips, ...fc.sample(random, 1000)].filter((text) => isCompared(text))
    const answers = askStdnum(check, texts)
    expect(answers).toHaveLength(texts.length)
    expect(texts.filter((text, index) => isValid(text) !== answers[index])).toEqual([])
    expect(new Set(answers).size, 'some are right and some are wrong').toBe(2)
  })
})
