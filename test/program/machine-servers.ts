import { join } from 'node:path'
import { serverIn } from '../../bench/measure/processes.ts'
import type { ServerSettings } from '../../src/platform/postgres/settings.ts'
import { forward, type Network } from './network.ts'
import {
  follow,
  onServer,
  promote,
  replaceServer,
  serverFolders,
  signalServer,
  startReplicated,
  stopServers,
  urlOf,
} from './servers.ts'

/** A primary and two synchronous standbys, each on a machine of a network, from the first on. Knows no test runner. */

export const SERVERS = 3
const PORT = 5432
const SYNCHRONOUS = 'ANY 1 (standby0, standby1)'
const SETTINGS: ServerSettings = { max_connections: 200 }

/** A server that was the primary until it fell silent. */
export interface Former {
  place: number
  /** Lets it answer again. */
  thaw(): Promise<void>
  /** Returns how many connections services and workers have opened there since then. */
  usersSince(): Promise<number>
}

export class MachineServers {
  readonly folders: readonly string[]
  readonly #network: Network
  readonly #ends: (() => void)[] = []
  /** The server that takes writes, by its place. */
  #primary = 0
  #standbys = [1, 2]

  constructor(root: string, network: Network) {
    this.folders = serverFolders(root, SERVERS)
    this.#network = network
  }

  /** Folder of the server that takes writes. */
  get primary(): string {
    return this.folders[this.#primary] ?? ''
  }

  /** Number of the postmaster of the primary. */
  get postmaster(): number {
    return serverIn(join(this.primary, 'postgres'))
  }

  /** Address of all servers, as processes on any machine reach them. */
  get url(): string {
    if (!this.#network.isApart) return urlOf(...this.folders)
    const hosts = this.folders.map((_, place) => `${this.#network.machine(place).address}:${PORT}`)
    return `postgres://postgres:never-shown@${hosts.join(',')}/perennial`
  }

  /** Starts them; `prepare` makes what all have at the beginning. */
  async start(prepare: (url: string) => Promise<void>): Promise<void> {
    const [primary = '', ...standbys] = this.folders
    const { isApart } = this.#network
    // The socket of a server is what its machine passes connections on to, and its folder is there before the server is.
    if (isApart)
      for (const [place, folder] of this.folders.entries())
        this.#ends.push(await forward(this.#network.machine(place), PORT, join(folder, 'postgres', `.s.PGSQL.${PORT}`)))
    await startReplicated(primary, standbys, {
      synchronous: SYNCHRONOUS,
      settings: SETTINGS,
      ...(isApart && { host: this.#network.machine(0).address }),
      prepare,
    })
  }

  /** Runs a statement on the server that takes writes. */
  rows(statement: string): Promise<any[]> {
    return onServer(this.primary, statement)
  }

  /** Lets the primary be silent: its link is taken down, or its processes are stopped. */
  freeze(): Former {
    const place = this.#primary
    const folder = this.primary
    const { isApart } = this.#network
    if (isApart) this.#network.link(place, false)
    else signalServer(folder, 'SIGSTOP')
    let since = ''
    return {
      place,
      thaw: async () => {
        if (isApart) this.#network.link(place, true)
        else signalServer(folder, 'SIGCONT')
        const [row] = await onServer(folder, 'select clock_timestamp()::text as now')
        since = row.now
      },
      usersSince: async () => {
        const [row] = await onServer(
          folder,
          `select count(*)::int as n from pg_stat_activity where application_name like 'perennial%' and backend_start > '${since}'`,
        )
        return row.n
      },
    }
  }

  /** Promotes the standby that received more, and lets the other follow it. */
  async failOver(): Promise<void> {
    const received = await Promise.all(
      this.#standbys.map(async (place) => {
        const [row] = await onServer(
          this.folders[place] ?? '',
          `select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::float8 as n`,
        )
        return row.n as number
      }),
    )
    const [one = 0, other = 0] = this.#standbys
    const [chosen, left] = (received[0] ?? 0) >= (received[1] ?? 0) ? [one, other] : [other, one]
    await promote(this.folders[chosen] ?? '')
    this.#primary = chosen
    this.#standbys = [left]
    await this.#follow()
  }

  /** Lets the standbys follow the primary. */
  #follow(): Promise<void> {
    const folders = this.#standbys.map((place) => this.folders[place] ?? '')
    const { address } = this.#network.machine(this.#primary)
    const host = this.#network.isApart ? [address] : []
    return follow(folders, this.primary, SETTINGS, ...host)
  }

  /** Makes a former primary the second standby again, after which both are synchronous. */
  async rejoin({ place }: Former): Promise<void> {
    const [standby = 0] = this.#standbys
    await replaceServer(this.folders[place] ?? '', this.folders[standby] ?? '')
    this.#standbys = [standby, place]
    await this.#follow()
    await this.rows(`alter system set synchronous_standby_names = '${SYNCHRONOUS}'`)
    await this.rows('select pg_reload_conf()')
  }

  async stop(): Promise<void> {
    for (const end of this.#ends) end()
    await stopServers()
  }
}
