import { promisify } from 'node:util'
import { crc32, inflateRaw } from 'node:zlib'
import { type Entry, fromBufferPromise, getFileNameLowLevel, type ZipFile } from 'yauzl'

/**
 * Files of a ZIP archive. All of it is unpacked once to see that it is sound and within its bounds, whatever its headers promise, and forgotten; then
 * its files are unpacked one at a time.
 */

/** Refusal of an archive as a whole. */
export class UnreadableZip extends Error {}

export interface ArchivedFile {
  /** As the archive has it, with its folders. */
  name: string
  unpack(): Promise<Buffer>
}

export interface ArchiveBounds {
  /** Files that are not empty. */
  files: number
  /** Bytes of one file, and of all together, unpacked. */
  fileBytes: number
  bytes: number
}

const MIB = 1024 * 1024

export const ARCHIVE_BOUNDS: ArchiveBounds = { files: 100, fileBytes: 32 * MIB, bytes: 128 * MIB }

/** Folders and empty files that are passed over. */
const EMPTY_MAX = 1_000
const NAME_MAX = 200

/** First bytes of archives: with files, without any, in pieces. */
const SIGNATURES = ['504b0304', '504b0506', '504b0708']

/** Returns whether bytes begin as a ZIP archive does. */
export const isArchive = (bytes: Buffer): boolean => SIGNATURES.includes(bytes.toString('hex', 0, 4))

/** Lists the files of an archive, without folders and empty files. Throws UnreadableZip, and nothing else, whatever the bytes are. */
export async function openArchive(bytes: Buffer, bounds: ArchiveBounds = ARCHIVE_BOUNDS): Promise<ArchivedFile[]> {
  const found: ArchivedFile[] = []
  let unpacked = 0
  for (const { zip, entry } of await entriesOf(bytes, bounds)) {
    const size = Math.min(bounds.fileBytes, bounds.bytes - unpacked)
    const content = await unpack(bytes, zip, entry, size)
    unpacked += content.length
    if (isArchive(content)) throw new UnreadableZip('The archive holds another archive, which is not read.')
    if (content.length > 0) found.push({ name: nameOf(entry), unpack: () => unpack(bytes, zip, entry, size) })
    if (found.length > bounds.files) throw new UnreadableZip(`The archive has more than ${bounds.files} files.`)
  }
  if (found.length === 0) throw new UnreadableZip('The archive holds no file.')
  return found
}

/** Reads the directory of an archive. */
async function entriesOf(bytes: Buffer, { files }: ArchiveBounds): Promise<{ zip: ZipFile; entry: Entry }[]> {
  const found: { zip: ZipFile; entry: Entry }[] = []
  const zip = await orUnreadable(fromBufferPromise(bytes, { lazyEntries: true, decodeStrings: false }))
  const entries = zip.eachEntry()
  for (;;) {
    const next = await orUnreadable(entries.next())
    if (next.done) return found
    if (next.value.isEncrypted()) throw new UnreadableZip('The archive is encrypted, which is not read.')
    if (!next.value.canDecodeFileData())
      throw new UnreadableZip('The archive is packed in a way that is not read; ZIP with deflate is.')
    found.push({ zip, entry: next.value })
    if (found.length > files + EMPTY_MAX) throw new UnreadableZip('The archive has too many files and folders.')
  }
}

const inflate = promisify(inflateRaw)

/** Unpacks a file. Throws as soon as it has more bytes than it may, and if it is not what its headers promise. */
async function unpack(bytes: Buffer, zip: ZipFile, entry: Entry, bytesMax: number): Promise<Buffer> {
  const start = await startOf(zip, entry)
  const packed = bytes.subarray(start, start + entry.compressedSize)
  const isStored = entry.compressionMethod === 0
  if (isStored && packed.length > bytesMax) throw tooLarge()
  const content = isStored
    ? packed
    : await inflate(packed, { maxOutputLength: Math.max(1, bytesMax) }).catch((error: unknown) => {
        throw isTooLarge(error) ? tooLarge() : damaged()
      })
  if (content.length > bytesMax) throw tooLarge()
  if (content.length !== entry.uncompressedSize || crc32(content) !== entry.crc32) throw damaged()
  return content
}

const startOf = (zip: ZipFile, entry: Entry): Promise<number> =>
  new Promise((resolve, reject) => {
    zip.readLocalFileHeader(entry, { minimal: true }, (error, header) =>
      error ? reject(damaged()) : resolve(header.fileDataStart),
    )
  })

const isTooLarge = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'

const tooLarge = () => new UnreadableZip('The archive unpacks to more bytes than are read.')

const damaged = () => new UnreadableZip('The archive is damaged, or is no ZIP archive.')

const orUnreadable = <T>(work: Promise<T>): Promise<T> =>
  work.catch(() => {
    throw damaged()
  })

/** Returns the name of a file, as old archives (cp437) and new ones (UTF-8) write it. */
function nameOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  const name = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false)
  return [...name.replace(/\p{Cc}/gu, ' ')].slice(0, NAME_MAX).join('')
}
