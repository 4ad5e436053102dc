import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { asOwner } from '../../bench/measure/database.ts'
import { type Acknowledged, PatientClient, Tally } from '../../bench/measure/patient-client.ts'
import { CATALOGUE, newRecords, RENEWS_ON } from '../../bench/seed-run.ts'
import { serverIn } from '../../bench/measure/processes.ts'
import { openFirms, tradeAll } from '../../bench/soak.ts'
import { checkRecords, type Firm } from '../../bench/trade.ts'
import type { ServerSettings } from '../../src/platform/postgres/settings.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { forward, makeNetwork, type Network } from './network.ts'
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

/**
 * Services and workers on several machines behind a balancer, over a primary and two synchronous standbys, and callers who repeat under their keys. Knows no
 * test runner: a test and a bench use it.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const API_KEY = 'a-key-of-several-machines-0123456789'
const PORT = 5432
const SERVERS = 3
/** Of each process; the servers have room for all. */
const POOL = 4
const SYNCHRONOUS = 'ANY 1 (standby0, standby1)'
const SETTINGS: ServerSettings = { max_connections: 200 }
const REPEATERS = 8
const LOOK_EVERY_MS = 50

export interface MachinesWish {
  /** An empty folder. */
  root: string
  /** A folder in which a service was started before, and the key of its first account; left out: one is started. */
  before?: { folder: string; key: string }
  /** Each machine is a network namespace. */
  isApart: boolean
  serves: number
  works: number
  /** Subscriptions of the account that is billed in parts. */
  records: number
  /** Accounts of each mode, with four callers each. */
  firms: number
  /** Pause of each caller before each request. */
  pauseMs: number
  env?: Readonly<Record<string, string>>
}

interface Process {
  child: ChildProcess
  said: { out: string; err: string }
  ended: Promise<number | null>
}

/** A server that was the primary until it fell silent. */
export interface Former {
  place: number
  /** Lets it answer again. */
  thaw(): Promise<void>
  /** Returns how many connections services and workers have opened there since then. */
  usersSince(): Promise<number>
}

/** The field of an answer that names what a request has made. */
const MADE: Readonly<Record<string, string>> = {
  '/v1/customers': 'customerID',
  '/v1/subscriptions': 'subscriptionID',
  '/v1/invoices': 'invoiceID',
  '/v1/payments': 'paymentID',
  '/v1/credits': 'creditNoteID',
}

export class Machines {
  readonly #wish: MachinesWish
  readonly #folders: string[]
  readonly #processes = new Map<string, Process>()
  readonly #ends: (() => void)[] = []
  readonly #written: Acknowledged[] = []
  readonly tally = new Tally()
  network!: Network
  balancer!: Balancer
  firms: Firm[] = []
  #runner!: PatientClient
  /** The server that takes writes, by its place. */
  primary = 0
  #standbys = [1, 2]
  #url = ''

  constructor(wish: MachinesWish) {
    this.#wish = wish
    this.#folders = serverFolders(wish.root, SERVERS)
    this.tally.acknowledged = (one) => this.#written.push(one)
  }

  get acknowledged(): number {
    return this.#written.length
  }

