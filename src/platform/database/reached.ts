import { Fault } from '../../kernel/fault.ts'
import type { Config } from '../config.ts'
import { dataFolderAt } from '../postgres/data-folder.ts'
import { StartFailure } from '../postgres/start-failure.ts'
import { serversOf, shownServer } from './addresses.ts'
import {
  isAnswer,
  isOfWorkerAway,
  isOneSilent,
  isReadOnly,
  refusalByDriver,
  refusalIn,
  type ServerRefusal,
} from './failures.ts'

/** Words for a start or a command whose database does not serve: the server's own, and what to do. */

function readOnlyFailure({ databaseUrl, dataDir }: Config): StartFailure {
  if (databaseUrl === undefined)
    return new StartFailure(
      `The database in ${dataFolderAt(dataDir).root} is read-only: somebody has set default_transaction_read_only; reset that (alter database, alter role or alter system).`,
    )
  if (serversOf(databaseUrl).length > 1)
    return new StartFailure(
      `Of the database servers at ${shownServer(databaseUrl)} none takes writes, and one at least is a standby, or its database is read-only: start the primary, or promote the standby.`,
    )
  return new StartFailure(
    `The database server at ${shownServer(databaseUrl)} takes no writes: it is a standby, or the database is read-only; name the server that does, or all of them separated by commas, in DATABASE_URL.`,
  )
}

/** Words a start that cannot do without a worker of a cluster: one that migrates, or settles what a failover has lost. */
function workerAwayFailure({ databaseUrl = '' }: Config, error: unknown): StartFailure {
  const { message } = (error instanceof Fault ? error.cause : error) as Error
  return new StartFailure(
    `A worker of the database server at ${shownServer(databaseUrl)} is away, without which this cannot start: ${message.split('\n', 1)[0]}. Start again when it is back.`,
  )
}

/** Remedies for refusals of a server, by their SQLSTATE; the words of the server stand before them. */
const REMEDIES: Readonly<Record<string, string>> = {
  '28P01': 'Check user, password and database in DATABASE_URL.',
  '28000': 'Check the user in DATABASE_URL, and pg_hba.conf of the server.',
  '3D000': 'Make the database, or name another one in DATABASE_URL.',
  '42501': 'Check the rights of the user in DATABASE_URL.',
}

/** A worker's refusal comes in the coordinator's words, after its own. */
const NO_LOGIN = /(?:^|FATAL: +)role "(.*)" is not permitted to log in$/

/** A login that may make nothing in the database. */
const NO_RIGHT = /^permission denied for (database .*)$/

/** Returns the role that a server does not let log in, by its words. */
export const roleWithoutLogin = (message: string): string | undefined => NO_LOGIN.exec(message)?.[1]

function remedyFor({ code = '', message = '' }: { code?: string; message?: string }): string {
  const role = roleWithoutLogin(message)
  if (role !== undefined) return `Its administrator runs  alter role ${role} login;`
  const [, object] = NO_RIGHT.exec(message) ?? []
  if (object !== undefined) return `Its administrator grants the user of DATABASE_URL CREATE on ${object}.`
  return REMEDIES[code] ?? 'Look into the log of the server.'
}

/** Words the refusal of one server, in its own words and with what mends it. A standby beside it is no reason to promote that: the server is there. */
function wordsOf({ server, cause }: ServerRefusal): string {
  const byDriver = refusalByDriver(cause)
  if (byDriver) return `database server at ${server} ${byDriver.text}: ${byDriver.mend}.`
  const answer = cause as { code: string; message: string }
  return `database server at ${server} refuses: ${answer.message}. ${remedyFor(answer)}`
}

/** Runs work on a server, and words what fails as one sentence about it. Throws a StartFailure. */
export async function reached<T>(config: Config, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StartFailure) throw error
    if (isOfWorkerAway(error)) throw workerAwayFailure(config, error)
    const refusal = config.databaseUrl === undefined ? undefined : refusalIn(error)
    if (refusal)
      throw new StartFailure(
        isOneSilent(error)
          ? `Of the database servers at ${shownServer(config.databaseUrl!)} one gives no answer, and the ${wordsOf(refusal)}`
          : `The ${wordsOf(refusal)}`,
      )
    if (error instanceof Fault) throw new StartFailure(error.message)
    if (isReadOnly(error)) throw readOnlyFailure(config)
    if (!config.databaseUrl) throw error
    const { code, message } = error as { code?: string; message?: string }
    const server = shownServer(config.databaseUrl)
    if (isOneSilent(error))
      throw new StartFailure(
        `Of the database servers at ${server} none that answers takes writes, and one gives no answer: check that it runs and can be reached, or promote a standby.`,
      )
    if (isAnswer(error))
      throw new StartFailure(
        `The database server at ${server} refuses: ${message}. ${remedyFor(error as { code: string })}`,
      )
    throw new StartFailure(
      `The database server at ${server} cannot be reached (${code ?? message}): check that it runs and that DATABASE_URL names it.`,
    )
  }
}
