import { Fault } from '../../kernel/fault.ts'
import type { Caller } from './context.ts'

const WINDOW_MS = 60_000
const ENTRIES_MAX = 50_000

interface Used {
  count: number
  untilMs: number
}

/** Requests per key and minute; 0 is off. Answers the RateLimit headers to show, or throws 429. */
export function makeRateLimit(perMinute: number): (caller: Caller) => Record<string, string> {
  if (perMinute === 0) return () => ({})
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
    if (entry.count > perMinute) {
      throw new Fault(
        'throttled',
        [
          {
            code: 'rate_limited',
            message: `This API key may make ${perMinute} requests a minute; try again in ${reset} seconds.`,
            field: null,
          },
        ],
        reset,
      )
    }
    return {
      'ratelimit-limit': String(perMinute),
      'ratelimit-remaining': String(perMinute - entry.count),
      'ratelimit-reset': String(reset),
    }
  }
}
