import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { arrayLiteral, fragment, sql } from '../database/sql.ts'
import type { Figure } from '../metrics.ts'
import type { Missing, ServerKnowledge } from './memory.ts'

/** Statements of failovers: functions of the owner, for they are about all accounts. */

type Unscoped = Database['unscoped']

/** Answer of the server to a process that meets it. */
export type Met =
  | { isMove: false; system?: string; timeline?: number }
  | {
      isMove: true
      /** Nobody has met it before. */
      isNew: boolean
      id: string
      system: string
      timeline: number
      isLossy: boolean
      /** This process has seen or remembers what the server does not have. */
      isOwnLoss: boolean
      /** Some process knew enough to notice a loss. */
      isKnown: boolean
      /** Identifiers, numbers and holds are done. */
      isSettled: boolean
      /** The last commit of the timeline that this process came from that is here, in milliseconds since 1970; null: nobody knows. */
      replayedAtMs: number | null
      /** The end of the log of that timeline here, in bytes; null: nobody knows. */
      replayedTo: number | null
      /** Of the commits that the process named, those that are not here, by their transactions. */
      lost: readonly string[]
      bytesLost: number | null
      /** How long others may take to call, from now on. */
      waitMs: number
      /** By how much this process called after the first that worked on the server before. */
      lateMs: number
    }

/** A process that meets a server. */
export interface Meeting {
  processId: string
  /** The timeline that it worked on until now; null: it starts. */
  before: number | null
  /** How long others may take to call. */
  patienceMs: number
}

/** Meets the server. */
export const meetServer = (
  db: Unscoped,
  { processId, before, patienceMs }: Meeting,
  { seen, lastSentMs, numbers, commits }: ServerKnowledge,
): Promise<Met> =>
  db.value<Met>(sql`
    select moved_here(${processId}::uuid, ${before}::integer, ${seen}, ${lastSentMs}::double precision, ${JSON.stringify(numbers)}::jsonb,
             ${JSON.stringify(commits.map(({ transaction, position }) => [transaction, position]))}::jsonb, ${patienceMs}::integer) as "met"`)

/** The highest numbers of an account that any process knows; 0: none. */
export interface KnownNumbers {
  account: AccountId
  invoice: bigint
  creditNote: bigint
}

export const listFailoverNumbers = (db: Unscoped, id: string) =>
  db.rows<KnownNumbers>(sql`
    select account_id as "account", invoice, credit_note as "creditNote" from list_failover_numbers(${id}::bigint)`)

export const skipLostIdentifiers = (db: Unscoped, id: string) =>
  db.rows(sql`select skip_lost_identifiers(${id}::bigint)`)

/** Holds every gateway of the live accounts; one that is held already keeps its reason. */
export const holdingGateways = (reason: 'failover' | 'restore' | 'import') =>
  sql`select hold_live_gateways(${reason}::text) as "held"`

export const markSettled = (db: Unscoped, id: string) => db.rows(sql`select settle_failover(${id}::bigint)`)

/** Writes notes down; one that stands there already keeps its place. */
export const noteLosses = (db: Unscoped, id: string, processId: string, found: readonly Missing[]) => {
  const notes = found.map(({ account, gatewayId, ...one }) => ({
    ...one,
    account: String(account),
    gateway: gatewayId === null ? null : String(gatewayId),
  }))
  return db.rows(sql`
    select note_failover(${id}::bigint, ${processId}::uuid, ${JSON.stringify(notes)}::jsonb)`)
}

/** Takes that a process has done its part: it has written down what it knows, and goes on to write. */
export const markDone = (db: Unscoped, id: string, processId: string) =>
  db.rows(sql`select failover_noted(${id}::bigint, ${processId}::uuid)`)

/** Returns whether a process that has called within so many milliseconds has yet to do its part. */
export const awaitsNotes = (db: Unscoped, id: string, patienceMs: number) =>
  db.value<boolean>(sql`select failover_awaits_notes(${id}::bigint, ${patienceMs}::integer) as "is"`)

/** Reads how far standbys are behind, for /metrics. */
export const listReplicationFigures = (db: Unscoped) =>
  db.rows<Figure>(sql`
    select 'replication_lag_bytes' as name, '' as label, lag::double precision as value from replication_lag() as lag where lag is not null`)