  get serves(): string[] {
    return Array.from({ length: this.#wish.serves }, (_, n) => `serve${n}`)
  }

  get works(): string[] {
    return Array.from({ length: this.#wish.works }, (_, n) => `work${n}`)
  }

  /** Returns the number of a process on this machine. */
  pid(name: string): number {
    return this.#processes.get(name)?.child.pid ?? 0
  }

  /** Returns the number of the postmaster of the primary. */
  get postmaster(): number {
    return serverIn(join(this.#folders[this.primary] ?? '', 'postgres'))
  }

  async start(): Promise<void> {
    const { serves, works, records } = this.#wish
    this.network = makeNetwork(SERVERS + serves + works, this.#wish.isApart)
    const addresses = this.#folders.map((_, place) => this.network.machine(place).address)
    const [primary = '', ...standbys] = this.#folders
    const { isApart } = this.network
    this.#copyBefore(primary)
    // The socket of a server is what its machine passes connections on to, and its folder is there before the server is.
    if (isApart)
      for (const [place, folder] of this.#folders.entries())
        this.#ends.push(await forward(this.network.machine(place), PORT, join(folder, 'postgres', `.s.PGSQL.${PORT}`)))
    await startReplicated(primary, standbys, {
      synchronous: SYNCHRONOUS,
      settings: SETTINGS,
      ...(isApart && { host: addresses[0] ?? '' }),
      prepare: (url) => this.#prepare(url, records),
    })
    this.#url = isApart
      ? `postgres://postgres:never-shown@${addresses.map((address) => `${address}:${PORT}`).join(',')}/perennial`
      : urlOf(...this.#folders)
    this.balancer = await startBalancer(this.network.own)
    await Promise.all([...this.serves, ...this.works].map((name) => this.startProcess(name)))
    const pausing = async () => {
      await delay(this.#wish.pauseMs)
      return this.balancer.address
    }
    const given = { tally: this.tally, address: pausing, mayBreak: true }
    this.firms = await openFirms(
      { connection: { connectionString: urlOf(primary) } },
      { ...given, each: this.#wish.firms, address: () => this.balancer.address },
    )
    for (const firm of this.firms) {
      const { authorization } = firm.client
      firm.client = new PatientClient({ ...given, authorization })
    }
    const authorization = `Basic ${Buffer.from(`1:${this.#wish.before?.key ?? API_KEY}`).toString('base64')}`
    this.#runner = new PatientClient({ ...given, authorization })
  }

  /** Makes the first account, whose records are due, and everything that all servers have at the beginning. */
  async #prepare(url: string, records: number): Promise<void> {
    this.#url = url
    const first = this.#wish.before
      ? undefined
      : this.#spawn([], ['serve', '--json', '--no-worker'], { HOST: '127.0.0.1', DRAIN_SECONDS: '0' })
    if (first) await this.#says(first, /^\{.*\}$/m)
    await asOwner({ connectionString: url }, async (client) => {
      await client.query(CATALOGUE)
      for (const statement of newRecords(RENEWS_ON).split(';')) await client.query(statement, [records])
      await client.query(`update accounts set clock_at = '${RENEWS_ON}T12:00:00Z' where account_id = 1`)
      await client.query('analyze')
    })
    first?.child.kill('SIGTERM')
    await first?.ended
  }

  /** Takes over what was started before, with its encryption key, in place of a first start. */
  #copyBefore(primary: string): void {
    const { before, root } = this.#wish
    if (!before) return
    execFileSync('cp', ['-a', before.folder, primary])
    mkdirSync(join(root, 'data'))
    copyFileSync(join(primary, 'encryption.key'), join(root, 'data', 'encryption.key'))
  }

  #spawn(enter: readonly string[], words: readonly string[], env: Record<string, string>): Process {
    const [program = '', ...args] = [...enter, process.execPath, join(ROOT, 'bin', 'perennial.js'), ...words]
    const child = spawn(program, args, {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        DATA_DIR: join(this.#wish.root, 'data'),
        DATABASE_URL: this.#url,
        DATABASE_POOL: String(POOL),
        BOOTSTRAP_API_KEY: API_KEY,
        LOG_LEVEL: 'info',
        SLOW_REQUEST_MS: '0',
        PORT: '0',
        ...this.#wish.env,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text))
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { child, said, ended }
  }

  async #says({ child, said }: Process, pattern: RegExp): Promise<string> {
    for (;;) {
      const [found] = pattern.exec(said.out) ?? []
      if (found !== undefined) return found
      if (child.exitCode !== null) throw new Error(`the program ended without ${pattern}: ${said.out}${said.err}`)
      await delay(LOOK_EVERY_MS)
    }
  }

  /** Starts a service or a worker on its machine; callers come to a service once the balancer has found it ready. */
  async startProcess(name: string): Promise<void> {
    const { serves } = this.#wish
    const isServe = name.startsWith('serve')
    const place = SERVERS + (isServe ? 0 : serves) + Number(name.replace(/\D+/, ''))
    const { address, enter } = this.network.machine(place)
    const words = isServe ? ['serve', '--json', '--no-worker'] : ['work', '--json']
    const started = this.#spawn(enter, words, { HOST: address })
    this.#processes.set(name, started)
    const line = await this.#says(started, /^\{.*\}$/m)
    if (isServe) this.balancer.put(name, (JSON.parse(line) as { Address: string }).Address)
  }

  /** Ends a process by a signal, and returns its exit code. */
  async end(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const process = this.#processes.get(name)
    process?.child.kill(signal)
    return (await process?.ended) ?? null
  }

  /** Runs a command of the program to its end, on the machine of the test. */
  async command(...words: string[]): Promise<{ code: number | null; out: string; err: string }> {
    const run = this.#spawn([], words, {})
    return { code: await run.ended, ...run.said }
  }

  /** Runs a statement on the server that takes writes. */
  rows(statement: string): Promise<any[]> {
    return onServer(this.#folders[this.primary] ?? '', statement)
  }

  /** Lets all callers work until `isOver`; settles when the last of them is through. */
  trade(name: string, isOver: () => boolean): Promise<unknown> {
    return Promise.all([tradeAll(this.firms, name, isOver), this.#exports(isOver)])
  }

  /** Exports the books of an account that trades, again and again. */
  async #exports(isOver: () => boolean): Promise<void> {
    const { client } = this.firms.find(({ hasClock }) => !hasClock) as Firm
    const codes = ['receivable', 'unapplied', 'clearing', 'cash', 'revenue', 'tax', 'unsettled']
    const body = Object.fromEntries(codes.map((code, n) => [code, String(1000 + n)]))
    await client.ask({ method: 'PUT', path: '/v1/glcodes', body, status: 204 })
    const today = new Date().toISOString().slice(0, 10)
    const wish = { Format: 'csv', CurrencyCode: 'USD', From: '2026-01-01', To: today }
    // 200: nothing is new; 409: there is nothing yet, or that of a service that was killed counts as running for a while.
    while (!isOver()) await client.ask({ method: 'POST', path: '/v1/exports', body: wish, status: [201, 200, 409] })
  }

  /** Adds a customer at one of the services. */
  async addCustomer(address: string): Promise<Response> {
    const response = await fetch(`${address}/v1/customers`, {
      method: 'POST',
      headers: { authorization: this.#runner.authorization, 'content-type': 'application/json' },
      body: '{"Name":"Ann","LastName":"Gables"}',
    })
    await response.arrayBuffer()
    return response
  }

  /** Asks for the billing run over all records. Returns its identifier. */
  async beginRun(): Promise<number> {
    return (await this.#runner.add<{ billingRunID: number }>('/v1/billingruns', {})).billingRunID
  }

  async untilRunIsDone(id: number): Promise<void> {
    while ((await this.#runner.read<{ State: string }>(`/v1/billingruns/${id}`)).State !== 'done')
      await delay(10 * LOOK_EVERY_MS)
  }

  /** Waits until callers have had so many more answers. */
  async untilAnswered(more: number): Promise<void> {
    const wanted = this.tally.answers + more
    await this.until(() => this.tally.answers >= wanted)
  }

  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isSo())) await delay(LOOK_EVERY_MS)
  }

  /** Returns how many parts of a run workers have at present. */
  async partsHeld(): Promise<number> {
    const [row] = await this.rows('select count(holder)::int as n from perennial.billing_run_parts')
    return row.n
  }

  /** Returns how many invoices the run has made, and for how many customers. */
  async billed(): Promise<{ invoices: number; customers: number }> {
    const [row] = await this.rows(
      `select count(*)::int as invoices, count(distinct customer_id)::int as customers from perennial.invoices where account_id = 1`,
    )
    return row
  }

  /** Lets the primary be silent: its link is taken down, or its processes are stopped. */
  freeze(): Former {
    const place = this.primary
    const folder = this.#folders[place] ?? ''
    const { isApart } = this.network
    if (isApart) this.network.link(place, false)
    else signalServer(folder, 'SIGSTOP')
    let since = ''
    return {
      place,
      thaw: async () => {
        if (isApart) this.network.link(place, true)
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
          this.#folders[place] ?? '',
          `select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::float8 as n`,
        )
        return row.n as number
      }),
    )
    const [one = 0, other = 0] = this.#standbys
    const [chosen, left] = (received[0] ?? 0) >= (received[1] ?? 0) ? [one, other] : [other, one]
    await promote(this.#folders[chosen] ?? '')
    this.primary = chosen
    this.#standbys = [left]
    await this.#follow()
  }

  /** Lets the standbys follow the primary. */
  #follow(): Promise<void> {
    const folders = this.#standbys.map((place) => this.#folders[place] ?? '')
    const { address } = this.network.machine(this.primary)
    const host = this.network.isApart ? [address] : []
    return follow(folders, this.#folders[this.primary] ?? '', SETTINGS, ...host)
  }

  /** Makes a former primary the second standby again, after which both are synchronous. */
  async rejoin({ place }: Former): Promise<void> {
    const [standby = 0] = this.#standbys
    await replaceServer(this.#folders[place] ?? '', this.#folders[standby] ?? '')
    this.#standbys = [standby, place]
    await this.#follow()
    await this.rows(`alter system set synchronous_standby_names = '${SYNCHRONOUS}'`)
    await this.rows('select pg_reload_conf()')
  }

  /** Sends again all that was acknowledged, under its keys, and looks at each record. What is wrong stands in the tally. */
  async checkAll(): Promise<void> {
    this.tally.acknowledged = () => {}
    const left = this.#written.splice(0)
    this.#checkIdentifiers(left)
    const repeater = async () => {
      for (let one = left.pop(); one; one = left.pop())
        await new PatientClient({
          ...{ authorization: one.client.authorization, tally: this.tally, mayBreak: true },
          address: () => this.balancer.address,
        }).repeat(one)
    }
    await Promise.all(Array.from({ length: REPEATERS }, repeater))
    await Promise.all(this.firms.map((firm) => checkRecords(firm)))
    this.tally.acknowledged = (one) => this.#written.push(one)
  }

  /** Looks whether one identifier names two records. */
  #checkIdentifiers(written: readonly Acknowledged[]): void {
    const seen = new Set<string>()
    for (const { client, method, path, answer } of written) {
      const field = MADE[path]
      if (method !== 'POST' || field === undefined) continue
      const id = (JSON.parse(answer) as Record<string, number>)[field]
      const name = `${client.authorization} ${field} ${id}`
      this.tally.check(id !== undefined && !seen.has(name), `${field} ${id} was given twice, or not at all`)
      seen.add(name)
    }
  }

  async stop(): Promise<void> {
    const running = [...this.#processes.values()]
    for (const { child } of running) child.kill('SIGKILL')
    await Promise.all(running.map(({ ended }) => ended))
    await this.balancer?.close()
    for (const end of this.#ends) end()
    await stopServers()
    this.network?.remove()
  }
}
