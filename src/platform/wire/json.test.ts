import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalJson,
  isJsonNumber,
  isJsonObject,
  type JsonNumber,
  parseJson,
  readJson,
  readJsonInSlices,
} from './json.ts'

/** Numbers back to doubles, so that a value can be compared with what JSON.parse makes of the same text. */
function plain(value: unknown): unknown {
  if (isJsonNumber(value)) return Number(value.digits)
  if (Array.isArray(value)) return value.map(plain)
  if (isJsonObject(value)) {
    const found: Record<string, unknown> = {}
    for (const [name, inner] of Object.entries(value))
      Object.defineProperty(found, name, { value: plain(inner), enumerable: true, configurable: true, writable: true })
    return found
  }
  return value
}

describe('reading JSON', () => {
  test('agrees with JSON.parse on every JSON text', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('', ' ', '\n\t'), (text, space) => {
        expect(plain(parseJson(`${space}${text}${space}`))).toEqual(JSON.parse(text))
      }),
    )
  })

  test('is the same in slices, of JSON and of what is none, and stops between them', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.integer({ min: 1, max: 20 }), (text, cut, characters) => {
        for (const sent of [text, text.slice(0, cut % (text.length + 1))]) {
          const slices = [...readJsonInSlices(sent, characters)]
          const reading = readJsonInSlices(sent, characters)
          for (let slice = 0; slice < slices.length; slice += 1) reading.next()
          expect(reading.next()).toEqual({ done: true, value: readJson(sent) })
        }
      }),
    )
    expect([...readJsonInSlices(`[${'1,'.repeat(1000)}1]`, 100)].length).toBeGreaterThan(15)
  })

  test('agrees with JSON.parse on what is no JSON, but for repeated names', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '1',
      '-',
      '01',
      '1.',
      '.5',
      '1e',
      'true',
      'nul',
      '\\',
      '\u0000',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join('')
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        const read = readJson(text)
        const isRepeated = 'problem' in read && read.problem.includes('twice')
        expect('json' in read || isRepeated).toBe(isJson || isRepeated)
      }),
      { numRuns: 2000 },
    )
  })

  test('keeps every digit of a number', () => {
    for (const digits of ['0.1', '19.989999999999998', '12345678901234567890.123456789', '1e400', '-0', '1E-7', '1.50'])
      expect((parseJson(digits) as JsonNumber).digits).toBe(digits)
  })

  test('a body cannot pass for a number, nor reach a prototype', () => {
    for (const text of [
      '{"isLosslessNumber":true,"value":"1"}',
      '{"digits":"1"}',
      '{"__proto__":1}',
      '{"constructor":1}',
    ]) {
      const value = parseJson(text)
      expect(isJsonNumber(value)).toBe(false)
      const prototype = Object.getPrototypeOf(value) as object
      expect([Reflect.ownKeys(prototype), Object.getPrototypeOf(prototype)]).toEqual([[], null])
    }
    expect(Object.keys(parseJson('{"__proto__":{"Name":1}}') as object)).toEqual(['__proto__'])
    expect(({} as Record<string, unknown>)['Name']).toBeUndefined()
  })

  test('says what is wrong, and where', () => {
    const mistakes: [string, string][] = [
      ['', 'a value is missing at character 1'],
      ['{"a":1', 'a comma or a closing brace is missing at character 7'],
      ['{a:1}', 'a name in quotes is missing at character 2'],
      ['{"a" 1}', 'a colon is missing at character 6'],
      ['[1 2]', 'a comma or a closing bracket is missing at character 4'],
      ['{} x', 'something follows the end at character 4'],
      ['"a\nb"', 'a control character stands unescaped in a text at character 3'],
      ['"a\\x"', 'an escape is unknown at character 4'],
      ['"\\u12"', '\\u needs four hexadecimal digits at character 3'],
      ['"a', 'a closing quote is missing at character 3'],
      ['NaN', 'a value is missing at character 1'],
      ['{"a":1,"a":1}', 'the name "a" comes twice, up to the one at character 11'],
    ]
    for (const [text, problem] of mistakes) expect(readJson(text)).toEqual({ problem })
  })

  test('deep nesting and endless digits are refused, whatever their length', () => {
    expect(parseJson('['.repeat(32) + ']'.repeat(32))).toBeDefined()
    expect(readJson('['.repeat(500_000))).toMatchObject({ problem: expect.stringContaining('nested deeper') })
    expect(readJson('{"a":'.repeat(100_000))).toMatchObject({ problem: expect.stringContaining('nested deeper') })
    expect(readJson('9'.repeat(500_000))).toMatchObject({ problem: expect.stringContaining('too many digits') })
  })
})

describe('comparing bodies', () => {
  test('equal bodies are equal whatever the order of names, the space and the spelling of numbers', () => {
    const canonical = (text: string) => canonicalJson(parseJson(text))
    expect(canonical('{"b":[1.0,{"y":1e2,"x":null}],"a":"ü"}')).toBe(
      canonical('{ "a" : "\\u00fc", "b":[1,{"x":null,"y":100}] }'),
    )
    expect(canonical('{"a":1}')).not.toBe(canonical('{"a":"1"}'))
    expect(canonical('{"a":1}')).not.toBe(canonical('{"a":1,"__proto__":2}'))
    expect(canonical('[1,2]')).not.toBe(canonical('[2,1]'))
    expect(canonicalJson(undefined)).toBe('')
  })
})
