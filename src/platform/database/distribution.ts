import pg from 'pg'
import { StartFailure } from '../postgres/start-failure.ts'
import { statementsOf } from './script.ts'
import { APP_ROLE } from './roles.ts'
import { CITUS_MIN, type Cluster, describeCluster, IS_OF_ACCOUNTS, isNewEnough } from './cluster.ts'

/**
 * The distribution of the tables of accounts over the workers of Citus, by account: each in a transaction of its own, in an order in which nothing is distributed
 * before what it refers to. What is done can be seen in the catalogue, so that a run which was killed goes on with the rest.
 */

/** Tables without accounts that every worker has whole, because what is written with them is distributed: both are then committed or neither. */
const REFERENCE_TABLES: readonly string[] = ['ledger_days_mark']

/** Functions that statements about tables call. None of them reads a table. */
const ON_WORKERS: readonly string[] = ['anonymised_record', 'moment']

/** The table that all others lie beside. */
const FIRST = 'accounts'

export interface PlannedTable {
  name: string
  kind: 'distributed' | 'reference'
  /** It was distributed before. */
  isDone: boolean
  /** Rows as PostgreSQL estimates them. */
  estimate: number
}

/** Returns why a server cannot distribute anything, in one sentence; undefined if it can. */
export function obstacleTo(cluster: Cluster | undefined): string | undefined {
  if (!cluster)
    return 'The database has no Citus: run  create extension citus;  on the coordinator and on each worker, and name the workers with citus_add_node.'
  const { isWorker, coordinator, version, workers } = cluster
  if (isWorker)
    return `The server is a worker of Citus: name the coordinator${coordinator === null ? '' : ` (${coordinator})`} in DATABASE_URL.`
  if (!isNewEnough(version))
    return `The Citus of the server has version ${version}, and ${CITUS_MIN} or newer is needed: update the extension on all servers.`
  if (workers === 0)
    return 'The coordinator has no worker: name one with  select citus_add_node(host, port);  and set its own address with citus_set_coordinator_host.'
  return undefined
}

/** Lists the tables that are to be distributed, each after those that it refers to. */
export async function planDistribution(client: pg.ClientBase): Promise<PlannedTable[]> {
  const { rows } = await client.query<PlannedTable & { refersTo: string[] }>(
    `
    select c.relname as "name", case when c.relname = any ($1) then 'reference' else 'distributed' end as "kind",
           ${IS_DISTRIBUTED} as "isDone", greatest(c.reltuples, 0)::bigint as "estimate",
           array(select distinct f.relname::text from pg_constraint k join pg_class f on f.oid = k.confrelid
                  where k.contype = 'f' and k.conrelid = c.oid and f.oid <> c.oid) as "refersTo"
      from pg_class c where (${IS_OF_ACCOUNTS}) or (c.relnamespace = 'perennial'::regnamespace and c.relname = any ($1))
     order by c.relname <> '${FIRST}', c.relname`,
    [REFERENCE_TABLES],
  )
  const names = new Set(rows.map(({ name }) => name))
  const planned: PlannedTable[] = []
  let waiting = rows
  while (waiting.length > 0) {
    const placed = new Set(planned.map(({ name }) => name))
    const next = waiting.filter(({ refersTo }) => refersTo.every((one) => placed.has(one) || !names.has(one)))
    if (next.length === 0)
      throw new StartFailure(
        `Tables refer to each other in a circle and cannot be distributed: ${waiting.map(({ name }) => name).join(', ')}.`,
      )
    planned.push(
      ...next.map(({ name, kind, isDone, estimate }) => ({ name, kind, isDone, estimate: Number(estimate) })),
    )
    waiting = waiting.filter((one) => !next.includes(one))
  }
  return planned
}

const IS_DISTRIBUTED = `exists (select from pg_dist_partition p where p.logicalrelid = c.oid and p.partmethod in ('h', 'n'))`

/** Distributes a table within the transaction of its caller. Of one without a primary key whole rows are logged: else no shard of it could be moved while it is written. */
async function distributeTable(client: pg.ClientBase, { name, kind }: Pick<PlannedTable, 'name' | 'kind'>) {
  const table = `perennial.${pg.escapeIdentifier(name)}`
  const { rowCount } = await client.query(`select from pg_index where indrelid = $1::regclass and indisprimary`, [
    table,
  ])
  if (rowCount === 0) await client.query(`alter table ${table} replica identity full`)
  await client.query(
    kind === 'reference'
      ? `select create_reference_table('${table}')`
      : `select create_distributed_table('${table}', 'account_id', colocate_with => '${name === FIRST ? 'none' : `perennial.${FIRST}`}')`,
  )
}

const countRows = async (client: pg.ClientBase, name: string): Promise<number> =>
  Number(
    (await client.query<{ n: string }>(`select count(*) as n from perennial.${pg.escapeIdentifier(name)}`)).rows[0]?.n,
  )

/** Distributes a table in a transaction of its own, and returns its rows. Throws a StartFailure if it has other rows afterwards, or Citus refuses; nothing is left then. */
export async function distributeAlone(client: pg.ClientBase, table: PlannedTable): Promise<number> {
  await client.query('begin')
  try {
    // Steps of Citus on several connections would not see each other's.
    await client.query(`set local citus.multi_shard_modify_mode = 'sequential'`)
    await client.query(`lock table perennial.${pg.escapeIdentifier(table.name)} in exclusive mode`)
    const before = await countRows(client, table.name)
    await distributeTable(client, table)
    const after = await countRows(client, table.name)
    if (after !== before)
      throw new StartFailure(
        `The table ${table.name} had ${before} rows before it was distributed, and ${after} after.`,
      )
    // Without statistics the verification that follows takes minutes.
    if (after > 0) await client.query(`analyze perennial.${pg.escapeIdentifier(table.name)}`)
    await client.query('commit')
    return after
  } catch (error) {
    await client.query('rollback').catch(() => {})
    const { code, message } = error as { code?: string; message?: string }
    if (error instanceof StartFailure || !/^(0A|22|23|42|XX)/.test(code ?? '')) throw error
    throw new StartFailure(`The table ${table.name} cannot be distributed: ${message}.`)
  }
}

