import type { XmlElement } from './elements.ts'
import type { ResultLine } from './result-lines.ts'

/** Reader of one kind of message. */

/** Takes the lines of a file. */
export interface LineSink {
  /** Counts something that may be a line; throws UnreadableFile if there are too many. */
  count(): void
  emit(line: ResultLine): void
  /** False if the file has become too large for its lines to be kept: they are asked for in a second reading. */
  isKeeping: boolean
}

export interface MessageReader<Read> {
  /** Names of elements that it takes when they end. */
  units: ReadonlySet<string>
  take(unit: XmlElement): void
  /** The file has been read; throws UnreadableFile if there was nothing in it. */
  end(): void
  /** Facts that a second reading needs. */
  read: Read
}
