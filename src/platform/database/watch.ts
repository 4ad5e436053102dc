import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import type { AwayNodes } from './away-nodes.ts'
import type { Memory } from '../failover/memory.ts'
import { steadyClock } from '../steady-clock.ts'
import { shownServer } from './addresses.ts'
import { connectionEnded, databaseFault, isAnswer, isUnavailable, isWorkerAway, unavailable } from './failures.ts'
import { runRows, sendReads } from './row-query.ts'
import { AS_AN_ACCOUNT, NOBODY, SCOPES, type Scopes } from './scoped-query.ts'
import { DATABASE_MARK } from './mark.ts'
import { ClockComparison, type ClockLog, type Clocks } from './clock-offset.ts'
import { type Admission, type SchemaAnswer } from './admission.ts'
import { chooseServer, ServerClient, type ServerClientConfig } from './server-client.ts'
import { type ServerAnswer, type ServerIdentity, type Servers, serversFor, UNKNOWN } from './servers.ts'
import { bytesReceived, cut } from './silence.ts'
import { sql, type Statement } from './sql.ts'

/**
 * The watch of a process over its database: one connection, which listens on all channels and asks every two seconds whether the server is there and is
 * still the same one. See docs/decisions/0055-one-watch.md.
 */

const LOOK_EVERY_MS = 500
/** Looks from one question to the next. */
const LOOKS_PER_QUESTION = 4
/** An answer that takes longer makes the server a silent one. */
const SILENT_MS = 3_000
const AGAIN_MS = 500
/** The channel on which all watches are called to ask at once. */
const OWN_CHANNEL = 'watch'
/** How long a caller waits on a server that is silent, while no other is there. */
const CALLERS_WAIT_MS = 15_000

/** From when on a commit waits for a standby for too long. */
const STANDBY_WAIT_MS = 5_000

const AGREEING: Clocks = { clockOffsetMs: 0, clocksApart: undefined }

/** Listeners of a channel. */
export interface Hearing {
  channel: string
  heard(payload: string): void
  /** Called after a time without a connection, in which anything may have been missed. */
  missed?(): void
}

/** State of the database, as the watch found it last. */
export interface Readiness extends Clocks {
  /** Moment of the steady clock at which it answered last; null before the first answer. */
  answeredAtMs: number | null
  /** Distinguishes this database from any other, see DATABASE_MARK. */
  mark: string
  /** The server, as it was at that moment: one that is promoted where it stands keeps its start, and has a higher timeline. */
  server: ServerIdentity
  isReadOnly: boolean
  /** Commits wait for a standby that does not acknowledge them: nothing is to be written. */
  waitsForStandby: boolean
  /** How often another server, or the same one after a start, took the place of the one before. */
  moves: number
  /** Why it cannot be used at present, in a sentence that anybody may read; undefined if it can. */
  refusal: string | undefined
}

/** Returns whether a database that takes writes has answered since a moment of the steady clock. */
export const answersSince = ({ answeredAtMs, isReadOnly, refusal }: Readiness, momentMs: number): boolean =>
  answeredAtMs !== null && answeredAtMs > momentMs && !isReadOnly && refusal === undefined

/** Takes what the watch reports of servers that went and came, and of clocks. */
export interface WatchLog extends ClockLog {
  info(message: string): void
}

export interface WatchSettings {
  /** Takes what the watch learns of schema and maintenance; left out: nobody asks. */
  admission?: Admission | undefined
  /** Workers of a cluster that are away: while some are, nothing is asked of them. */
  away?: AwayNodes | undefined
  /** Callers wait for the process: they are let go where no server answers. Left out: its own work keeps its bounds. */
  hasCallers?: boolean | undefined
  /** The clock of this machine, to be compared with the database's; left out: it is not. */
  realClock?: (() => number) | undefined
  log?: WatchLog | undefined
  /** Takes how the clocks and the log of the server stand, for what is remembered. */
  memory?: Memory | undefined
}

/** State before the first answer. */
export const NOT_ANSWERED: Readiness = {
  answeredAtMs: null,
  mark: '',
  server: UNKNOWN,
  isReadOnly: false,
  waitsForStandby: false,
  moves: 0,
  ...AGREEING,
  refusal: undefined,
}

