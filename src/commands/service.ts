import pino, { type Logger } from 'pino'
import { raisingAfterFailover } from '../features/accounts/settings.ts'
import { listHeldGateways } from '../features/gateways/queries.ts'
import { languagesMissing } from '../kernel/country-names.ts'
import { secretsIn, shownSettings } from '../platform/config.ts'
import { type OpenDatabase, openService, type Ownership } from '../platform/database/open.ts'
import { findUntold } from '../platform/failover/queries.ts'
import { unknownLoss } from '../platform/failover/settle.ts'
import { makeLog } from '../platform/log.ts'
import type { ChangedLevel } from '../platform/log-level.ts'
import { weakKeysInUse } from '../platform/envelope/open.ts'
import { dataFolderAt } from '../platform/postgres/data-folder.ts'
import type { Envelope } from '../platform/envelope/envelope.ts'
import { hashedSettings } from '../platform/processes/equal-settings.ts'
import { ProcessPresence } from '../platform/processes/presence.ts'
import type { ProcessKind } from '../platform/processes/queries.ts'
import type { CommandContext } from './context.ts'
import type { Stopping } from './stopping.ts'

/** Shared parts of the long-running commands: a log for machines, and a database whose end also ends the process. */

/** Makes the log of a service: lines of JSON on stderr; results go to stdout. */
export const serviceLog = (level: CommandContext['config']['logLevel']): Logger => logTo(level, { sync: false })

const logTo = (level: CommandContext['config']['logLevel'], { sync }: { sync: boolean }): Logger =>
  makeLog(level, secretsIn(process.env), pino.destination({ dest: 2, sync }))

/** Writes why the service ends although nobody asked it to, whatever LOG_LEVEL is: without it there is an exit code and no reason. */
export const sayLastWords = (reason: string): void =>
  logTo('fatal', { sync: true }).fatal({ reason }, 'the service ends')

/** Writes an error of the start that leaves the service running but out of reach, whatever LOG_LEVEL is. */
export const sayAtStart = (message: string): void => logTo('error', { sync: true }).error(message)

/** Opens the database for a long time: a database that ends on its own ends the service, so that whoever runs it starts it again. */
export const openForService = async (
  context: CommandContext,
  log: Logger,
  given: { ownership: Ownership; stop: Stopping; isBackground?: boolean; hasCallers?: boolean },
): Promise<OpenDatabase> => {
  const { databaseUrl, dataDir } = context.config
  const database = databaseUrl === undefined ? 'embedded' : 'server'
  const warned = new Set<string>()
  const opened = await openService(context.config, {
    root: context.root,
    version: context.version,
    raiseNumbers: raisingAfterFailover(Date.now),
    ownership: given.ownership,
    isBackground: given.isBackground ?? false,
    hasCallers: given.hasCallers,
    realClock: Date.now,
    log: {
      debug: (message) => log.debug(message),
      info: (message) => log.info(message),
      warn: (message) => {
        warned.add(message)
        log.warn(message)
      },
      error: (message) => log.error(message),
    },
    onDatabaseGone: (reason) => given.stop.fail(`the database has ended: ${reason}`),
    onKeysMissing: (reason) => given.stop.fail(reason),
  })
  // Not before: a start that is refused is one sentence and nothing else.
  log.info(
    { version: context.version, database, dataDir: dataFolderAt(dataDir).root, ...shownSettings(process.env) },
    'starting',
  )
  const reportHeld = async () => {
    for (const { id, account, heldFor } of await listHeldGateways(opened.db.unscoped))
      log.error(
        `no money moves through gateway ${id} of account ${account}: it is held (${heldFor}) until somebody has looked and runs  perennial gateway release ${id}`,
      )
  }
  if (!given.isBackground) await opened.db.away.ask('which gateways are held', reportHeld, reportHeld)
  // Whoever met it first has reported it once, which may have been a command.
  const untold = given.isBackground ? undefined : await findUntold(opened.db.unscoped, Date.now())
  if (untold && !warned.has(unknownLoss(untold))) log.warn(unknownLoss(untold))
  // The worker of a service runs on the same Node.js, so that the service alone reports it.
  const missing = given.isBackground ? undefined : languagesMissing()
  if (missing !== undefined) log.warn(missing)
  // The worker of a service has the same keys, so that the service alone reports them.
  const weak = given.isBackground ? undefined : weakKeysInUse(context.config)
  if (weak) log.warn(`${weak.text}: ${weak.mend}`)
  return opened
}

/** Reports, in one line, what a start did not ask because a worker of a cluster is away. */
export function reportUnasked({ db: { away } }: Pick<OpenDatabase, 'db'>, log: Logger): void {
  const { names, unasked } = away
  if (unasked.length > 0)
    log.warn(
      `this process has started without asking all accounts, because a worker of Citus is away (${names.join(', ') || 'it is back'}); asked once all are back: ${unasked.join(', ')}`,
    )
}

/** Makes what shows this process to the others. */
export const presenceOf = (
  { config, version }: Pick<CommandContext, 'config' | 'version'>,
  { db, schema, processId: id }: Pick<OpenDatabase, 'db' | 'schema' | 'processId'>,
  {
    kind,
    log,
    level,
    envelope,
    isAtRest,
  }: { kind: ProcessKind; log: Logger; level: ChangedLevel; envelope: Envelope; isAtRest: () => boolean },
): ProcessPresence =>
  new ProcessPresence(
    {
      db,
      isAtRest,
      level,
      log: {
        debug: (message) => log.debug(message),
        info: (message) => log.info(message),
        warn: (message) => log.warn(message),
      },
    },
    { id, kind, version, schema, settings: hashedSettings(config, kind, envelope) },
  )
