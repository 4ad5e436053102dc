import { createHash, type Hash } from 'node:crypto'

/**
 * The file of an export, before it is compressed: lines of JSON that name what follows, and between them the rows of each table as PostgreSQL's
 * COPY writes them as text, up to a line of `\.`. People can read it, and every version of PostgreSQL from 15 on understands the rows.
 */

export const FORMAT = 'perennial-export'
export const FORMAT_VERSION = 1

export interface MigrationLine {
  version: number
  name: string
  hash: string
}

/** The first line. */
export interface Header {
  format: string
  formatVersion: number
  madeAt: string
  /** Of the service and of PostgreSQL. */
  program: string
  postgres: string
  migrations: MigrationLine[]
}

/** Before the rows of a table. */
export interface TableLine {
  table: string
  columns: string[]
}

/** After the rows of a table: how many, and the SHA-256 of their text. */
export interface RowsLine {
  rows: number
  sha256: string
}

export interface SequenceLine {
  sequence: string
  last: string
  isCalled: boolean
}

/** The last line: the SHA-256 of everything before it. */
export interface EndLine {
  tables: number
  rows: number
  sha256: string
}

/** Line that ends the rows of a table; no row is written so. */
const END_OF_ROWS = Buffer.from('\n\\.\n')
export const ROWS_END = '\\.\n'
/** A line of JSON longer than this is none of ours. */
const LINE_BYTES_MAX = 1_000_000
const NEWLINE = 0x0a

/** An export that cannot be read: it was cut off, changed, or is something else. */
export class UnreadableExport extends Error {
  override name = 'UnreadableExport'
}

/** Rows of one table on their way: their count and hash. */
export class Tally {
  rows = 0
  readonly #hash: Hash = createHash('sha256')

  add(bytes: Buffer): void {
    this.#hash.update(bytes)
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) this.rows += 1
  }

  /** Ends the tally. */
  line(): RowsLine {
    return { rows: this.rows, sha256: this.#hash.digest('hex') }
  }
}

/** Reads an export piece by piece, as bytes that are no longer compressed. */
export class ExportReader {
  readonly #source: AsyncIterator<Buffer>
  readonly #hash: Hash = createHash('sha256')
  #left: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** SHA-256 of everything read so far. */
  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  /** Returns the object of the next line. Throws UnreadableExport where there is none. */
  async line(): Promise<Record<string, unknown>> {
    let end = this.#left.indexOf(NEWLINE)
    while (end === -1) {
      if (this.#left.length > LINE_BYTES_MAX) throw new UnreadableExport('a line of it is too long')
      await this.#more()
      end = this.#left.indexOf(NEWLINE)
    }
    const line = this.#take(end + 1)
    try {
      return JSON.parse(line.toString()) as Record<string, unknown>
    } catch {
      throw new UnreadableExport('a line of it is no JSON')
    }
  }

  /** Returns the rows of a table, up to the line that ends them, which is read too. */
  async *rows(): AsyncGenerator<Buffer> {
    // The line that ends them may be the first.
    while (this.#left.length < ROWS_END.length) await this.#more()
    if (this.#left.toString('latin1', 0, ROWS_END.length) === ROWS_END) return void this.#take(ROWS_END.length)
    for (;;) {
      const end = this.#left.indexOf(END_OF_ROWS)
      if (end !== -1) {
        yield this.#take(end + 1)
        this.#take(ROWS_END.length)
        return
      }
      // The end may be divided between this piece and the next.
      const whole = this.#left.length - END_OF_ROWS.length
      if (whole > 0) yield this.#take(whole)
      await this.#more()
    }
  }

  #take(length: number): Buffer {
    const taken = this.#left.subarray(0, length)
    this.#left = this.#left.subarray(length)
    this.#hash.update(taken)
    return taken
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#source.next()
    if (done) throw new UnreadableExport('it ends too early')
    this.#left = this.#left.length === 0 ? value : Buffer.concat([this.#left, value])
  }
}
