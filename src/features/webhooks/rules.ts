import type { Instant } from '../../kernel/calendar.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Called } from '../../platform/outbound/outbound.ts'
import { type DeliveryState, TRIES_IN_ORDER } from '../events/delivery-queries.ts'
import { EVENT_TYPES } from '../events/types.ts'

/** Rules of deliveries: what follows a try, and when an endpoint is disabled. Times are real time, in milliseconds since 1970. */

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** From the end of each try to the next: 5 s, 5 min, 30 min, 2, 5, 10, 14, 20, 24 h. After the last an event is given up. */
const WAITS_MS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * SECOND_MS)
/** Part of a wait that chance adds at most, so that what failed together is not tried together again. The first five tries end within 3 hours. */
const JITTER = 0.1
const RETRY_AFTER_MS_MAX = DAY_MS
const FAILING_MS_MAX = 5 * DAY_MS
const GONE = 410

const PATTERNS: ReadonlySet<string> = new Set(EVENT_TYPES.flatMap((type) => [type, type.replace(/\..*$/, '.*')]))

/** Returns whether a text is a type of events, or all of a resource as invoice.*. */
export const isEventPattern = (text: string): boolean => PATTERNS.has(text)

const isTaken = (called: Called): boolean => called.kind === 'answered' && called.status >= 200 && called.status < 300

/** Reads Retry-After (RFC 9110): seconds or a date. Returns 0 for anything else, and no more than 24 hours. */
export function retryAfterMs(text: string | undefined, nowMs: number): number {
  if (text === undefined) return 0
  const waitMs = /^\d+$/.test(text) ? Number(text) * SECOND_MS : Date.parse(text) - nowMs
  return Number.isNaN(waitMs) ? 0 : Math.min(Math.max(waitMs, 0), RETRY_AFTER_MS_MAX)
}

export interface TryVerdict {
  state: DeliveryState
  status: number | null
  /** Null unless it waits. */
  nextTryAt: Instant | null
}

/** Decides what follows a try: `tries` counts it, `chance` is from 0 up to 1. */
export function verdictOf(called: Called, tries: number, nowMs: number, chance: number): TryVerdict {
  const status = called.kind === 'answered' ? called.status : null
  if (isTaken(called)) return { state: 'delivered', status, nextTryAt: null }
  const waitMs = WAITS_MS[tries - 1]
  if (waitMs === undefined || status === GONE) return { state: 'failed', status, nextTryAt: null }
  const asked = called.kind === 'answered' ? retryAfterMs(called.retryAfter, nowMs) : 0
  const nextTryAt = instantOf(nowMs + Math.round(Math.max(waitMs * (1 + JITTER * chance), asked)))
  return { state: 'waiting', status, nextTryAt }
}

/** How long an event is held up by earlier ones of its record at most: Retry-After may stretch their tries. */
export const HELD_MS_MAX = 3 * HOUR_MS

/** Returns until when a delivery is held up at most. */
export const heldUntil = ({ heldSince }: { heldSince: Instant | null }, nowMs: number): Instant =>
  instantOf((heldSince === null ? nowMs : Date.parse(heldSince)) + HELD_MS_MAX)

/** Returns whether a delivery holds up later events of its record no more. */
export const isOutOfTheWay = ({ state, tries }: { state: DeliveryState; tries: number }): boolean =>
  state !== 'waiting' || tries >= TRIES_IN_ORDER

/** Causes for which an endpoint is disabled: gone, it answered 410; failing, it has taken no event for 5 days. */
export const DISABLING = {
  gone: 'The endpoint answered 410 (gone).',
  failing: 'The endpoint has taken no event for 5 days.',
} as const
export type DisablingCause = keyof typeof DISABLING

/** The state of an endpoint after tries: since when it fails, and why it is to be disabled. */
export interface EndpointVerdict {
  failingSince: Instant | null
  disabledFor: DisablingCause | null
}

/** Decides about an endpoint after some tries. One that was taken ends its failing; gone (410) or failing for 5 days it is disabled. */
export function endpointVerdictOf(
  failingSince: Instant | null,
  ended: readonly { state: DeliveryState; status: number | null }[],
  nowMs: number,
): EndpointVerdict {
  const since = failingSince ?? instantOf(nowMs)
  if (ended.some(({ status }) => status === GONE)) return { failingSince: since, disabledFor: 'gone' }
  if (ended.some(({ state }) => state === 'delivered')) return { failingSince: null, disabledFor: null }
  if (ended.length === 0) return { failingSince, disabledFor: null }
  const isLong = nowMs - Date.parse(since) >= FAILING_MS_MAX
  return { failingSince: since, disabledFor: isLong ? 'failing' : null }
}
