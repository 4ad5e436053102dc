import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { readFacts, readWhole, writeBackup } from './file.ts'
import { ARCHIVE_END, BLOCK, fileHeader, paddingOf, readTar, type TarEntry } from './tar.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perennial-backup-'))
  file = join(folder, 'backup.tar')
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

const ABOUT = { MadeAt: '2026-11-23T00:00:00.000Z', Program: '0.1.0', key: undefined }
const CONTENT = Buffer.alloc(3 * BLOCK + 7, 'x')
const ARCHIVE = Buffer.concat([
  fileHeader('PG_VERSION', 3),
  Buffer.from('18\n'),
  Buffer.alloc(paddingOf(3)),
  fileHeader('base/1/empty', 0),
  fileHeader('base/1/1259', CONTENT.length),
  CONTENT,
  Buffer.alloc(paddingOf(CONTENT.length)),
  ARCHIVE_END,
])

/** The archive in pieces of some length, some at a time, in memory that is used again, as a connection brings it. */
async function* pieces(length: number, together = 3, archive = ARCHIVE): AsyncGenerator<Buffer[]> {
  for (let at = 0; at < archive.length; at += together * length) {
    const memory = Buffer.from(archive.subarray(at, at + together * length))
    yield Array.from({ length: Math.ceil(memory.length / length) }, (_, n) =>
      memory.subarray(n * length, (n + 1) * length),
    )
    memory.fill('?')
  }
}

async function readAll(): Promise<{ name: string; text: string }[]> {
  const found: { name: string; text: string }[] = []
  await readTar(readWhole(file, await readFacts(file)), {
    begin: async ({ name }: TarEntry) => void found.push({ name, text: '' }),
    data: async (bytes) => {
      const last = found.at(-1)
      if (last) last.text += bytes.toString()
    },
    end: async () => {},
  })
  return found
}

test.each([[1], [511], [512], [1500], [100_000]])(
  'an archive that comes in pieces of %i bytes is read back whole, with the key behind it',
  async (length) => {
    const facts = await writeBackup(file, pieces(length), { ...ABOUT, key: 'the key\n' })
    expect(await readFacts(file)).toEqual(facts)
    expect(facts.hasKey).toBe(true)
    const [version, empty, table, key, about] = await readAll()
    expect([version, empty, table, key]).toEqual([
      { name: 'PG_VERSION', text: '18\n' },
      { name: 'base/1/empty', text: '' },
      { name: 'base/1/1259', text: CONTENT.toString() },
      { name: 'perennial/encryption.key', text: 'the key\n' },
    ])
    // The facts stand behind what is hashed.
    expect(about).toBeUndefined()
    expect(readdirSync(folder)).toEqual(['backup.tar'])
  },
)

test.each([
  [
    'fails half-way',
    async function* () {
      yield [ARCHIVE.subarray(0, 700)]
      throw new Error('the database is gone')
    },
    'the database is gone',
  ],
  [
    'ends too early',
    async function* () {
      yield [ARCHIVE.subarray(0, 700)]
    },
    'does not end as an archive does',
  ],
])('an archive that %s leaves no file behind', async (_, archive, why) => {
  await expect(writeBackup(file, archive(), ABOUT)).rejects.toThrow(why)
  expect(readdirSync(folder)).toEqual([])
})

test('a folder that is not there is refused by the name of the file', async () => {
  const elsewhere = join(folder, 'none', 'backup.tar')
  await expect(writeBackup(elsewhere, pieces(512), ABOUT)).rejects.toThrow(
    `The file ${elsewhere} cannot be used: there is no such file or folder.`,
  )
})

test('a byte changed anywhere, one too few and one too many are noticed', async () => {
  await writeBackup(file, pieces(512), ABOUT)
  const whole = readFileSync(file)
  for (let at = 0; at < whole.length; at += 37) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] ?? 0) ^ 1
    writeFileSync(file, changed)
    await expect(readAll(), `byte ${at}`).rejects.toThrow(/is not a whole backup|is none that PostgreSQL writes/)
  }
  for (const length of [0, 100, 2560, whole.length - 512, whole.length - 1]) {
    writeFileSync(file, whole)
    truncateSync(file, length)
    await expect(readAll(), `${length} bytes`).rejects.toThrow('is not a whole backup')
  }
  writeFileSync(file, whole)
  appendFileSync(file, 'x')
  await expect(readAll()).rejects.toThrow('is not a whole backup')
})

test.each([['../outside'], ['/etc/passwd'], ['base/../../outside']])('an entry %s is refused', async (name) => {
  const archive = Buffer.concat([fileHeader(name, 0), ARCHIVE_END])
  await writeBackup(file, pieces(512, 1, archive), ABOUT)
  await expect(readAll()).rejects.toThrow('leads out of the folder')
})

test('a pipe is refused at once, instead of waiting for somebody who feeds it', async () => {
  execFileSync('mkfifo', [file])
  for (const fed of [file, '/dev/null']) await expect(readFacts(fed)).rejects.toThrow('it is a pipe or a device')
})
