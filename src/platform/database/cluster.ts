import type pg from 'pg'
import { hasTable } from './is-there.ts'
import { StartFailure } from '../postgres/start-failure.ts'
import type { Connection } from './database.ts'
import { clientConfig } from './open-database.ts'
import type { Engine } from './scoped-query.ts'
import { ServerClient } from './server-client.ts'

/** Databases whose tables of accounts Citus spreads over servers: found at each start, never set. */

/** The oldest version of Citus that statements are judged against. */
export const CITUS_MIN = '13.2'
/** The version of PostgreSQL under Citus that is tried. */
const TRIED_ON = 15

/** A server of Citus, and how far accounts are distributed by it. */
export interface Cluster {
  version: string
  postgres: number
  /** The server is a worker; `coordinator` is the one that it knows. */
  isWorker: boolean
  coordinator: string | null
  workers: number
  /** Tables of accounts, and how many of them are distributed. */
  tables: number
  distributed: number
  /** How far `perennial distribute` has come; null if it never ran here. */
  state: 'distributing' | 'distributed' | null
}

/** The condition that a class is a table of accounts of ours. */
export const IS_OF_ACCOUNTS = `c.relnamespace = to_regnamespace('perennial') and c.relkind = 'r' and exists (
  select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped)`

/** Describes the server that a connection leads to; undefined if it has no Citus. */
export async function describeCluster(client: pg.ClientBase): Promise<Cluster | undefined> {
  const { rows } = await client.query<{ version: string }>(
    `select extversion as "version" from pg_extension where extname = 'citus'`,
  )
  if (rows[0] === undefined) return undefined
  const found = await client.query<Omit<Cluster, 'version' | 'state'>>(`
    select current_setting('server_version_num')::integer / 10000 as "postgres",
           (select groupid <> 0 from pg_dist_local_group) as "isWorker",
           (select nodename || ':' || nodeport from pg_dist_node where groupid = 0 limit 1) as "coordinator",
           (select count(*)::integer from pg_dist_node where groupid <> 0 and isactive) as "workers",
           count(*)::integer as "tables", count(p.logicalrelid)::integer as "distributed"
      from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid and p.partmethod = 'h' where ${IS_OF_ACCOUNTS}`)
  return { ...found.rows[0]!, ...rows[0], state: await stateOf(client) }
}

async function stateOf(client: pg.ClientBase): Promise<Cluster['state']> {
  if (!(await hasTable(client, 'perennial.distribution'))) return null
  const found = await client.query<{ state: Cluster['state'] }>('select state from perennial.distribution')
  return found.rows[0]?.state ?? null
}

/** Reports whether a version of Citus, such as 13.2-1, is one that statements are judged against, or newer. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(/[.-]/).map(Number)
  const [majorMin = 0, minorMin = 0] = CITUS_MIN.split('.').map(Number)
  return major > majorMin || (major === majorMin && minor >= minorMin)
}

const AGAIN = 'run "perennial distribute" again, which goes on where it stopped'

/** Returns why accounts cannot be served by a server of Citus, in one sentence; undefined if they can. */
export function refusalOf({ version, isWorker, coordinator, tables, distributed, state }: Cluster): string | undefined {
  if (isWorker)
    return `it is a worker of Citus: name the coordinator${coordinator === null ? '' : ` (${coordinator})`} in DATABASE_URL`
  if (distributed > 0 && !isNewEnough(version))
    return `its Citus has version ${version}, and Perennial needs ${CITUS_MIN} or newer: update the extension on all servers`
  if (distributed > 0 && distributed < tables)
    return `${distributed} of ${tables} tables of accounts are distributed: ${AGAIN}`
  if (state === 'distributing' || (distributed > 0 && state !== 'distributed'))
    return `its tables were distributed, and that was never finished: ${AGAIN}`
  return undefined
}

/** Returns a warning about a cluster that is served although nobody has tried its like; undefined if there is none. */
export const cautionOf = ({ postgres, distributed }: Cluster): string | undefined =>
  distributed > 0 && postgres > TRIED_ON
    ? `Citus on PostgreSQL ${postgres} was not tried, only on ${TRIED_ON}`
    : undefined

/**
 * Finds the engine of a database; undefined where there is no Citus. Throws a StartFailure if it is a cluster that cannot serve accounts; `where` names the server in it. What else is worth knowing
 * goes to `warn`.
 */
export async function findEngine(
  connection: Connection,
  where: string,
  warn: (message: string) => void = () => {},
): Promise<Engine | undefined> {
  const client = new ServerClient(clientConfig(connection, undefined))
  await client.connect()
  try {
    const cluster = await describeCluster(client)
    if (!cluster) return undefined
    const refusal = refusalOf(cluster)
    if (refusal !== undefined) throw new StartFailure(`The database server at ${where} serves no accounts: ${refusal}.`)
    const caution = cautionOf(cluster)
    if (caution !== undefined) warn(caution)
    return cluster.distributed > 0 ? 'citus' : 'plain'
  } finally {
    await client.end()
  }
}
