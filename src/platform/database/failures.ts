import { Fault } from '../../kernel/fault.ts'

/** Failures that the driver throws, sorted into: try again, the database is away or cannot do it now, a rule of the schema, a bug. */

export const RETRIES_MAX = 5

interface DriverError {
  code?: string
  severity?: string
  message?: string
  constraint?: string
}

const asDriverError = (error: unknown): DriverError =>
  typeof error === 'object' && error !== null ? (error as DriverError) : {}

const DEADLOCK = '40P01'
const SERIALIZATION = '40001'
const LOCK_NOT_AVAILABLE = '55P03'

export const isRetryable = (error: unknown): boolean => {
  const { code } = asDriverError(error)
  return code === DEADLOCK || code === SERIALIZATION
}

/** Reports whether a lock did not come within the time that the statement gave itself. */
export const isLockedOut = (error: unknown): boolean => asDriverError(error).code === LOCK_NOT_AVAILABLE

/** Makes the failure that lets a transaction begin again: what it has locked is not all that it needs. */
export const beginAgain = (): Error =>
  Object.assign(new Error('a record joined while the transaction waited for its locks'), { code: SERIALIZATION })

/** SQLSTATE of whatever writes on a standby, or where an operator has made the database read-only. */
export const READ_ONLY = '25006'

/** Code of a connection that was given up at its start, because its server takes no writes. */
export const TAKES_NO_WRITES = 'TAKES_NO_WRITES'

/** Code of a connection that was given up, because its server was a primary before another one was promoted. */
export const FORMER_PRIMARY = 'FORMER_PRIMARY'

/** Code of a connection that was not begun, because of several servers one is silent and the others take no writes. */
export const ONE_IS_SILENT = 'ONE_IS_SILENT'

const PROTOCOL_VIOLATION = '08P01'
const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P01',
  '57P02',
  '57P03',
  '57P04',
  '57P05',
  '25P03',
  '25P04',
  READ_ONLY,
  TAKES_NO_WRITES,
  FORMER_PRIMARY,
  ONE_IS_SILENT,
  '53300',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
  PROTOCOL_VIOLATION,
])
const AWAY_MESSAGES =
  /connection terminated|connection timeout|timeout exceeded when trying to connect|timeout expired|client has encountered a connection error|cannot use a pool after|client was closed|not currently accepting connections/i

/** Reports whether a stored value is none of what a statement takes it for (SQLSTATE class 22). */
export const isOfValues = (error: unknown): boolean => asDriverError(error).code?.startsWith('22') === true

const AFTER_FAILURE = '25P02'

/** Makes the failure of a connection that this process ends: whoever waits on it gets 503. */
export const connectionEnded = (why: string, code = '08006'): Error =>
  Object.assign(new Error(`connection terminated: ${why}`), { code })

const SILENT = 'ETIMEDOUT'

/** Makes the failure of a connection whose server is silent. */
export const serverSilent = (): Error => connectionEnded('the database server gave no answer', SILENT)

/** Makes the failure of an address of which one server is silent, and the others take no writes or, as one of them answers, let nobody in. */
export const oneIsSilent = (refusal?: ServerRefusal): Error =>
  Object.assign(
    connectionEnded(
      `${refusal?.message ?? 'no database server that answers takes writes'}, and one gives no answer`,
      ONE_IS_SILENT,
    ),
    refusal && { cause: refusal },
  )

/** Reports whether the failure is that of a server that gives no answer, or of several of which one does not. */
export const isSilence = (error: unknown): boolean => [SILENT, ONE_IS_SILENT].includes(asDriverError(error).code ?? '')

/** Reports whether of several servers one gives no answer, and the others take no writes. */
export const isOneSilent = (error: unknown): boolean => asDriverError(error).code === ONE_IS_SILENT

/** Reports whether the error only follows from an earlier failure in its transaction. */
export const isAfterFailure = (error: unknown): boolean => asDriverError(error).code === AFTER_FAILURE

/** Makes the error of a statement that was not sent, because its transaction is rolled back. */
export const rolledBack = (): Error =>
  Object.assign(new Error('the transaction was rolled back'), { code: AFTER_FAILURE })

/** Resources that are used up: disk, memory, whatever else (class 53), and a disk that fails. */
const EXHAUSTED_CODES = new Set(['53000', '53100', '53200', '53400', '58030'])

