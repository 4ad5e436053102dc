import { describe, expect, test } from 'vitest'
import { checkHead, fieldsOf, readStack } from './check-stack.testing.ts'
import { heldText, writeWindows } from './code-page.ts'
import { TITLES } from './columns.ts'
import { baseOfNumber, documentOf, firstCountOf, isPlainNumber } from './document-numbers.ts'
import { writeHead, writeRow } from './stack.ts'

const HEAD = {
  madeAt: '20240130140440439',
  consultant: 29_098,
  client: 55_003,
  yearStart: '2024-01-01',
  accountLength: 4,
  from: '2024-01-01',
  to: '2024-08-31',
  name: 'Buchungsstapel',
  initials: 'WD',
  chart: '03',
  isFixed: false,
}
/** The line that DATEV gives as its example. */
const SAMPLE = `"EXTF";700;21;"Buchungsstapel";13;20240130140440439;;"RE";"";"";29098;55003;20240101;4;20240101;20240831;"Buchungsstapel";"WD";1;0;0;"EUR";;"";;;"03";;;"";""`
function windowsBytes(text: string): Buffer {
  const bytes = Buffer.alloc(text.length)
  return bytes.subarray(0, writeWindows(text, bytes, 0))
}

const ROW = {
  amountMinor: 119_000n,
  side: 'S',
  account: '10042',
  contra: '4400',
  key: null,
  day: '2024-10-06',
  document: '950',
  text: 'Invoice 950',
  euVatNumber: null,
  euRate: null,
} as const

describe('the head', () => {
  test('is that of the official example, and has no chart where none is set', () => {
    expect(checkHead(SAMPLE)).toEqual([])
    const [line = ''] = writeHead(HEAD).split('\r\n')
    expect(line).toBe(SAMPLE)
    const [blank = ''] = writeHead({ ...HEAD, chart: null, initials: 'wd' }).split('\r\n')
    expect(blank).toBe(SAMPLE.replace('"03"', '""'))
    expect(checkHead(blank)).toEqual([])
  })

  test('of another length, order or form is found', () => {
    for (const wrong of [
      `${SAMPLE};`,
      SAMPLE.replace('700', '510'),
      SAMPLE.replace('20240831', '31082024'),
      SAMPLE.replace('"EUR"', 'EUR'),
    ])
      expect(checkHead(wrong)).not.toEqual([])
  })
})

describe('a row', () => {
  test('has 125 columns, and is as DATEV has it', () => {
    expect(TITLES).toHaveLength(125)
    const line = writeRow(ROW)
    expect(line.startsWith('1190,00;"S";"EUR";;;"";10042;4400;"";0610;"950";"";;"Invoice 950";')).toBe(true)
    expect(fieldsOf(line.trimEnd())).toHaveLength(125)
    const file = windowsBytes(
      writeHead(HEAD) + line + writeRow({ ...ROW, side: 'H', key: '9', text: `5 € "für" ${'x'.repeat(80)}` }),
    )
    const { problems, rows } = readStack(file)
    expect(problems).toEqual([])
    expect(rows.map(({ amount, side, key, text }) => [amount, side, key, text.length])).toEqual([
      [119_000n, 'S', '', 11],
      [119_000n, 'H', '0009', 60],
    ])
  })

  test('with a country and a rate in the EU has them in columns 40 and 41', () => {
    const fields = fieldsOf(writeRow({ ...ROW, euVatNumber: 'FR40303265045', euRate: '20,00' }).trimEnd())
    expect([fields[39], fields[40], fields.length]).toEqual(['"FR40303265045"', '20,00', 125])
  })
})

test('letters that the code page does not have become question marks, one for each', () => {
  expect(heldText('Łódź 😀 Škoda\n€')).toBe('?ód? ? Škoda?€')
  expect(windowsBytes('Š€ä')).toEqual(Buffer.from([0x8a, 0x80, 0xe4]))
})

test('numbers keep the letters of the field, and those that are counted get a suffix that fits', () => {
  expect(['K 9', 'K_9', '950', '9 50', 'Rä-1/27', 'x'.repeat(40)].map(baseOfNumber)).toEqual([
    'K9',
    'K9',
    '950',
    '950',
    'R-1/27',
    'x'.repeat(36),
  ])
  expect(['950', '9 50', 'K9'].map(isPlainNumber)).toEqual([true, false, false])
  expect([firstCountOf('K9'), firstCountOf('950')]).toEqual([1, 2])
  expect([documentOf('K9', 1), documentOf('K9', 12), documentOf('x'.repeat(36), 2)]).toEqual([
    'K9',
    'K9-12',
    `${'x'.repeat(34)}-2`,
  ])
})
