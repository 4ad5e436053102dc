import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { chooseIdentity } from '../../src/platform/postgres/identity.ts'
import { findProcess } from '../../src/platform/postgres/processes.ts'
import { NOT_DURABLE, type ServerSettings } from '../../src/platform/postgres/settings.ts'
import { roomyFolder } from '../support/roomy-parent.ts'

/**
 * A coordinator and workers of Citus on loopback, as an ordinary user, each in a folder of its own: Debian's postgresql-15 with Citus unpacked beside a copy of it.
 * CITUS_POSTGRES names the folder below which `usr/lib/postgresql/15` lies, with Citus or without; left out: the system's own.
 */

const ARCHIVES = fileURLToPath(new URL('../../../shared/citus', import.meta.url))
const DEBIAN = process.env['CITUS_POSTGRES'] ?? '/'
/** The archive was built against this one, and does not load in older ones. */
const MINOR_MIN = 20

const SETTINGS = {
  ...NOT_DURABLE,
  shared_preload_libraries: 'citus',
  max_connections: 150,
  max_prepared_transactions: 150,
  max_worker_processes: 24,
  wal_level: 'logical',
  jit: 'off',
  autovacuum_naptime: '1h',
  timezone: 'UTC',
  log_min_messages: 'warning',
  'citus.shard_count': 8,
  'citus.enable_statistics_collection': 'off',
  'citus.node_conninfo': 'sslmode=disable',
  // A worker that was killed is asked again at once, and is found alive soon.
  'citus.node_connection_timeout': '3s',
  'citus.recover_2pc_interval': '2s',
}

/** A server of a cluster, for whatever process of the tests. */
export interface Node {
  folder: string
  port: number
  programs: string
  /** They win over those of all servers here. */
  settings?: ServerSettings
}

export interface Cluster {
  root: string
  coordinator: Node
  workers: Node[]
}

/** Returns what has to be done before a cluster can start; undefined where nothing has. */
export function missingForCluster(): string | undefined {
  if (!hasCitus() && archives().length === 0)
    return 'an archive citus-*-pg15-*.tar.gz in ../shared/citus, see CONTRIBUTING.md'
  const postgres = join(DEBIAN, 'usr/lib/postgresql/15/bin/postgres')
  const { stdout } = spawnSync(postgres, ['--version'], { encoding: 'utf8' })
  const minor = Number(/ 15\.(\d+)/.exec(stdout)?.[1])
  if (minor >= MINOR_MIN) return
  return `apt-get install postgresql-15, 15.${MINOR_MIN} or newer, or CITUS_POSTGRES, see CONTRIBUTING.md`
}

const hasCitus = (): boolean => existsSync(join(DEBIAN, 'usr/lib/postgresql/15/lib/citus.so'))

const archives = (): string[] =>
  existsSync(ARCHIVES)
    ? readdirSync(ARCHIVES)
        .filter((name) => /^citus-.*-pg15-.*\.tar\.gz$/.test(name))
        .map((name) => join(ARCHIVES, name))
    : []

const mustRun = (program: string, args: string[], options: object = {}): void => {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', ...options })
  if (status !== 0) throw error ?? new Error(`${program}: ${stderr}`)
}

/** Copies the programs of Debian, without what a compiler would read, and unpacks Citus beside them. */
function unpackPrograms(folder: string): string {
  for (const part of ['usr/lib/postgresql/15', 'usr/share/postgresql/15']) {
    mkdirSync(join(folder, part), { recursive: true })
    cpSync(join(DEBIAN, part), join(folder, part), { recursive: true, filter: (path) => !path.endsWith('/bitcode') })
  }
  if (!hasCitus()) mustRun('tar', ['-xzf', archives()[0] as string, '-C', folder, '--exclude=bitcode'])
  return join(folder, 'usr/lib/postgresql/15/bin')
}

