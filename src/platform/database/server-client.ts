import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { steadyClock } from '../steady-clock.ts'
import { shownServer } from './addresses.ts'
import { outdated } from './admission.ts'
import { isSilence, isUnavailable, ofLogin, ServerRefusal, serverSilent, TAKES_NO_WRITES } from './failures.ts'
import {
  type ServerAnswer,
  type ServerIdentity,
  type ServerLink,
  serversFor,
  type Servers,
  UNKNOWN,
} from './servers.ts'
import { cut, isWaitedOn, watchSilence } from './silence.ts'

/**
 * A connection to the server that takes writes. One that takes none (a standby, or made read-only) is as good as away, also where it is the only one:
 * what is read there may be old. So is a former primary.
 */

/** How long one of several servers may take to answer whether it takes writes. */
const ASK_MS = 2_000

/** How long a process that starts asks for the one that takes writes while one of several is silent. */
const FIND_MS = 15_000

/** How long connecting may take, to the first answer of the server's to a login. */
const CONNECT_MS = 20_000

/**
 * The driver's settings, with how long a server may be silent while an answer is waited for (left out: without bound), how often that is looked at, and
 * what is called with the server's process once it is connected. With the newest migration that the program `knows` a connection is refused if the database
 * needs more.
 */
export type ServerClientConfig = pg.ClientConfig & {
  silenceMs?: number
  lookEveryMs?: number
  onConnected?: ((serverProcess: number) => void) | undefined
  knows?: number | undefined
  /** It does not wait until what a failover has lost is settled: it settles that itself, or writes nothing. */
  isUngated?: boolean | undefined
}

/** Options of our sessions that only read. */
export const READING = '-c default_transaction_isolation=repeatable\\ read -c default_transaction_read_only=on'

/** SQLSTATE of a warning. */
const WARNING = '01000'

/** The parts of the driver's client that its type package does not describe. */
interface Inner {
  processID: number | null
  connection: NodeJS.EventEmitter
  connectionParameters: { host: string; port: number }
}

/**
 * Asks a server what it is. The timeline stands in the name of a file of the log; the last checkpoint has it minutes after a promotion.
 */
const IDENTITIES = [
  `select (select system_identifier::text from pg_control_system()) as "system", pg_postmaster_start_time()::text as "startedAt",
  ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int as "timeline"`,
  // Where a server is somebody else's, not all of it may be asked.
  `select null as "system", pg_postmaster_start_time()::text as "startedAt", null as "timeline"`,
]

/** SQLSTATEs of a function and a schema that are not there. */
const HAS_NO_NUMBERS = new Set(['42883', '3F000'])

export class ServerClient extends pg.Client {
  readonly #config: ServerClientConfig
  readonly #servers: Servers
  /** Settings that the server reports automatically at the start of a session and at every change. */
  readonly #reported = new Map<string, string>()
  #address = ''
  #identity = UNKNOWN
  #warnings = 0

  constructor(config: ServerClientConfig) {
    const servers = serversFor(config)
    const [first] = servers.addresses
    super({
      connectionTimeoutMillis: CONNECT_MS,
      ...config,
      ...(first === undefined ? {} : { connectionString: first }),
    })
    this.#config = config
    this.#servers = servers
    // Also a connection that nobody asks anything of may be lost, from the moment in which it is ready. Whoever asks next meets the error; without a
    // handler the process would end.
    this.on('error', () => {})
    this.on('notice', ({ code }) => {
      if (code === WARNING) this.#warnings += 1
    })
    const { connection } = this as unknown as Inner
    if (config.silenceMs !== undefined) watchSilence(this, config.silenceMs, config.lookEveryMs)
    connection.on('parameterStatus', ({ parameterName, parameterValue }: Record<string, string>) =>
      this.#reported.set(parameterName ?? '', parameterValue ?? ''),
    )
  }

  /** How many warnings the server has given: at a commit, that its standby has not acknowledged it. */
  get warnings(): number {
    return this.#warnings
  }

