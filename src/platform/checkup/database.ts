import { join } from 'node:path'
import pg from 'pg'
import { hasFunction } from '../database/is-there.ts'
import { type Config, ConfigFailure } from '../config.ts'
import { BY_ROWS, type Connection } from '../database/database.ts'
import {
  isAnswer,
  isReadOnly,
  ONE_IS_SILENT,
  refusalByDriver,
  refusalIn,
  TAKES_NO_WRITES,
} from '../database/failures.ts'
import { firstMissing, type MissingGrant, missingInWords } from '../database/granted.ts'
import { READ_MARK } from '../database/mark.ts'
import { newestOf, readApplied, readMigrations, stateOfMigrations } from '../database/migrations.ts'
import { lackOf } from '../database/schema-numbers.ts'
import { shownServer } from '../database/addresses.ts'
import { APP_ROLE } from '../database/roles.ts'
import { askEach, ServerClient } from '../database/server-client.ts'
import type { Statement } from '../database/sql.ts'
import { checkEncryptionKeys } from '../envelope/open.ts'
import { connectionTo, tryConnection } from '../postgres/connection.ts'
import { dataFolderAt } from '../postgres/data-folder.ts'
import { findOwner } from '../postgres/lock.ts'
import { errorCodeOf, StartFailure } from '../postgres/start-failure.ts'
import { checkBatches } from './batches.ts'
import { checkCluster } from './cluster.ts'
import { checkCountries } from './countries.ts'
import { broken, doubtful, fine, type Finding } from './finding.ts'
import { checkFailover } from './failovers.ts'
import { checkGatewayKeys } from './gateway-keys.ts'
import { checkHolds } from './holds.ts'
import { checkStandbys } from './standbys.ts'
import { checkProcesses } from './processes.ts'
import { checkEnd } from './seal.ts'
import { clientConfig, CONNECTIONS_BESIDE_POOL } from '../database/open-database.ts'

/** The database as it is: reached, new enough, with the rights it takes, up to date and with the same idea of the time. Only read. */

const WAIT_MS = 5_000
const CLOCK_WARN_MS = 2_000
const CLOCK_FAIL_MS = 60_000
const VERSION_MIN = 150_000
/** Connections that other processes, the command line and a backup need beside one service. */
const SPARE_CONNECTIONS = 10

interface Server {
  version: number
  now: Date
  login: string
  isSuperuser: boolean
  canCreateRoles: boolean
  canCreateSchema: boolean
  isAppThere: boolean
  isAppMember: boolean
  isAppFree: boolean
  schemaOwner: string | null
  encoding: string
  connections: number
  isDurable: boolean
  isEncrypted: boolean
}

/** Checks the database. Returns no finding if the embedded database does not run, because it is not started for this. */
export async function checkDatabase(config: Config, root: string, workers: number): Promise<Finding[]> {
  if (config.databaseUrl !== undefined) {
    const where = shownServer(config.databaseUrl)
    const connection = { connectionString: config.databaseUrl }
    const found = await withClient(connection, 'DATABASE_URL', where, (client, sentMs) =>
      checkServer(client, sentMs, config, { connection, root, workers }),
    )
    return [...found, ...(await checkEachServer(connection))]
  }
  const folder = dataFolderAt(config.dataDir)
  if (!findOwner(folder)) return []
  const connection = connectionTo(folder.cluster)
  const reach = await tryConnection(connection).catch((error: unknown) => errorCodeOf(error) ?? 'failed')
  if (reach === 'EACCES' || reach === 'EPERM' || reach === '28000')
    return [broken('database', 'belongs to another user', 'run this command as the user that runs Perennial')]
  if (reach !== 'ready')
    return [
      doubtful(
        'database',
        `does not answer yet (${reach})`,
        'wait a moment; if that stays, look into the log of the service',
      ),
    ]
  return withClient(connection, 'database', folder.root, (client, sentMs) =>
    checkServer(client, sentMs, config, { connection, root, workers }),
  )
}

