import { createHash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { conflict, invalid } from '../../kernel/fault.ts'
import { findBinariesPackage } from '../postgres/binaries.ts'
import { syncFolder } from '../postgres/data-folder.ts'
import { errorCodeOf } from '../postgres/start-failure.ts'
import type { ArchivePieces } from './base-backup.ts'
import { ARCHIVE_END, BLOCK, fileHeader, paddingOf } from './tar.ts'

/**
 * The file of a backup: the archive that PostgreSQL makes of itself, after it perhaps the encryption key, and at the end an entry of fixed length with
 * facts about all before it, its SHA-256 among them. Every program that reads tar can open it.
 */

const FORMAT = 'perennial-backup'
const FORMAT_VERSION = 1
/** Folder of our own entries in the archive. */
export const OWN_FOLDER = 'perennial'
export const KEY_ENTRY = `${OWN_FOLDER}/encryption.key`
const FACTS_ENTRY = `${OWN_FOLDER}/backup.json`
const FACTS_BYTES = 2 * BLOCK
const TAIL_BYTES = BLOCK + FACTS_BYTES + ARCHIVE_END.length

export interface BackupFacts {
  Format: string
  FormatVersion: number
  MadeAt: string
  /** Version of Perennial. */
  Program: string
  /** Major version of PostgreSQL. */
  Postgres: number
  /** Kind of the machine: the files of a database are the same on one kind only. */
  Machine: string
  hasKey: boolean
  /** Length of everything before the facts. */
  Bytes: number
  /** Hash of everything before the facts, and of the facts above. */
  Sha256: string
}

export const MACHINE = `${process.platform}-${process.arch}`

/** Returns the major version of the embedded PostgreSQL. */
export const ownPostgres = (): number => Number.parseInt(findBinariesPackage().version, 10)

/** Facts that whoever makes a backup knows; `key` is the encryption key, where it goes with it. */
type About = Pick<BackupFacts, 'MadeAt' | 'Program'> & { key: string | undefined }

/** Returns the last bytes of a backup. */
function tailOf(facts: BackupFacts): Buffer {
  const text = JSON.stringify(facts)
  return Buffer.concat([fileHeader(FACTS_ENTRY, FACTS_BYTES), Buffer.from(text.padEnd(FACTS_BYTES)), ARCHIVE_END])
}

/** Splits what may be the end of the archive off pieces of it, as a copy: the memory of pieces is used again. */
function splitEnd(pieces: ArchivePieces): { before: Buffer[]; end: Buffer } {
  const before = [...pieces]
  const end: Buffer[] = []
  let missing = ARCHIVE_END.length
  for (let piece = before.pop(); piece; piece = missing > 0 ? before.pop() : undefined) {
    const cut = Math.max(0, piece.length - missing)
    end.unshift(piece.subarray(cut))
    missing -= piece.length - cut
    if (cut > 0) before.push(piece.subarray(0, cut))
  }
  return { before, end: Buffer.concat(end) }
}

/** Yields what the file holds: the archive without its end, the key, and the facts that come of both. */
async function* partsOf(
  archive: AsyncIterable<ArchivePieces>,
  about: About,
  heed: () => void,
  made: (facts: BackupFacts) => void,
): AsyncGenerator<ArchivePieces> {
  const hash = createHash('sha256')
  let bytes = 0
  const counted = (parts: ArchivePieces) => {
    for (const part of parts) {
      hash.update(part)
      bytes += part.length
    }
    return parts
  }
  let held: Buffer = Buffer.alloc(0)
  for await (const pieces of archive) {
    heed()
    const { before, end } = splitEnd([held, ...pieces])
    held = end
    if (before.length > 0) yield counted(before)
  }
  if (!held.equals(ARCHIVE_END)) throw new Error('the archive of the database does not end as an archive does')
  if (about.key !== undefined) {
    const key = Buffer.from(about.key)
    yield counted([fileHeader(KEY_ENTRY, key.length), key, Buffer.alloc(paddingOf(key.length))])
  }
  const { key, ...rest } = about
  const above = {
    Format: FORMAT,
    FormatVersion: FORMAT_VERSION,
    ...rest,
    Postgres: ownPostgres(),
    Machine: MACHINE,
    hasKey: key !== undefined,
    Bytes: bytes,
  }
  const facts = { ...above, Sha256: hash.update(JSON.stringify(above)).digest('hex') }
  yield [tailOf(facts)]
  made(facts)
}

/**
 * Writes a backup. It carries its name only when it is whole and on the disk. `heed` is called for each piece and may throw to end early. Throws a
 * Fault about a file that cannot be written.
 */
export async function writeBackup(
  file: string,
  archive: AsyncIterable<ArchivePieces>,
  about: About,
  heed: () => void = () => {},
): Promise<BackupFacts> {
  // A name of its own: what a killed backup left stands in nobody's way.
  const part = `${file}.${process.pid}.part`
  const found: { facts?: BackupFacts } = {}
  try {
    const handle = await open(part, 'wx', 0o600)
    try {
      for await (const parts of partsOf(archive, about, heed, (facts) => (found.facts = facts)))
        await writeAll(handle, parts)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, file)
    syncFolder(dirname(resolve(file)))
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined)
    throw fileFailure(file, error)
  }
  if (!found.facts) throw new Error('a backup that is written has facts')
  return found.facts
}

