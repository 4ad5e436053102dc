import { raisingAfterFailover } from '../features/accounts/settings.ts'
import type { Database } from '../platform/database/database.ts'
import { type OpenDatabase, openService } from '../platform/database/open.ts'
import { type Config, readConfig } from '../platform/config.ts'
import { findOrMakeEncryptionKeys } from '../platform/envelope/encryption-key.ts'
import { lackOfStandbys } from '../platform/failover/standbys.ts'
import { dataFolderAt, hasDatabase, refuseHalfRestored } from '../platform/postgres/data-folder.ts'
import { StartFailure } from '../platform/postgres/start-failure.ts'
import type { PostgresLog } from '../platform/postgres/supervisor.ts'
import { remark } from './output.ts'

/** Settings, the folder of the package and the wanted form of results, which every command gets. */
export interface CommandContext {
  config: Config
  /** The package's folder, where migrations and pages lie. */
  root: string
  version: string
  /** Results as JSON instead of text for people. */
  isJson: boolean
}

/** Throws a ConfigFailure that names every bad variable. */
export function commandContext(root: string, version: string, isJson: boolean): CommandContext {
  return { config: readConfig(process.env), root, version, isJson }
}

/**
 * Returns the log of the embedded database for a short command: it passes on only what a person must know, unless LOG_LEVEL asks for
 * more.
 */
export function quietLog({ config }: Pick<CommandContext, 'config'>): PostgresLog {
  const isTalkative = config.logLevel === 'debug' || config.logLevel === 'trace'
  const isSilent = config.logLevel === 'silent'
  const print = (message: string) => {
    if (!isSilent) remark(message)
  }
  const maybe = isTalkative ? print : () => {}
  return { debug: maybe, info: maybe, warn: print, error: print }
}

/** Absence of a database: most commands have nothing to do then and refuse with a reason; one that `makes` creates it. */
export interface Absence {
  makes: boolean
}

/**
 * Opens the database of a running service, or starts it for the time of the command. Throws a StartFailure where there is none, unless
 * the command is one that makes things.
 */
export async function openForCommand(
  context: CommandContext,
  absent: Absence,
  { inMaintenance = false, keepsSchema = false } = {},
): Promise<OpenDatabase> {
  const { config, root, version } = context
  if (absent.makes && config.databaseUrl === undefined && !hasDatabase(config.dataDir)) {
    refuseHalfRestored(dataFolderAt(config.dataDir))
    if (config.logLevel !== 'silent')
      remark(`There is no database in ${dataFolderAt(config.dataDir).root} (DATA_DIR) yet: one is made.`)
    // Key and database come together, so that a missing key always means a lost one.
    findOrMakeEncryptionKeys(config)
  }
  const ownership = absent.makes ? 'any' : 'present'
  return openService(config, {
    root,
    version,
    ownership,
    inMaintenance,
    keepsSchema,
    log: quietLog(context),
    raiseNumbers: raisingAfterFailover(Date.now),
  })
}

/** SQLSTATEs of functions, columns and tables that are not there. */
const IS_MISSING = new Set(['42883', '42703', '42P01'])

/**
 * Runs one piece of work of a command that shows or controls processes: on a database that lacks migrations too, which it leaves as it is, for those processes may
 * be of the version before. Throws a StartFailure where the work needs what is lacking.
 */
export async function withDatabaseAsItIs<T>(
  context: CommandContext,
  work: (db: Database, opened: OpenDatabase) => Promise<T>,
): Promise<T> {
  const opened = await openForCommand(context, { makes: false }, { keepsSchema: true })
  try {
    return await work(opened.db, opened)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (opened.lacking.length === 0 || !IS_MISSING.has(code)) throw error
    throw new StartFailure(
      `This command needs what the database lacks, ${opened.lacking.join(', ')}: run "perennial migrate" first.`,
    )
  } finally {
    await opened.close()
  }
}

/**
 * Waits until standbys have what a command has changed, with a remark where one lacks it: after a failover nobody knows of a command. What it has done stays
 * done.
 */
export async function awaitStandbys(
  { config }: Pick<CommandContext, 'config'>,
  { connection }: Pick<OpenDatabase, 'connection'>,
): Promise<void> {
  if (config.databaseUrl === undefined) return
  const lack = await lackOfStandbys(connection).catch(
    () => 'The database server did not tell whether standbys have this already.',
  )
  if (lack !== undefined && config.logLevel !== 'silent') remark(lack)
}

/** Runs one piece of work on the database of a running service, or on one that is started just for it. */
export async function withDatabase<T>(
  context: CommandContext,
  work: (db: Database, opened: OpenDatabase) => Promise<T>,
  absent: Absence = { makes: false },
): Promise<T> {
  const opened = await openForCommand(context, absent)
  try {
    const done = await work(opened.db, opened)
    if (opened.hasWritten()) await awaitStandbys(context, opened)
    return done
  } finally {
    await opened.close()
  }
}
