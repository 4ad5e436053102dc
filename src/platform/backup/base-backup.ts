import { Socket } from 'node:net'
import pg from 'pg'
import { backupName } from '../long/kinds.ts'
import type { EmbeddedConnection } from '../postgres/connection.ts'

/** PostgreSQL's own copy of itself while it runs: the command BASE_BACKUP of its replication protocol, with the log that makes the copy whole. */

/** First byte of a message of the copy, and of what it holds where that is a piece of the archive. All others are about the copy. */
const COPY_DATA = 0x64
const ARCHIVE_DATA = 0x64
/** A byte that names a message, and its length without that byte. */
const HEAD_BYTES = 5

/** Of the log nothing that the copy needs may go while it is made; the slot ends with the connection. */
const HOLD_LOG = `CREATE_REPLICATION_SLOT perennial_backup_${process.pid} TEMPORARY PHYSICAL (RESERVE_WAL)`
const COPY = `LABEL 'perennial backup', CHECKPOINT 'fast', WAL true, MANIFEST 'no'`
/** Of a copy that nobody waits for: 58 GB an hour. The server sends the eighth part of it at once, which the event loop has to get through. */
const GENTLE_KILOBYTES_A_SECOND = 16_384

/** Memory that the server's bytes are read into. A new buffer for each read would cost more than all else, for the collector. */
const MEMORY_BYTES = 2 ** 20
/** With less room than this left, a read is not worth its call. */
const LEAST_READ_BYTES = 2 ** 16

/** Pieces of an archive, in their order. They are good until the next ones are asked for: their memory is used again. */
export type ArchivePieces = readonly Buffer[]

/**
 * Connection that keeps the archive apart from all that the server sends: pieces of it are handed on where they were read, the rest is for `pg`.
 * Two memories take turns: one is filled while the other is used.
 */
class ArchiveSocket {
  readonly socket: Socket
  #memory = Buffer.allocUnsafe(MEMORY_BYTES)
  #other = Buffer.allocUnsafe(MEMORY_BYTES)
  #filled = 0
  /** Of the memory that is filled. */
  #pieces: Buffer[] = []
  /** Of the other memory, while they are used. */
  #used: Buffer[] | undefined
  #head = Buffer.alloc(HEAD_BYTES + 1)
  #headBytes = 0
  /** Bytes of the message that are still to come, and whose they are. */
  #left = 0
  #of: 'archive' | 'nobody' | 'pg' = 'pg'
  #isOver = false
  #failure: Error | undefined
  #wake = () => {}

  constructor() {
    // `onread` is an option of the constructor that its types do not know.
    const onread = { buffer: () => this.#next(), callback: (bytes: number) => this.#take(bytes) }
    this.socket = new Socket({ allowHalfOpen: false, ...{ onread } })
  }

  /** Ends the archive: with an error, or where the server has sent all of it. */
  end(failure?: Error): void {
    this.#failure ??= failure
    this.#isOver = true
    this.#wake()
  }

  /** Yields the archive as fast as it is used. */
  async *archive(): AsyncGenerator<ArchivePieces> {
    for (;;) {
      while (!this.#used && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve))
      if (this.#failure) throw this.#failure
      if (!this.#used) {
        if (this.#pieces.length > 0) yield this.#pieces
        return
      }
      yield this.#used
      this.#used = undefined
      if (!this.#isFull()) continue
      this.#swap()
      this.socket.resume()
    }
  }

  #isFull = (): boolean => MEMORY_BYTES - this.#filled < LEAST_READ_BYTES

  /** Returns where the next bytes go: into the other memory where this one is full, which is not read before that is free. */
  #next = (): Buffer => (this.#isFull() ? this.#other : this.#memory.subarray(this.#filled))

  #swap(): void {
    const full = this.#memory
    this.#memory = this.#other
    this.#other = full
    this.#used = this.#pieces
    this.#pieces = []
    this.#filled = 0
    this.#wake()
  }

  /** Takes bytes that were read into the memory. Returns whether there is room for more. */
  #take(bytes: number): boolean {
    this.#sort(this.#memory.subarray(this.#filled, this.#filled + bytes))
    this.#filled += bytes
    if (!this.#isFull()) return true
    if (this.#used) return false
    this.#swap()
    return true
  }

  #sort(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#left === 0) {
        at += this.#takeHead(bytes.subarray(at))
        continue
      }
      const part = bytes.subarray(at, at + this.#left)
      if (this.#of === 'archive') this.#pieces.push(part)
      if (this.#of === 'pg') this.#passOn(part)
      this.#left -= part.length
      at += part.length
    }
  }

  /** Takes bytes of the head of a message, and returns how many: of the copy's messages the head goes on to the byte that names their content. */
  #takeHead(bytes: Buffer): number {
    const wanted = this.#headBytes >= HEAD_BYTES ? HEAD_BYTES + 1 : HEAD_BYTES
    const taken = bytes.copy(this.#head, this.#headBytes, 0, wanted - this.#headBytes)
    this.#headBytes += taken
    if (this.#headBytes < wanted) return taken
    const isOfCopy = this.#head[0] === COPY_DATA
    if (isOfCopy && this.#headBytes === HEAD_BYTES) return taken
    this.#left = this.#head.readUInt32BE(1) + 1 - this.#headBytes
    this.#of = !isOfCopy ? 'pg' : this.#head[HEAD_BYTES] === ARCHIVE_DATA ? 'archive' : 'nobody'
    if (!isOfCopy) this.#passOn(this.#head.subarray(0, HEAD_BYTES))
    this.#headBytes = 0
    return taken
  }

  // `pg` may keep what it is handed, and the memory is used again.
  #passOn(bytes: Buffer): void {
    this.socket.emit('data', Buffer.from(bytes))
  }
}

/** The command as `pg` runs it: all but the archive, which does not come by here. */
class BaseBackup {
  readonly #command: string
  readonly #socket: ArchiveSocket

  constructor(socket: ArchiveSocket, { isGentle }: { isGentle: boolean }) {
    this.#socket = socket
    this.#command = `BASE_BACKUP (${COPY}${isGentle ? `, MAX_RATE ${GENTLE_KILOBYTES_A_SECOND}` : ''})`
  }

  submit(connection: { query(text: string): void }): void {
    connection.query(this.#command)
  }

  handleReadyForQuery(): void {
    this.#socket.end()
  }

  handleError(error: Error): void {
    this.#socket.end(error)
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
}

/**
 * Hands the archive (tar) of the running embedded server to `use`: it holds everything that was committed before it began. Throws what
 * the server refuses; it checks the sums of all pages on the way. A gentle one takes its time.
 */
export async function withBaseBackup<T>(
  connection: EmbeddedConnection,
  use: (archive: AsyncIterable<ArchivePieces>) => Promise<T>,
  { isGentle = false }: { isGentle?: boolean } = {},
): Promise<T> {
  const socket = new ArchiveSocket()
  // `replication` is an option of pg that its types do not know.
  const client = new pg.Client({
    ...connection,
    ssl: false,
    application_name: backupName(),
    stream: () => socket.socket,
    ...{ replication: 'true' },
  })
  client.on('error', (error) => socket.end(error))
  await client.connect()
  try {
    await client.query(HOLD_LOG)
    client.query(new BaseBackup(socket, { isGentle }) as unknown as pg.Submittable)
    return await use(socket.archive())
  } finally {
    // What was not read to its end must not be waited for.
    socket.socket.destroy()
  }
}