/** Writes pieces by one call; by more where the disk takes less of them. */
async function writeAll(handle: FileHandle, pieces: ArchivePieces): Promise<void> {
  let left = pieces
  while (left.length > 0) {
    let { bytesWritten } = await handle.writev(left)
    left = left.flatMap((piece) => {
      const written = Math.min(bytesWritten, piece.length)
      bytesWritten -= written
      return written < piece.length ? [piece.subarray(written)] : []
    })
  }
}

/** Turns what a call about a file has thrown into a Fault that names the file. */
export function fileFailure(file: string, error: unknown): unknown {
  const { syscall } = error as { syscall?: string }
  const code = errorCodeOf(error)
  if (code === undefined || (syscall === undefined && code !== 'ENOSPC')) return error
  const reasons: Record<string, string> = {
    ENOENT: 'there is no such file or folder',
    EACCES: 'this user may not',
    EPERM: 'this user may not',
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk is full',
    EISDIR: 'it is a folder',
  }
  return invalid('file_not_usable', `The file ${file} cannot be used: ${reasons[code] ?? code}.`, 'FILE')
}

const damaged = (file: string, why: string) =>
  conflict('backup_damaged', `Nothing was restored: ${file} is not a whole backup: ${why}.`, 'FILE')

/** Checks whether somebody feeds what is read there: it can be read once, and opening it may wait for ever. */
const isFed = (about: Stats): boolean => !about.isFile() && !about.isDirectory()

/** Returns the facts of a backup without having read all of it. Throws a Fault where it is cut off, or something else. */
export async function readFacts(file: string): Promise<BackupFacts> {
  try {
    if (isFed(await stat(file)))
      throw invalid(
        'file_not_usable',
        `The file ${file} cannot be used: it is a pipe or a device, and a backup is read from its end first, and twice: store it in a file.`,
        'FILE',
      )
    const handle = await open(file, 'r')
    try {
      const { size } = await handle.stat()
      const start = await handle.read(Buffer.alloc(2), 0, 2, 0)
      if (start.buffer.equals(Buffer.from([0x1f, 0x8b])))
        throw damaged(file, 'it is compressed; what "perennial export" wrote is taken in by "perennial import"')
      if (size < TAIL_BYTES) throw damaged(file, 'it is cut off')
      const { buffer } = await handle.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, size - TAIL_BYTES)
      return factsIn(file, buffer, size)
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw fileFailure(file, error)
  }
}

function factsIn(file: string, tail: Buffer, size: number): BackupFacts {
  let facts: BackupFacts
  try {
    facts = JSON.parse(tail.toString('utf8', BLOCK, BLOCK + FACTS_BYTES)) as BackupFacts
  } catch {
    throw damaged(file, 'it is cut off, or it is no backup of Perennial')
  }
  if (facts?.Format !== FORMAT) throw damaged(file, 'it is no backup of Perennial')
  if (facts.FormatVersion !== FORMAT_VERSION)
    throw damaged(file, `it has format ${facts.FormatVersion}, and this version reads ${FORMAT_VERSION}`)
  if (!tailOf(facts).equals(tail) || facts.Bytes !== size - TAIL_BYTES) throw damaged(file, 'its end was changed')
  return facts
}

/** Reads all of a backup and hands it on. Throws a Fault at its end where that is not what was written. */
export async function* readWhole(file: string, facts: BackupFacts): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  try {
    for await (const part of createReadStream(file, { end: facts.Bytes - 1, highWaterMark: 2 ** 20 })) {
      hash.update(part as Buffer)
      yield part as Buffer
    }
  } catch (error) {
    throw fileFailure(file, error)
  }
  const { Sha256, ...above } = facts
  if (hash.update(JSON.stringify(above)).digest('hex') !== Sha256)
    throw damaged(file, 'its SHA-256 is another one, so some of it was changed')
  yield ARCHIVE_END
}
