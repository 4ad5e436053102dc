import pg from 'pg'
import { serversOf } from './addresses.ts'
import { TAKES_NO_WRITES } from './failures.ts'
import { watchSilence } from './silence.ts'

/**
 * A connection to the server that takes writes. Of several servers of an address each is tried, from the one that took writes last; one
 * that takes none (a standby, or made read-only) is as good as away, also where it is the only one: what is read there may be old.
 */

const TRY_MS = 5_000

/** How long connecting may take, to the first answer of the server's to a login. */
const CONNECT_MS = 20_000

/**
 * The driver's settings, with how long a server may be silent while an answer is waited for (left out: without bound), how often that is looked at, and
 * what is called with the server's process once it is connected.
 */
export type ServerClientConfig = pg.ClientConfig & {
  silenceMs?: number
  lookEveryMs?: number
  onConnected?: ((serverProcess: number) => void) | undefined
}

/** The server of an address of several that took writes last. */
const lastWriting = new Map<string, string>()

/** The parts of the driver's client that its type package does not describe. */
interface Inner {
  processID: number | null
  connection: NodeJS.EventEmitter
  connectionParameters: { host: string; port: number }
}

export class ServerClient extends pg.Client {
  readonly #config: ServerClientConfig
  readonly #servers: readonly string[]
  /** Settings that the server reports automatically at the start of a session and at every change. */
  readonly #reported = new Map<string, string>()

  constructor(config: ServerClientConfig) {
    const servers = config.connectionString === undefined ? [] : serversOf(config.connectionString)
    super({
      connectionTimeoutMillis: CONNECT_MS,
      ...config,
      ...(servers[0] === undefined ? {} : { connectionString: servers[0] }),
    })
    this.#config = config
    this.#servers = servers
    // Also a connection that nobody asks anything of may be lost, from the moment in which it is ready. Whoever asks next meets the error; without a
    // handler the process would end.
    this.on('error', () => {})
    const { connection } = this as unknown as Inner
    if (config.silenceMs !== undefined) watchSilence(this, config.silenceMs, config.lookEveryMs)
    connection.on('parameterStatus', ({ parameterName, parameterValue }: Record<string, string>) =>
      this.#reported.set(parameterName ?? '', parameterValue ?? ''),
    )
  }

  override connect(): Promise<this>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<this> | void {
    const connected = this.#connectToWriting().then(() => this)
    if (!callback) return connected
    connected.then(() => (callback as (error: Error | null) => void)(null), callback)
  }

  async #connectToWriting(): Promise<void> {
    if (this.#servers.length > 1) await this.#choose()
    await super.connect()
    if (!this.#takesWrites()) {
      await super.end().catch(() => {})
      throw Object.assign(new Error('the database server takes no writes: it is a standby, or made read-only'), {
        code: TAKES_NO_WRITES,
      })
    }
    const { processID } = this as unknown as Inner
    if (processID !== null) this.#config.onConnected?.(processID)
  }

  /** Names that server to the driver which takes writes; throws what the last of them answered when none does. */
  async #choose(): Promise<void> {
    const list = this.#config.connectionString ?? ''
    const last = lastWriting.get(list)
    const inTurn = [...this.#servers].sort((one, other) => Number(other === last) - Number(one === last))
    let failure: unknown
    for (const server of inTurn) {
      const probe = new ServerClient({ ...this.#config, connectionString: server, connectionTimeoutMillis: TRY_MS })
      try {
        await probe.connect()
        lastWriting.set(list, server)
        const { connectionParameters } = this as unknown as Inner
        Object.assign(connectionParameters, { host: probe.host, port: probe.port })
        Object.assign(this, { host: probe.host, port: probe.port })
        return
      } catch (error) {
        failure = error
      } finally {
        await probe.end().catch(() => {})
      }
    }
    throw failure
  }

  #takesWrites(): boolean {
    // A session of ours that only reads has set that itself.
    const isForReads = /default_transaction_read_only/.test(String(this.#config.options))
    return (
      this.#reported.get('in_hot_standby') !== 'on' &&
      (isForReads || this.#reported.get('default_transaction_read_only') !== 'on')
    )
  }
}
