import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CURRENCIES } from '../../kernel/currencies.ts'
import { decimal, decimalText } from '../../kernel/decimal.ts'
import { textReader } from '../database/text-rows.ts'
import { columnTypes } from '../database/types.ts'
import { amountIn, columnIn, own, ownAmount, ownDay, ownDecimal, recordShape } from './columns.ts'
import {
  decimalDigitsOfText,
  minorDigits,
  minorDigitsOfText,
  orNull,
  outDate,
  outFlag,
  outId,
  outInteger,
} from './write.ts'
import { outList, outText, outWord } from './write.ts'

/** Columns of a statement with the types of the database, and the texts that each may have. */
const COLUMNS = {
  id: [20, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)],
  count: [23, fc.integer().map(String)],
  name: [25, fc.string({ unit: 'binary' })],
  kind: [25, fc.constantFrom('a', 'b')],
  isHeld: [16, fc.constantFrom('t', 'f')],
  at: [1184, fc.constantFrom('2026-11-21 16:00:00+00', '2026-11-21 16:00:00.1+00', '1999-01-01 00:00:00.123456+00')],
  day: [1082, fc.constantFrom('2026-11-21', '2024-02-29', '1900-01-01')],
  price: [
    1700,
    fc
      .tuple(fc.integer(), fc.string({ unit: fc.constantFrom('0', '7'), maxLength: 12 }))
      .map(([n, f]) => (f ? `${n}.${f}` : `${n}`)),
  ],
  words: [1009, fc.constantFrom('{}', '{a,b}', '{"a b"}')],
  amountMinor: [20, fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }).map(String)],
  currency: [25, fc.constantFrom(...CURRENCIES.map(({ code }) => code))],
} as const

const NAMES = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]

type Row = {
  id: bigint
  count: number
  name: string
  kind: 'a' | 'b'
  isHeld: boolean
  at: string
  day: string
  price: ReturnType<typeof decimal>
  words: string[]
  amountMinor: bigint
  currency: string
  maybe: string | null
}

const columns = [...NAMES, 'maybe'].map((name) => ({
  name,
  dataTypeID: name === 'maybe' ? 25 : (COLUMNS[name as keyof typeof COLUMNS][0] as number),
}))
const read = textReader(columns)
const plainOf = (texts: readonly (string | null)[]) =>
  Object.fromEntries(
    columns.map(({ name, dataTypeID }, place) => {
      const text = texts[place] as string | null
      return [name, text === null ? null : (columnTypes.getTypeParser(dataTypeID) as (text: string) => unknown)(text)]
    }),
  ) as unknown as Row

const someTexts = fc
  .tuple(...NAMES.map((name) => COLUMNS[name][1] as fc.Arbitrary<string>), fc.option(fc.string({ unit: 'binary' })))
  .map((texts) => texts as (string | null)[])

const shared = {
  id: own(outId(), 'id'),
  count: own(outInteger(), 'count'),
  'na`me${x}\\': own(outText(), 'name'),
  kind: own(outWord(['a', 'b'] as const), 'kind'),
  isHeld: own(outFlag(), 'isHeld'),
  at: own(outDate(), 'at'),
  day: ownDay('day'),
  price: ownDecimal('price'),
  words: own(outList(outText()), 'words'),
  amount: ownAmount('amountMinor'),
  maybe: own(orNull(outText()), 'maybe'),
} as const
const shape = recordShape<Row>()(undefined, {
  ...shared,
  computed: [outText(), (row: Row) => `${row.name} of ${row.id + 1n}`],
})
const inside = recordShape<{ record: Row; digits: number }>()(undefined, {
  id: columnIn('record', own(outId(), 'id')),
  maybe: columnIn('record', own(orNull(outText()), 'maybe')),
  day: columnIn('record', ownDay('day')),
  amount: amountIn('record', 'amountMinor'),
})

describe('a list of text rows', () => {
  const writing = { timeZone: 'Europe/Berlin', today: '2026-11-21' }

  test('has the very bytes of the same rows read whole, whatever stands in them', () => {
    fc.assert(
      fc.property(fc.array(someTexts, { maxLength: 4 }), (lists) => {
        const rows = lists.map((texts) => read(texts) as unknown as Row)
        const written = shape.list.write(lists.map(plainOf), writing)
        expect(shape.list.bytes(rows, writing).equals(Buffer.from(written))).toBe(true)
        expect(shape.list.write(rows, writing)).toBe(written)
        expect(JSON.parse(written)).toHaveLength(lists.length)
      }),
    )
  })

  test('has them also where the rows are parts of others, and in portions', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someTexts, { minLength: 1, maxLength: 4 }), async (lists) => {
        const parts = (record: Row) => ({ record, digits: 3 })
        const written = inside.list.write(
          lists.map((texts) => parts(plainOf(texts))),
          writing,
        )
        const pieces: Buffer[] = []
        const portions = async function* () {
          for (const texts of lists) yield [parts(read(texts) as unknown as Row)]
        }
        for await (const piece of inside.list.bytePieces(portions(), writing)) pieces.push(piece)
        expect(Buffer.concat(pieces).toString()).toBe(Buffer.from(written).toString())
      }),
    )
  })

  test('is longer than what is collected at once, and whole', () => {
    const texts = NAMES.map((name) => fc.sample(COLUMNS[name][1] as fc.Arbitrary<string>, 1)[0] as string)
    const rows = ['é'.repeat(50_000), '€'.repeat(200_000), '😀', 'x'].map((name) => [...texts.with(2, name), null])
    const written = shape.list.write(rows.map(plainOf), writing)
    const bytes = shape.list.bytes(
      rows.map((row) => read(row) as unknown as Row),
      writing,
    )
    expect(bytes.equals(Buffer.from(written))).toBe(true)
  })

  test('fails where a column is absent that cannot be', () => {
    const row = read(columns.map(() => null)) as unknown as Row
    expect(() => shape.list.write([row], writing)).toThrow()
  })
})

test('digits of texts are those of the values, of every number of decimals', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), fc.integer({ min: 0, max: 4 }), (minor, digits) => {
      expect(minorDigitsOfText(String(minor), digits)).toBe(minorDigits(minor, digits))
    }),
  )
  for (const text of ['0', '0.00', '10', '-1.50', '100.0100', '0.05'])
    expect(decimalDigitsOfText(text)).toBe(decimalText(decimal(text)))
})
