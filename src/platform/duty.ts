import type { Logger } from 'pino'
import type { RealClock } from '../kernel/context.ts'
import type { Database } from './database/database.ts'

/** Background work that a worker does now and then, whatever it is. */

export interface DutyDeps {
  db: Database
  log: Logger
  realClock: RealClock
}

/** Throws when the work is to end early; called between steps that leave everything whole. */
export type GoOn = () => void

export interface Duty {
  /** Its name in the log. */
  name: string
  /** Milliseconds from the end of one round to the beginning of the next. */
  everyMs: number
  /** The channel of notifications that begin the next round at once. */
  wakesOn?: string
  /**
   * Whether a round may begin while earlier ones are at work, after `everyMs` from the beginning of the last one or when it is called. Its work is bounded by
   * an `AccountWork`, which passes over what is at work.
   */
  overlaps?: boolean
  /** Does one round; 'again' begins the next at once, because more waits than one round does. */
  run(deps: DutyDeps, goOn: GoOn): Promise<'again' | void>
}
