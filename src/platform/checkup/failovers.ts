import type pg from 'pg'
import { hasFunction } from '../database/is-there.ts'
import { broken, doubtful, type Finding } from './finding.ts'

/** A failover for which writes wait: it is not met, what it lost is not settled, or a process cannot do its part. */

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
  return rows.map(findingOf)
}

const SETTLE = 'run "perennial after-failover": it does that, or names what hinders it'

function findingOf({ timeline, before, isMet, isSettled, waiting }: Undecided): Finding {
  const about = 'failover'
  const which = `the one from timeline ${before} to ${timeline}`
  if (!isMet) return doubtful(about, `${which} is not met by any process, and until then nothing is written`, SETTLE)
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
