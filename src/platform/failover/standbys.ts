import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '../database/database.ts'
import { clientConfig } from '../database/open-database.ts'
import { ServerClient } from '../database/server-client.ts'
import { serversFor } from '../database/servers.ts'
import { steadyClock } from '../steady-clock.ts'

/** Waiting for standbys, for commands: these have ended when a failover comes, and nobody remembers them. */

const PATIENCE_MS = 5_000
const AGAIN_MS = 50
/** How long the server may take to connect, and to answer. */
const ANSWER_MS = 5_000

/** A standby, and whether it has a position of the log. */
export interface StandbyPlace {
  name: string
  address: string | null
  isConnected: boolean
  /** Null: the login may not see it. */
  hasIt: boolean | null
}

/** A commit waits for those that synchronous_standby_names names: who got an answer needs to ask nobody. */
const POSITION = `select pg_current_wal_flush_lsn()::text as "position",
    current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local') as "isAcknowledged"`

/** Those that receive the log, and those for which the server keeps it. Who copies it into files, or decodes it, takes over from nobody. */
const PLACES = `
  select coalesce(r.application_name, '') as "name", host(r.client_addr) as "address", true as "isConnected", r.flush_lsn >= $1::pg_lsn as "hasIt"
    from pg_stat_replication r
   where r.state is distinct from 'backup' and r.application_name not in ('pg_basebackup', 'pg_receivewal')
     and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')
  union all
  select s.slot_name, null, false, false from pg_replication_slots s where s.slot_type = 'physical' and not s.active
   order by 1, 2`

/**
 * Waits, for some seconds at most, until each standby has what was committed on the server until now. Returns a sentence where one lacks it, or where that
 * cannot be seen; undefined: all have it, or there is none. Throws what the server answers where it cannot be asked.
 */
export async function lackOfStandbys(connection: Connection, patienceMs = PATIENCE_MS): Promise<string | undefined> {
  const config = clientConfig(connection, undefined)
  const client = new ServerClient({
    ...config,
    isUngated: true,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
  })
  const untilMs = steadyClock() + patienceMs
  await client.connect()
  try {
    const { rows } = await client.query<{ position: string; isAcknowledged: boolean }>(POSITION)
    const [{ position = '', isAcknowledged = false } = {}] = rows
    if (isAcknowledged) return undefined
    for (;;) {
      const places = (await client.query<StandbyPlace>(PLACES, [position])).rows
      const isUnderWay = places.some(({ isConnected, hasIt }) => isConnected && hasIt === false)
      if (!isUnderWay || steadyClock() >= untilMs) return lackInWords(places, serversFor(config).addresses.length)
      await delay(AGAIN_MS)
    }
  } finally {
    await client.end().catch(() => {})
  }
}

/** Writes what standbys lack, of a server that is one of so many by its address. */
export function lackInWords(places: readonly StandbyPlace[], servers: number): string | undefined {
  if (places.length === 0)
    return servers > 1 ? 'No standby is connected: a failover now would undo this command.' : undefined
  const lacking = places.filter(({ hasIt }) => hasIt === false)
  if (lacking.length > 0) {
    const named = lacking.map(({ name, address, isConnected }) => {
      const about = isConnected ? address : 'not connected'
      return about === null ? name : `${name} (${about})`
    })
    return `Not yet on ${named.length === 1 ? 'the standby' : 'the standbys'} ${named.join(', ')}: a failover there now would undo this command.`
  }
  return places.some(({ hasIt }) => hasIt === null)
    ? 'Whether the standbys have this already is hidden from this login: grant pg_monitor to it.'
    : undefined
}