/** Reports on each of several servers: one that is away takes over nothing, and of two that take writes one is to be cut off. */
async function checkEachServer(connection: Connection): Promise<Finding[]> {
  const about = 'database server'
  const asked = await askEach(clientConfig(connection, undefined))
  if (asked.length < 2) return []
  const writing = asked.flatMap(({ answered }) => (answered instanceof Error ? [] : [answered.identity]))
  return asked.map(({ address, answered }) => {
    const server = shownServer(address)
    if (answered instanceof Error) {
      if (isReadOnly(answered)) return fine(about, `${server} is a standby`)
      const [text, mend] = reasonOf(answered)
      return doubtful(about, `${server} ${text}`, mend)
    }
    const { system, timeline } = answered.identity
    const isFormer = writing.some((one) => one.system === system && (one.timeline ?? 0) > (timeline ?? 0))
    if (isFormer) return doubtful(about, `${server} is a former primary that still takes writes`, CUT_OFF)
    return writing.some((one) => one !== answered.identity && (one.system !== system || one.timeline === timeline))
      ? doubtful(about, `${server} takes writes, and so does another that DATABASE_URL names`, CUT_OFF)
      : fine(about, `${server} takes writes`)
  })
}

const CUT_OFF = 'cut a former primary off, by its network, its address or its disk, or make a standby of it'

