import { hostname } from 'node:os'
import type { Database } from '../database/database.ts'
import type { ChangedLevel } from '../log-level.ts'
import { within } from '../within.ts'
import { differencesTo, sentenceOf } from './equal-settings.ts'
import {
  beat,
  leave,
  listLevelWishes,
  listProcesses,
  PRESENCE_ANSWER_MS,
  PROCESS_CHANNEL,
  type ProcessFacts,
  type ProcessState,
} from './queries.ts'

/**
 * That a process is there, as the others see it: written at its start, at each change of its state and every ten seconds, until it leaves. With it the
 * process reads which level of its log is wished.
 */

const LOOK_EVERY_MS = 500
/** Looks from one writing to the next. */
const LOOKS = 20

export interface PresenceDeps {
  db: Pick<Database, 'onWatch' | 'admission' | 'listen'>
  log: Record<'debug' | 'info' | 'warn', (message: string) => void>
  level: Pick<ChangedLevel, 'change' | 'level'>
  /** Whether nothing of the process runs: until then it is not in maintenance. */
  isAtRest(): boolean
}

/** Lines about a process whose state changed on account of its database. */
const CHANGES: Partial<Record<ProcessState, ['info' | 'warn', string]>> = {
  ready: ['info', 'this process takes work again'],
  maintenance: ['info', 'the service is in maintenance, and nothing of this process runs any more'],
  outdated: [
    'warn',
    'the database was upgraded beyond this version: this process takes no work, and is to be replaced',
  ],
}

export class ProcessPresence {
  readonly #deps: PresenceDeps
  readonly #facts: () => ProcessFacts
  #state: ProcessState = 'ready'
  #looks = 0
  #timer: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()
  #stopListening: (() => Promise<void>) | undefined
  /** The wish that was granted last: one that ended early is not granted again. */
  #granted = ''

  constructor(deps: PresenceDeps, facts: Omit<ProcessFacts, 'host' | 'pid' | 'logLevel'>) {
    this.#deps = deps
    const own = { host: hostname(), pid: process.pid }
    this.#facts = () => ({ ...facts, ...own, logLevel: deps.level.level })
  }

  /** Writes that the process is there, and warns of settings in which it differs from others. */
  async begin(): Promise<void> {
    await this.#beat()
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
    const grant = () => void this.#grant()
    // Without it a wish is read at the next beat.
    this.#stopListening = await this.#deps.db.listen(PROCESS_CHANNEL, grant, grant).catch(() => undefined)
    grant()
    const all = await listProcesses(this.#deps.db.onWatch).catch(() => [])
    for (const difference of differencesTo(this.#facts(), all)) this.#deps.log.warn(sentenceOf(difference))
  }

  /** Writes a new state for the others. */
  async become(state: ProcessState): Promise<void> {
    this.#state = state
    await this.#beat()
  }

  /** Leaves at a clean end. */
  async end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#stopListening?.()
    await this.#last
    await within(PRESENCE_ANSWER_MS, leave(this.#deps.db.onWatch, this.#facts().id))
  }

  #look(): void {
    this.#looks += 1
    const state = this.#stateNow()
    if (state !== this.#state) {
      const [level, message] = CHANGES[state] ?? ['info', '']
      this.#deps.log[level](message)
      void this.become(state)
    } else if (this.#looks % LOOKS === 0) void this.#beat().then(() => this.#grant())
  }

  #stateNow(): ProcessState {
    // Whoever leaves does so to the end.
    if (this.#state === 'draining') return this.#state
    const { state } = this.#deps.db.admission
    if (state === 'maintenance' && !this.#deps.isAtRest()) return this.#state
    return state ?? 'ready'
  }

  /** Changes the level of the log as it is wished, and lets the others see that. */
  async #grant(): Promise<void> {
    const [wish] = await listLevelWishes(this.#deps.db.onWatch, this.#facts().id).catch(() => [])
    const name = wish && `${wish.level} ${wish.until}`
    if (!wish || name === undefined || name === this.#granted) return
    this.#granted = name
    this.#deps.level.change(wish.level, wish.seconds * 1_000)
    await this.#beat()
  }

  /** Writes the state. A failure harms nothing, since the next one comes soon; a database that does not answer holds nothing up. */
  #beat(): Promise<unknown> {
    const written = beat(this.#deps.db.onWatch, { ...this.#facts(), state: this.#state }).catch((error: unknown) =>
      this.#deps.log.debug(`the process could not write that it is there: ${String(error)}`),
    )
    this.#last = within(PRESENCE_ANSWER_MS, written)
    return this.#last
  }
}