/** A statement that an administrator or a time limit of the server ended. */
const CANCELLED_CODES = new Set(['57014', LOCK_NOT_AVAILABLE])

const refusal = (code: string, message: string, retryAfterSeconds: number, cause?: unknown): Fault =>
  Object.assign(
    new Fault('unavailable', [{ code, message, field: null }], retryAfterSeconds),
    cause === undefined ? {} : { cause },
  )

/** Makes the fault of a database, or of the part of it that has an account, that is away or too busy: 503, and the caller may try again. */
export const unavailable = (cause?: unknown): Fault =>
  refusal(
    'database_unavailable',
    isWorkerAway(cause)
      ? 'A server on which accounts lie cannot be reached by the database at the moment; try again shortly.'
      : 'The database cannot be reached at the moment; try again shortly.',
    2,
    cause,
  )

/** Reports whether this is the fault of a database that is away. */
export const isOutage = (error: unknown): boolean =>
  error instanceof Fault && error.problems[0]?.code === 'database_unavailable'

/** Reports whether a statement was ended by somebody, or by a time limit. */
export const isCancelled = (error: unknown): boolean =>
  error instanceof Fault && error.problems[0]?.code === 'database_cancelled'

/** Passes on the fault of a database that is away: whatever is done one by one cannot go on, and each would fail in the same way. */
export function passOnOutage(error: unknown): void {
  if (isOutage(error)) throw error
}

/** Returns the database answers and takes no writes: 503 as when it is away, in words that lead whoever runs it to the cause. */
const takesNoWrites = (cause: unknown): Fault =>
  refusal(
    'database_unavailable',
    'The database takes no writes at the moment: it is a standby, or was made read-only; try again shortly.',
    2,
    cause,
  )

/** Reports whether a server has answered with this error, in words of its own. */
export function isAnswer(error: unknown): boolean {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof severity === 'string' && typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
}

/** Words of the driver for faults of an address that have no SQLSTATE, though a server has answered. */
const REFUSED_BY_DRIVER = [
  { words: /client password must be a string/, text: 'asks for a password', mend: 'add it to DATABASE_URL' },
  {
    words: /does not support SSL/,
    text: 'has no TLS',
    mend: 'switch ssl on there, or take sslmode out of DATABASE_URL',
  },
]

/** Returns what a server asks for that the address lacks, or the other way round, and what mends it; undefined if it is something else. */
export const refusalByDriver = (error: unknown): { text: string; mend: string } | undefined =>
  REFUSED_BY_DRIVER.find(({ words }) => words.test(asDriverError(error).message ?? ''))

/** A server has answered whoever connects, and lets nobody in. Its cause is the error of the driver; the message names the server, without a password. */
export class ServerRefusal extends Error {
  override name = 'ServerRefusal'
  /** SQLSTATE and severity of the answer. */
  declare readonly code?: string
  declare readonly severity?: string
  readonly server: string

  constructor(server: string, cause: unknown) {
    const { code, message = '', severity } = asDriverError(cause)
    super(`the database server at ${server} ${refusalByDriver(cause)?.text ?? `refuses: ${message}`}`, { cause })
    Object.assign(this, code !== undefined && { code }, severity !== undefined && { severity })
    this.server = server
  }

  /** Whether only a person ends it: a server that has no connection left has one later. */
  get isLasting(): boolean {
    return this.code?.startsWith('53') !== true
  }
}

/** Class of SQLSTATEs of a server that starts, stops, or is made to end what it does. */
const INTERVENTION = '57'

/** Reports whether a server has answered a login, and lets nobody in: it is there, neither starts nor stops, and is no standby. */
const isOfLogin = (error: unknown): boolean =>
  refusalByDriver(error) !== undefined ||
  (isAnswer(error) &&
    !isReadOnly(error) &&
    !isWorkerAway(error) &&
    asDriverError(error).code?.startsWith(INTERVENTION) !== true)

/** Returns the failure of a login as the refusal of its server, if it is one; anything else as it is. */
export const ofLogin = (error: unknown, server: string): unknown =>
  isOfLogin(error) ? new ServerRefusal(server, error) : error

/** Returns the refusal of a server that a failure is, or that stands behind it. */
export function refusalIn(error: unknown): ServerRefusal | undefined {
  if (error instanceof ServerRefusal) return error
  return error instanceof Error ? refusalIn(error.cause) : undefined
}

