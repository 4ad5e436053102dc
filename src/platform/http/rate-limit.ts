import { Fault } from '../../kernel/fault.ts'
import { steadyClock } from '../steady-clock.ts'
import type { Caller } from '../../kernel/context.ts'
import { CountedWindows } from './counted-windows.ts'

/** Rate of a key: the RateLimit headers to show, and the 429 to answer when it is exceeded. */
export interface RateState {
  headers: Record<string, string>
  refusal?: Fault
}

/** Counts the requests of each key against its limit a minute; 0 is off. */
export function makeRateLimit(perMinute: number, clock = steadyClock): (caller: Caller) => RateState {
  if (perMinute === 0) return () => ({ headers: {} })
  const requests = new CountedWindows(clock)
  return (caller) => {
    const { count, secondsLeft } = requests.add(`${caller.account.id}:${caller.keyId}`)
    const headers = {
      'ratelimit-limit': String(perMinute),
      'ratelimit-remaining': String(Math.max(0, perMinute - count)),
      'ratelimit-reset': String(secondsLeft),
    }
    return count > perMinute ? { headers, refusal: tooMany(perMinute, secondsLeft) } : { headers }
  }
}

function tooMany(perMinute: number, reset: number): Fault {
  const message = `This API key may make ${perMinute} requests a minute; try again in ${reset} seconds.`
  return new Fault('throttled', [{ code: 'rate_limited', message, field: null }], reset)
}
