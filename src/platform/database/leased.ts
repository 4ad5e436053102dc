import { assert } from '../../kernel/assert.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from './database.ts'
import { isOver, UNTIL } from './lease.ts'
import { fragment, namesOf, sql } from './sql.ts'

/**
 * Leased rows: work of which one process at a time does each row. A row is claimed under a lease, renewed with every step, and finished; or it
 * failed and waits, longer each time. Its table has the columns leased_until, attempts (failures so far), next_try_at and finished_at. The
 * database's clock decides, and an instant that lies further ahead than any can was written before that clock stepped back: it has passed.
 */

const FIRST_WAIT_SECONDS = 5
const WAIT_SECONDS_MAX = 3600

/** The condition that a row may be claimed: it is not finished, nobody holds it, and it does not wait after a failure. */
export const IS_FREE = fragment`finished_at is null
  and ${isOver('leased_until')} and ${isOver('next_try_at', '1 hour')}`

/** The assignment that claims a row, or renews its lease. */
export const CLAIMED = fragment`leased_until = ${UNTIL}`

/** The assignments that let go of a row. */
export const LET_GO = fragment`leased_until = null, next_try_at = null`

/** A failed try of a row: the failures so far, and the seconds until it may be claimed again. */
interface FailedTry {
  attempts: number
  waitSeconds: number
}

/** Makes the statements of a table of leased rows. Its names stand in the code and become part of statements. */
export function leasedRows(table: { relation: string; id: string }) {
  assert(/^[a-z_ ]+$/.test(`${table.relation} ${table.id}`), 'names of a leased table are plain words')
  const relation = namesOf(table.relation)
  const id = namesOf(table.id)
  return {
    /** Lets go of a row that is not finished, so that the next need not wait for the lease to lapse. */
    release: (tx: Transaction, row: Id) =>
      tx.rows(
        sql`update ${relation} set ${LET_GO} where account_id = ${tx.account} and ${id} = ${row} and finished_at is null`,
      ),

    /** Lets go of a row that failed until a wait is over: 5 seconds at first, twice as long each time, an hour at most. */
    fail: async (tx: Transaction, row: Id): Promise<FailedTry> => {
      const { attempts } = await tx.one<{ attempts: number }>(sql`
        update ${relation} set attempts = attempts + 1 where account_id = ${tx.account} and ${id} = ${row} returning attempts`)
      const waitSeconds = Math.min(FIRST_WAIT_SECONDS * 2 ** (attempts - 1), WAIT_SECONDS_MAX)
      await tx.rows(sql`
        update ${relation} set leased_until = null, next_try_at = moment(interval '1 second' * ${waitSeconds}::integer)
         where account_id = ${tx.account} and ${id} = ${row}`)
      return { attempts, waitSeconds }
    },
  }
}
