import type pg from 'pg'
import { hasFunction } from '../database/is-there.ts'
import type { Statement } from '../database/sql.ts'
import { findUntold } from '../failover/queries.ts'
import { broken, doubtful, type Finding } from './finding.ts'

/** A failover for which writes wait: it is not met, what it lost is not settled, or a process cannot do its part. And one that nobody can judge. */

interface Undecided {
  timeline: number
  /** The timeline that was met before. */
  before: number
  isMet: boolean
  isSettled: boolean
  /** Processes that live, and have not done their part. */
  waiting: readonly string[]
}

export async function checkFailover(client: pg.ClientBase): Promise<Finding[]> {
  if (!(await hasFunction(client, 'perennial.undecided_failover()'))) return []
  const { rows } = await client.query<Undecided>(
    `select timeline, before, is_met as "isMet", is_settled as "isSettled", waiting from perennial.undecided_failover()`,
  )
  // A process that has yet to do its part may be the one that knows.
  return rows.length > 0 ? rows.map(findingOf) : checkUntold(client)
}

async function checkUntold(client: pg.ClientBase): Promise<Finding[]> {
  const rows = async <Row>(statement: Statement) => (await client.query(statement)).rows as Row[]
  const untold = await findUntold({ rows }, Date.now())
  if (!untold) return []
  const { fromTimeline, timeline, metAt } = untold
  return [
    doubtful(
      'failover',
      `nobody can tell whether something was lost by the one from timeline ${fromTimeline} to ${timeline}, met ${metAt}: no process remembered`,
      'if something may be missing, run "perennial after-failover --lossy"; this is said for 90 days',
    ),
  ]
}

const SETTLE = 'run "perennial after-failover": it does that, or names what hinders it'

function findingOf({ timeline, before, isMet, isSettled, waiting }: Undecided): Finding {
  const about = 'failover'
  const which = `the one from timeline ${before} to ${timeline}`
  if (!isMet) return broken(about, `${which} is not met by any process, and until then nothing is written`, SETTLE)
  const who = waiting.join(', ')
  if (!isSettled)
    return broken(
      about,
      `what ${which} has lost is not settled: writes get 503${who === '' ? '' : ` (${who})`}`,
      SETTLE,
    )
  return broken(
    about,
    `${which} is settled, but ${who} could not do its part: writes there get 503`,
    'look for "cannot be settled" in its log, mend what it names, or start it anew',
  )
}
