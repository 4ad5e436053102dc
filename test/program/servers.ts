import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { ServerSettings } from '../../src/platform/postgres/settings.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'

/** Servers as an operator runs them, a primary and its standbys: each in a folder of its own. */

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
/** How long a standby may take to be connected. */
const STREAMING_MS = 60_000
const running = new Map<string, EmbeddedPostgres>()

/** Returns folders for so many servers in one. */
export const serverFolders = (root: string, count: number): string[] =>
  Array.from({ length: count }, (_, place) => join(root, `server${place}`))

export async function stopServers(): Promise<void> {
  for (const folder of [...running.keys()]) await stopServer(folder)
}

export async function startServer(folder: string, settings: ServerSettings = {}): Promise<void> {
  running.set(folder, await startEmbeddedPostgres({ dataDir: folder, log: silent, settings }))
}

export async function stopServer(folder: string): Promise<void> {
  signalServer(folder, 'SIGCONT')
  await running.get(folder)?.stop()
  running.delete(folder)
}

/** Makes a stopped primary start as a standby next time. */
export function makeStandby(folder: string): void {
  const cluster = join(folder, 'postgres')
  const file = join(cluster, 'standby.signal')
  writeFileSync(file, '')
  const { uid, gid } = statSync(cluster)
  chownSync(file, uid, gid)
}

/** Copies a stopped server, with its owner: as root no server runs. */
export function copyServer(model: string, copy: string): void {
  mkdirSync(copy, { mode: 0o700, recursive: true })
  execFileSync('cp', ['-a', join(model, 'postgres'), copy])
}

/** Runs a statement on a server as its superuser, and returns the rows. */
export async function onServer(folder: string, statement: string, database = 'perennial'): Promise<any[]> {
  const client = new pg.Client({ ...running.get(folder)!.connection, database })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

export async function promote(folder: string): Promise<void> {
  const [row] = await onServer(folder, 'select pg_promote() as "is"', 'postgres')
  if (row?.is !== true) throw new Error(`the server in ${folder} was not promoted`)
}

/** Lets a server refuse each new login to our database, as after a change of its password, or no more. Connections that are open stay. */
export async function refuseLogins(folder: string, refuses: boolean): Promise<void> {
  const file = join(folder, 'postgres', 'pg_hba.conf')
  const rules = readFileSync(file, 'utf8').replace(REFUSAL, '')
  writeFileSync(file, refuses ? REFUSAL + rules : rules)
  await onServer(folder, 'select pg_reload_conf()', 'postgres')
}
const REFUSAL = 'local perennial all reject\n'

/** Returns the number of the postmaster of a server; undefined if it does not run. */
function postmasterOf(folder: string): number | undefined {
  try {
    return Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  } catch {
    return undefined
  }
}

/** Sends a signal to all processes that a process has started. */
function signalChildren(of: number, signal: NodeJS.Signals): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const [, , parent] = /^\d+ \((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
      if (Number(parent) === of) process.kill(Number(pid), signal)
    } catch {
      // It has ended meanwhile.
    }
}

/** Sends a signal to all processes of a server: SIGSTOP freezes it, as a machine that hangs, and SIGCONT thaws it. */
export function signalServer(folder: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const postmaster = postmasterOf(folder)
  if (postmaster === undefined) return
  // The postmaster first, so that it starts nobody else.
  process.kill(postmaster, signal)
  signalChildren(postmaster, signal)
}

/** Ends a server as a machine that fails does, also a frozen one: nothing more is written, or sent to a standby. */
export async function killServer(folder: string): Promise<void> {
  const server = running.get(folder)
  const postmaster = postmasterOf(folder)
  if (!server || postmaster === undefined) return
  process.kill(postmaster, 'SIGSTOP')
  signalChildren(postmaster, 'SIGKILL')
  // The postmaster takes its shared memory away itself.
  process.kill(postmaster, 'SIGQUIT')
  process.kill(postmaster, 'SIGCONT')
  await server.exited
  running.delete(folder)
}

/** Lets a primary send nothing more to its standbys, which stay connected. */
export async function stopSending(primary: string): Promise<void> {
  for (const { pid } of await onServer(primary, 'select pid from pg_stat_replication')) process.kill(pid, 'SIGSTOP')
}

/** Lets the user of the servers log in to one of them: a standby receives the log as that user. */
async function admitStandby(folder: string): Promise<void> {
  const file = join(folder, 'postgres', 'pg_ident.conf')
  const { uid } = statSync(file)
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.split(':')[2] === String(uid))
  appendFileSync(file, `perennial "${line?.split(':')[0]}" all\n`)
  // The socket is reached from outside of the folder, by a user to whom folders of tests are closed.
  for (const path of [folder, dirname(folder)]) chmodSync(path, 0o711)
  await onServer(folder, 'select pg_reload_conf()', 'postgres')
}