/** Returns ports that are free now, each another one. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** Starts servers that know nothing of each other yet. `root` is where their folders go; left out: into memory, where there is room. */
export async function startCluster({
  workers = 2,
  settings = {},
  root = roomyFolder('citus'),
}: { workers?: number; settings?: ServerSettings; root?: string } = {}): Promise<Cluster> {
  const { runAs } = chooseIdentity(root)
  const own = (path: string) => runAs && mustRun('chown', ['-R', `${runAs.uid}:${runAs.gid}`, path])
  own(root)
  const programs = unpackPrograms(root)
  const template = join(root, 'template')
  mustRun(
    join(programs, 'initdb'),
    ['-D', template, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync', '-k'],
    asUserOf(root),
  )
  const ports = await freePorts(workers + 1)
  const names = ['coordinator', ...ports.slice(1).map((_, place) => `worker${place + 1}`)]
  const [coordinator, ...others] = (await Promise.all(
    ports.map(async (port, place) => {
      const node = { folder: join(root, names[place] as string), port, programs, settings }
      cpSync(template, node.folder, { recursive: true })
      own(node.folder)
      await startNode(node)
      return node
    }),
  )) as [Node, ...Node[]]
  return { root, coordinator, workers: others }
}

export async function stopCluster({ root, coordinator, workers }: Cluster): Promise<void> {
  await Promise.all([coordinator, ...workers].map(killNode))
  rmSync(root, { recursive: true, force: true })
}

const nodesOf = ({ coordinator, workers }: Cluster): Node[] => [coordinator, ...workers]

/** Makes a database on every server; Citus comes with `addCitus`. */
export async function createDatabase(cluster: Cluster, name: string): Promise<void> {
  await Promise.all(nodesOf(cluster).map((node) => onNode(node, 'postgres', `create database ${name}`)))
}

/** Makes the extension on every server, and names the workers to the coordinator. */
export async function addCitus(cluster: Cluster, database: string): Promise<void> {
  await Promise.all(nodesOf(cluster).map((node) => onNode(node, database, 'create extension citus')))
  const { coordinator, workers } = cluster
  await onNode(coordinator, database, `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`)
  for (const { port } of workers) await onNode(coordinator, database, `select citus_add_node('127.0.0.1', ${port})`)
}

/** Returns the user of a folder, as whom its programs run. */
function asUserOf(folder: string) {
  const { uid, gid } = statSync(folder)
  return {
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
    cwd: folder,
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
  }
}

/** Starts a server, and returns once it answers. */
export async function startNode(node: Node): Promise<void> {
  const settings = {
    ...SETTINGS,
    ...node.settings,
    listen_addresses: '127.0.0.1',
    port: node.port,
    unix_socket_directories: '',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = openSync(`${node.folder}.log`, 'a')
  const server = spawn(join(node.programs, 'postgres'), ['-D', node.folder, ...args], {
    ...asUserOf(node.folder),
    stdio: ['ignore', log, log],
  })
  server.unref()
  for (;;) {
    if (server.exitCode !== null) throw new Error(`the server in ${node.folder} did not start`)
    if (await onNode(node, 'postgres', 'select').catch(() => undefined)) return
    await delay(50)
  }
}

/** Makes a synchronous standby of a server that runs, and starts it; `given` is its port, if that is known before. */
export async function addStandby(node: Node, given?: number): Promise<Node> {
  const port = given ?? ((await freePorts(1)) as [number])[0]
  const standby = { ...node, folder: `${node.folder}-standby`, port }
  mustRun(
    join(node.programs, 'pg_basebackup'),
    ['-d', urlOf(node, 'postgres'), '-D', standby.folder, '-R', '-c', 'fast', '--no-sync', '--no-verify-checksums'],
    asUserOf(node.folder),
  )
  await startNode(standby)
  await onNode(node, 'postgres', `alter system set synchronous_standby_names = '*'`)
  await onNode(node, 'postgres', 'select pg_reload_conf()')
  return standby
}

/** Ends a server and all its connections at once, as if its machine lost its power. */
export async function killNode({ folder }: Node): Promise<void> {
  const file = join(folder, 'postmaster.pid')
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
  process.kill(pid, 'SIGQUIT')
  while (findProcess(pid)) await delay(20)
  rmSync(file, { force: true })
}

/** Runs a statement on a server as its superuser, and returns the rows. */
export async function onNode(node: Node, database: string, statement: string): Promise<any[]> {
  const client = new pg.Client({ host: '127.0.0.1', port: node.port, user: 'postgres', database })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(statement)).rows ?? []
  } finally {
    await client.end().catch(() => {})
  }
}

export const urlOf = ({ port }: Node, database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`
