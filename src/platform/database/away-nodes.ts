import type pg from 'pg'
import type { AccountId } from '../../kernel/ids.ts'
import { steadyClock } from '../steady-clock.ts'
import { isOfWorkerAway, workerAway } from './failures.ts'
import { ServerClient, type ServerClientConfig } from './server-client.ts'
import type { Statement } from './sql.ts'

/**
 * Workers of a cluster that its coordinator does not reach, as one process knows them: a line of the log when one goes, one when it is back, and what waits for
 * that. Nobody looks while nothing meets one.
 */

/** Worker of a cluster, by its address. */
export interface DatabaseNode {
  name: string
  isUp: boolean
  /** Why it is not reached, in the coordinator's words; null: it is, or nobody knows. */
  reason: string | null
}

const AGAIN_MS = 2_000
/** An answer that takes longer may be that of a silent one. */
const SILENT_MS = 3_000
/** A worker whose connections are broken off again and again, and that is reached, is a line a minute. */
const BROKEN_OFF_EVERY_MS = 60_000

export interface AwayNodesDeps {
  /** Asks for the workers, and which are reached. */
  list: () => Promise<DatabaseNode[]>
  /** Asks which of them has an account; left out where the database is one server. */
  homeOf?: ((account: AccountId) => Promise<string | undefined>) | undefined
  /** Called if one is away that was silent: what was sent before gets no answer, and keeps what was sent behind it waiting. */
  wasSilent?: () => void
  log?: Record<'info' | 'warn' | 'error', (message: string) => void> | undefined
}

