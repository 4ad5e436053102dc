import { chmodSync, existsSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { type BinariesPackage, prepareBinaries } from './binaries.ts'
import { connectionTo, type EmbeddedConnection, waitUntilReady } from './connection.ts'
import { type DataFolder, hasCluster, openDataFolder, refuseHalfRestored } from './data-folder.ts'
import { makeCluster } from './first-start.ts'
import { type GuardedServer, type ServerEnd, startGuardedServer } from './guard.ts'
import { chooseIdentity } from './identity.ts'
import { type FolderLock, takeLock } from './lock.ts'
import type { ServerSettings } from './settings.ts'
import { folderFailure, fullDisk, StartFailure } from './start-failure.ts'

const PATIENCE_MS = 10_000
/** The exit code of a program that a signal ended is this plus the number of the signal, as shells report it. */
const ENDED_BY_SIGNAL = 128

/** Log of the supervisor and the server; a pino logger fits. */
export type PostgresLog = Record<'debug' | 'info' | 'warn' | 'error', (message: string) => void>

/** A database that this process owns. */
export type EmbeddedPostgres = {
  readonly connection: EmbeddedConnection
  /** Stops the server and gives the folder free. Harmless when repeated. */
  stop(): Promise<void>
  /** Settles when the server has ended, asked or not. */
  readonly exited: Promise<ServerEnd>
  /** Returns how and why the server has ended, in one line. */
  reasonOfEnd(end: ServerEnd): string
}

/**
 * Starts the embedded PostgreSQL that lives in `dataDir`, making it at the first start, and waits until it answers.
 * It ends with this process, however this process ends. Cleans up after a killed predecessor.
 * Throws a StartFailure, whose message is one sentence for the person who starts the service.
 */
export async function startEmbeddedPostgres(given: {
  dataDir: string
  log: PostgresLog
  settings?: ServerSettings
  /** Left out: those of the installed platform package. */
  programs?: BinariesPackage
}): Promise<EmbeddedPostgres> {
  const { log } = given
  const folder = openDataFolder(given.dataDir)
  const lock = await takeLock(folder, (message) => log.warn(message))
  if (lock.killedOwner !== undefined)
    log.info(
      `the process ${lock.killedOwner} that used ${folder.root} last did not stop by itself: it was killed, or its machine went down`,
    )
  try {
    return await startLocked(folder, lock, given)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function startLocked(
  folder: DataFolder,
  lock: FolderLock,
  { log, settings, programs }: Pick<Parameters<typeof startEmbeddedPostgres>[0], 'log' | 'settings' | 'programs'>,
): Promise<EmbeddedPostgres> {
  const identity = chooseIdentity(folder.root)
  const binaries = prepareBinaries(identity, programs)
  const common = { folder, binaries, identity, lockDescriptor: lock.descriptor }
  refuseRootsCluster(folder)
  refuseHalfRestored(folder)
  if (!hasCluster(folder, binaries.majorVersion)) {
    log.info(`making a database in ${folder.root}`)
    await makeCluster({ ...common, isDurable: settings?.fsync !== 'off' })
  }
  closeToOthers(folder)
  const server = startGuardedServer({ ...common, settings, onLine: (line) => report(log, line) })
  const connection = connectionTo(folder.cluster)
  await untilReady(server, connection, folder, log)
  const released = server.exited.finally(() => lock.release())
  return {
    connection,
    exited: server.exited,
    reasonOfEnd: (end) => reasonOfEnd(end, server.lastWords()),
    stop: async () => {
      await server.stop()
      await released
    },
  }
}

// A folder restored by root belongs to root, and the database's user could not even write why it fails.
function refuseRootsCluster(folder: DataFolder): void {
  if (process.getuid?.() !== 0 || !existsSync(join(folder.cluster, 'PG_VERSION'))) return
  if (statSync(folder.cluster).uid !== 0) return
  throw new StartFailure(
    `The database in ${folder.cluster} belongs to root, as whom PostgreSQL does not run: give it away (chown -R nobody ${folder.cluster}).`,
  )
}

// PostgreSQL refuses a folder that others can enter, as a restored copy often is.
function closeToOthers(folder: DataFolder): void {
  try {
    chmodSync(folder.cluster, 0o700)
  } catch (error) {
    throw folderFailure(folder.root, error)
  }
}

async function untilReady(
  server: GuardedServer,
  connection: EmbeddedConnection,
  folder: DataFolder,
  log: PostgresLog,
): Promise<void> {
  let isOver = false
  // Replaying a long log can take minutes, in which an operator must not think that nothing happens.
  const patience = setInterval(() => log.info('the database is not ready yet: it replays its log'), PATIENCE_MS)
  const ended = server.exited.finally(() => (isOver = true))
  try {
    await Promise.race([ended, waitUntilReady(connection, () => isOver)])
  } catch (error) {
    await server.stop()
    throw error
  } finally {
    clearInterval(patience)
  }
  if (isOver) throw startFailureOf(server.lastWords(), folder)
}

function startFailureOf(lastWords: string, folder: DataFolder): StartFailure {
  if (/No space left|Disk quota exceeded/.test(lastWords)) return fullDisk(folder.root)
  const lines = lastWords
    .split('\n')
    .map(withoutState)
    .filter((line) => !EXPECTED.test(line))
  const reason = lines.findLast((line) => /FATAL|PANIC|error/.test(line)) ?? (lines.at(-1) || 'it gave no reason')
  return new StartFailure(`The database in ${folder.root} did not start: ${reason.trim()}`)
}

// What the server calls fatal although it belongs to every first start, recovery and stop.
const EXPECTED = /^FATAL: +(the database system is |database "perennial" does not exist)/

const STATE = /^[0-9A-Z]{5} (?=[A-Z]+\d?:)/
const withoutState = (line: string): string => line.replace(STATE, '')

/** Lines of the server about its own end. Lines of errors are none of them: they may repeat what a caller sent. */
const OF_AN_END = [
  /^(PANIC|FATAL): +(?! |the database system is |terminating connection )/,
  /^LOG: +.*(was terminated by|exited with exit code|received .*shutdown request|immediate shutdown|terminating any other|aborting startup)/,
]
const REASON_LINES = 3

/**
 * Returns how the server has ended and what it wrote last about that, in one line. A server that was killed outright wrote nothing about it,
 * and its last lines are of something else.
 */
export function reasonOfEnd({ code }: Pick<ServerEnd, 'code'>, lastWords: string): string {
  const signal =
    code === null ? undefined : Object.entries(constants.signals).find(([, no]) => no + ENDED_BY_SIGNAL === code)
  const ending = signal ? `killed by signal ${signal[1]} (${signal[0]})` : `ended with exit code ${code}`
  if (signal?.[0] === 'SIGKILL') return ending
  const lines = lastWords
    .split('\n')
    .map(withoutState)
    .filter((line) => OF_AN_END.some((pattern) => pattern.test(line)))
    .slice(-REASON_LINES)
  return [...(code === null ? ['its guard was killed'] : [ending]), ...lines].join('; ')
}

/**
 * Classes of SQLSTATE that are an illness of the server or its machine, whoever met it: used up resources (53), failures of the system (58), a
 * broken configuration (F0), internal errors and corruption (XX).
 */
const ILLNESS = /^(53|58|F0|XX)/

/**
 * States of what this service does itself, or what follows from callers that hang up: statements it has cancelled (57014), connections that it or
 * an administrator has ended (57P01, class 08), and a rollback that came after the end of its transaction (25P01).
 */
const OWN_DOING = /^(57014|57P01|08...|25P01)$/

/** A process of the server that died on its own: all others start again, and transactions under way are lost. */
const CRASH =
  /^LOG: +.*(was terminated by signal|was terminated by exception|terminating any other active server processes)/

/** A backup passes over the socket of the server. */
const OF_A_BACKUP = /^WARNING: +skipping special file ".*\.s\.PGSQL\./

/** Returns the level at which a line of the server is worth being written. */
export function levelOf(line: string): keyof PostgresLog {
  const state = STATE.exec(line)?.[0].trim() ?? ''
  const text = withoutState(line)
  if (EXPECTED.test(text) || OF_A_BACKUP.test(text) || OWN_DOING.test(state)) return 'debug'
  if (/^(FATAL|PANIC):/.test(text) || CRASH.test(text)) return 'error'
  if (/^(ERROR|LOG):/.test(text)) return ILLNESS.test(state) ? 'error' : 'debug'
  return text.startsWith('WARNING:') ? 'warn' : 'debug'
}

const report = (log: PostgresLog, line: string): void => log[levelOf(line)](`postgres: ${withoutState(line)}`)