/** Returns the mark of the database that the settings name; null when the embedded one does not run, undefined when it cannot be asked. */
export async function readMark(config: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<string | null | undefined> {
  const folder = dataFolderAt(config.dataDir)
  if (config.databaseUrl === undefined && !findOwner(folder)) return null
  try {
    const connection = config.databaseUrl ? { connectionString: config.databaseUrl } : connectionTo(folder.cluster)
    const client = new ServerClient({
      ...clientConfig(connection, undefined),
      connectionTimeoutMillis: WAIT_MS,
      query_timeout: WAIT_MS,
    })
    try {
      await client.connect()
      const { rows } = await client.query<{ mark: string }>(READ_MARK)
      return rows[0]?.mark
    } finally {
      await client.end().catch(() => {})
    }
  } catch {
    // The check of the database itself reports why it cannot be asked.
    return undefined
  }
}

async function withClient(
  connection: Connection,
  about: string,
  where: string,
  look: (client: pg.Client, sentMs: number) => Promise<Finding[]>,
): Promise<Finding[]> {
  const client = new ServerClient({
    ...clientConfig(connection, undefined),
    connectionTimeoutMillis: WAIT_MS,
    query_timeout: WAIT_MS,
  })
  try {
    await client.connect()
    await client.query('begin read only')
    return [fine(about, `${where} answers`), ...(await look(client, Date.now()))]
  } catch (error) {
    // A server that refuses is what is to be mended, whatever the others are.
    const refusal = refusalIn(error)
    const [text, mend] = reasonOf(refusal ?? error)
    return [broken(about, `${refusal?.server ?? where} ${text}`, mend)]
  } finally {
    await client.end().catch(() => {})
  }
}

// A driver's message may repeat the address with its password, so only its code is shown.
function reasonOf(failure: unknown): [text: string, mend: string] {
  const error = refusalIn(failure)?.cause ?? failure
  const code = errorCodeOf(error) ?? 'no answer'
  const reasons: Record<string, [string, string]> = {
    '28P01': ['refuses the password', 'check user and password in DATABASE_URL'],
    '28000': ['refuses the user', 'check the user in DATABASE_URL and pg_hba.conf of the server'],
    '3D000': ['has no such database', 'make the database, or name another in DATABASE_URL'],
    [TAKES_NO_WRITES]: [
      'takes no writes',
      'start the primary, or promote the standby; where DATABASE_URL lacks the server that takes writes, name all of them, separated by commas',
    ],
    [ONE_IS_SILENT]: [
      'takes no writes where it answers, and one server gives no answer',
      'free the silent one, or promote the standby',
    ],
    '53300': ['has no connection left', 'raise max_connections of the server, or lower DATABASE_POOL'],
  }
  const known = reasons[code]
  if (known) return known
  const refusal = refusalByDriver(error)
  if (refusal) return [refusal.text, refusal.mend]
  if (isAnswer(error)) return [`refuses: ${(error as Error).message}`, 'look into the log of the server']
  return [`cannot be reached (${code})`, 'check that it runs, and that DATABASE_URL names it']
}

async function checkServer(
  client: pg.Client,
  sentMs: number,
  config: Config,
  { connection, root, workers }: { connection: Connection; root: string; workers: number },
): Promise<Finding[]> {
  const server = await describe(client)
  if (server.version < VERSION_MIN)
    return [broken('database server', `is of version ${server.version}`, 'use PostgreSQL 15 or newer')]
  // Before anything that takes its time.
  const time = checkTime(server.now.getTime() - (sentMs + Date.now()) / 2)
  const isOurs = server.isSuperuser || server.isAppMember
  const {
    findings: ofCluster,
    isWorker,
    hasAccounts,
  } = await checkCluster(client, { connection, roles: rolesOf(server) })
  const ofVersion = fine('database server', `PostgreSQL ${Math.floor(server.version / 10_000)}`)
  if (isWorker) return [ofVersion, ...ofCluster]
  const findings = [
    ofVersion,
    ...checkRights(server),
    ...checkServerSettings(server, config, workers),
    time,
    ...ofCluster,
    ...(await checkMigrations(client, server, root)),
  ]
  const missing = await checkIsWhole(client, server, root)
  // What is asked below would fail on it.
  if (missing.length > 0) return [...findings, ...missing]
  return [
    ...findings,
    ...(hasAccounts ? await checkSealed(client, server, config) : []),
    ...(await checkMadeSeal(client, server, config)),
    ...(hasAccounts ? await checkAccounts(client, server, isOurs) : []),
    ...(isOurs ? await checkFailover(client) : []),
    ...(config.databaseUrl !== undefined && server.schemaOwner !== null && isOurs && hasAccounts
      ? await checkStandbys(client)
      : []),
    ...(isOurs ? await checkProcesses(client, connectionsOf(server, config)) : []),
  ]
}

/** Lists the roles under which workers of Citus are asked, as far as the login may take them. */
function rolesOf({ isSuperuser, isAppThere, isAppMember, schemaOwner, login }: Server): string[] {
  if (!isAppThere || (!isSuperuser && !isAppMember)) return []
  return [APP_ROLE, ...(schemaOwner !== null && (isSuperuser || schemaOwner === login) ? [schemaOwner] : [])]
}

/** Checks the accounts as a whole. */
async function checkAccounts(client: pg.Client, server: Server, isOurs: boolean): Promise<Finding[]> {
  return [
    ...(await checkSales(client, server)),
    ...(await checkFilesToSendAgain(client, server)),
    ...(isOurs ? await checkBatches(client, new Date().toISOString()) : []),
    ...(isOurs ? await checkHolds(client) : []),
    ...(isOurs ? await checkGatewayKeys(client) : []),
    ...(isOurs ? await checkCountries(client) : []),
  ]
}

const connectionsOf = ({ connections }: Server, { databasePool }: Config) => ({
  ofProcess: { serve: databasePool + CONNECTIONS_BESIDE_POOL.serve, work: databasePool + CONNECTIONS_BESIDE_POOL.work },
  ofServer: connections,
  spare: SPARE_CONNECTIONS,
})

async function describe(client: pg.Client): Promise<Server> {
  const { rows } = await client.query<Server & { now: string }>(
    `select current_setting('server_version_num')::int as "version", clock_timestamp() as "now", session_user as "login",
            r.rolsuper as "isSuperuser", r.rolcreaterole as "canCreateRoles",
            has_database_privilege(current_database(), 'create') as "canCreateSchema",
            a.rolname is not null as "isAppThere",
            coalesce(pg_has_role(session_user, a.oid, case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end), false)
              as "isAppMember",
            coalesce(a.rolsuper or a.rolbypassrls, false) as "isAppFree",
            (select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'perennial') as "schemaOwner",
            current_setting('server_encoding') as "encoding", current_setting('max_connections')::int as "connections",
            current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on' and current_setting('synchronous_commit') <> 'off'
              as "isDurable",
            inet_server_addr() is null or coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)
              or host(inet_server_addr()) ~ '^127[.]|^::1$' as "isEncrypted"
       from pg_roles r left join pg_roles a on a.rolname = $1 where r.rolname = session_user`,
    [APP_ROLE],
  )
  const server = rows[0]!
  return { ...server, now: new Date(server.now) }
}

function checkRights(server: Server): Finding[] {
  const about = 'database rights'
  const login = pg.escapeIdentifier(server.login)
  const findings: Finding[] = []
  const mayHand = server.isSuperuser || server.canCreateRoles
  if (!server.isAppThere && !mayHand)
    findings.push(
      broken(
        about,
        `${server.login} may not create the role ${APP_ROLE}`,
        `have its administrator run: create role ${APP_ROLE} nologin; grant ${APP_ROLE} to ${login};`,
      ),
    )
  if (server.isAppThere && !server.isAppMember && !server.isSuperuser)
    findings.push(
      broken(
        about,
        `${server.login} is not a member of the role ${APP_ROLE}`,
        `have its administrator run: grant ${APP_ROLE} to ${login};`,
      ),
    )
  if (server.isAppFree)
    findings.push(
      broken(about, `the role ${APP_ROLE} may pass row security`, `alter role ${APP_ROLE} nosuperuser nobypassrls;`),
    )
  if (server.schemaOwner === null && !server.canCreateSchema)
    findings.push(
      broken(
        about,
        `${server.login} may not create a schema`,
        `grant create on the database to ${login}, or make it the owner`,
      ),
    )
  const owner = server.isSuperuser ? 'perennial_owner' : server.login
  if (server.schemaOwner !== null && server.schemaOwner !== owner)
    findings.push(
      broken(
        about,
        `the schema perennial belongs to ${server.schemaOwner}, not to ${owner}`,
        `connect as ${server.schemaOwner}, or use another database`,
      ),
    )
  return findings.length > 0 ? findings : [fine(about, `${server.login} has what it takes`)]
}

function checkServerSettings(server: Server, { databasePool, databaseUrl }: Config, workers: number): Finding[] {
  const findings: Finding[] = []
  if (server.encoding !== 'UTF8')
    findings.push(
      broken('database encoding', `is ${server.encoding}`, 'use a database that was made with encoding UTF8'),
    )
  if (!server.isDurable)
    findings.push(
      doubtful(
        'database durability',
        'fsync, full_page_writes or synchronous_commit is off: a power cut loses what was acknowledged',
        'switch them on',
      ),
    )
  // The service and each worker are a process of their own.
  const { serve, work } = CONNECTIONS_BESIDE_POOL
  const wanted = databasePool + serve + workers * (databasePool + work)
  const processes = workers === 1 ? 'service and worker' : `service and ${workers} workers`
  if (wanted + SPARE_CONNECTIONS > server.connections)
    findings.push(
      doubtful(
        'DATABASE_POOL',
        `${wanted} connections (${processes}, with those for reads and long operations) of the ${server.connections} that the server has`,
        databaseUrl === undefined
          ? 'lower DATABASE_POOL or start fewer workers, or use a server of your own (DATABASE_URL)'
          : 'lower DATABASE_POOL, or raise max_connections',
      ),
    )
  if (databaseUrl !== undefined && !server.isEncrypted)
    findings.push(
      doubtful(
        'DATABASE_URL',
        'the connection crosses a network without encryption',
        'add sslmode=verify-full and give the server a certificate',
      ),
    )
  return findings
}

function checkTime(differenceMs: number): Finding {
  const seconds = Math.abs(Math.round(differenceMs / 1000))
  const text = `database and machine are ${seconds} s apart`
  const mend = 'set both clocks by a time service'
  if (Math.abs(differenceMs) > CLOCK_FAIL_MS) return broken('clock', text, mend)
  return Math.abs(differenceMs) > CLOCK_WARN_MS ? doubtful('clock', text, mend) : fine('clock', text)
}

async function checkMigrations(
  client: pg.Client,
  { schemaOwner, isSuperuser, isAppMember }: Server,
  root: string,
): Promise<Finding[]> {
  const about = 'migrations'
  const folder = join(root, 'db', 'migrations')
  if (schemaOwner === null) {
    const all = await readMigrations(folder)
    return [fine(about, `the database is empty; the first start runs ${all.map(({ name }) => name).join(', ')}`)]
  }
  if (!isSuperuser && !isAppMember) return []
  const rows = await readApplied(client)
  const { known, lacking } = await stateOfMigrations(folder, rows)
  const tooOld = lackOf(rows, known.at(-1)?.version ?? 0)
  if (tooOld) return [broken(about, tooOld.text, tooOld.mend)]
  const edited = rows.filter(({ version, hash }) => known.some((one) => one.version === version && one.hash !== hash))
  if (edited.length > 0)
    return [
      doubtful(
        about,
        `${edited.map(({ name }) => name).join(', ')} ran in another wording than this program has`,
        'use the program that was released, not a changed one',
      ),
    ]
  if (lacking.length > 0)
    return [
      doubtful(
        about,
        `${lacking.map(({ name }) => name).join(', ')} did not run yet`,
        lacking.some(({ least }) => least > newestOf(rows))
          ? 'run "perennial migrate --maintenance", or stop the processes that run: docs/operate/upgrade.md'
          : 'the next start runs them, or "perennial migrate" does',
      ),
    ]
  return [fine(about, `up to date with ${known.at(-1)?.name}`)]
}

/** Checks that nothing is missing of what the service works on, where the database has the migrations of this program. */
async function checkIsWhole(
  client: pg.Client,
  { schemaOwner, isAppThere, isSuperuser, isAppMember }: Server,
  root: string,
): Promise<Finding[]> {
  if (schemaOwner === null || !isAppThere || (!isSuperuser && !isAppMember)) return []
  const known = (await readMigrations(join(root, 'db', 'migrations'))).at(-1)?.version
  if (newestOf(await readApplied(client)) !== known) return []
  const { rows } = await client.query<MissingGrant>(await firstMissing(root))
  return rows.map((missing) => broken('database', ...missingInWords(missing)))
}

/** Checks that the keys open what is sealed; a database without stored data keys has nothing that could show it. */
async function checkSealed(
  client: pg.Client,
  { isSuperuser, isAppMember }: Server,
  config: Config,
): Promise<Finding[]> {
  const about = 'what is sealed'
  if (!isSuperuser && !isAppMember) return []
  if (!(await hasFunction(client, 'perennial.list_wrapping_keys()'))) return []
  const rows = async <Row>(statement: Statement) => (await client.query(statement)).rows as Row[]
  try {
    const ring = await checkEncryptionKeys({ ...BY_ROWS, rows }, config)
    return [fine(about, ring ? 'opens with the encryption key' : 'is nothing yet')]
  } catch (error) {
    // A file that holds no key is a finding of the folder.
    if (error instanceof ConfigFailure) return []
    if (!(error instanceof StartFailure)) throw error
    const [text = '', mend = ''] = error.message.split(/: (?=set |name )/)
    return [broken(about, text, mend.replace(/\.$/, ''))]
  }
}

/** Checks the certificate that the service has made for its seal; there is none before the first signed mandate, and none counts beside SEAL_P12. */
async function checkMadeSeal(
  client: pg.Client,
  { isSuperuser, isAppMember }: Server,
  { sealP12 }: Config,
): Promise<Finding[]> {
  if (sealP12 !== undefined || (!isSuperuser && !isAppMember)) return []
  if (!(await hasFunction(client, 'perennial.find_seal_key()'))) return []
  const { rows } = await client.query<{ certificate: Buffer }>('select certificate from perennial.find_seal_key()')
  return rows.map(({ certificate }) => checkEnd('seal', certificate, Date.now(), 'run "perennial seal renew"'))
}

/** Checks for sales of the capture widget on which a person has to decide: what they wait for never comes on its own. */
async function checkSales(client: pg.Client, { isSuperuser, isAppMember }: Server): Promise<Finding[]> {
  if (!isSuperuser && !isAppMember) return []
  if (!(await hasFunction(client, 'perennial.count_unsettled_capture_sales()'))) return []
  const { rows } = await client.query<{ n: number }>('select perennial.count_unsettled_capture_sales()::int as n')
  const count = rows[0]?.n ?? 0
  if (count === 0) return []
  return [
    doubtful(
      'capture widget',
      `${count} sale${count === 1 ? ' waits' : 's wait'} for a person: the gateway is silent, or gives the charge back no more`,
      'list them with GET /v1/widgets/capturepaymethod/sales, and settle each by PUT …/sales/{captureSaleID}/result',
    ),
  ]
}

/** Checks for bank files whose lines were taken for known by their reference alone: money that they name was not booked. */
async function checkFilesToSendAgain(client: pg.Client, { isSuperuser, isAppMember }: Server): Promise<Finding[]> {
  if (!isSuperuser && !isAppMember) return []
  if (!(await hasFunction(client, 'perennial.count_files_to_send_again()'))) return []
  const { rows } = await client.query<{ n: number }>('select perennial.count_files_to_send_again()::int as n')
  const count = rows[0]?.n ?? 0
  if (count === 0) return []
  return [
    doubtful(
      'bank files',
      `${count} file${count === 1 ? ' was' : 's were'} read while a bank reference alone made a line known, which banks repeat`,
      'list them with "perennial resultfiles to-send-again", and send the same bytes once more (docs/operate/result-files.md)',
    ),
  ]
}
