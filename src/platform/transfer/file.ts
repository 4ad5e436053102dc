import { createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type pg from 'pg'
import { conflict, invalid } from '../../kernel/fault.ts'
import { backupName } from '../long/kinds.ts'
import { syncFolder } from '../postgres/data-folder.ts'
import { exportParts } from './export.ts'
import type { EndLine } from './format.ts'

/** The file of an export: compressed, and under its name only when it is whole and on the disk. */

/** Throws a Fault where a file of this name is there: no copy is written over another. */
export function refuseExisting(file: string): void {
  if (existsSync(file)) throw conflict('file_exists', `There is a file ${file} already: name another one.`, 'FILE')
}

/**
 * Exports the database into a file and returns the export's last line. `heed` is called for each part and may throw to end early. Throws a
 * Fault about a file that cannot be written.
 */
export async function writeExport(
  client: pg.ClientBase,
  file: string,
  about: { program: string; madeAt: string },
  heed: () => void = () => {},
): Promise<EndLine> {
  const part = `${file}.part`
  let end: EndLine | undefined
  // So that "perennial running" shows it, for as long as the connection is there.
  await client.query(`select set_config('application_name', $1, false)`, [backupName()])
  try {
    const parts = exportParts(client, about, (last) => (end = last))
    const heeded = async function* () {
      for await (const piece of parts) {
        heed()
        yield piece
      }
    }
    await pipeline(heeded(), createGzip(), createWriteStream(part, { flags: 'wx', mode: 0o600 })).catch(
      fileFailure(part),
    )
    await settle(part, file)
  } catch (error) {
    if (!isThere(error)) await rm(part, { force: true })
    throw error
  }
  return end as unknown as EndLine
}

const isThere = (error: unknown) => (error as { problems?: { code: string }[] }).problems?.[0]?.code === 'file_exists'

/** Gives a file its name after its bytes have reached the disk. */
async function settle(part: string, file: string): Promise<void> {
  const handle = await open(part, 'r')
  await handle.sync()
  await handle.close()
  await rename(part, file)
  syncFolder(dirname(resolve(file)))
}

const fileFailure =
  (file: string) =>
  (error: unknown): never => {
    const { code, syscall, path } = error as { code?: string; syscall?: string; path?: string }
    if (syscall === undefined && path === undefined && code !== 'ENOSPC') throw error
    if (code === 'EEXIST')
      throw conflict(
        'file_exists',
        `There is a file ${file}: another export runs, or was killed; delete it then.`,
        'FILE',
      )
    throw invalid('file_not_usable', `The file ${file} cannot be used (${code}).`, 'FILE')
  }