/** Answer of the owner's function `watch()`. */
interface Watched extends ServerIdentity, SchemaAnswer {
  /** Position to which the server's log is on its disk; null if it keeps that to itself. */
  flushed: string | null
  isReadOnly: boolean
  nowMs: number
  /** How long a commit of the service has waited for a standby, in milliseconds; null: none does, or the server keeps that to itself. */
  standbyWaitMs: number | null
}

const QUESTION = sql`select ${DATABASE_MARK} as "mark", watch() as "watched"`
const OF_AN_ACCOUNT = sql`${AS_AN_ACCOUNT}`

interface Answer {
  mark: string
  watched: Watched
}

/** Sends these reads as nobody, and returns the row of the last once the connection is free for what is sent next. */
export const answerTo = (client: pg.ClientBase, scopes: Scopes, statements: readonly Statement[]): Promise<Answer> =>
  new Promise((resolve, reject) => {
    let settle = () => {}
    const answered = (error: Error | null, found: unknown[][]) => {
      const answer = found.at(-1)?.[0]
      settle = () => {
        if (error) reject(error)
        else if (answer === undefined) reject(new Error('the watch was answered no row'))
        else resolve(answer as Answer)
      }
    }
    sendReads(client, scopes, { before: [scopes.account(NOBODY)], statements }, answered, () => settle())
  })

export class Watch {
  readonly #config: ServerClientConfig
  readonly #servers: Servers
  readonly #settings: WatchSettings
  readonly #scopes: Scopes
  readonly #hearings = new Set<Hearing>()
  readonly #clocks: ClockComparison
  #client: ServerClient | undefined
  #opening: Promise<void> | undefined
  /** The statement before has been answered. */
  #before: Promise<void> = Promise.resolve()
  #server: ServerAnswer | undefined
  #readiness: Readiness = NOT_ANSWERED
  #timer: NodeJS.Timeout | undefined
  #looks = 0
  #silentMs = 0
  #bytes = -1
  #isAsked = false
  /** Something changed while it asked. */
  #isToAskAgain = false
  #isSearching = false
  #isClosed = false

  constructor(config: ServerClientConfig, settings: WatchSettings, scopes: Scopes = SCOPES.plain) {
    this.#config = config
    this.#scopes = scopes
    this.#settings = settings
    this.#servers = serversFor(config)
    this.#clocks = new ClockComparison(settings.log)
    this.#servers.onFormerPrimary = (address) =>
      settings.log?.warn(
        `the database server at ${shownServer(address)} is a former primary that still takes writes: it is not used`,
      )
  }

