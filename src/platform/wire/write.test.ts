import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import {
  decimalDigits,
  minorDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
} from './write.ts'

const Line = outObject({ chargeID: outId(), Amount: outNumber(), Line: orNull(outText()) })
const Out = outObject({
  id: outId(),
  on: outDate(),
  isDraft: outFlag(),
  n: outInteger(),
  Kind: outWord(['a', 'b'] as const),
  Lines: outList(Line),
})

describe('an answer', () => {
  test('is written in the declared order, numbers from digits, absent values as null', () => {
    const text = Out.write({
      id: 9007199254740991n,
      on: '2026-04-03T00:00:00Z',
      isDraft: false,
      n: 3,
      Kind: 'a',
      Lines: [{ chargeID: 1n, Amount: minorDigits(-10n, 2), Line: null }],
    })
    expect(text).toBe(
      '{"id":9007199254740991,"on":"2026-04-03T00:00:00Z","isDraft":false,"n":3,"Kind":"a","Lines":[{"chargeID":1,"Amount":-0.1,"Line":null}]}',
    )
  })

  test('a field that is not declared is never sent, one that is missing is a bug', () => {
    const line = { chargeID: 1n, Amount: '1', Line: 'x', password: 'secret' }
    expect(Line.write(line)).toBe('{"chargeID":1,"Amount":1,"Line":"x"}')
    expect(() => Line.write({ chargeID: 1n, Amount: '1' } as never)).toThrow(/without Line/)
  })

  test('every text is valid JSON and comes back as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        expect(JSON.parse(outText().write(value))).toBe(value)
      }),
    )
    for (const value of ['"', '\\', '\u0000', '\u2028', '\u007f', '</script>', '\ud83d\ude00'])
      expect(JSON.parse(outText().write(value))).toBe(value)
  })

  test('amounts and prices are exact digits', () => {
    expect([
      minorDigits(10_000n, 2),
      minorDigits(9_950n, 2),
      minorDigits(1n, 3),
      minorDigits(7n, 0),
      minorDigits(0n, 2),
      minorDigits(99_999_999_999_999n, 2),
    ]).toEqual(['100', '99.5', '0.001', '7', '0', '999999999999.99'])
    expect(decimalDigits(decimal('19.99000000'))).toBe('19.99')
    expect(decimalDigits(decimal('1e-8'))).toBe('0.00000001')
  })
})

test('lists that arrive in portions are written to the byte as whole ones', async () => {
  const line = fc.record({
    chargeID: fc.bigInt({ min: 1n, max: 99n }),
    Amount: fc.constantFrom('1', '-0.5'),
    Line: fc.string(),
  })
  const wish = { id: 1n, on: '2026-04-03T00:00:00Z', isDraft: false, n: 3, Kind: 'a' as const }
  const joined = async (pieces: AsyncIterable<string>) => {
    let text = ''
    for await (const piece of pieces) text += piece
    return text
  }
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(line)), async (portions) => {
      async function* arriving() {
        yield* portions
      }
      const Lines = portions.flat()
      expect(await joined(Out.pieces({ ...wish, Lines: arriving() }))).toBe(Out.write({ ...wish, Lines }))
      expect(await joined(Out.pieces({ ...wish, Lines }))).toBe(Out.write({ ...wish, Lines }))
      expect(await joined(outList(Line).pieces(arriving()))).toBe(outList(Line).write(Lines))
    }),
  )
})