export class AwayNodes {
  readonly #deps: AwayNodesDeps
  /** Moments of the steady clock since when they are away, by their names. */
  readonly #since = new Map<string, number>()
  readonly #unasked = new Map<string, () => Promise<unknown>>()
  /** Which of them has an account, as far as it was asked since the last look. */
  readonly #homes = new Map<AccountId, Promise<string | undefined>>()
  #looking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #brokenOffAtMs = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(deps: AwayNodesDeps) {
    this.#deps = deps
  }

  /** Names of those that are away. */
  get names(): string[] {
    return [...this.#since.keys()]
  }

  /** Questions that wait until all are back. */
  get unasked(): string[] {
    return [...this.#unasked.keys()]
  }

  /**
   * Returns a look-up that is refused without being sent if its account is on one that is known to be away, because a silent one keeps those waiting who stand behind;
   * where no answer comes, all are looked at. Its statements still leave together.
   */
  guarded<Lookup extends { rows<Row>(statement: Statement): Promise<Row[]> }>(
    account: AccountId,
    lookup: Lookup,
  ): Lookup {
    const { homeOf } = this.#deps
    if (!homeOf) return lookup
    let checked: Promise<void> | undefined
    return {
      ...lookup,
      rows: async <Row>(statement: Statement) => {
        if (this.#since.size > 0) await (checked ??= this.#check(account, homeOf))
        const silence = setTimeout(() => void this.#lookAtSilence(), SILENT_MS)
        try {
          return await lookup.rows<Row>(statement)
        } finally {
          clearTimeout(silence)
        }
      },
    }
  }

  async #lookAtSilence(): Promise<void> {
    const { size } = this.#since
    await this.#look()
    if (this.#since.size > size) this.#deps.wasSilent?.()
  }

  async #check(account: AccountId, homeOf: NonNullable<AwayNodesDeps['homeOf']>): Promise<void> {
    let home = this.#homes.get(account)
    if (home === undefined) this.#homes.set(account, (home = homeOf(account).catch(() => undefined)))
    const name = await home
    if (name !== undefined && this.#since.has(name)) throw workerAway(name)
  }

  /** Notes a failure of a statement that met one, or silence, where it is not known: all are looked at, now and every two seconds until all are back. */
  met(failure?: unknown): void {
    if (this.#deps.homeOf && this.#since.size === 0) void this.#look(failure)
  }

  /** Notes what a look has found. */
  note(nodes: readonly DatabaseNode[]): void {
    for (const node of nodes)
      if (node.isUp) this.#noteBack(node)
      else this.#noteAway(node)
    // One that is no worker any more has no accounts.
    for (const name of this.#since.keys()) if (nodes.every((node) => node.name !== name)) this.#since.delete(name)
    this.#plan()
  }

  /** Looks at all of them, and returns when that is done. */
  #look(failure?: unknown): Promise<void> {
    this.#looking ??= this.#lookOnce(failure).finally(() => {
      this.#looking = undefined
      this.#plan()
    })
    return this.#looking
  }

  /**
   * Asks a question about all accounts. Returns undefined if one is away: `again` is then done once all are back. `what` names the question for the log; a failure
   * of `again` goes there.
   */
  async ask<T>(what: string, question: () => Promise<T>, again: () => Promise<unknown>): Promise<T | undefined> {
    if (this.#since.size === 0) {
      try {
        return await question()
      } catch (error) {
        if (!isOfWorkerAway(error)) throw error
        await this.#look(error)
      }
    }
    this.#unasked.set(what, again)
    this.#plan()
    return undefined
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #plan(): void {
    if (this.#isClosed || (this.#since.size === 0 && this.#unasked.size === 0)) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#look(), AGAIN_MS).unref()
  }

  async #lookOnce(failure: unknown): Promise<void> {
    // Where the coordinator does not answer, the watch reports that.
    const nodes = await this.#deps.list().catch(() => undefined)
    if (!nodes || this.#isClosed) return
    const wereAway = this.#since.size > 0
    this.#homes.clear()
    this.note(nodes)
    if (this.#since.size > 0) return
    if (failure !== undefined && !wereAway) this.#noteBrokenOff(failure)
    await this.#askAgain()
  }

  #noteAway({ name, reason }: DatabaseNode): void {
    if (this.#since.has(name)) return
    this.#since.set(name, steadyClock())
    const why = reason === null ? '' : ` (${reason})`
    this.#deps.log?.error(
      `the worker ${name} of Citus is not reached by the coordinator${why}: its accounts get 503, and work over all accounts waits for it`,
    )
  }

  #noteBack({ name }: DatabaseNode): void {
    const sinceMs = this.#since.get(name)
    if (sinceMs === undefined) return
    this.#since.delete(name)
    // What it had begun before is broken off only now.
    this.#brokenOffAtMs = steadyClock()
    const seconds = Math.round((steadyClock() - sinceMs) / 1_000)
    this.#deps.log?.info(`the worker ${name} of Citus is reached again, ${seconds} s after it was not`)
  }

  #noteBrokenOff(failure: unknown): void {
    if (steadyClock() - this.#brokenOffAtMs < BROKEN_OFF_EVERY_MS) return
    this.#brokenOffAtMs = steadyClock()
    const { message } = (failure instanceof Error ? (failure.cause ?? failure) : failure) as Error
    this.#deps.log?.warn(
      `a worker of Citus broke off what it was asked, and all of them are reached: ${firstLine(message)}`,
    )
  }

  async #askAgain(): Promise<void> {
    const asked: string[] = []
    for (const [what, again] of this.#unasked) {
      try {
        await again()
        asked.push(what)
      } catch (error) {
        if (isOfWorkerAway(error)) break
        this.#deps.log?.error(`could not be asked: ${what}: ${String(error)}`)
      }
      this.#unasked.delete(what)
    }
    if (asked.length > 0) this.#deps.log?.info(`all workers of Citus are back; asked now: ${asked.join(', ')}`)
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

/** Asks for the workers of a cluster by the statement of its engine, and which are reached under the role of the connection; why one is not stands in a warning of the coordinator. */
export async function askNodes(client: pg.ClientBase, statement: Statement): Promise<DatabaseNode[]> {
  const warnings: string[] = []
  const hear = ({ message = '' }: { message?: string | undefined }) => void warnings.push(message)
  client.on('notice', hear)
  try {
    const { rows } = await client.query<Omit<DatabaseNode, 'reason'>>(statement)
    return rows.map((node) => ({ ...node, reason: node.isUp ? null : reasonFor(node.name, warnings) }))
  } finally {
    client.off('notice', hear)
  }
}

/** Asks for them on a connection of its own. */
export async function nodesFrom(config: ServerClientConfig, statement: Statement): Promise<DatabaseNode[]> {
  const client = new ServerClient(config)
  await client.connect()
  return askNodes(client, statement).finally(() => client.end())
}

function reasonFor(name: string, warnings: readonly string[]): string | null {
  const begin = `@${name} failed with the following error: `
  for (const warning of warnings) {
    const at = warning.indexOf(begin)
    if (at >= 0) return firstLine(warning.slice(at + begin.length))
  }
  return null
}
