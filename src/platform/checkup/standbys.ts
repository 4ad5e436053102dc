import type pg from 'pg'
import { doubtful, fine, type Finding } from './finding.ts'

/** Standbys of the database server, and what a failover to them would lose. */

export interface Standby {
  name: string
  /** Null where the login may not see it. */
  state: string | null
  isSync: boolean
  lagBytes: string | null
  lagSeconds: number | null
}

/** Lists the standbys, and what is doubtful about them where there are live accounts. */
export async function checkStandbys(client: pg.Client): Promise<Finding[]> {
  const { rows: standbys } = await client.query<Standby>(
    `select coalesce(application_name, '') as "name", state, coalesce(sync_state in ('sync', 'quorum'), false) as "isSync",
            pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::text as "lagBytes", extract(epoch from replay_lag)::float8 as "lagSeconds"
       from pg_stat_replication order by application_name, pid`,
  )
  const { rows } = await client.query<{ commits: string; hasLive: boolean }>(
    `select current_setting('synchronous_commit') as "commits",
            exists (select 1 from perennial.list_all_accounts() where mode = 'live') as "hasLive"`,
  )
  return standbyFindings(standbys, rows[0] ?? { commits: 'on', hasLive: false })
}

/** Makes the findings about standbys. */
export function standbyFindings(
  standbys: readonly Standby[],
  { commits, hasLive }: { commits: string; hasLive: boolean },
): Finding[] {
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
    ({ name, state, isSync, lagBytes, lagSeconds }) =>
      `${name} (${state}, ${isSync ? 'synchronous' : 'asynchronous'}, ${lagBytes ?? '?'} bytes and ${(lagSeconds ?? 0).toFixed(1)} s behind)`,
  )
  findings.push(fine(about, named.join(', ')))
  if (standbys.length === 1 && standbys[0]?.isSync === true)
    findings.push(
      doubtful(
        about,
        'exactly one is synchronous: while it is away nothing can be written',
        "add a second one: synchronous_standby_names = 'ANY 1 (a, b)'",
      ),
    )
  return findings
}
