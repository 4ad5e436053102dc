import { readElements } from './elements.ts'
import { type Format, formatOf } from './formats.ts'
import type { LineSink, MessageReader } from './message.ts'
import type { CheckedResultFile, ReadingFor, ResultLine } from './result-lines.ts'
import { StatementReader, type StatementsRead } from './statement.ts'
import { type StatusesRead, StatusReader } from './statuses.ts'
import { UnreadableFile } from './unreadable.ts'

/**
 * Result files of banks (pain.002, camt.052, camt.053, camt.054), recognised by their namespace. A first reading goes through all of a file, refuses
 * it or finds what entries and statuses come to; it keeps the lines of a file that is not large, and a larger one is read once more for them.
 */

/** Lines of a file; a month of a large firm has a quarter of it. */
const LINES_MAX = 200_000

/** Lines that are kept between the two readings of a file: some 30 MB. */
const KEPT_LINES = 20_000

type Read = StatementsRead | StatusesRead

/** Reads a file as it is iterated over, and returns what it holds. Throws UnreadableFile, and nothing else, whatever the bytes are. */
export function* checkResultFile(bytes: Buffer, about: ReadingFor): Generator<undefined, CheckedResultFile, undefined> {
  let kept: ResultLine[] = []
  let count = 0
  const sink: LineSink = {
    isKeeping: true,
    count: () => {
      count += 1
      if (count > LINES_MAX) throw new UnreadableFile(`The file has more than ${LINES_MAX} lines.`)
      if (count <= KEPT_LINES) return
      sink.isKeeping = false
      kept = []
    },
    emit: (line) => {
      if (sink.isKeeping) kept.push(line)
    },
  }
  const reading = new FileReading(bytes, sink, about)
  for (const _ of reading.slices()) yield
  const { format, read } = reading.end()
  const { statements, otherAccounts, statusMissing } =
    'statements' in read ? read : { statements: 0, otherAccounts: 0, statusMissing: 0 }
  return {
    format: format.name,
    otherAccounts,
    isOfOthersOnly: statements > 0 && otherAccounts === statements,
    statusMissing,
    lines: () => (sink.isKeeping ? linesKept(kept) : linesAgain(bytes, about, read)),
  }
}

function* linesKept(kept: readonly ResultLine[]): Generator<readonly ResultLine[], void, undefined> {
  yield kept
}

/** Reads a file once more, with what its first reading found. */
function* linesAgain(bytes: Buffer, about: ReadingFor, read: Read): Generator<readonly ResultLine[], void, undefined> {
  let found: ResultLine[] = []
  const sink: LineSink = { isKeeping: false, count: () => undefined, emit: (line) => found.push(line) }
  const reading = new FileReading(bytes, sink, about, read)
  for (const _ of reading.slices()) {
    if (found.length > 0) yield found
    found = []
  }
}

/** Reading of a file from its first byte to its last. */
class FileReading {
  readonly #bytes: Buffer
  readonly #sink: LineSink
  readonly #about: ReadingFor
  readonly #before: Read | undefined
  #format: Format | undefined
  #reader: MessageReader<Read> | undefined
  #hasBody = false

  constructor(bytes: Buffer, sink: LineSink, about: ReadingFor, before?: Read) {
    this.#bytes = bytes
    this.#sink = sink
    this.#about = about
    this.#before = before
  }

  /** Yields after every slice of some thousand characters. */
  slices(): Generator<undefined, void, undefined> {
    return readElements(this.#bytes, {
      begin: (namespace, root) => this.#begin(namespace, root),
      isUnit: (name) => this.#reader?.units.has(name) === true || name === this.#format?.body,
      take: (unit) => {
        if (unit.name === this.#format?.body) this.#hasBody = true
        this.#reader?.take(unit)
      },
    })
  }

  end(): { format: Format; read: Read } {
    if (!this.#format || !this.#reader || !this.#hasBody)
      throw new UnreadableFile(`The file holds no ${this.#format?.body}, which its namespace promises.`)
    this.#reader.end()
    return { format: this.#format, read: this.#reader.read }
  }

  #begin(namespace: string, root: string): void {
    const format = formatOf(namespace)
    if (!format || root !== 'Document')
      throw new UnreadableFile(
        'The file is no pain.002, camt.052, camt.053 or camt.054 of a version that is read, by its namespace.',
      )
    this.#format = format
    this.#reader =
      format.kind === 'statements'
        ? new StatementReader(format, this.#sink, this.#about, this.#before as StatementsRead | undefined)
        : new StatusReader(format, this.#sink, this.#about, this.#before as StatusesRead | undefined)
  }
}
