import pg from 'pg'
import { StartFailure } from '../postgres/start-failure.ts'
import type { Connection } from './database.ts'
import { ServerClient } from './server-client.ts'
import { clientConfig, STARTING_NAME } from './open-database.ts'

/**
 * Two roles: the owner migrates and owns, the service's role owns nothing and cannot pass row security. A login that is superuser or
 * may pass row security is used only to change into these two.
 */

export const APP_ROLE = 'perennial_app'
const OWNER_ROLE = 'perennial_owner'

// Any constant will do, as long as no other program of this database uses it.
const ROLES_LOCK = 7_305_861_200_412

interface Login {
  name: string
  isSuperuser: boolean
  canBypass: boolean
  canCreateRoles: boolean
  database: string
  version: number
}

async function describeLogin(client: pg.Client): Promise<Login> {
  const { rows } = await client.query<Login>(`
    select rolname as "name", rolsuper as "isSuperuser", rolbypassrls as "canBypass", rolcreaterole as "canCreateRoles",
           current_database() as "database", current_setting('server_version_num')::int as "version"
      from pg_roles where rolname = session_user`)
  return rows[0] as Login
}

const exists = async (client: pg.Client, role: string) =>
  ((await client.query('select 1 from pg_roles where rolname = $1', [role])).rowCount ?? 0) > 0

/**
 * Returns whether a login can change into a role. From PostgreSQL 16 on whoever makes a role may hand it out, but not change into it unless
 * that was granted as well.
 */
const canBecome = async (client: pg.Client, login: Login, role: string) =>
  (
    await client.query<{ can: boolean }>('select pg_has_role(session_user, $1, $2) as can', [
      role,
      login.version >= 160_000 ? 'SET' : 'MEMBER',
    ])
  ).rows[0]?.can === true

/** Makes the failure of a role that exists, made for another database of the server, and that this login may not grant itself. */
const askForGrant = (login: Login, role: string): StartFailure =>
  new StartFailure(
    `The database user ${login.name} is not a member of the role ${role}, which this server has already: ask its administrator to run  grant ${role} to ${pg.escapeIdentifier(login.name)};  then start again.`,
  )

function printLines(login: Login): StartFailure {
  const name = pg.escapeIdentifier(login.name)
  return new StartFailure(
    `The database user ${login.name} may not create roles: ask its administrator to run  create role ${APP_ROLE} nologin; grant ${APP_ROLE} to ${name};  in database ${login.database}, then start again.`,
  )
}

async function ensureRole(client: pg.Client, login: Login, role: string): Promise<void> {
  if (!(await exists(client, role))) {
    if (!login.isSuperuser && !login.canCreateRoles) throw printLines(login)
    // Two services that start together on a new server may both create it; the loser finds it there.
    await client.query(`create role ${role} nologin noinherit`).catch((error: { code?: string }) => {
      if (error.code !== '42710' && error.code !== '23505') throw error
    })
  }
  if (login.isSuperuser || (await canBecome(client, login, role))) return
  await client.query(`grant ${role} to ${pg.escapeIdentifier(login.name)}`).catch(async () => {
    // A service on another database of the server may have granted it meanwhile.
    if (!(await canBecome(client, login, role))) throw askForGrant(login, role)
  })
}

/**
 * Makes roles and schema if they are missing, checks them, and returns the roles to migrate as (undefined: the login itself) and to work as.
 * `canLogIn`: the service's role may log in itself; only where the socket alone decides who may connect.
 */
export async function prepareRoles(
  connection: Connection,
  { canLogIn = false } = {},
): Promise<{ owner: string | undefined; app: string }> {
  const client = new ServerClient({ ...clientConfig(connection, undefined), application_name: STARTING_NAME })
  await client.connect()
  try {
    // Ends with the connection. Two that grant on one schema or database at once are refused by the server ("tuple concurrently updated").
    await client.query('select pg_advisory_lock($1)', [ROLES_LOCK])
    const login = await describeLogin(client)
    if (login.version < 150_000)
      throw new StartFailure(
        `The database server is too old (${login.version}): Perennial needs PostgreSQL 15 or newer.`,
      )
    await ensureRole(client, login, APP_ROLE)
    if (canLogIn) await letRoleLogIn(client, APP_ROLE)
    const owner = login.isSuperuser ? OWNER_ROLE : undefined
    if (owner) await ensureRole(client, login, owner)
    if (owner) await letSeeTransactions(client, owner)
    await ensureSchema(client, login, owner ?? login.name)
    await checkAppRole(client)
    await forbidTemporaryTables(client, login, owner ?? login.name)
    return { owner, app: APP_ROLE }
  } finally {
    await client.end()
  }
}

