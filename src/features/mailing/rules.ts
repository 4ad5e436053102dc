import type { Instant } from '../../kernel/calendar.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Reply, Sending } from '../../platform/smtp/connection.ts'
import type { ClaimedMail, LostMail, MailTry } from '../outbox/sending-queries.ts'

/** Verdicts on mails after their tries. Pure. */

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** Waits after tries that failed (decision 20); after the last comes no other. */
export const WAITS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
] as const

/** Mail older than this when a sender could first take it leaves only when a person sends it. */
export const FRESH_MS = 24 * HOUR_MS

/** Replies from 500 on are for good (RFC 5321, 4.2.1). */
const isFinal = ({ code }: Reply): boolean => code >= 500

type Tried = Pick<ClaimedMail, 'to' | 'cc' | 'open' | 'takenAt' | 'tries'>

interface Times {
  /** Real time, in milliseconds since 1970. */
  nowMs: number
  /** The present instant of the account. */
  at: Instant
}

const waiting = (tries: number, nowMs: number): Pick<MailTry, 'status' | 'nextTryAt'> => {
  const waitMs = WAITS_MS[tries - 1]
  return waitMs === undefined
    ? { status: 'failed', nextTryAt: null }
    : { status: 'queued', nextTryAt: instantOf(nowMs + waitMs) }
}

/** Returns what a mail becomes whose try did not end: its sender is gone. */
export const verdictOfLost = (
  { to, tries, open, takenAt, isHandedOver }: Pick<LostMail, 'to' | 'tries' | 'open' | 'takenAt' | 'isHandedOver'>,
  nowMs: number,
): MailTry =>
  ended(
    to,
    { open, takenAt, sentAt: null },
    isHandedOver ? { status: 'unknown', nextTryAt: null } : waiting(tries, nowMs),
    null,
  )

/**
 * Returns what a mail becomes after a try. Each receiver is decided on its own: who took it gets it no second time, who was refused for good is
 * not tried again, and the rest is tried again until the waits are used up. A mail is sent when its receiver took it and nobody is left to try.
 */
export function mailVerdictOf(mail: Tried, sending: Exclude<Sending, { outcome: 'withheld' }>, times: Times): MailTry {
  const { open, takenAt, tries } = mail
  const kept = { open, takenAt, sentAt: null }
  if (sending.outcome === 'unknown') return { ...kept, status: 'unknown', nextTryAt: null, lastReply: null }
  if (sending.outcome === 'away') return ended(mail.to, kept, waiting(tries, times.nowMs), sending.reply?.text ?? null)
  const asked = open ?? receiversOf(mail)
  if (sending.outcome === 'refused') {
    const isWhole = sending.refused.length === 0
    const left = asked.filter((address) => {
      const own = sending.refused.find((one) => one.address === address)?.reply
      return !isFinal(isWhole ? sending.reply : (own ?? sending.reply))
    })
    return after({ ...kept, open: left }, asked, mail, sending.reply.text, times)
  }
  const deferred = sending.refused.filter(({ reply }) => !isFinal(reply)).map(({ address }) => address)
  const isTaken = sending.accepted.includes(mail.to)
  const lastReply = (sending.refused[0]?.reply ?? sending.reply).text
  const untaken = asked.filter((address) => !sending.accepted.includes(address))
  const state = { open: deferred, takenAt: isTaken ? times.at : takenAt, sentAt: null }
  return after(state, untaken, mail, lastReply, times)
}

export const receiversOf = ({ to, cc }: Pick<ClaimedMail, 'to' | 'cc'>): string[] => [
  ...new Set(cc === null ? [to] : [to, cc]),
]

type State = Pick<MailTry, 'open' | 'takenAt' | 'sentAt'>
type Next = Pick<MailTry, 'status' | 'nextTryAt'>

/** Returns what a mail becomes of which the `open` ones of those who did not take it are tried again, while there are such and waits are left. */
function after(
  state: State,
  untaken: readonly string[],
  { to, tries }: Tried,
  lastReply: string,
  { nowMs }: Times,
): MailTry {
  const next: Next = state.open?.length === 0 ? { status: 'failed', nextTryAt: null } : waiting(tries, nowMs)
  return ended(to, next.status === 'failed' ? { ...state, open: untaken } : state, next, lastReply)
}

/**
 * Rules: what its receiver took is sent, also where the copy was refused. A mail that has failed keeps its receiver, to whom it goes when a person
 * sends it.
 */
function ended(to: string, state: State, { status, nextTryAt }: Next, lastReply: string | null): MailTry {
  if (status !== 'failed') return { ...state, status, nextTryAt, lastReply }
  if (state.takenAt !== null) return { ...state, status: 'sent', nextTryAt, lastReply, sentAt: state.takenAt }
  const open = state.open === null ? null : [...new Set([to, ...state.open])]
  return { ...state, open, status, nextTryAt, lastReply }
}
