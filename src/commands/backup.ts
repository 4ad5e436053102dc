import { conflict, invalid } from '../kernel/fault.ts'
import { withBaseBackup } from '../platform/backup/base-backup.ts'
import { type BackupFacts, writeBackup } from '../platform/backup/file.ts'
import { restoreBackup } from '../platform/backup/restore.ts'
import { joinOrStart } from '../platform/database/open.ts'
import { findEncryptionKeys, keyFileOf } from '../platform/envelope/encryption-key.ts'
import { dataFolderAt } from '../platform/postgres/data-folder.ts'
import { refuseExisting } from '../platform/transfer/file.ts'
import { type CommandContext, quietLog } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, remark } from './output.ts'
import { exportCommand } from './transfer.ts'

/** `perennial backup` and `perennial restore`: a copy of the embedded database, made while the service runs; of a database on a server an export. */

/** Backs the database up into a file that is not there yet; it carries its name only when it is whole. */
export async function backupCommand(
  context: CommandContext,
  { file, withKey }: { file: string; withKey: boolean },
): Promise<number> {
  const { config } = context
  refuseExisting(file)
  if (config.databaseUrl !== undefined) {
    if (withKey) throw keyElsewhere()
    return exportCommand(context, file)
  }
  const key = withKey ? keyText(context) : undefined
  const home = await joinOrStart(config, quietLog(context))
  try {
    const about = { MadeAt: new Date().toISOString(), Program: context.version, key }
    const facts = await withBaseBackup(home.connection, (archive) => writeBackup(file, archive, about))
    printBackup(context, file, facts)
    return EXIT.done
  } finally {
    await home.stop()
  }
}

const keyElsewhere = () =>
  conflict(
    'key_not_exported',
    'The database lies on a server (DATABASE_URL), and its backup is an export, which never holds the encryption key: copy the key by itself.',
    '--with-key',
  )

function keyText({ config }: CommandContext): string {
  const keys = findEncryptionKeys(config)
  if (keys) return `${keys.map((key) => key.toString('hex')).join(',')}\n`
  throw invalid(
    'key_missing',
    `There is no encryption key to back up: neither ENCRYPTION_KEY nor ${keyFileOf(config.dataDir)} is there.`,
    '--with-key',
  )
}

function printBackup({ isJson }: CommandContext, file: string, facts: BackupFacts): void {
  if (isJson) return printJson({ File: file, ...facts })
  printLine(`The database is in ${file} (${facts.Bytes} bytes, SHA-256 ${facts.Sha256}).`)
  remark(
    facts.hasKey
      ? 'The encryption key is in it: whoever has the file can read every secret.'
      : 'The encryption key is not in it, and no service starts on it without the key: keep a copy of that elsewhere.',
  )
}

/** Restores a backup into an empty DATA_DIR. */
export async function restoreCommand(context: CommandContext, file: string): Promise<number> {
  const { config } = context
  if (config.databaseUrl !== undefined)
    throw conflict(
      'database_on_a_server',
      'A backup is restored into DATA_DIR, and DATABASE_URL names a server: unset it, or use "perennial import".',
    )
  const facts = await restoreBackup(file, config.dataDir)
  if (context.isJson) {
    printJson({ DataDir: dataFolderAt(config.dataDir).root, ...facts, isKeyThere: hasKey(context) })
    return EXIT.done
  }
  printLine(`The database of ${facts.MadeAt} is in ${dataFolderAt(config.dataDir).root}.`)
  if (!hasKey(context))
    remark(
      `The encryption key is missing: it is not in the backup. Put it into ${keyFileOf(config.dataDir)}, or set ENCRYPTION_KEY; the service does not start without it.`,
    )
  return EXIT.done
}

const hasKey = ({ config }: CommandContext): boolean => findEncryptionKeys(config) !== undefined
