import type { Database } from '../platform/database/database.ts'
import { type OpenDatabase, openService } from '../platform/database/open.ts'
import { type Config, readConfig } from '../platform/config.ts'
import type { PostgresLog } from '../platform/postgres/supervisor.ts'
import { remark } from './output.ts'

/** What every command gets: the settings, where the package lies, and how its results are wanted. */
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

/** What the database says while a short command runs: only what a person must know, unless more was asked for. */
export function quietLog({ config }: Pick<CommandContext, 'config'>): PostgresLog {
  const isTalkative = config.logLevel === 'debug' || config.logLevel === 'trace'
  const isSilent = config.logLevel === 'silent'
  const say = (message: string) => {
    if (!isSilent) remark(message)
  }
  const maybe = isTalkative ? say : () => {}
  return { debug: maybe, info: maybe, warn: say, error: say }
}

/** Opens the database of a running service, or starts it for the time of the command. */
export const openForCommand = (context: CommandContext): Promise<OpenDatabase> =>
  openService(context.config, { root: context.root, ownership: 'any', log: quietLog(context) })

/** Runs one piece of work on the database of a running service, or on one that is started just for it. */
export async function withDatabase<T>(context: CommandContext, work: (db: Database) => Promise<T>): Promise<T> {
  const opened = await openForCommand(context)
  try {
    return await work(opened.db)
  } finally {
    await opened.close()
  }
}
