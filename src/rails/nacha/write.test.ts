// @ts-expect-error The package declares no types.
import nacha from '@midlandsbank/node-nacha'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { achText } from './characters.ts'
import { traceOf } from './layout.ts'
import { readNacha } from './read.ts'
import { type AchDebit, type AchFile, ENTRY_CLASSES, FILES_A_DAY, writeNacha } from './write.ts'

const debit = (place: number, amountMinor: bigint, more: Partial<AchDebit> = {}): AchDebit => ({
  isSavings: false,
  routing: '081000210',
  account: '5654221',
  amountMinor,
  reference: `P7-${100 + place}`,
  accountHolder: 'Zoë Müller & Söhne GmbH',
  frequency: null,
  trace: traceOf('091012984', 42n, place),
  ...more,
})

const SAMPLE: AchFile = {
  destination: { routing: '091012984', name: 'First Bank' },
  origin: { id: '234567890', name: 'Acme Software' },
  company: { name: 'Acme Software', id: '1234567890' },
  odfi: '091012984',
  writtenOn: '2027-01-04',
  writtenAt: '13:59',
  fileOfDay: 0,
  actionDate: '2027-01-05',
  batchId: 42n,
  offset: null,
  batches: [
    {
      entryClass: 'PPD',
      description: 'SUBSCRIPTN',
      debits: [debit(1, 11_500n), debit(2, 3_450n, { isSavings: true, account: '12-34567' })],
    },
  ],
}

const NINES = Array<string>(4).fill('9'.repeat(94))
const fileOf = (lines: readonly string[]): string => lines.map((line) => `${line}\r\n`).join('')

describe('a file', () => {
  test('is these bytes: two debits of 115.00 and 34.50, six records filled up to ten', () => {
    // Hash: 08100021 + 08100021 = 16200042. Debits: 115.00 + 34.50 = 149.50.
    expect(writeNacha(SAMPLE)).toBe(
      fileOf([
        '101 091012984 2345678902701041359A094101FIRST BANK             ACME SOFTWARE                  ',
        '5225ACME SOFTWARE                       1234567890PPDSUBSCRIPTN      270105   1091012980000001',
        '6270810002105654221          0000011500P7-101         ZOE MUELLER & SOEHNE G  0091012980042001',
        '63708100021012-34567         0000003450P7-102         ZOE MUELLER & SOEHNE G  0091012980042002',
        '822500000200162000420000000149500000000000001234567890                         091012980000001',
        '9000001000001000000020016200042000000014950000000000000                                       ',
        ...NINES,
      ]),
    )
  })

  test('is these bytes where it balances itself: each class closed by a credit of its total', () => {
    const offset = { routing: '101000019', account: '511100' }
    const [first, second] = SAMPLE.batches[0]?.debits ?? []
    const batches = [
      { entryClass: 'CCD' as const, description: 'SUBSCRIPTN', debits: [first as AchDebit] },
      {
        entryClass: 'WEB' as const,
        description: 'PURCHASE',
        debits: [{ ...(second as AchDebit), frequency: 'R' as const }],
      },
    ]
    // Hash of each: 08100021 + 10100001 = 18200022; of both 36400044.
    expect(writeNacha({ ...SAMPLE, fileOfDay: 26, offset, batches })).toBe(
      fileOf([
        '101 091012984 23456789027010413590094101FIRST BANK             ACME SOFTWARE                  ',
        '5200ACME SOFTWARE                       1234567890CCDSUBSCRIPTN      270105   1091012980000001',
        '6270810002105654221          0000011500P7-101         ZOE MUELLER & SOEHNE G  0091012980042001',
        '622101000019511100           0000011500               ACME SOFTWARE           0091012980042901',
        '820000000200182000220000000115000000000115001234567890                         091012980000001',
        '5200ACME SOFTWARE                       1234567890WEBPURCHASE        270105   1091012980000002',
        '63708100021012-34567         0000003450P7-102         ZOE MUELLER & SOEHNE GR 0091012980042002',
        '622101000019511100           0000003450               ACME SOFTWARE           0091012980042902',
        '820000000200182000220000000034500000000034501234567890                         091012980000002',
        '9000002000001000000040036400044000000014950000000014950                                       ',
      ]),
    )
  })

  test('tells 36 files of a day apart', () => {
    const modifiers = Array.from({ length: FILES_A_DAY }, (_, fileOfDay) => writeNacha({ ...SAMPLE, fileOfDay }).at(33))
    expect(modifiers.join('')).toBe('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')
  })
})

test.each([
  [42n, 1, '091012980042001'],
  [9_999n, 500, '091012989999500'],
  // Batches come round after 10,000.
  [10_042n, 1, '091012980042001'],
])('the trace of batch %s, place %s is %s', (batchId, place, trace) => {
  expect(traceOf('091012984', batchId, place)).toBe(trace)
})

