import { createReadStream, existsSync, statSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { conflict, invalid } from '../kernel/fault.ts'
import { plural } from '../kernel/text.ts'
import { fileFailure } from '../platform/backup/file.ts'
import type { Statement } from '../platform/database/sql.ts'
import { holdingGateways } from '../platform/failover/queries.ts'
import { checkEncryptionKeys } from '../platform/envelope/open.ts'
import { StartFailure } from '../platform/postgres/start-failure.ts'
import { refuseExisting, writeExport } from '../platform/transfer/file.ts'
import { type EndLine, UnreadableExport } from '../platform/transfer/format.ts'
import { importParts } from '../platform/transfer/import.ts'
import { type CommandContext, openForCommand } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, remark } from './output.ts'
import { verifyDatabase } from './verify.ts'
import { BY_ROWS } from '../platform/database/database.ts'

/** `perennial export` and `perennial import`: all that a database keeps, to another one of any version of PostgreSQL. */

/** Exports the database into a file that is not there yet; it carries its name only when it is whole. */
export async function exportCommand(context: CommandContext, file: string): Promise<number> {
  refuseExisting(file)
  const opened = await openForCommand(context, { makes: false })
  try {
    const client = await opened.openOwner()
    try {
      const about = { program: context.version, madeAt: new Date().toISOString() }
      printExport(context, file, await writeExport(client, file, about))
    } finally {
      await client.end()
    }
    return EXIT.done
  } finally {
    await opened.close()
  }
}

function printExport({ isJson }: CommandContext, file: string, { tables, rows, sha256 }: EndLine): void {
  if (isJson) return printJson({ File: file, Tables: tables, Rows: rows, Bytes: statSync(file).size, Sha256: sha256 })
  printLine(`${plural(rows, 'row')} of ${plural(tables, 'table')} are in ${file}.`)
  remark('The encryption key is not in it, and no service starts on it without the key: keep a copy of that elsewhere.')
}

/** Imports a file of an export into an empty database, made where there is none, and verifies all of it. */
export async function importCommand(context: CommandContext, file: string): Promise<number> {
  if (!existsSync(file)) throw invalid('file_missing', `There is no file ${file}.`, 'FILE')
  const opened = await openForCommand(context, { makes: true })
  try {
    const end = await take(context, opened, file)
    if (!context.isJson) printLine(`${plural(end.rows, 'row')} of ${plural(end.tables, 'table')} are imported.`)
    const verified = await verifyDatabase(context, opened.db, undefined)
    if (context.isJson) printJson({ Tables: end.tables, Rows: end.rows, Sha256: end.sha256, Verified: verified.json })
    return verified.code
  } finally {
    await opened.close()
  }
}

async function take(
  context: CommandContext,
  { openOwner }: Awaited<ReturnType<typeof openForCommand>>,
  file: string,
): Promise<EndLine> {
  const client = await openOwner()
  const check = async () => {
    const rows = async <Row>(statement: Statement) => (await client.query(statement)).rows as Row[]
    await checkEncryptionKeys({ ...BY_ROWS, rows }, context.config).catch(keyFailure)
    // The other database may have gone on, and charged what would be charged again here.
    await client.query(holdingGateways('import'))
  }
  let end: EndLine | undefined
  try {
    const source = createReadStream(file)
    await pipeline(source, createGunzip(), async (parts) => {
      end = await importParts(client, parts as AsyncIterable<Buffer>, check)
    })
    return end as unknown as EndLine
  } catch (error) {
    throw unreadable(file, error)
  } finally {
    await client.end()
  }
}

function keyFailure(error: unknown): never {
  if (!(error instanceof StartFailure)) throw error
  throw conflict(
    'key_differs',
    'Nothing was imported: the export is sealed under another key than that of this DATA_DIR or ENCRYPTION_KEY. Bring the key of the service that was exported: copy its encryption.key into DATA_DIR, or set ENCRYPTION_KEY to its key.',
  )
}

/** Errors of zlib about bytes that it cannot read, and about an end that comes too early. */
const OF_ZLIB = /^Z_/

function unreadable(file: string, error: unknown): unknown {
  const { code = '', message } = error as { code?: string; message: string }
  if (!OF_ZLIB.test(code) && !(error instanceof UnreadableExport)) return fileFailure(file, error)
  const reason = OF_ZLIB.test(code) ? reasonOfZlib(message) : message
  return conflict('export_unreadable', `Nothing was imported: ${file} cannot be read: ${reason}.`, 'FILE')
}

const reasonOfZlib = (message: string): string =>
  message === 'incorrect header check'
    ? 'it is not compressed, so it is no export; what "perennial backup" wrote is put back by "perennial restore"'
    : 'it is cut off or damaged, or no export'
