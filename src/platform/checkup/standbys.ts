import type pg from 'pg'
import { doubtful, fine, type Finding } from './finding.ts'

/** Standbys of the database server, and what a failover to them would lose. */

export interface Standby {
  name: string
  /** Null where the login may not see it. */
  state: string | null
  /** As pg_stat_replication has it: `async`, or what it is to the commits that wait. */
  sync: string | null
  lagBytes: string | null
  lagSeconds: number | null
}

/** Lists the standbys, and what is doubtful about them where there are live accounts. */
export async function checkStandbys(client: pg.Client): Promise<Finding[]> {
  const { rows: standbys } = await client.query<Standby>(
    `select coalesce(application_name, '') as "name", state, sync_state as "sync",
            pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::text as "lagBytes", extract(epoch from replay_lag)::float8 as "lagSeconds"
       from pg_stat_replication where state is distinct from 'backup' order by application_name, pid`,
  )
  const { rows } = await client.query<Commits>(
    `select current_setting('synchronous_commit') as "commits", current_setting('synchronous_standby_names') <> '' as "wait",
            exists (select 1 from perennial.list_all_accounts() where mode = 'live') as "hasLive"`,
  )
  return standbyFindings(standbys, rows[0] ?? { commits: 'on', wait: false, hasLive: false })
}

interface Commits {
  /** The setting synchronous_commit. */
  commits: string
  /** Commits wait for standbys, of which synchronous_standby_names names some. */
  wait: boolean
  hasLive: boolean
}

const WORDS: Record<string, string> = {
  sync: 'synchronous',
  quorum: 'synchronous',
  potential: 'synchronous when another is away',
}

/** Makes the findings about standbys. */
export function standbyFindings(standbys: readonly Standby[], { commits, wait, hasLive }: Commits): Finding[] {
  const about = 'standbys'
  const findings: Finding[] = []
  if (commits === 'off' || commits === 'local')
    findings.push(
      doubtful(
        about,
        `synchronous_commit is ${commits}: no standby is waited for`,
        'set it to on for the role of the service',
      ),
    )
  const nobodyAnswers = doubtful(
    about,
    'synchronous_standby_names names none that is connected: nothing can be written',
    'start one of them, or empty that setting',
  )
  if (standbys.length === 0 && wait) return [...findings, nobodyAnswers]
  if (standbys.length === 0)
    return hasLive
      ? [
          ...findings,
          doubtful(
            about,
            'none is connected, and there are live accounts',
            'add a standby: docs/operate/replication.md',
          ),
        ]
      : findings
  if (standbys.some(({ state }) => state === null))
    return [
      ...findings,
      doubtful(about, `${standbys.length} connected; their state is hidden from this login`, 'grant pg_monitor to it'),
    ]
  const named = standbys.map(
    ({ name, state, sync, lagBytes, lagSeconds }) =>
      `${name} (${state}, ${WORDS[sync ?? ''] ?? 'asynchronous'}, ${lagBytes ?? '?'} bytes and ${(lagSeconds ?? 0).toFixed(1)} s behind)`,
  )
  findings.push(fine(about, named.join(', ')))
  const waitedFor = standbys.filter(({ sync }) => sync !== null && sync in WORDS)
  if (wait && waitedFor.length === 0) findings.push(nobodyAnswers)
  if (waitedFor.length === 1)
    findings.push(
      doubtful(
        about,
        'exactly one is synchronous: while it is away nothing can be written',
        "add a second one: synchronous_standby_names = 'ANY 1 (a, b)'",
      ),
    )
  return findings
}
