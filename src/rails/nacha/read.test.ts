import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { type AchEntry, readNacha, strangeIn } from './read.ts'

const LINES = [
  '101 091012984 2345678902701041359A094101FIRST BANK             ACME SOFTWARE                  ',
  '5225ACME SOFTWARE                       1234567890PPDSUBSCRIPTN      270105   1091012980000001',
  '6270810002105654221          0000011500P7-101         ADA LOVELACE            0091012980042001',
  '627081000210123456           0000003450P7-102         GRACE HOPPER            0091012980042002',
  '822500000200162000420000000149500000000000001234567890                         091012980000001',
  '9000001000001000000020016200042000000014950000000000000                                       ',
]
const read = (lines: readonly string[], end = '\r\n') =>
  readNacha(Buffer.from(lines.map((line) => line + end).join(''), 'latin1'))
const refusalOf = (lines: readonly string[]): string => {
  const file = read(lines)
  return file.kind === 'refused' ? file.message : 'read'
}
const withLine = (at: number, line: string) => LINES.with(at - 1, line)
/** Moves all characters of a line from a place on by one: a blank comes in, the last one is lost. */
const shifted = (line: string, from: number) => `${line.slice(0, from - 1)} ${line.slice(from - 1, -1)}`

describe('a file', () => {
  test('is read with either end of lines, none, and lines whose blanks were cut off', () => {
    const whole = read(LINES)
    expect(whole).toMatchObject({
      kind: 'read',
      paddedCount: 0,
      batches: [{ companyId: '1234567890', entryClass: 'PPD' }],
    })
    expect(read(LINES, '\n')).toEqual(whole)
    expect(readNacha(Buffer.from(LINES.join('')))).toEqual(whole)
    expect(read(LINES.map((line) => line.trimEnd()))).toEqual({ ...whole, paddedCount: 2 })
    expect(read([...LINES, '9'.repeat(94), '9'.repeat(94)])).toEqual(whole)
  })

  test.each<[string, readonly string[], string]>([
    ['nothing in it', [], 'Line 1, record type: the file has no file header.'],
    ['no header', LINES.slice(1), 'Line 1, record type: the file has no file header.'],
    ['no control', LINES.slice(0, -1), 'Line 5, record type: the file has no file control.'],
    [
      'no control but nines',
      [...LINES.slice(0, -1), '9'.repeat(94)],
      'Line 6, record type: the file has no file control.',
    ],
    ['a batch without control', LINES.toSpliced(4, 1), 'Line 5, record type: the batch of line 2 has no control.'],
    [
      'a batch in another',
      LINES.toSpliced(4, 1, LINES[1]!),
      'Line 5, record type: a batch begins before that of line 2 has its control.',
    ],
    [
      'an entry outside of a batch',
      LINES.toSpliced(1, 1),
      'Line 2, record type: an entry stands outside of any batch.',
    ],
    [
      'an addendum of nothing',
      LINES.toSpliced(2, 0, `799${' '.repeat(91)}`),
      'Line 3, record type: an addendum stands after no entry.',
    ],
    ['a record of no kind', withLine(3, `4${LINES[2]!.slice(1)}`), 'Line 3, record type: "4" is no record of a batch.'],
    ['a long line', withLine(3, `${LINES[2]} `), 'Line 3: it has 95 characters instead of 94.'],
    [
      'a letter outside of ASCII',
      withLine(3, LINES[2]!.replace('ADA', 'ÄDA')),
      'Line 3: it has characters that are not of ASCII, or none that can be written.',
    ],
    [
      'a tab',
      withLine(3, LINES[2]!.replace('ADA L', 'ADA\tL')),
      'Line 3: it has characters that are not of ASCII, or none that can be written.',
    ],
    [
      'an amount in words',
      withLine(3, LINES[2]!.replace('0000011500', '000001150O')),
      'Line 3, amount: it is not a number.',
    ],
    [
      'a count that is not its own',
      withLine(5, LINES[4]!.replace('8225000002', '8225000003')),
      'Line 5, entry and addenda count: it is 3, and the batch has 2.',
    ],
    [
      'a hash that is not its own',
      withLine(5, LINES[4]!.replace('16200042', '16200043')),
      'Line 5, entry hash: it is 16200043, and the batch has 16200042.',
    ],
    [
      'debits that are not its own',
      withLine(5, LINES[4]!.replace('000000014950', '000000014951')),
      'Line 5, total debits: it is 14951, and the batch has 14950.',
    ],
    [
      'a file count that is not its own',
      withLine(6, LINES[5]!.replace('9000001', '9000002')),
      'Line 6, batch count: it is 2, and the file has 1.',
    ],
    [
      'a total that is not its own',
      withLine(6, LINES[5]!.replace('000000014950', '000000014949')),
      'Line 6, total debits: it is 14949, and the file has 14950.',
    ],
    [
      'blocks that are not its own',
      withLine(6, LINES[5]!.replace('9000001000001', '9000001000002')),
      'Line 6, block count: it is 2, and the file has 1.',
    ],
    [
      'a control of another company',
      withLine(5, LINES[4]!.replace('1234567890', '1234567891')),
      'Line 5, company identification: it is not that of the batch header, line 2.',
    ],
    [
      'a control of another bank',
      withLine(5, LINES[4]!.replace('091012980000001', '091012990000001')),
      'Line 5, ODFI: it is not that of the batch header, line 2.',
    ],
    [
      'a control of another number',
      withLine(5, LINES[4]!.replace('091012980000001', '091012980000002')),
      'Line 5, batch number: it is not that of the batch header, line 2.',
    ],
    [
      'an end within its fillers',
      [...LINES, '9'.repeat(94), '9'.repeat(40)],
      'Line 8: the file is cut off in the nines that fill its last block.',
    ],
    ['another file behind it', [...LINES, ...LINES], 'Line 7, record type: a record stands after the file control.'],
  ])('with %s is refused', (_what, lines, message) => {
    expect(refusalOf(lines)).toBe(message)
  })

  test('with any field that adds up shifted by one is refused', () => {
    const fields: [line: number, from: number][] = [
      [3, 1],
      [3, 2],
      [3, 4],
      [3, 13],
      [5, 1],
      [5, 2],
      [5, 5],
      [5, 11],
      [5, 21],
      [5, 33],
      [6, 1],
      [6, 2],
      [6, 14],
      [6, 22],
      [6, 32],
      [6, 44],
    ]
    const passed = fields.filter(
      ([line, from]) => refusalOf(withLine(line, shifted(LINES[line - 1]!, from))) === 'read',
    )
    expect(passed).toEqual([])
  })

  test('cut anywhere but in its last blanks is refused', () => {
    const whole = LINES.map((line) => `${line}\n`).join('')
    const end = whole.trimEnd().length
    for (let length = 0; length < end; length++)
      expect(readNacha(Buffer.from(whole.slice(0, length))).kind, `${length} characters`).toBe('refused')
  })

  test('of 150,000 entries is read, and adds up', () => {
    const hash = String((150_000n * 8_100_021n) % 10_000_000_000n).padStart(10, '0')
    const lines = [LINES[0]!, LINES[1]!, ...Array<string>(150_000).fill(LINES[2]!)]
    const sums = `${hash}${String(150_000 * 11_500).padStart(12, '0')}${'0'.repeat(12)}`
    lines.push(`8225150000${sums}${LINES[4]!.slice(44)}`, `900000101500100150000${sums}`.padEnd(94))
    const file = read(lines)
    expect(file.kind === 'read' ? file.batches[0]?.entries.length : file.message).toBe(150_000)
  })
})

