import type { Logger } from 'pino'

/** The level of a log, changed for a while: it ends on its own, and each change is a line at any level. */

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Length of a change by a signal, and by a command that names none. */
export const LEVEL_MINUTES = 15

export class ChangedLevel {
  readonly #log: Logger
  readonly #realClock: () => number
  /** The level of LOG_LEVEL. */
  readonly #own: string
  #timer: NodeJS.Timeout | undefined

  constructor(log: Logger, realClock: () => number) {
    this.#log = log
    this.#realClock = realClock
    this.#own = log.level
  }

  get level(): string {
    return this.#log.level
  }

  get isChanged(): boolean {
    return this.#timer !== undefined
  }

  /** Changes the level for so many milliseconds. */
  change(level: LogLevel, ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.end(), ms).unref()
    this.#become(level, { until: new Date(this.#realClock() + ms).toISOString() })
  }

  /** Goes back to LOG_LEVEL, unless it has. */
  end(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#become(this.#own)
  }

  #become(level: string, facts: { until?: string } = {}): void {
    const from = this.#log.level
    // Shown also where neither level shows such a line.
    this.#log.level = 'info'
    this.#log.info({ from, to: level, ...facts }, 'log level changed')
    this.#log.level = level
  }
}

/** Changes the level of a process by SIGUSR2 to debug for a while, and back; `changed` takes whether it is changed now, for the processes that it has started. */
export function changeBySignal(log: ChangedLevel, changed: (isDebug: boolean) => void = () => {}): void {
  process.on('SIGUSR2', () => {
    const isDebug = !log.isChanged
    if (isDebug) log.change('debug', LEVEL_MINUTES * 60_000)
    else log.end()
    changed(isDebug)
  })
}
