import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isArchive, openArchive, UnreadableZip } from './archive.ts'
import { zipOf } from './archive.testing.ts'

const BOUNDS = { files: 3, fileBytes: 1_000, bytes: 2_000 }

const filesOf = async (bytes: Buffer, bounds = BOUNDS) => {
  const files = await openArchive(bytes, bounds)
  return Promise.all(files.map(async ({ name, unpack }) => [name, (await unpack()).toString()]))
}

test('files come in the order of the archive, packed or stored, without folders and empty files', async () => {
  const archive = zipOf(
    { name: 'march/', content: '', isStored: true },
    { name: 'march/01 Umsätze.xml', content: 'a'.repeat(900) },
    { name: 'empty.xml', content: '' },
    { name: '../b.xml', content: 'b', isStored: true },
  )
  expect(await filesOf(archive)).toEqual([
    ['march/01 Umsätze.xml', 'a'.repeat(900)],
    ['../b.xml', 'b'],
  ])
})

test('two files of one name are two files', async () => {
  expect(await filesOf(zipOf({ name: 'a', content: '1' }, { name: 'a', content: '2' }))).toEqual([
    ['a', '1'],
    ['a', '2'],
  ])
})

test('bytes are an archive by how they begin', () => {
  expect(isArchive(zipOf({ name: 'a', content: 'a' }))).toBe(true)
  expect(isArchive(zipOf())).toBe(true)
  for (const text of ['', 'PK', '<Document/>']) expect(isArchive(Buffer.from(text))).toBe(false)
})

describe('an archive is refused', () => {
  const sound = { name: 'a.xml', content: 'a'.repeat(100) }
  const nested = zipOf(sound)

  test.each<[string, Buffer, RegExp]>([
    ['without a file', zipOf(), /no file/],
    ['with folders alone', zipOf({ name: 'a/', content: '' }), /no file/],
    ['with too many files', zipOf(sound, sound, sound, sound), /more than 3 files/],
    ['with thousands of folders', zipOf(...Array.from({ length: 1_500 }, () => ({ name: 'a/', content: '' }))), /many/],
    ['with a file that is too large', zipOf({ name: 'a', content: 'a'.repeat(1_001) }), /more bytes/],
    [
      'with a stored file that is too large',
      zipOf({ name: 'a', content: 'a'.repeat(1_001), isStored: true }),
      /more bytes/,
    ],
    [
      'that is too large in all',
      zipOf(...Array.from({ length: 3 }, () => ({ name: 'a', content: 'a'.repeat(700) }))),
      /more bytes/,
    ],
    [
      'with a file that says that it is small and is not',
      zipOf({ name: 'a', content: 'a'.repeat(5_000_000), lie: { size: 10 } }),
      /more bytes/,
    ],
    ['with a file that says that it is smaller', zipOf({ ...sound, lie: { size: 99 } }), /damaged/],
    ['with a file that says that it is empty', zipOf({ ...sound, lie: { size: 0 } }), /damaged/],
    ['with a file that says that it is larger', zipOf({ ...sound, lie: { size: 101 } }), /damaged/],
    ['with a stored file of another size', zipOf({ ...sound, isStored: true, lie: { size: 99 } }), /damaged/],
    ['with other bytes than those that were packed', zipOf({ ...sound, lie: { crc: 7 } }), /damaged/],
    ['with an archive in it', zipOf(sound, { name: 'b.xml', content: nested }), /another archive/],
    ['with a stored archive in it', zipOf({ name: 'b', content: nested, isStored: true }), /another archive/],
    ['that is encrypted', zipOf({ ...sound, lie: { flags: 1 } }), /encrypted/],
    ['that is encrypted strongly', zipOf({ ...sound, lie: { flags: 0x41 } }), /damaged/],
    ['that is packed otherwise', zipOf({ ...sound, lie: { method: 12 } }), /not read/],
    ['that is packed otherwise than it says', zipOf({ ...sound, isStored: true, lie: { method: 8 } }), /damaged/],
    ['that is cut off', zipOf(sound).subarray(0, -30), /damaged/],
    ['of which the beginning is gone', zipOf(sound).subarray(20), /damaged/],
    ['that is none', Buffer.from('PK\u0003\u0004 and nothing more'), /damaged/],
  ])('%s', async (_name, archive, message) => {
    const opened = openArchive(archive, BOUNDS)
    await expect(opened).rejects.toThrow(UnreadableZip)
    await expect(opened).rejects.toThrow(message)
  })
})

test('a file that unpacks to gigabytes is refused with little of it unpacked', async () => {
  const bomb = zipOf({ name: 'a', content: Buffer.alloc(50_000_000), lie: { size: 900 } })
  const before = process.memoryUsage().arrayBuffers
  const used = process.cpuUsage()
  await expect(openArchive(bomb, BOUNDS)).rejects.toThrow(/more bytes/)
  const { user, system } = process.cpuUsage(used)
  expect((user + system) / 1_000_000).toBeLessThan(0.3)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000)
})

test('whatever is changed in an archive, its files are those that were packed or it is refused', async () => {
  const contents = ['<a/>', 'b'.repeat(300)]
  const archive = zipOf(...contents.map((content, n) => ({ name: `${n}.xml`, content, isStored: n === 0 })))
  const change = fc.record({ at: fc.nat({ max: archive.length - 1 }), byte: fc.nat({ max: 255 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      const bytes = Buffer.from(archive)
      for (const { at, byte } of changes) bytes[at] = byte
      try {
        for (const [, content] of await filesOf(bytes)) expect(contents).toContain(content)
      } catch (error) {
        expect(error).toBeInstanceOf(UnreadableZip)
      }
    }),
    { numRuns: 1_000 },
  )
})
