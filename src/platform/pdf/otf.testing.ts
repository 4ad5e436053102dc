/** An OpenType font with outlines of CFF, made by hand: one character, a box. */

const UNITS = 1000

const int16 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2)
  values.forEach((value, index) => bytes.writeUInt16BE(value & 0xffff, index * 2))
  return bytes
}
const int32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, index) => bytes.writeUInt32BE(value >>> 0, index * 4))
  return bytes
}

/** Index of CFF: how many, the size of an offset, the offsets, the data. */
function indexOf(...items: Buffer[]): Buffer {
  if (items.length === 0) return int16(0)
  let at = 1
  const offsets = [at, ...items.map(({ length }) => (at += length))]
  return Buffer.concat([int16(items.length), Buffer.from([2]), int16(...offsets), ...items])
}

/** Number of a dictionary of CFF, always in five bytes, so that the size of a dictionary does not depend on what stands in it. */
const operand = (value: number) => Buffer.concat([Buffer.from([29]), int32(value)])
const entry = (operator: number, ...values: number[]) =>
  Buffer.concat([...values.map(operand), Buffer.from([operator])])

/** Number of a charstring. */
const number = (value: number) => Buffer.concat([Buffer.from([28]), int16(value)])
const [RMOVETO, RLINETO, ENDCHAR] = [21, 5, 14]
const BOX = Buffer.concat([
  ...[100, 0].map(number),
  Buffer.from([RMOVETO]),
  ...[600, 0, 0, 700, -600, 0].map(number),
  Buffer.from([RLINETO, ENDCHAR]),
])

function outlines(): Buffer {
  const [head, name] = [Buffer.from([1, 0, 4, 2]), indexOf(Buffer.from('Box'))]
  const [strings, subroutines] = [indexOf(), indexOf()]
  const glyphs = indexOf(BOX, BOX)
  const ofFont = entry(20, UNITS)
  const [BOUNDS, CHARSTRINGS, PRIVATE] = [5, 17, 18]
  const topOf = (at: number) =>
    indexOf(
      Buffer.concat([
        entry(BOUNDS, 0, 0, UNITS, UNITS),
        entry(CHARSTRINGS, at),
        entry(PRIVATE, ofFont.length, at + glyphs.length),
      ]),
    )
  const at = [head, name, topOf(0), strings, subroutines].reduce((sum, { length }) => sum + length, 0)
  return Buffer.concat([head, name, topOf(at), strings, subroutines, glyphs, ofFont])
}

/** Table of characters, in the form of segments, with one beside the last that each font has. */
const characters = (codePoint: number) =>
  Buffer.concat([
    int16(0, 1, 3, 1),
    int32(12),
    ...[int16(4, 32, 0, 4, 4, 1, 0), int16(codePoint, 0xffff, 0), int16(codePoint, 0xffff)],
    ...[int16(1 - codePoint, 1), int16(0, 0)],
  ])

const TABLES = (codePoint: number): Record<string, Buffer> => ({
  'CFF ': outlines(),
  'OS/2': Buffer.concat([int16(4, 500, 400, 5), Buffer.alloc(88)]),
  cmap: characters(codePoint),
  head: Buffer.concat([
    int32(0x1_0000, 0x1_0000, 0, 0x5f0f_3cf5),
    int16(0, UNITS),
    Buffer.alloc(16),
    int16(0, 0, UNITS, UNITS, 0, 8, 2, 0, 0),
  ]),
  hhea: Buffer.concat([int32(0x1_0000), int16(800, -200, 0, UNITS), Buffer.alloc(22), int16(2)]),
  hmtx: int16(UNITS, 0, UNITS, 100),
  maxp: Buffer.concat([int32(0x5000), int16(2)]),
  name: Buffer.concat([int16(0, 1, 18, 3, 1, 0x409, 6, 6, 0), Buffer.from('\0B\0o\0x', 'latin1')]),
  post: Buffer.concat([int32(0x3_0000), Buffer.alloc(28)]),
})

/** Returns a font that has one character beside the sign for what is missing. */
export function boxFont(codePoint: number): Buffer {
  const tables = Object.entries(TABLES(codePoint))
  let at = 12 + tables.length * 16
  const directory = tables.map(([tag, { length }]) => {
    const record = Buffer.concat([Buffer.from(tag, 'latin1'), int32(0, at, length)])
    at += length + (-length & 3)
    return record
  })
  return Buffer.concat([
    Buffer.from('OTTO'),
    int16(tables.length, 128, 3, 16),
    ...directory,
    ...tables.map(([, table]) => Buffer.concat([table, Buffer.alloc(-table.length & 3)])),
  ])
}