test.each([
  ['Zoë Müller & Söhne', 'ZOE MUELLER & SOEHNE'],
  ["O'Neill (Co.) 1/2-3", "O'NEILL (CO.) 1/2-3"],
  ['a, b; c: d? e+f @ g_h', 'A B C D E&F (AT) G-H'],
  ['  Ада  Лавлейс ', 'ADA LAVLEYS'],
  ['😀', '.'],
  ['\u200B\n', ''],
])('%j is written as %j', (given, written) => {
  expect(achText(given, 30)).toBe(written)
})

/** Files of debits at random: routing numbers that check, amounts up to the bound. */
const routingOf = (digits: string): string => {
  const sum = [...digits].reduce((all, digit, index) => all + Number(digit) * ([3, 7, 1][index % 3] ?? 0), 0)
  return digits + ((10 - (sum % 10)) % 10)
}
const someDebit = fc.record({
  isSavings: fc.boolean(),
  routing: fc.integer({ min: 1_000_000, max: 99_999_999 }).map((n) => routingOf(String(n).padStart(8, '0'))),
  account: fc.stringMatching(/^[A-Za-z0-9-]{1,17}$/),
  amountMinor: fc.bigInt(1n, 9_999_999_999n),
  accountHolder: fc.string({ unit: 'grapheme', maxLength: 40 }),
})
const someFile = fc
  .record({
    batchId: fc.bigInt(1n, 99_999n),
    fileOfDay: fc.integer({ min: 0, max: 35 }),
    groups: fc.uniqueArray(
      fc.record({
        entryClass: fc.constantFrom(...ENTRY_CLASSES),
        debits: fc.array(someDebit, { minLength: 1, maxLength: 9 }),
      }),
      { minLength: 1, maxLength: 3, selector: ({ entryClass }) => entryClass },
    ),
  })
  .map(({ batchId, fileOfDay, groups }): AchFile => {
    let place = 0
    const batches = groups.map(({ entryClass, debits }) => ({
      entryClass,
      description: 'SUBSCRIPTN',
      debits: debits.map((one): AchDebit => {
        place += 1
        const frequency = entryClass === 'WEB' ? ('R' as const) : null
        return { ...one, frequency, reference: `P7-${place}`, trace: traceOf('091012984', batchId, place) }
      }),
    }))
    return { ...SAMPLE, batchId, fileOfDay, batches }
  })

test('whatever is written reads back equal and adds up, and is the same bytes again', () => {
  fc.assert(
    fc.property(someFile, (file) => {
      const text = writeNacha(file)
      expect(text).toBe(writeNacha(file))
      expect(text.length % (96 * 10)).toBe(0)
      const read = readNacha(Buffer.from(text, 'latin1'))
      if (read.kind === 'refused') throw new Error(read.message)
      expect(read.paddedCount).toBe(0)
      expect(read.batches.map(({ entryClass, entries }) => [entryClass, entries])).toEqual(
        file.batches.map(({ entryClass, debits }) => [
          entryClass,
          debits.map((one) => ({
            line: expect.any(Number),
            transactionCode: one.isSavings ? '37' : '27',
            routing: one.routing,
            account: one.account,
            amountMinor: one.amountMinor,
            reference: one.reference,
            name: achText(one.accountHolder, 22),
            trace: one.trace,
            about: undefined,
          })),
        ]),
      )
    }),
  )
})

test('an independent reader finds the same in it', () => {
  interface OtherFile {
    data: {
      file: { footer: { entryHash: number; totalDebit: number; entryAndAddendaCount: number; blockCount: number } }
      batches: { entryClassCode: string; entries: { dfiAccount: string; amount: number; traceNumber: number }[] }[]
    }
  }
  const other = nacha as { from(text: string): OtherFile }
  fc.assert(
    fc.property(someFile, (file) => {
      const { data } = other.from(writeNacha(file).replaceAll('\r\n', '\n'))
      const total = file.batches.flatMap(({ debits }) => debits).reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
      const count = file.batches.flatMap(({ debits }) => debits).length
      expect(data.file.footer).toMatchObject({ totalDebit: Number(total), entryAndAddendaCount: count })
      expect(data.batches.map(({ entryClassCode, entries }) => [entryClassCode, entries.length])).toEqual(
        file.batches.map(({ entryClass, debits }) => [entryClass, debits.length]),
      )
      expect(
        data.batches.flatMap(({ entries }) => entries.map(({ amount, traceNumber }) => [amount, traceNumber])),
      ).toEqual(
        file.batches.flatMap(({ debits }) =>
          debits.map(({ amountMinor, trace }) => [Number(amountMinor), Number(trace)]),
        ),
      )
    }),
    { numRuns: 20 },
  )
})
