/** Archives as PostgreSQL writes them: tar (ustar), with files and folders in it and nothing else. */

export const BLOCK = 512

/** Two empty blocks end an archive. */
export const ARCHIVE_END = Buffer.alloc(2 * BLOCK)

const FILE = '0'
const FOLDER = '5'

export interface TarEntry {
  name: string
  isFolder: boolean
  size: number
}

/** An archive that is none of those that PostgreSQL writes. */
export class UnreadableArchive extends Error {
  override name = 'UnreadableArchive'
}

/** Returns the header of a file. `name` has at most 100 bytes. */
export function fileHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0'.repeat(2), 108)
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write(' '.repeat(8), 148)
  header.write(FILE, 156)
  header.write('ustar\x0000', 257)
  header.write(`${sumOf(header).toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

/** Returns how many bytes follow those of an entry up to the next header. */
export const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK

// The field of the sum itself counts as spaces.
function sumOf(header: Buffer): number {
  let sum = 0
  for (let at = 0; at < BLOCK; at += 1) sum += at >= 148 && at < 156 ? 0x20 : (header[at] ?? 0)
  return sum
}

/** Reads a header; undefined where it is the empty block that ends an archive. Throws UnreadableArchive. */
export function readHeader(header: Buffer): TarEntry | undefined {
  if (header.every((byte) => byte === 0)) return undefined
  const text = (from: number, length: number) => header.toString('utf8', from, from + length).replace(/\0[^]*$/, '')
  const number = (from: number, length: number) => Number.parseInt(text(from, length).trim(), 8)
  const [type, size] = [text(156, 1) || FILE, number(124, 12)]
  const name = [text(345, 155), text(0, 100)]
    .filter((part) => part !== '')
    .join('/')
    .replace(/\/$/, '')
  if (number(148, 8) !== sumOf(header) || !Number.isSafeInteger(size) || ![FILE, FOLDER].includes(type))
    throw new UnreadableArchive(`its entry "${name}" is none that PostgreSQL writes`)
  if (name === '' || name.startsWith('/') || name.split('/').includes('..'))
    throw new UnreadableArchive(`its entry "${name}" leads out of the folder`)
  return { name, isFolder: type === FOLDER, size: type === FOLDER ? 0 : size }
}

/** Whoever takes what is in an archive: each entry with its bytes, in order. */
export interface TarReceiver {
  begin(entry: TarEntry): Promise<void>
  data(bytes: Buffer): Promise<void>
  end(): Promise<void>
}

/** Hands the entries of an archive to `receiver`, in pieces as they come. Throws UnreadableArchive where it ends early. */
export async function readTar(source: AsyncIterable<Buffer>, receiver: TarReceiver): Promise<void> {
  let header = Buffer.alloc(0)
  let [left, padding] = [0, 0]
  let isOver = false
  for await (const piece of source) {
    let rest = piece
    while (rest.length > 0 && !isOver) {
      if (left > 0) {
        const taken = rest.subarray(0, left)
        await receiver.data(taken)
        left -= taken.length
        rest = rest.subarray(taken.length)
        if (left === 0) await receiver.end()
      } else if (padding > 0) {
        const skipped = Math.min(padding, rest.length)
        padding -= skipped
        rest = rest.subarray(skipped)
      } else {
        const wanted = BLOCK - header.length
        header = Buffer.concat([header, rest.subarray(0, wanted)])
        rest = rest.subarray(wanted)
        if (header.length < BLOCK) continue
        const entry = readHeader(header)
        header = Buffer.alloc(0)
        if (!entry) {
          isOver = true
          continue
        }
        await receiver.begin(entry)
        ;[left, padding] = [entry.size, paddingOf(entry.size)]
        if (left === 0) await receiver.end()
      }
    }
  }
  if (!isOver) throw new UnreadableArchive('it ends too early')
}