/**
 * Gives every worker, and those to come, the functions that statements about tables call; those that are made once there are workers are there already. Functions
 * that ask for generic plans ask for none: such a plan hides the account.
 */
export async function distributeFunctions(client: pg.ClientBase): Promise<void> {
  await letPlansFit(client)
  const { rows } = await client.query<{ name: string }>(
    `
    select f.oid::regprocedure::text as "name" from pg_proc f
     where f.pronamespace = 'perennial'::regnamespace and f.proname = any ($1)
       and not exists (select from pg_catalog.pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = f.oid)`,
    [ON_WORKERS],
  )
  for (const { name } of rows) await client.query('select create_distributed_function($1::regprocedure)', [name])
}

async function letPlansFit(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`
    select f.oid::regprocedure::text as "name" from pg_proc f
     where f.pronamespace = 'perennial'::regnamespace and exists (select from unnest(f.proconfig) as s(setting) where s.setting like 'plan_cache_mode=%')`)
  for (const { name } of rows) await client.query(`alter function ${name} reset plan_cache_mode`)
}

/**
 * Drops the copies that distributed tables leave on the coordinator. Only once all are distributed: the copies of tables that refer to one are emptied with it, and
 * would be the only rows of one that is not.
 */
export async function dropLocalCopies(client: pg.ClientBase, planned: readonly PlannedTable[]): Promise<void> {
  for (const { name, kind } of planned)
    if (kind === 'distributed')
      await client.query(
        `select truncate_local_data_after_distributing_table('perennial.${pg.escapeIdentifier(name)}')`,
      )
}

/** Notes that the distribution has begun: until it is finished nothing serves accounts here. */
export const noteBegun = (client: pg.ClientBase) =>
  client.query(`
    insert into perennial.distribution as d (state, begun_at) values ('distributing', clock_timestamp())
      on conflict (is_one) do update set state = excluded.state`)

export const noteFinished = (client: pg.ClientBase) =>
  client.query(`update perennial.distribution set state = 'distributed', finished_at = clock_timestamp()`)

/**
 * Runs the text of a migration within its transaction. Where tables of accounts are distributed, each statement goes alone, because workers are sent it as it was
 * sent, and the tables that the migration has made are distributed before it is committed, and its functions plan as `distributeFunctions` has them.
 */
export async function runMigration(client: pg.ClientBase, text: string): Promise<void> {
  if (!(await isCluster(client))) {
    await client.query(text)
    return
  }
  // Steps of Citus on several connections would not see each other's.
  await client.query(`set local citus.multi_shard_modify_mode = 'sequential'`)
  for (const statement of statementsOf(text)) await client.query(statement)
  for (const table of await planDistribution(client)) if (!table.isDone) await distributeTable(client, table)
  await letPlansFit(client)
}

/** Worker of a cluster, and what it lacks of what the coordinator has given to all: roles that are not there or may not log in, and functions that are not there or are others. */
export interface NodeLack {
  node: string
  lacks: string[]
}

/** The function f, by a text that is equal on all servers. */
const NAMED_FUNCTION = `'function ' || f.proname || '(' || pg_get_function_identity_arguments(f.oid) || ') ' || left(md5(f.prosrc), 8)`

/** Asks a worker for what it has: roles of the given names that may log in and pass no policy, and functions of the schema. */
const HELD = `
  select coalesce(jsonb_agg(held.name), '[]') from (
    select 'role ' || rolname as name from pg_roles where rolname = any (%L::text[]) and rolcanlogin and not rolsuper and not rolbypassrls
    union all
    select ${NAMED_FUNCTION} from pg_proc f where f.pronamespace = to_regnamespace('perennial')) as held`

/** Compares roles and functions of each worker with what the coordinator has given to all. Fails where a worker is not reached under the role of the connection. */
export async function lackingOn(client: pg.ClientBase): Promise<NodeLack[]> {
  const { rows } = await client.query<NodeLack>(
    `
    with roles as (
      select array_agg(distinct r.rolname::text) as names from pg_roles r left join pg_namespace n on n.nspowner = r.oid and n.nspname = 'perennial'
       where not r.rolsuper and (r.rolname = $1 or n.oid is not null)),
    needed as (
      select 'role ' || name as name from roles, unnest(names) as name
      union all
      select ${NAMED_FUNCTION} from pg_proc f
       where f.pronamespace = 'perennial'::regnamespace
         and (f.proname = any ($2) or exists (select from pg_catalog.pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = f.oid))),
    told as materialized (select t.* from roles, run_command_on_workers(format($3, names)) as t)
    select nodename || ':' || nodeport as "node",
           array(select name from needed where not result::jsonb ? name order by name) as "lacks"
      from told order by 1`,
    [APP_ROLE, ON_WORKERS, HELD],
  )
  return rows
}

/** Reports whether the tables of accounts are distributed here. */
const isCluster = async (client: pg.ClientBase): Promise<boolean> =>
  ((await describeCluster(client))?.distributed ?? 0) > 0
