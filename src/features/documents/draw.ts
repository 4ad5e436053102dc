import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { serialize } from 'node:v8'
import type { Logger } from 'pino'
import { conflict, Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import type { FurtherFonts } from '../../platform/pdf/further-fonts.ts'
import { Places } from '../../platform/places.ts'
import { ThreadDeath, ThreadRefusal, Threads } from '../../platform/threads.ts'
import type { Drawn } from './document.ts'

/** Draws documents in threads of their own, so that the event loop goes on answering whatever is drawn. */

export interface Drawing {
  /**
   * Returns the PDF of a document. Throws a Fault: 409 for one that is too large to be drawn at all, 429 where too many of the account's wait
   * already, 503 where too many of all accounts wait, or where the thread ended while it drew. Once the signal is aborted nothing
   * is begun.
   */
  draw(account: AccountId, drawable: Drawn, signal?: AbortSignal): Promise<Buffer>
  close(): Promise<void>
}

export interface DrawingSettings {
  /** The package's folder, where the build lies. */
  root: string
  /** Of each thread. */
  heapMb?: number
  threads?: number
  /** Bytes of a document's facts, beyond which it is refused (409). */
  inputBytesMax?: number
  /** Told of threads that ended at their work. */
  log?: Pick<Logger, 'warn'>
  /** Asked for what the typeface lacks. */
  fonts?: FurtherFonts | undefined
}

/** Holds a statement of 10,000 movements, or an invoice of as many lines, several times over. */
const HEAP_MB = 384
/** From this many cores on a second thread does not take the only other core from the database. */
const CORES_FOR_TWO = 4
const DRAW_MS_MAX = 120_000
/** A statement of 10,000 movements is some 2 MiB. */
const INPUT_BYTES_MAX = 16 * 1024 * 1024
const WAITING_BYTES_MAX = 4 * INPUT_BYTES_MAX
const WAITING_MAX = 1000
const OF_ACCOUNT_MAX = 50
const RETRY_SECONDS = 5
/** A document that ended the thread would most likely do so again. */
const NOT_DRAWN_RETRY_SECONDS = 60

const tooLarge = () =>
  conflict(
    'document_too_large',
    'The document is too large for a PDF; read it as JSON, or ask for a shorter period where it has one.',
  )

const notDrawn = (message: string) =>
  new Fault('unavailable', [{ code: 'document_not_drawn', message, field: null }], NOT_DRAWN_RETRY_SECONDS)

const WHY: Record<ThreadDeath['reason'], string> = {
  memory:
    'it needs more memory than a document may have; read it as JSON, or ask for a shorter period where it has one',
  time: 'it took too long; read it as JSON, or ask for a shorter period where it has one',
  crash: 'what draws documents ended unexpectedly; try again',
}

const waiting = (kind: 'throttled' | 'unavailable', message: string) =>
  new Fault(kind, [{ code: 'documents_waiting', message, field: null }], RETRY_SECONDS)

const accountWaits = () =>
  waiting(
    'throttled',
    `${OF_ACCOUNT_MAX} documents of this account are drawn or wait for it already; try again shortly.`,
  )

const everybodyWaits = () => waiting('unavailable', 'Too many documents wait to be drawn; try again shortly.')

function asFault(error: unknown): unknown {
  if (error instanceof ThreadRefusal) return tooLarge()
  if (!(error instanceof ThreadDeath)) return error
  return notDrawn(`The document could not be drawn: ${WHY[error.reason]}.`)
}

/** Starts nothing: a thread is started by the first document. */
export function makeDrawing({
  root,
  heapMb = HEAP_MB,
  threads,
  inputBytesMax = INPUT_BYTES_MAX,
  log,
  fonts,
}: DrawingSettings): Drawing {
  const running = new Threads({
    program: pathToFileURL(join(root, 'dist', 'drawing.js')),
    heapMb,
    timeMsMax: DRAW_MS_MAX,
    data: fonts,
  })
  const places = new Places({
    running: threads ?? (availableParallelism() >= CORES_FOR_TWO ? 2 : 1),
    waiting: WAITING_MAX,
    perOwner: OF_ACCOUNT_MAX,
  })
  let bytes = 0
  const drawn = async (account: AccountId, kind: Drawn['kind'], input: Uint8Array): Promise<Buffer> => {
    try {
      return Buffer.from((await running.run(input)).buffer)
    } catch (error) {
      if (error instanceof ThreadDeath)
        log?.warn({ account: account.toString(), kind, err: errorFacts(error) }, error.message)
      throw asFault(error)
    }
  }
  return {
    draw: async (account, drawable, signal) => {
      const input = serialize(drawable)
      const size = input.byteLength
      if (size > inputBytesMax) throw tooLarge()
      if (bytes + size > WAITING_BYTES_MAX) throw everybodyWaits()
      bytes += size
      const work = async () => {
        signal?.throwIfAborted()
        return drawn(account, drawable.kind, input)
      }
      return places.run(account, work, accountWaits).finally(() => (bytes -= size))
    },
    close: () => running.close(),
  }
}
