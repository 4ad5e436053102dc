import { withBaseBackup } from '../platform/backup/base-backup.ts'
import { writeBackup } from '../platform/backup/file.ts'
import type { NightlyCopies } from '../platform/backup/nightly.ts'
import type { OpenDatabase } from '../platform/database/open.ts'
import type { EmbeddedConnection } from '../platform/postgres/connection.ts'
import { writeExport } from '../platform/transfer/file.ts'
import type { CommandContext } from './context.ts'

/** Returns what the nightly copy needs; undefined where BACKUP_DIR is not set. The encryption key is never in it. */
export function nightlyCopiesOf(
  { config: { backupDir, backupKeep, databaseUrl }, version }: CommandContext,
  { connection, openOwner }: Pick<OpenDatabase, 'connection' | 'openOwner'>,
): NightlyCopies | undefined {
  if (backupDir === undefined) return undefined
  const common = { folder: backupDir, keep: backupKeep, openOwner }
  const now = () => new Date().toISOString()
  if (databaseUrl !== undefined)
    return {
      ...common,
      ending: '.export.gz',
      write: (file, client, goOn) => writeExport(client, file, { program: version, madeAt: now() }, goOn),
    }
  return {
    ...common,
    ending: '.tar',
    write: (file, _, goOn) =>
      withBaseBackup(
        connection as EmbeddedConnection,
        (archive) => writeBackup(file, archive, { MadeAt: now(), Program: version, key: undefined }, goOn),
        { isGentle: true },
      ),
  }
}
