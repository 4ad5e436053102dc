import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** Files of a batch, compressed and kept piece by piece while they are written, so that no more than a piece and what is added at once are in memory. */

/** Most rows of a file: what the programs of accountants read at once. */
export const FILE_ROWS_MAX = 99_999
/** Bytes of a piece before it is compressed. */
const PIECE_BYTES = 1024 * 1024
/** Most bytes of a letter. */
const LETTER_BYTES = 3

/** Form of the files of a batch. */
export interface FileForm {
  /** Lines before the rows of each file. */
  head: string
  /** Writes a text to a place of some bytes. Returns how many it has. */
  encode(text: string, into: Buffer, at: number): number
}

type Keep = (part: number, piece: number, compressed: Buffer) => Promise<unknown>

const compress = promisify(gzip)

export class FileWriter {
  readonly #form: FileForm
  readonly #keep: Keep
  readonly #rowsMax: number
  readonly #hash = createHash('sha256')
  /** Pieces that are full, or the last of their file, and not written yet. */
  readonly #full: { part: number; bytes: Buffer }[] = []
  #bytes = Buffer.allocUnsafe(PIECE_BYTES)
  #at = 0
  #part = 1
  #rows = 0
  /** File and piece that were written last. */
  #writtenPart = 0
  #piece = 0

  constructor(form: FileForm, keep: Keep, rowsMax = FILE_ROWS_MAX) {
    this.#form = form
    this.#keep = keep
    this.#rowsMax = rowsMax
    this.#add(form.head)
  }

  /** Adds the rows of one journal, which stay in one file. Returns the file, and the row of the first of them in it. */
  add(rows: readonly { text: string }[]): { part: number; row: number } {
    if (this.#rows > 0 && this.#rows + rows.length > this.#rowsMax) {
      this.#endPiece(PIECE_BYTES)
      this.#part += 1
      this.#rows = 0
      this.#add(this.#form.head)
    }
    const place = { part: this.#part, row: this.#rows + 1 }
    this.#rows += rows.length
    for (const { text } of rows) this.#add(text)
    return place
  }

  /** Writes the pieces that are full. */
  async write(): Promise<void> {
    for (const { part, bytes } of this.#full.splice(0)) {
      this.#hash.update(bytes)
      this.#piece = part === this.#writtenPart ? this.#piece + 1 : 1
      this.#writtenPart = part
      await this.#keep(part, this.#piece, (await compress(bytes, { level: 1 })) as Buffer)
    }
  }

  /** Writes what is left. Returns how many files there are, and the SHA-256 of their bytes, one after the other. */
  async finish(): Promise<{ files: number; sha256: Buffer }> {
    this.#endPiece(0)
    await this.write()
    return { files: this.#part, sha256: this.#hash.digest() }
  }

  #add(text: string): void {
    const most = text.length * LETTER_BYTES
    if (this.#at + most > this.#bytes.length) this.#endPiece(Math.max(most, PIECE_BYTES))
    this.#at += this.#form.encode(text, this.#bytes, this.#at)
  }

  /** Ends the piece, and begins another of so many bytes. */
  #endPiece(nextBytes: number): void {
    if (this.#at > 0) this.#full.push({ part: this.#part, bytes: this.#bytes.subarray(0, this.#at) })
    this.#bytes = Buffer.allocUnsafe(nextBytes)
    this.#at = 0
  }
}
