import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { asOwner } from '../../bench/measure/database.ts'
import { type Acknowledged, PatientClient, Tally } from '../../bench/measure/patient-client.ts'
import { CATALOGUE, newRecords, RENEWS_ON } from '../../bench/seed-run.ts'
import { openFirms, tradeAll } from '../../bench/soak.ts'
import { checkRecords, type Firm } from '../../bench/trade.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { MachineProcesses } from './machine-processes.ts'
import { MachineServers, SERVERS } from './machine-servers.ts'
import { makeNetwork, type Network } from './network.ts'
import { urlOf } from './servers.ts'

/**
 * Services and workers on several machines behind a balancer, over a primary and two synchronous standbys, and callers who repeat under their keys. Knows no
 * test runner: a test and a bench use it.
 */

const API_KEY = 'a-key-of-several-machines-0123456789'
/** Of each process; the servers have room for all. */
const POOL = 4
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
  readonly #written: Acknowledged[] = []
  readonly tally = new Tally()
  readonly processes: MachineProcesses
  readonly #network: Network
  readonly servers: MachineServers
  balancer!: Balancer
  firms: Firm[] = []
  #runner!: PatientClient

  constructor(wish: MachinesWish) {
    const { root, isApart, serves, works, env } = wish
    this.#wish = wish
    this.processes = new MachineProcesses({
      DATA_DIR: join(root, 'data'),
      DATABASE_POOL: String(POOL),
      BOOTSTRAP_API_KEY: API_KEY,
      LOG_LEVEL: 'info',
      SLOW_REQUEST_MS: '0',
      ...env,
    })
    this.#network = makeNetwork(SERVERS + serves + works, isApart)
    this.servers = new MachineServers(root, this.#network)
    this.tally.acknowledged = (one) => this.#written.push(one)
  }

  get serves(): string[] {
    return Array.from({ length: this.#wish.serves }, (_, n) => `serve${n}`)
  }

  get works(): string[] {
    return Array.from({ length: this.#wish.works }, (_, n) => `work${n}`)
  }

  async start(): Promise<void> {
    const { records } = this.#wish
    this.#copyBefore()
    await this.servers.start((url) => this.#prepare(url, records))
    this.balancer = await startBalancer(this.#network.own)
    const starting = Promise.all([...this.serves, ...this.works].map((name) => this.startProcess(name)))
    const pausing = async () => {
      await delay(this.#wish.pauseMs)
      return this.balancer.address
    }
    const given = { tally: this.tally, address: pausing, mayBreak: true }
    // The first service that is ready opens the firms, while the others start.
    const opening = openFirms(
      { connection: { connectionString: urlOf(this.servers.primary) } },
      { ...given, each: this.#wish.firms, address: () => this.balancer.address },
    )
    ;[this.firms] = await Promise.all([opening, starting])
    for (const firm of this.firms) {
      const { authorization } = firm.client
      firm.client = new PatientClient({ ...given, authorization })
    }
    const authorization = `Basic ${Buffer.from(`1:${this.#wish.before?.key ?? API_KEY}`).toString('base64')}`
    this.#runner = new PatientClient({ ...given, authorization })
  }

  /** Makes the first account, whose records are due, and everything that all servers have at the beginning. */
  async #prepare(url: string, records: number): Promise<void> {
    const isFirst = this.#wish.before === undefined
    const env = { DATABASE_URL: url, HOST: '127.0.0.1', DRAIN_SECONDS: '0' }
    if (isFirst) await this.processes.start('first', ['serve', '--json', '--no-worker'], env)
    await asOwner({ connectionString: url }, async (client) => {
      await client.query(CATALOGUE)
      for (const statement of newRecords(RENEWS_ON).split(';')) await client.query(statement, [records])
      await client.query(`update accounts set clock_at = '${RENEWS_ON}T12:00:00Z' where account_id = 1`)
      await client.query('analyze')
    })
    if (isFirst) await this.processes.end('first', 'SIGTERM')
  }

  /** Takes over what was started before, with its encryption key, in place of a first start. */
  #copyBefore(): void {
    const { before, root } = this.#wish
    const { primary } = this.servers
    if (!before) return
    execFileSync('cp', ['-a', before.folder, primary])
    mkdirSync(join(root, 'data'))
    copyFileSync(join(primary, 'encryption.key'), join(root, 'data', 'encryption.key'))
  }

  /** Starts a service or a worker on its machine; callers come to a service once the balancer has found it ready. */
  async startProcess(name: string): Promise<void> {
    const { serves } = this.#wish
    const isServe = name.startsWith('serve')
    const place = SERVERS + (isServe ? 0 : serves) + Number(name.replace(/\D+/, ''))
    const { address, enter } = this.#network.machine(place)
    const words = isServe ? ['serve', '--json', '--no-worker'] : ['work', '--json']
    const told = await this.processes.start(name, words, { DATABASE_URL: this.servers.url, HOST: address }, enter)
    if (isServe) this.balancer.put(name, String(told['Address']))
  }

  /** Runs a command of the program to its end, on the machine of the test. */
  command(...words: string[]): Promise<{ code: number | null; out: string; err: string }> {
    return this.processes.command(words, { DATABASE_URL: this.servers.url })
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
    const [row] = await this.servers.rows('select count(holder)::int as n from perennial.billing_run_parts')
    return row.n
  }

  /** Returns how many invoices the run has made, and for how many customers. */
  async billed(): Promise<{ invoices: number; customers: number }> {
    const [row] = await this.servers.rows(
      `select count(*)::int as invoices, count(distinct customer_id)::int as customers from perennial.invoices where account_id = 1`,
    )
    return row
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
    await this.processes.killAll()
    await this.balancer?.close()
    await this.servers.stop()
    this.#network.remove()
  }
}
