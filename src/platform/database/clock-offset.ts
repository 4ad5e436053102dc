/** How far the clock of the database is ahead of that of this machine, by the exchanges of the watch. */

/** From which difference on it is worth a warning, duties do not begin, and the service is not ready, in milliseconds. */
export const CLOCKS_APART_MS = { warned: 2_000, duties: 60_000, ready: 3_600_000 }

const KEPT = 5

/** Exchange with the database: the machine's clock before and after it, and the database's in between, in milliseconds since 1970. */
export interface ClockExchange {
  sentMs: number
  answeredMs: number
  databaseMs: number
}

/** Distance of the clocks, by the last exchanges. */
export class ClockOffset {
  readonly #exchanges: ClockExchange[] = []

  note(exchange: ClockExchange): void {
    this.#exchanges.push(exchange)
    if (this.#exchanges.length > KEPT) this.#exchanges.shift()
  }

  /** Forgets what was measured: another server has another clock. */
  forget(): void {
    this.#exchanges.length = 0
  }

  /** Returns by how many milliseconds the database's clock is ahead, as the shortest of the last exchanges shows it; 0 before the first. */
  get ms(): number {
    let shortest: ClockExchange | undefined
    for (const one of this.#exchanges)
      if (!shortest || one.answeredMs - one.sentMs < shortest.answeredMs - shortest.sentMs) shortest = one
    return shortest ? Math.round(shortest.databaseMs - (shortest.sentMs + shortest.answeredMs) / 2) : 0
  }
}

/** Returns the sentence about clocks that are apart, with both instants. */
export function sentenceOfClocks(offsetMs: number, nowMs: number): string {
  const at = (ms: number) => new Date(ms).toISOString()
  return `the clocks of this machine (${at(nowMs)}) and of the database server (${at(nowMs + offsetMs)}) are ${(Math.abs(offsetMs) / 1000).toFixed(1)} s apart`
}

/** Takes lines about clocks that are apart. */
export interface ClockLog {
  warn(message: string): void
  error(message: string): void
}

/** How the clocks stand, as a watch keeps it. */
export interface Clocks {
  /** By how many milliseconds the database's clock is ahead of this machine's. */
  clockOffsetMs: number
  /** The sentence about clocks that are apart; undefined where they agree. */
  clocksApart: string | undefined
}

/** Compares the clocks, and reports once that they are apart, again when they are so far apart that duties wait, and anew after they agreed. */
export class ClockComparison {
  readonly #log: ClockLog | undefined
  readonly #offset = new ClockOffset()
  #reportedMs = 0

  constructor(log: ClockLog | undefined) {
    this.#log = log
  }

  note(exchange: ClockExchange): Clocks {
    this.#offset.note(exchange)
    const clockOffsetMs = this.#offset.ms
    const { warned, duties } = CLOCKS_APART_MS
    const reachedMs = [duties, warned].find((boundMs) => Math.abs(clockOffsetMs) > boundMs) ?? 0
    const clocksApart = reachedMs === 0 ? undefined : sentenceOfClocks(clockOffsetMs, exchange.answeredMs)
    if (reachedMs > this.#reportedMs) {
      if (reachedMs === duties) this.#log?.error(`${clocksApart}: duties do not begin until they agree`)
      else this.#log?.warn(`${clocksApart}: set both by one time server`)
    }
    this.#reportedMs = reachedMs
    return { clockOffsetMs, clocksApart }
  }

  /** Forgets what was measured: another server has another clock. */
  forget(): void {
    this.#offset.forget()
  }
}