/** Returns the address of servers, as DATABASE_URL names them. */
export const urlOf = (...folders: string[]) =>
  `postgres://postgres:never-shown@localhost:5432/perennial?host=${folders.map((folder) => join(folder, 'postgres')).join(',')}`

/** Starts a primary and a standby that receives its log, synchronously or not; `prepare` makes what both have at the beginning. */
export const startPair = (
  primary: string,
  standby: string,
  { isSynchronous, prepare }: { isSynchronous: boolean; prepare: (url: string) => Promise<void> },
): Promise<void> => startReplicated(primary, [standby], { prepare, ...(isSynchronous && { synchronous: '*' }) })

/** How servers replicate. */
interface Replication {
  /** Standbys are named `standby0`, `standby1`, … */
  synchronous?: string
  settings?: ServerSettings
  /** The address at which standbys find the primary. */
  host?: string
}

/** Starts a primary and standbys that receive its log. */
export async function startReplicated(
  primary: string,
  standbys: readonly string[],
  { prepare, ...replication }: Replication & { prepare: (url: string) => Promise<void> },
): Promise<void> {
  await startServer(primary, replication.settings)
  await prepare(urlOf(primary))
  await replicate(primary, standbys, replication)
}

/** Makes copies of a primary into standbys that receive its log; it is stopped for that, and started again. */
export async function replicate(
  primary: string,
  standbys: readonly string[],
  { synchronous = '', settings = {}, host = join(primary, 'postgres') }: Replication,
): Promise<void> {
  await stopServer(primary)
  for (const standby of standbys) {
    rmSync(join(standby, 'postgres'), { recursive: true, force: true })
    copyServer(primary, standby)
    makeStandby(standby)
  }
  await startServer(primary, { ...settings, ...(synchronous && { synchronous_standby_names: synchronous }) })
  await admitStandby(primary)
  const start = (standby: string, place: number) =>
    startServer(standby, { ...settings, primary_conninfo: conninfoOf(host, place) })
  await Promise.all(standbys.map(start))
  await untilStreaming(primary, standbys.length)
}

const conninfoOf = (host: string, place: number) =>
  `host=${host} port=5432 user=postgres application_name=standby${place}`

/** Lets standbys follow another primary, at which they start anew. `host` is where they find it. */
export async function follow(
  standbys: readonly string[],
  primary: string,
  settings: ServerSettings = {},
  host = join(primary, 'postgres'),
): Promise<void> {
  await admitStandby(primary)
  for (const [place, standby] of standbys.entries()) {
    await stopServer(standby)
    await startServer(standby, { ...settings, primary_conninfo: conninfoOf(host, place) })
  }
  await untilStreaming(primary, standbys.length)
}

/** Makes what was a primary into a copy of a standby, and stops both. */
export async function replaceServer(former: string, standby: string): Promise<void> {
  await stopServer(former)
  await stopServer(standby)
  rmSync(join(former, 'postgres'), { recursive: true })
  copyServer(standby, former)
}

/** Waits until so many standbys receive the log of a server. */
async function untilStreaming(primary: string, count: number): Promise<void> {
  const since = performance.now()
  for (;;) {
    const rows = await onServer(primary, `select 1 from pg_stat_replication where state = 'streaming'`)
    if (rows.length >= count) return
    if (performance.now() - since > STREAMING_MS) throw new Error('a standby does not receive the log')
    await delay(100)
  }
}
