import { Fault } from '../../kernel/fault.ts'

/** What the driver throws, sorted into: try again, the database is away, a rule of the schema, a bug. */

export const RETRIES_MAX = 5

interface DriverError {
  code?: string
  message?: string
  constraint?: string
}

const asDriverError = (error: unknown): DriverError =>
  typeof error === 'object' && error !== null ? (error as DriverError) : {}

const DEADLOCK = '40P01'
const SERIALIZATION = '40001'

export const isRetryable = (error: unknown): boolean => {
  const { code } = asDriverError(error)
  return code === DEADLOCK || code === SERIALIZATION
}

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
  '53300',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
  '08P01',
])
const AWAY_MESSAGES =
  /connection terminated|connection timeout|timeout exceeded when trying to connect|client has encountered a connection error|cannot use a pool after|client was closed/i

/** The database is away, or too busy: 503, and the caller may try again. */
export const unavailable = () =>
  new Fault(
    'unavailable',
    [
      {
        code: 'database_unavailable',
        message: 'The database cannot be reached at the moment; try again shortly.',
        field: null,
      },
    ],
    2,
  )

/** A Fault when the failure means that the database is away; undefined for anything else. */
export function databaseFault(error: unknown): Fault | undefined {
  if (error instanceof Fault) return undefined
  const { code, message } = asDriverError(error)
  return (code !== undefined && AWAY_CODES.has(code)) || AWAY_MESSAGES.test(message ?? '') ? unavailable() : undefined
}

const CANCELED = '57014'

/** The read ran into its time limit: 503. Asking for less, or at another time, may succeed. */
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

/** A Fault when a read failed because it took too long or the database is away; undefined for anything else. */
export const readFault = (error: unknown): Fault | undefined =>
  asDriverError(error).code === CANCELED ? tooExpensive() : databaseFault(error)

const UNIQUE = '23505'
const FOREIGN_KEY = '23503'

/** Turns the violation of one named constraint into the refusal that its owner words. */
export async function refuseOn<T>(work: Promise<T>, refusals: Record<string, () => Fault>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code, constraint } = asDriverError(error)
    const refusal = (code === UNIQUE || code === FOREIGN_KEY) && constraint ? refusals[constraint] : undefined
    throw refusal ? refusal() : error
  }
}
