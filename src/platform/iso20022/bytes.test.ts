import { describe, expect, test } from 'vitest'
import { entryXml, linesOf, partsOf, statementXml } from './reading.testing.ts'
import { UnreadableFile } from './unreadable.ts'

/** Encodings of files, and what transfers add before and behind a document. */

const NAME = 'Zoë'
const file = (declaration = '', name = NAME) =>
  statementXml(entryXml(`<NtryDtls><TxDtls><RltdPties><Dbtr><Nm>${name}</Nm></Dbtr></RltdPties></TxDtls></NtryDtls>`), {
    before: declaration,
  })
const declared = (label: string, name = NAME) => file(`<?xml version="1.0" encoding="${label}"?>\n`, name)
const nameOf = (bytes: Buffer) => partsOf(bytes).map(({ name }) => name)
const latin = (text: string) => Buffer.from(text, 'latin1')
const wide = (text: string) => Buffer.from(text, 'utf16le')
const swapped = (text: string) => wide(text).swap16()

/** Bytes of a name in an encoding of one byte a character. */
const coded = (label: string, bytes: number[]) => {
  const [before, behind] = declared(label, '|').split('|') as [string, string]
  return Buffer.concat([latin(before), Buffer.from(bytes), latin(behind)])
}

describe('labels are those of the Encoding standard', () => {
  test.each<[string, Buffer, string]>([
    ['utf8', Buffer.from(declared('utf8')), NAME],
    ['unicode-1-1-utf-8', Buffer.from(declared('unicode-1-1-utf-8')), NAME],
    ['latin1', latin(declared('latin1')), NAME],
    ['l1', latin(declared('L1')), NAME],
    ['iso8859-1', latin(declared('iso8859-1')), NAME],
    ['ISO_8859-1', latin(declared('ISO_8859-1')), NAME],
    ['cp1252', latin(declared('cp1252')), NAME],
    ['us-ascii', latin(declared('us-ascii')), NAME],
    ['iso-8859-15', coded('ISO-8859-15', [0xa4, 0xbd]), '€œ'],
    ['iso-8859-2', coded('iso-8859-2', [0xb3, 0xf3]), 'łó'],
    ['windows-1250', coded('windows-1250', [0x9c]), 'ś'],
    ['windows-1251', coded('windows-1251', [0xc0]), 'А'],
    ['iso-8859-7', coded('greek', [0xe1]), 'α'],
    ['koi8-r', coded('koi8-r', [0xc1]), 'а'],
    ['shift_jis', coded('Shift_JIS', [0x93, 0xfa]), '日'],
    ['gb18030', coded('gb18030', [0xc8, 0xd5]), '日'],
    ['euc-kr', coded('euc-kr', [0xc0, 0xcf]), '일'],
    ['UTF-16 of one order', wide(`\uFEFF${declared('utf-16le')}`), NAME],
    ['UTF-16 of the other', swapped(`\uFEFF${declared('utf-16be')}`), NAME],
    ['UTF-16 by an old name', swapped(`\uFEFF${declared('ucs-2')}`), NAME],
    ['apostrophes', latin(declared('iso-8859-1').replaceAll('"', "'")), NAME],
  ])('%s', (_label, bytes, name) => {
    expect(nameOf(bytes)).toEqual([name])
  })

  test.each<[string, Buffer]>([
    ['unknown', latin(declared('iso-8859-99'))],
    ['of no encoding that is read', latin(declared('iso-2022-cn'))],
    ['of a utility', latin(declared('replacement'))],
    ['of an object', latin(declared('constructor'))],
    ['of one order before the other', swapped(`\uFEFF${declared('utf-16le')}`)],
    ['of the other order before the one', wide(`\uFEFF${declared('utf-16be')}`)],
    ['of one order without a mark before the other', swapped(declared('utf-16le'))],
    ['of UTF-8 before UTF-16', wide(declared('utf-8'))],
    ['of UTF-16 before UTF-8', Buffer.from(declared('utf-16be'))],
    ['of Latin-1 behind the mark of UTF-8', Buffer.from(`\uFEFF${declared('latin1')}`)],
    ['of UTF-8 before Latin-1', latin(declared('utf-8'))],
    ['of Japanese before bytes that are none', coded('Shift_JIS', [0x81, 0x20])],
  ])('a label that is %s is refused', (_label, bytes) => {
    expect(() => linesOf(bytes)).toThrow(UnreadableFile)
  })
})

describe('before and behind the document', () => {
  const blanks = ['\r\n', ' '.repeat(100_000), '\u0000'.repeat(1_000), '\u001a', '\u007f\t\u0003\n']
  const encodings: [string, (text: string) => Buffer, string][] = [
    ['UTF-8', (text) => Buffer.from(text), 'utf-8'],
    ['Latin-1', latin, 'latin1'],
    ['UTF-16 of one order', wide, 'utf-16'],
    ['UTF-16 of the other', swapped, 'utf-16'],
  ]

  test.each(encodings)('white space and control characters are left out (%s)', (_name, encode, label) => {
    for (const blank of blanks) {
      expect(nameOf(encode(`${blank.slice(0, 100)}${declared(label)}${blank}`))).toEqual([NAME])
      expect(nameOf(Buffer.concat([encode(declared(label)), Buffer.from(blank)]))).toEqual([NAME])
    }
  })

  test('a mark counts behind them too, and twice', () => {
    expect(nameOf(Buffer.from(`\r\n\uFEFF${declared('utf-8')}`))).toEqual([NAME])
    expect(nameOf(Buffer.from(`\uFEFF\uFEFF\n${declared('utf-8')}`))).toEqual([NAME])
    expect(nameOf(wide(`\uFEFF\r\n${declared('utf-16')}`))).toEqual([NAME])
  })

  test('anything else is not', () => {
    for (const text of [`x${file()}`, `${file()}x`, `${file()}\u0000x`, file().replace('<Nm>', '<Nm>\u0001')])
      expect(() => linesOf(Buffer.from(text))).toThrow(UnreadableFile)
  })
})
