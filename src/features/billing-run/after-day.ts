import { earliest, type IsoDate } from '../../kernel/calendar.ts'
import type { Account, Moment } from '../../kernel/context.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'

/** Work of a day beside its run. */

/** Outcomes of tries. */
export interface TryTotals {
  collected: number
  declined: number
  unknown: number
}

/** Work that belongs to a day, after everything of the run. */
export interface AfterDay {
  /** Finds the first day after another, up to a last one, that has such work. */
  findAfter(db: Queryable, account: AccountId, day: IsoDate, until: IsoDate): Promise<IsoDate | null>
  work(db: Database, account: Account, moment: Moment, actor: string): Promise<TryTotals>
  /** Does what is done once, as a clock begins to move; left out: nothing. */
  begin?(db: Database, account: Account, moment: Moment): Promise<void>
}

/** Joins several kinds of such work: each day they are done one after the other. */
export const inTurn = (parts: readonly AfterDay[]): AfterDay => ({
  async findAfter(db, account, day, until) {
    let found: IsoDate | null = null
    for (const part of parts) found = earliest(found, await part.findAfter(db, account, day, until))
    return found
  },
  async work(db, account, moment, actor) {
    const totals: TryTotals = { collected: 0, declined: 0, unknown: 0 }
    for (const part of parts) {
      const done = await part.work(db, account, moment, actor)
      totals.collected += done.collected
      totals.declined += done.declined
      totals.unknown += done.unknown
    }
    return totals
  },
  async begin(db, account, moment) {
    for (const part of parts) await part.begin?.(db, account, moment)
  },
})