  get readiness(): Readiness {
    const { refusal } = this.#servers
    return refusal ? { ...this.#readiness, refusal: unavailable(refusal).message } : this.#readiness
  }

  /** Begins, unless it has, and returns once the database has answered. Throws if it does not. */
  async begin(): Promise<void> {
    try {
      await (this.#opening ??= this.#begin())
    } catch (error) {
      this.#opening = undefined
      throw error
    }
  }

  /** Listens until the returned function is called. Throws if the first connection of the watch fails. */
  async listen(hearing: Hearing): Promise<() => Promise<void>> {
    assert(/^[a-z_]+$/.test(hearing.channel), 'a channel is a plain word')
    const isNew = ![...this.#hearings].some(({ channel }) => channel === hearing.channel)
    this.#hearings.add(hearing)
    try {
      await this.begin()
    } catch (error) {
      this.#hearings.delete(hearing)
      throw error
    }
    const client = this.#client
    if (isNew && client) await this.#inTurn(() => client.query(`listen ${hearing.channel}`)).catch(() => {})
    return async () => void this.#hearings.delete(hearing)
  }

  /** Runs a statement on the connection of the watch, which is there also where work is refused. Throws if it is not. */
  async rows<Row>(statement: Statement): Promise<Row[]> {
    await this.begin()
    const client = this.#client
    if (!client) throw unavailable()
    return this.#inTurn(() => runRows<Row>(client, statement))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#opening?.catch(() => {})
    clearInterval(this.#timer)
    await this.#client?.end()
  }

  async #begin(): Promise<void> {
    await this.#open()
    this.#judge()
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Connects, listens and asks. Throws what fails. */
  async #open(): Promise<void> {
    const client = new ServerClient(this.#config)
    client.on('notification', ({ channel, payload }) => {
      if (channel === OWN_CHANNEL) this.#askNow(client)
      for (const hearing of this.#hearings) if (hearing.channel === channel) hearing.heard(payload ?? '')
    })
    try {
      await client.connect()
      const channels = new Set([OWN_CHANNEL, ...[...this.#hearings].map(({ channel }) => channel)])
      for (const channel of channels) await client.query(`listen ${channel}`)
      this.#client = client
      this.#isAsked = false
      this.#before = Promise.resolve()
      await this.#ask(client)
    } catch (error) {
      this.#client = undefined
      await client.end().catch(() => {})
      throw error
    }
    client.once('end', () => {
      if (this.#client === client) void this.#search()
    })
    if (this.#isClosed) await client.end()
  }

  /** Runs a statement once those before it are answered. */
  #inTurn<T>(send: () => Promise<T>): Promise<T> {
    const answer = this.#before.then(send)
    this.#before = answer.then(
      () => {},
      () => {},
    )
    return answer
  }

  /** Asks every few looks; looks are counted, not a clock, so that a process that was held up itself does not judge. */
  #look(): void {
    const client = this.#client
    if (!client || this.#isSearching) return
    this.#looks += 1
    // No caller may come while it is not ready, so that the watch finds out when that is over.
    if (this.#servers.refusal && this.#looks % LOOKS_PER_QUESTION === 0) void chooseServer(this.#config).catch(() => {})
    if (this.#isAsked) {
      const bytes = bytesReceived(client)
      this.#silentMs = bytes === this.#bytes ? this.#silentMs + LOOK_EVERY_MS : 0
      this.#bytes = bytes
      if (this.#silentMs >= SILENT_MS) void this.#search()
      return
    }
    if (this.#looks % LOOKS_PER_QUESTION === 0) void this.#ask(client).catch(() => this.#search())
  }

  /** Asks as soon as what it asks already is answered. */
  #askNow(client: ServerClient): void {
    this.#isToAskAgain = this.#isAsked
    if (!this.#isAsked && this.#client === client) void this.#ask(client).catch(() => this.#search())
  }

  /** Asks what an account would ask. Throws if the connection is lost; any other refusal is kept. */
  async #ask(client: ServerClient): Promise<void> {
    this.#isAsked = true
    this.#silentMs = 0
    this.#bytes = bytesReceived(client)
    try {
      const { realClock } = this.#settings
      const sentMs = realClock?.()
      const sentSteadyMs = steadyClock()
      const { mark, watched } = await this.#inTurn(() => this.#question(client))
      const { flushed, isReadOnly, nowMs, standbyWaitMs } = watched
      this.#settings.admission?.learn(watched)
      const clocks =
        realClock && sentMs !== undefined
          ? this.#clocks.note({ sentMs, answeredMs: realClock(), databaseMs: nowMs })
          : AGREEING
      const server = { system: watched.system, startedAt: watched.startedAt, timeline: watched.timeline }
      const exchange = { sentMs: sentSteadyMs, answeredMs: steadyClock(), databaseMs: nowMs }
      if (this.#settings.memory?.noteExchange(exchange, server, flushed))
        this.#settings.log?.error(
          `the log of the database server ${this.#where()} ends before what was seen of it: a copy from before stands in its place, and what was acknowledged since may be missing: stop the service and run  perennial after-failover --lossy`,
        )
      const waitsForStandby = (standbyWaitMs ?? 0) > STANDBY_WAIT_MS
      this.#reportStandby(waitsForStandby)
      this.#readiness = {
        ...this.#readiness,
        mark,
        server,
        isReadOnly,
        waitsForStandby,
        ...clocks,
        answeredAtMs: steadyClock(),
        refusal: undefined,
      }
    } catch (error) {
      if (isUnavailable(error)) throw error
      this.#fail(error)
    } finally {
      this.#isAsked = false
      if (this.#isToAskAgain) this.#askNow(client)
    }
  }

  /** Reports once that commits wait for a standby, and once that they do no more. */
  #reportStandby(waits: boolean): void {
    if (waits === this.#readiness.waitsForStandby) return
    const { log } = this.#settings
    if (waits)
      log?.error(
        'no standby acknowledges: commits wait for one, so writes are refused (503) and duties wait until one is back, or synchronous_standby_names is emptied',
      )
    else log?.info('commits are acknowledged again')
  }

  /** Asks as an account does, and what the server is. A worker of Citus that is away is no failure of the server. */
  async #question(client: ServerClient): Promise<Answer> {
    if (this.#settings.away?.names.length) return answerTo(client, this.#scopes, [QUESTION])
    try {
      return await answerTo(client, this.#scopes, [OF_AN_ACCOUNT, QUESTION])
    } catch (error) {
      if (!isWorkerAway(error)) throw error
      return answerTo(client, this.#scopes, [QUESTION])
    }
  }

  #fail(error: unknown): void {
    const refusal =
      databaseFault(error)?.problems[0]?.message ?? 'The database answers, and serves no accounts at the moment.'
    this.#readiness = { ...this.#readiness, refusal }
  }

  /** Ends the connections to the server that was used until now, if another one answers, or the same one after a start. */
  #judge(): void {
    const [before, now] = [this.#server, this.#client?.server]
    this.#server = now
    if (!before || !now) return
    const [was, is] = [before.identity, now.identity]
    if (was.system === is.system && was.startedAt === is.startedAt) return
    this.#servers.cutOthers(now)
    // Also where nothing is asked here: others wait until each process has shown what it knows.
    void this.#servers.settledOn(is).catch(() => {})
    this.#readiness = { ...this.#readiness, moves: this.#readiness.moves + 1 }
    this.#clocks.forget()
    // A copy of the server elsewhere may have its timeline, too.
    const isSame = was.system === is.system && was.timeline === is.timeline && before.address === now.address
    const timeline = is.timeline === null ? '' : ` (timeline ${is.timeline})`
    this.#settings.log?.info(
      `${isSame ? 'the database server was started anew' : 'another database server takes the writes now'}: ${this.#where()}${timeline}; connections from before were ended`,
    )
  }

  /** Names the server that is used, for the log. */
  #where(): string {
    const { last, addresses } = this.#servers
    if (addresses.length === 0) return 'in its folder'
    return last === undefined ? `of ${addresses.map(shownServer).join(', ')}` : shownServer(last)
  }

  /** Looks for the server that takes writes until one does, ends the connections to any other, and listens there. */
  async #search(): Promise<void> {
    if (this.#isSearching || this.#isClosed) return
    this.#isSearching = true
    const client = this.#client
    this.#client = undefined
    const lostAtMs = steadyClock() - this.#silentMs
    let answeredAtMs = lostAtMs
    let isReported = false
    const report = (what: string) => {
      if (!isReported)
        this.#settings.log?.warn(
          `the database server ${this.#where()} ${what}: the one that takes writes is looked for`,
        )
      isReported = true
    }
    if (this.#silentMs >= SILENT_MS) {
      this.#servers.noteSilence()
      report('does not answer')
      // It may be one of its workers that is silent.
      this.#settings.away?.met()
    }
    if (client) cut(client, connectionEnded('the watch gave it up'))
    const failed = (error: unknown) => {
      if (isAnswer(error)) answeredAtMs = steadyClock()
    }
    while (!(await this.#isFound(failed))) {
      if (this.#isClosed) return
      report('is gone')
      // From then on, so that those who come later do not wait for as long.
      if (this.#settings.hasCallers === true && steadyClock() - answeredAtMs >= CALLERS_WAIT_MS)
        this.#servers.cutWaiting()
      await delay(AGAIN_MS, undefined, { ref: false })
    }
    const seconds = Math.round((steadyClock() - lostAtMs) / 1_000)
    if (isReported)
      this.#settings.log?.info(`the database server ${this.#where()} answers, ${seconds} s after the last answer`)
    this.#isSearching = false
    for (const { missed } of this.#hearings) missed?.()
  }

  /** Looks once. A failure is handed on; that of a server that answers is kept, and one that answers nothing shows by the time without an answer. */
  async #isFound(failed: (error: unknown) => void): Promise<boolean> {
    try {
      if (this.#servers.addresses.length > 0) await chooseServer(this.#config)
      await this.#open()
      this.#judge()
      return !this.#isClosed
    } catch (error) {
      if ((error as { code?: string }).code !== undefined) this.#fail(error)
      failed(error)
      return false
    }
  }
}