/** A failover as it was met. */
export interface Failover {
  id: bigint
  timeline: number
  fromTimeline: number
  metAt: Instant
  replayedTo: string | null
  replayedAt: Instant | null
  seenTo: string | null
  isKnown: boolean
  isLossy: boolean
  /** When identifiers, numbers and holds were done; null: they are not, or nothing was lost. */
  settledAt: Instant | null
  /** Of each sequence its last value when the server was met, and what it was set to. */
  skipped: Readonly<Record<string, readonly [before: number, after: number]>>
  bytesLost: bigint | null
}

/** Lists the failovers, the oldest first. */
export const listFailovers = (db: Pick<Unscoped, 'rows'>) =>
  db.rows<Failover>(sql`
    select failover_id as "id", timeline, from_timeline as "fromTimeline", met_at as "metAt", replayed_to as "replayedTo", replayed_at as "replayedAt",
           seen_to as "seenTo", is_known as "isKnown", is_lossy as "isLossy", settled_at as "settledAt", skipped,
           case when is_lossy and seen_to::pg_lsn > replayed_to::pg_lsn then (seen_to::pg_lsn - replayed_to::pg_lsn)::bigint end as "bytesLost"
      from list_failovers()`)

/** How long a failover is of interest, as what is noted of it is kept. */
const KEPT_MS = 90 * 86_400_000

/** Returns whether a failover may have lost something, and is not long ago. */
export const isOfInterest = ({ isLossy, isKnown, metAt }: Failover, nowMs: number): boolean =>
  (isLossy || !isKnown) && Date.parse(metAt) > nowMs - KEPT_MS

/** Finds the newest failover of which nobody knows whether it lost something; none once a loss was declared or noticed since. */
export async function findUntold(db: Pick<Unscoped, 'rows'>, nowMs: number): Promise<Failover | undefined> {
  const newest = (await listFailovers(db)).findLast((failover) => isOfInterest(failover, nowMs))
  return newest?.isLossy === false ? newest : undefined
}

/** A change or an effect that a process remembers. */
export interface FailoverNote {
  account: AccountId
  kind: 'change' | 'effect'
  operation: string
  type: string | null
  id: string | null
  number: string | null
  gatewayId: Id | null
  sentAt: Instant
  answeredAt: Instant
  state: 'lost' | 'perhaps'
}

const NOTE = fragment`account_id as "account", kind, operation, record_type as "type", record_id as "id", number, gateway_id as "gatewayId",
  sent_at as "sentAt", answered_at as "answeredAt", state`

export const listFailoverNotes = (db: Unscoped, id: bigint) =>
  db.rows<FailoverNote>(sql`select ${NOTE} from list_failover_notes(${id}::bigint)`)

/**
 * Lists what left through a gateway before failovers, and what these may have taken the record of, as far as nobody has looked at it: whatever holds the
 * gateway now. A process that was frozen notes what it knows when others have long settled a failover.
 */
export const listOpenEffects = (db: Queryable, account: AccountId, gateway: Id) =>
  db.rows<FailoverNote>(sql`
    select ${NOTE} from failover_notes
     where account_id = ${account} and gateway_id = ${gateway} and kind = 'effect' and closed_at is null
     order by failover_id, sent_at, process_id, position`)

/** Closes what is noted of a gateway: whoever releases it has looked. No instant is compared, because two servers have two clocks. */
export const closeNotes = (tx: Transaction, gateway: Id) =>
  tx.rows(sql`
    update failover_notes set closed_at = moment()
     where account_id = ${tx.account} and gateway_id = ${gateway} and closed_at is null returning 1 as "closed"`)

/**
 * Takes up what is noted of effects by their references, and returns those that were open: what left before a failover that may
 * have lost the record of it. Each is taken up once.
 */
export const takeUpEffects = async (
  tx: Transaction,
  operation: string,
  references: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (references.length === 0) return new Set()
  return new Set(
    await tx.values<string>(sql`
      update failover_notes set closed_at = moment()
       where account_id = ${tx.account} and kind = 'effect' and operation = ${operation} and record_id = any (${arrayLiteral(references)}::text[])
         and closed_at is null returning record_id as "reference"`),
  )
}

/** Declares the last failover, or a restored copy, a lossy one; returns it. */
export const declareLoss = (db: Unscoped): Promise<bigint> => db.value<bigint>(sql`select declare_loss() as "id"`)

/** Sets every sequence so much further than it was when the server was met. */
export const skipFurther = (db: Unscoped, id: bigint, count: bigint) =>
  db.rows(sql`select skip_further(${id}::bigint, ${count}::bigint)`)