  /** The server, as far as it answers what it is. */
  get server(): ServerAnswer {
    return { address: this.#address, identity: this.#identity }
  }

  override connect(): Promise<this>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<this> | void {
    const connected = this.#connectToWriting().then(() => this)
    if (!callback) return connected
    connected.then(() => (callback as (error: Error | null) => void)(null), callback)
  }

  async #connectToWriting(): Promise<void> {
    const servers = this.#servers
    const address =
      servers.last ?? (servers.addresses.length === 0 ? this.host : (await chooseServer(this.#config)).address)
    this.#address = address
    if (servers.addresses.length > 1) this.#leadTo(address)
    let isOpen = false
    const link = { cut: (reason: Error) => cut(this, reason), isWaiting: () => !isOpen || isWaitedOn(this) }
    servers.begin(link, address)
    this.once('end', () => servers.dismiss(link))
    try {
      await this.#connectTo(link)
      isOpen = true
    } catch (error) {
      servers.dismiss(link)
      servers.forget(address)
      if (error instanceof ServerRefusal) servers.noteFailure(error)
      await super.end().catch(() => {})
      throw error
    }
    const { processID } = this as unknown as Inner
    if (processID !== null) this.#config.onConnected?.(processID)
  }

  async #connectTo(link: ServerLink): Promise<void> {
    try {
      await super.connect()
    } catch (error) {
      throw ofLogin(error, shownServer(this.#address))
    }
    if (!this.#takesWrites())
      throw Object.assign(new Error('the database server takes no writes: it is a standby, or made read-only'), {
        code: TAKES_NO_WRITES,
      })
    this.#identity = await this.#askIdentity()
    if (this.#config.knows !== undefined) await this.#checkKnows(this.#config.knows)
    this.#servers.admit(link, this.server)
    if (this.#config.isUngated !== true && !this.#isForReads()) await this.#servers.settledOn(this.#identity)
  }

  async #askIdentity(): Promise<ServerIdentity> {
    for (const question of IDENTITIES)
      try {
        const { rows } = await this.query<ServerIdentity>(question)
        return rows[0] ?? UNKNOWN
      } catch (error) {
        if (isUnavailable(error)) throw error
      }
    return UNKNOWN
  }

  /** Asks for the least schema number: what the watch learned last may be older than the connection. */
  async #checkKnows(knows: number): Promise<void> {
    try {
      const { rows } = await this.query<{ least: number }>('select perennial.schema_least() as "least"')
      if ((rows[0]?.least ?? 0) > knows) throw outdated()
    } catch (error) {
      // A schema from before there were such numbers is known to every program. Whether it serves accounts is asked at the start.
      if (!HAS_NO_NUMBERS.has((error as { code?: string }).code ?? '')) throw error
    }
  }

  /** Names a server of the address to the driver. */
  #leadTo(address: string): void {
    const { host, port } = new pg.Client({ ...this.#config, connectionString: address })
    const { connectionParameters } = this as unknown as Inner
    Object.assign(connectionParameters, { host, port })
    Object.assign(this, { host, port })
  }

  /** Returns whether it is a session of ours that only reads: an operator's options may name the same setting. */
  #isForReads(): boolean {
    return String(this.#config.options).includes(READING)
  }

  #takesWrites(): boolean {
    return (
      this.#reported.get('in_hot_standby') !== 'on' &&
      (this.#isForReads() || this.#reported.get('default_transaction_read_only') !== 'on')
    )
  }
}

/** Asks all servers of an address which of them takes writes, and returns that one: new connections go there. Throws if none does. */
export const chooseServer = (config: ServerClientConfig): Promise<ServerAnswer> =>
  serversFor(config).choose((address) => askServer({ ...config, connectionString: address }))

const AGAIN_MS = 500

/**
 * Finds the server that takes writes before the first connection to several: one that gives no answer may be it, on a machine that is busy or a standby that is
 * being promoted, so all are asked again for a while. Throws if none is found.
 */
export async function findPrimary(config: ServerClientConfig, patienceMs = FIND_MS): Promise<void> {
  const servers = serversFor(config)
  const begunMs = steadyClock()
  while (servers.addresses.length > 1 && servers.last === undefined)
    try {
      await chooseServer(config)
    } catch (error) {
      if (!isSilence(error) || steadyClock() - begunMs >= patienceMs) throw error
      await delay(AGAIN_MS)
    }
}

/** Asks each of several servers whether it takes writes, for whoever looks at them; one that does not has the reason. */
export const askEach = (config: ServerClientConfig): Promise<{ address: string; answered: ServerAnswer | Error }[]> =>
  Promise.all(
    serversFor(config).addresses.map(async (address) => ({
      address,
      answered: await askServer({ ...config, connectionString: address }).catch((error: Error) => error),
    })),
  )

/** Asks one server. One that has not answered in time is given up. */
async function askServer(config: ServerClientConfig & { connectionString: string }): Promise<ServerAnswer> {
  const client = new ServerClient(config)
  const limit = setTimeout(() => cut(client, serverSilent()), ASK_MS)
  try {
    await client.connect()
    return client.server
  } finally {
    clearTimeout(limit)
    void client.end().catch(() => {})
  }
}
