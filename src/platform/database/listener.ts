import type pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import { ServerClient } from './server-client.ts'

/** Waiting for notifications, on a connection of its own that is taken up again whenever it is lost. */

const AGAIN_MS_MIN = 50
const AGAIN_MS_MAX = 5_000

/** Listeners by channel. */
export interface Hearing {
  heard(payload: string): void
  /** Called after a time without a connection, in which anything may have been missed. */
  missed?(): void
}

/** Listens until the returned function is called. Throws when the first connection fails. */
export async function listen(config: pg.ClientConfig, channel: string, hearing: Hearing): Promise<() => Promise<void>> {
  assert(/^[a-z_]+$/.test(channel), 'a channel is a plain word')
  const listener = new Listener(config, channel, hearing)
  await listener.open()
  return () => listener.close()
}

class Listener {
  readonly #config: pg.ClientConfig
  readonly #channel: string
  readonly #hearing: Hearing
  #client: ServerClient | undefined
  #again: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(config: pg.ClientConfig, channel: string, hearing: Hearing) {
    this.#config = config
    this.#channel = channel
    this.#hearing = hearing
  }

  async open(): Promise<void> {
    const client = new ServerClient(this.#config)
    client.on('notification', ({ payload }) => this.#hearing.heard(payload ?? ''))
    try {
      await client.connect()
      await client.query(`listen ${this.#channel}`)
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
    this.#client = client
    client.once('end', () => this.#openAgain(AGAIN_MS_MIN))
    if (this.#isClosed) await client.end()
  }

  #openAgain(waitMs: number): void {
    if (this.#isClosed) return
    this.#again = setTimeout(() => {
      this.open().then(
        () => this.#hearing.missed?.(),
        () => this.#openAgain(Math.min(2 * waitMs, AGAIN_MS_MAX)),
      )
    }, waitMs).unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#again)
    await this.#client?.end()
  }
}
