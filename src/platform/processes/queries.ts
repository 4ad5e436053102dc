import type { Instant } from '../../kernel/calendar.ts'
import type { Database, Queryable } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { LogLevel } from '../log-level.ts'
import type { Figure } from '../metrics.ts'

/** Statements of the processes of the service: who is there, on whichever machine. */

export const PROCESS_STATES = ['ready', 'draining', 'maintenance', 'outdated'] as const
export type ProcessState = (typeof PROCESS_STATES)[number]
export type ProcessKind = 'serve' | 'work'

/** A process as it describes itself. */
export interface ProcessFacts {
  id: string
  kind: ProcessKind
  host: string
  pid: number
  version: string
  /** The newest migration that it knows. */
  schema: number
  logLevel: string
  /** A keyed hash of each setting that must be equal in all processes, by its name. */
  settings: Readonly<Record<string, string>>
}

/** A process as the others see it. */
export interface ListedProcess extends ProcessFacts {
  state: ProcessState
  startedAt: Instant
  seenAt: Instant
  /** It was seen within the last minute. */
  isLive: boolean
}

/** How long the database may take to write that a process is there, or leaves: nothing depends on it. */
export const PRESENCE_ANSWER_MS = 2_000

/** Writes that a process is there. */
export const beat = (db: Queryable, process: ProcessFacts & { state: ProcessState }) =>
  db.rows(sql`
    select beat(${process.id}::uuid, ${process.kind}, ${process.host}, ${process.pid}, ${process.version}, ${process.schema}, ${process.state},
                ${process.logLevel}, ${JSON.stringify(process.settings)}::jsonb)`)

export const leave = (db: Queryable, id: string) => db.rows(sql`select leave(${id}::uuid)`)

/** The channel on which processes learn that something is wished of them. */
export const PROCESS_CHANNEL = 'processes'

/** A level of the log that is wished of a process. */
export interface LevelWish {
  level: LogLevel
  /** How much longer it is wished. */
  seconds: number
  until: Instant
}

/** Finds the level of the log that is wished of a process; none where its time is over. */
export const listLevelWishes = (db: Queryable, id: string) =>
  db.rows<LevelWish>(sql`select level, seconds, until from wished_log_level(${id}::uuid)`)

/** Wishes a level of the log of one live process, or of all (null). Returns those that it reaches. */
export const wishLevel = (db: Database['unscoped'], id: string | null, level: LogLevel, minutes: number) =>
  db.rows<Pick<ListedProcess, 'id' | 'kind' | 'host' | 'pid'>>(sql`
    select process_id as "id", kind, host, pid from wish_log_level(${id}::uuid, ${level}, ${minutes}) order by host, pid`)

/** Lists the processes that were there in the last day, the oldest first. */
export const listProcesses = (db: Queryable) =>
  db.rows<ListedProcess>(sql`
    select process_id as "id", kind, host, pid, version, schema, state, started_at as "startedAt", seen_at as "seenAt", is_live as "isLive",
           log_level as "logLevel", settings
      from list_processes()`)

/** Counts the live processes for /metrics. */
export const listProcessFigures = (db: Database['unscoped']) =>
  db.rows<Figure>(sql`
    select 'processes' as name, kind || ' ' || version || ' ' || state as label, count(*)::double precision as value
      from list_processes() where is_live group by kind, version, state`)
