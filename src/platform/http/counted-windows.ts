import ipaddr from 'ipaddr.js'
import type { SteadyClock } from '../steady-clock.ts'

const WINDOW_MS = 60_000
const NAMES_MAX = 50_000

interface Window {
  count: number
  untilMs: number
}

/** Bits of an address of IPv6 that name a network; the rest its subscriber chooses anew as often as they like (RFC 6177). */
const NETWORK_BYTES = 64 / 8

/** Returns the name under which requests of an address are counted: of IPv6 its network. An IPv4 address is the same in either spelling. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, NETWORK_BYTES).join('.') : parsed.toString()
}

/** Counts by name, from the first of a name for one minute. Of too many names the one that was begun the longest ago is dropped. */
export class CountedWindows {
  readonly #steadyClock: SteadyClock
  readonly #namesMax: number
  /** In the order in which they were begun. */
  readonly #windows = new Map<string, Window>()

  constructor(steadyClock: SteadyClock, namesMax = NAMES_MAX) {
    this.#steadyClock = steadyClock
    this.#namesMax = namesMax
  }

  /** Counts one more and answers how many there are in the minute, and the whole seconds until it is over. */
  add(name: string): { count: number; secondsLeft: number } {
    const nowMs = this.#steadyClock()
    let window = this.#windows.get(name)
    if (!window || window.untilMs <= nowMs) {
      this.#windows.delete(name)
      if (this.#windows.size >= this.#namesMax) dropOldest(this.#windows)
      window = { count: 0, untilMs: nowMs + WINDOW_MS }
      this.#windows.set(name, window)
    }
    window.count += 1
    return { count: window.count, secondsLeft: Math.ceil((window.untilMs - nowMs) / 1000) }
  }
}

/** Drops the entry that was added first. */
export function dropOldest(map: Map<string, unknown>): void {
  for (const [name] of map) {
    map.delete(name)
    return
  }
}
