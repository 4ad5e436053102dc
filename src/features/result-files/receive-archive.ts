import { createHash } from 'node:crypto'
import type { RequestContext } from '../../kernel/context.ts'
import { Fault, invalid } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { type ArchivedFile, openArchive, UnreadableZip } from '../../platform/archive/archive.ts'
import type { ResultDeps } from './deps.ts'
import type { ResultFile } from './queries.ts'
import { receiveFile } from './receive.ts'

/**
 * Archives of result files: each file in one is a result file of its own, one after the other. What cannot be read stops no other, and the same
 * archive sent again goes on where it was: files that are done answer as before.
 */

/** A file of an archive: what came of it, or why it was refused. */
export interface ReceivedFile {
  name: string
  file: ResultFile | null
  refusal: Fault | null
}

export interface ReceivedArchive {
  sha256: Buffer
  files: readonly ReceivedFile[]
  /** Whether any of its files was new. */
  isNew: boolean
}

/** Works on the files of an archive. Throws the refusal of the first if none can be read. */
export async function receiveArchive(
  deps: ResultDeps,
  context: RequestContext,
  gatewayId: Id,
  bytes: Buffer,
): Promise<ReceivedArchive> {
  const files: ReceivedFile[] = []
  let isNew = false
  for (const { name, unpack } of await open(bytes)) {
    const received = await receiveFile(deps, context, gatewayId, await unpack()).catch(refusalOf)
    const isRefused = received instanceof Fault
    if (!isRefused && received.isNew) isNew = true
    files.push({ name, file: isRefused ? null : received.file, refusal: isRefused ? received : null })
  }
  const [first] = files
  if (first?.refusal && files.every(({ file }) => file === null)) throw first.refusal
  return { sha256: createHash('sha256').update(bytes).digest(), files, isNew }
}

const open = (bytes: Buffer): Promise<ArchivedFile[]> =>
  openArchive(bytes).catch((error: unknown) => {
    if (error instanceof UnreadableZip) throw invalid('archive_unreadable', error.message)
    throw error
  })

/** Returns what stands against a file alone; throws anything else, which stands against the rest of the archive too. */
function refusalOf(thrown: unknown): Fault {
  if (thrown instanceof Fault && (thrown.kind === 'invalid' || thrown.kind === 'conflict')) return thrown
  throw thrown
}
