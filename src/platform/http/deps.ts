import type { Logger } from 'pino'
import type { Database, Transaction } from '../database/database.ts'
import type { LongOperations } from '../long/long-operations.ts'
import type { Metrics } from '../metrics.ts'
import type { Outage } from '../outage.ts'
import type { Places } from '../places.ts'
import type { SteadyClock } from '../steady-clock.ts'
import type { Underway } from '../underway.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { Account, Caller, RealClock, RequestContext } from '../../kernel/context.ts'
import type { Bodies } from './body-bounds.ts'
import type { ConnectionBounds } from './connection-bounds.ts'
import type { GroupedWrites } from './grouped-writes.ts'
import type { IdempotencySecrets, KeptRow, KeyedRequest } from './idempotency.ts'
import type { KnownLong } from './known-long.ts'
import type { RateState } from './rate-limit.ts'
import type { SlowRequests } from './slow-requests.ts'

/** Dependencies of the HTTP server, made in app.ts. */
export interface HttpDeps {
  db: Database
  log: Logger
  /** The same database on connections that long operations have for themselves. */
  longDb: Database
  /** Bounds how many long operations of each kind run and wait, of an account one. */
  longOperations: Pick<LongOperations, 'run'>
  /** Bounds how many calls of gateways wait for their answer. */
  outwardPlaces: Pick<Places, 'take'>
  realClock: RealClock
  /** The service is on its way out: every answer closes its connection, and the service is not ready. */
  draining: { hasBegun: boolean }
  /** Counts the requests that the database is away for. */
  outage: Pick<Outage, 'met' | 'isStopping'>
  /** Counts requests, and what goes on after their answers. */
  underway: Underway
  secrets: IdempotencySecrets
  publicUrl: string | undefined
  trustProxy: boolean | string | readonly string[]
  corsOrigins: readonly string[]
  bounds: ConnectionBounds
  /** Bounds what large bodies take. */
  bodies: Bodies
  /** Finds the caller of an Authorization header, or throws 401 or 429. */
  authenticate(header: string | undefined, address: string): Promise<Caller>
  /** The account as a write sees it, read in its transaction. */
  freshAccount(tx: Transaction): Promise<Account>
  /** The same, with what was kept under the key of the request. */
  freshAccountUnder(tx: Transaction, keyed: KeyedRequest, realNow: Instant): Promise<Account & KeptRow>
  contextOf(caller: Caller): RequestContext
  /** Does writes that come at once in common transactions. */
  groupedWrites: Pick<GroupedWrites, 'run'>
  /** Bounds how many expensive answers an account has under way at a time, until their bodies are made. */
  expensiveAnswers: Pick<Places, 'run'>
  /** Bounds how many expensive reads are made at a time. */
  expensiveReads: Pick<Places, 'run'>
  /** Requests whose answers need not be tried as short ones. */
  knownLong: KnownLong
  rateLimit(caller: Caller): RateState
  /** Counts every answer, and the names of requests that nobody knows. */
  metrics: Pick<Metrics, 'measured' | 'ignoredNames'>
  /** Takes every answered request, and logs the slow ones. */
  slowRequests: Pick<SlowRequests, 'answered'>
  /** The clock of spans. */
  clock: SteadyClock
}