/** Messages of a coordinator about a worker that ended during a statement; some have the SQLSTATE of an internal error. */
const WORKER_ENDED =
  /^(failure on connection marked as essential|failed to COPY to shard|server closed the connection unexpectedly|connection not open)/

/** Reports whether the coordinator of a cluster has answered that it does not reach a worker. The connection to the coordinator is as it was. */
export const isWorkerAway = (error: unknown): boolean => {
  const { code = '', message = '' } = asDriverError(error)
  return isAnswer(error) && ((code.startsWith('08') && code !== PROTOCOL_VIOLATION) || WORKER_ENDED.test(message))
}

/** Makes the fault of a worker that is known to be away, and is not asked. */
export const workerAway = (name: string): Fault =>
  unavailable(Object.assign(new Error(`the worker ${name} is away`), { code: '08006', severity: 'ERROR' }))

/** Reports whether the failure, or the fault that was made of it, is that of a worker that is away. */
export const isOfWorkerAway = (error: unknown): boolean =>
  isWorkerAway(error) || (error instanceof Fault && isWorkerAway(error.cause))

/** Reports whether the failure is that of a database that takes no writes. */
export function isReadOnly(error: unknown): boolean {
  const { code } = asDriverError(error)
  return code === READ_ONLY || code === TAKES_NO_WRITES
}

/** Returns whether the connection on which this came leads to no database that takes writes, so that nothing more can come of it. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof Fault || isWorkerAway(error)) return false
  if (error instanceof ServerRefusal) return true
  const { code, message } = asDriverError(error)
  return (code !== undefined && AWAY_CODES.has(code)) || AWAY_MESSAGES.test(message ?? '')
}

/**
 * Returns a Fault when the failure means that the database is away or cannot do it now; undefined for anything else. The failure is its
 * cause.
 */
export function databaseFault(error: unknown): Fault | undefined {
  if (error instanceof Fault) return undefined
  const { code = '' } = asDriverError(error)
  if (EXHAUSTED_CODES.has(code))
    return refusal(
      'database_exhausted',
      'The database has no disk space or memory left for this; nothing was changed.',
      30,
      error,
    )
  if (CANCELLED_CODES.has(code))
    return refusal('database_cancelled', 'The database broke this off; nothing was changed. Try again.', 5, error)
  if (isReadOnly(error)) return takesNoWrites(error)
  return isUnavailable(error) || isWorkerAway(error) ? unavailable(error) : undefined
}

/** A look-up has more rows than one may have: no failure of anything, but a read of another kind. */
export class TooManyRows extends Error {
  constructor() {
    super('a look-up has more rows than one may have')
  }
}

const CANCELED = '57014'

/** Makes the fault of a read that ran into its time limit: 503. Asking for less, or at another time, may succeed. */
export const tooExpensive = () =>
  new Fault(
    'unavailable',
    [
      {
        code: 'too_expensive',
        message: 'This takes too long to read: ask for less (a shorter period, a filter, an earlier page).',
        field: null,
      },
    ],
    30,
  )

/** Returns a Fault when a read failed because it took too long or the database is away; undefined for anything else. */
export function readFault(error: unknown): Fault | undefined {
  const { code } = asDriverError(error)
  // A write in a read is a mistake of ours.
  if (code === READ_ONLY) return undefined
  return code === CANCELED ? tooExpensive() : databaseFault(error)
}

const UNIQUE = '23505'
const FOREIGN_KEY = '23503'

const NAMED = /constraint "([^"]+)"/

/**
 * Returns the name of the constraint that refuses; undefined if none does. A worker of Citus names it in the message alone, with the number of its shard
 * at the end.
 */
export function constraintOf(error: unknown): string | undefined {
  const { code, constraint, message = '' } = asDriverError(error)
  if (constraint !== undefined || code?.startsWith('23') !== true) return constraint
  return NAMED.exec(message)?.[1]?.replace(/_\d+$/, '')
}

/** Refusals by the name of the constraint that speaks. */
export type Refusals = Record<string, () => Error>

/** Turns the violation of one named constraint into the refusal that its owner words. */
export async function refuseOn<T>(work: Promise<T>, refusals: Refusals): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code } = asDriverError(error)
    const constraint = constraintOf(error)
    const refusal = (code === UNIQUE || code === FOREIGN_KEY) && constraint ? refusals[constraint] : undefined
    throw refusal ? refusal() : error
  }
}