describe.skipIf(!hasFixtures)('files of banks (needs ../shared/fixtures)', () => {
  interface Expected {
    entries?: (Record<'sec' | 'code' | 'routing' | 'account' | 'id' | 'name' | 'trace', string> & {
      amount: number
      return?: Record<'code' | 'originalTrace' | 'originalRdfi', string>
      change?: Record<'code' | 'originalTrace' | 'originalRdfi' | 'corrected', string>
    })[]
    problems?: string[]
  }
  const folder = fileURLToPath(new URL('../../../../shared/fixtures/gateways/nacha/', import.meta.url))
  const expected = hasFixtures
    ? (JSON.parse(readFileSync(`${folder}expected.json`, 'utf8')) as Record<string, Expected>)
    : {}
  const names = Object.keys(expected)

  test.each(names.filter((name) => !name.startsWith('invalid/')))(
    '%s is read as an independent reader reads it',
    (name) => {
      const file = readNacha(readFileSync(folder + name))
      if (file.kind === 'refused') throw new Error(file.message)
      const entries = file.batches.flatMap((batch) => batch.entries.map((entry) => [batch.entryClass, entry] as const))
      expect(
        entries.map(([sec, entry]) => ({
          sec,
          code: entry.transactionCode,
          routing: entry.routing,
          account: entry.account,
          amount: Number(entry.amountMinor),
          id: entry.reference,
          name: entry.name,
          trace: entry.trace,
          ...aboutIn(entry),
        })),
      ).toEqual(
        expected[name]?.entries?.map(({ sec, code, routing, account, amount, id, name: who, trace, ...about }) => ({
          sec,
          code,
          routing,
          account,
          amount,
          id,
          name: who,
          trace,
          ...(about.return && { return: about.return }),
          ...(about.change && { change: about.change }),
        })),
      )
      expect(file.paddedCount).toBe(expected[name]?.problems?.length)
    },
  )

  const aboutIn = ({ about }: AchEntry) => {
    if (!about) return {}
    const { code, originalTrace, originalRdfi } = about
    return about.kind === 'return'
      ? { return: { code, originalTrace, originalRdfi } }
      : { change: { code, originalTrace, originalRdfi, corrected: about.corrected } }
  }

  test('of 21 invalid ones 14 are refused, and 7 are read', () => {
    const kinds = names
      .filter((name) => name.startsWith('invalid/'))
      .map((name) => readNacha(readFileSync(folder + name)))
    expect([
      kinds.filter(({ kind }) => kind === 'refused').length,
      kinds.filter(({ kind }) => kind === 'read').length,
    ]).toEqual([14, 7])
  })

  test('the wrong check digit of one is found', () => {
    const file = readNacha(readFileSync(`${folder}invalid/ppd-debit-invalid-entryDetail-checkDigit.ach`))
    const found = file.kind === 'read' ? file.batches.flatMap(({ entries }) => entries).map(strangeIn) : []
    expect(found).toEqual(['The check digit of its routing number is wrong.'])
  })
})