async function letRoleLogIn(client: pg.Client, role: string): Promise<void> {
  const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1 and rolcanlogin', [role])
  if (rowCount === 0) await client.query(`alter role ${pg.escapeIdentifier(role)} login`)
}

/** Lets both roles log in, as a coordinator of Citus does at its workers. Throws a StartFailure with the lines to run if this login may not allow that. */
export async function letLogIn(
  client: pg.Client,
  { owner, app }: { owner: string | undefined; app: string },
): Promise<void> {
  const roles = owner === undefined ? [app] : [app, owner]
  try {
    for (const role of roles) await letRoleLogIn(client, role)
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw error
    throw new StartFailure(
      `Roles have to log in to the workers: ask the administrator to run  ${roles.map((role) => `alter role ${role} login;`).join(' ')}  then start again.`,
    )
  }
}

/**
 * Lets the owner see when transactions of other roles began, which the function `settle_updates` asks for. Where that fails (another database of the
 * server is made ready at this moment) its answers are half an hour old until the next start.
 */
async function letSeeTransactions(client: pg.Client, owner: string): Promise<void> {
  const { rows } = await client.query<{ can: boolean }>(`select pg_has_role($1, 'pg_read_all_stats', 'USAGE') as can`, [
    owner,
  ])
  if (rows[0]?.can) return
  await client.query(`alter role ${owner} inherit; grant pg_read_all_stats to ${owner}`).catch(() => {})
}

async function ensureSchema(client: pg.Client, login: Login, owner: string): Promise<void> {
  const { rows } = await client.query<{ owner: string }>(
    `select pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = 'perennial'`,
  )
  if (rows[0] && rows[0].owner !== owner) {
    throw new StartFailure(
      `The schema "perennial" in database ${login.database} belongs to ${rows[0].owner}, not to ${owner}: connect as ${rows[0].owner}, or use another database.`,
    )
  }
  if (!rows[0]) await client.query(`create schema if not exists perennial authorization ${pg.escapeIdentifier(owner)}`)
  // Not again and again: while no standby acknowledges, each commit waits, and commands that only read do too.
  const { rows: rights } = await client.query<{ can: boolean }>(
    `select has_schema_privilege($1, 'perennial', 'usage') as can`,
    [APP_ROLE],
  )
  if (!rights[0]?.can) await client.query(`grant usage on schema perennial to ${APP_ROLE}`)
}

async function checkAppRole(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ isFree: boolean; owns: boolean }>(
    `select (rolsuper or rolbypassrls) as "isFree",
            exists (select 1 from pg_class c where c.relowner = r.oid and c.relnamespace = 'perennial'::regnamespace) as "owns"
       from pg_roles r where rolname = $1`,
    [APP_ROLE],
  )
  if (rows[0]?.isFree)
    throw new StartFailure(
      `The role ${APP_ROLE} is superuser or has BYPASSRLS: take that away (alter role ${APP_ROLE} nosuperuser nobypassrls), the service does not work under such a role.`,
    )
  if (rows[0]?.owns)
    throw new StartFailure(
      `The role ${APP_ROLE} owns tables of the schema "perennial": give them to their migrating owner, the service does not work under a role that owns its tables.`,
    )
}

/**
 * Takes from everybody the right to make temporary tables, which the service needs nowhere and which could stand in front of its own. Left
 * alone where this login may not do it, and where tables of others live in the same database.
 */
async function forbidTemporaryTables(client: pg.Client, login: Login, owner: string): Promise<void> {
  const { rows } = await client.query<{ isOurs: boolean; isOpen: boolean }>(`
    select (d.datdba = r.oid or r.rolsuper)
           and not exists (select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
                            where c.relkind in ('r', 'p') and n.nspname not in ('perennial', 'pg_catalog', 'information_schema')
                              and n.nspname !~ '^pg_') as "isOurs",
           has_database_privilege('${APP_ROLE}', d.oid, 'temporary') as "isOpen"
      from pg_database d, pg_roles r where d.datname = current_database() and r.rolname = session_user`)
  if (!rows[0]?.isOurs || !rows[0].isOpen) return
  const database = pg.escapeIdentifier(login.database)
  await client.query(`revoke temporary on database ${database} from public`)
  await client.query(`grant temporary on database ${database} to ${pg.escapeIdentifier(owner)}`)
}
