import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import fc from 'fast-check'
import { FILE_ROWS_MAX, FileWriter } from './file-writer.ts'

const HEAD = 'titles\r\n'

/** Writes journals of so many rows each. Returns the rows of each file, where each journal went, and what the writer answers in the end. */
async function written(journals: readonly number[], rowsMax?: number) {
  const parts: Buffer[][] = []
  const keep = (part: number, piece: number, compressed: Buffer) => {
    const pieces = (parts[part - 1] ??= [])
    expect([part, piece]).toEqual([parts.length, pieces.length + 1])
    pieces.push(gunzipSync(compressed))
    return Promise.resolve()
  }
  const writer = new FileWriter({ head: HEAD, encode: (text, into, at) => into.write(text, at) }, keep, rowsMax)
  const places: { part: number; row: number }[] = []
  for (const [number, rows] of journals.entries()) {
    places.push(writer.add(Array.from({ length: rows }, (_, row) => ({ text: `${number} ${row}\r\n` }))))
    if (number % 3 === 0) await writer.write()
  }
  const { files, sha256 } = await writer.finish()
  const bytes = parts.map((pieces) => Buffer.concat(pieces))
  expect(files).toBe(parts.length)
  expect(sha256).toEqual(createHash('sha256').update(Buffer.concat(bytes)).digest())
  const rows = bytes.map((file) => {
    const text = file.toString()
    expect(text.startsWith(HEAD)).toBe(true)
    return text.slice(HEAD.length).split('\r\n').slice(0, -1)
  })
  return { rows, places }
}

test('a file is full at its bound, and a journal that no longer fits begins the next', async () => {
  const { rows, places } = await written([3, 2, 5, 4, 2, 1], 10)
  expect(rows.map((file) => file.length)).toEqual([10, 7])
  expect(places).toEqual([
    { part: 1, row: 1 },
    { part: 1, row: 4 },
    { part: 1, row: 6 },
    { part: 2, row: 1 },
    { part: 2, row: 5 },
    { part: 2, row: 7 },
  ])
})

test('whatever journals there are, no file has more rows than its bound and no journal is in two', async () => {
  const property = fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 60 }), async (journals) => {
    const { rows, places } = await written(journals, 7)
    expect(rows.flat()).toEqual(
      journals.flatMap((count, number) => Array.from({ length: count }, (_, row) => `${number} ${row}`)),
    )
    for (const file of rows) expect(file.length).toBeLessThanOrEqual(7)
    for (const [number, { part, row }] of places.entries())
      for (let offset = 0; offset < (journals[number] as number); offset += 1)
        expect(rows[part - 1]?.[row - 1 + offset]).toBe(`${number} ${offset}`)
    // A file ends only where the next journal would not fit.
    for (const [file, next] of rows.slice(1).entries()) {
      const first = journals[Number((next[0] as string).split(' ')[0])] as number
      expect((rows[file]?.length ?? 0) + first).toBeGreaterThan(7)
    }
  })
  await fc.assert(property, { numRuns: 100 })
})

test('a file takes 99,999 rows', async () => {
  expect(FILE_ROWS_MAX).toBe(99_999)
  const { rows } = await written([50_000, 49_999, 1])
  expect(rows.map((file) => file.length)).toEqual([99_999, 1])
  const { rows: paired } = await written([50_000, 49_998, 2])
  expect(paired.map((file) => file.length)).toEqual([99_998, 2])
})
