import { Fault } from '../../kernel/fault.ts'
import type { Caller } from './context.ts'

const WINDOW_MS = 60_000
const ENTRIES_MAX = 50_000

interface Used {
  count: number
  untilMs: number
}

/** Where a key stands: the RateLimit headers to show, and the 429 to answer when it is over its rate. */
export interface RateState {
  headers: Record<string, string>
  refusal?: Fault
}

/** Requests per key and minute; 0 is off. */
export function makeRateLimit(perMinute: number): (caller: Caller) => RateState {
  if (perMinute === 0) return () => ({ headers: {} })
  const used = new Map<string, Used>()
  return (caller) => {
    const nowMs = Date.now()
    const name = `${caller.account.id}:${caller.keyId}`
    let entry = used.get(name)
    if (!entry || entry.untilMs <= nowMs) {
      if (used.size >= ENTRIES_MAX) used.clear()
      entry = { count: 0, untilMs: nowMs + WINDOW_MS }
      used.set(name, entry)
    }
    entry.count += 1
    const reset = Math.ceil((entry.untilMs - nowMs) / 1000)
    const headers = {
      'ratelimit-limit': String(perMinute),
      'ratelimit-remaining': String(Math.max(0, perMinute - entry.count)),
      'ratelimit-reset': String(reset),
    }
    return entry.count > perMinute ? { headers, refusal: tooMany(perMinute, reset) } : { headers }
  }
}

function tooMany(perMinute: number, reset: number): Fault {
  const message = `This API key may make ${perMinute} requests a minute; try again in ${reset} seconds.`
  return new Fault('throttled', [{ code: 'rate_limited', message, field: null }], reset)
}
