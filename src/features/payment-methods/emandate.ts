import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Links } from '../../platform/page/links.ts'

/** Tokens of eMandates, which are those of the signing pages in letters and digits alone, and their states: methods know both. */

const PARTS = /^(\d{1,16})x(\d{1,16})x0x([a-z2-7]+)$/

export const mandateToken = (links: Pick<Links, 'token'>, account: AccountId, id: Id): string =>
  links.token({ kind: 'm', account, record: id, counter: 0 }).replace(/-/g, 'x')

/** Returns the identifier that a token of an account names; undefined where it is not exactly as it was made. */
export function mandateOfToken(links: Pick<Links, 'read'>, account: AccountId, token: string): Id | undefined {
  const [, owner, record, hash] = PARTS.exec(token) ?? []
  const link = owner === undefined ? undefined : links.read('m', `${owner}-${record}-0-${hash}`)
  return link?.account === account ? link.record : undefined
}

export const MANDATE_STATES = ['open', 'signed', 'expired'] as const
export type MandateState = (typeof MANDATE_STATES)[number]

const HOURS_OPEN = 24
const HOUR_MS = 3_600_000

export interface MandateDates {
  signedAt: Instant | null
  /** Another took its place. */
  endedAt: Instant | null
  /** By the account's clock. */
  createdAt: Instant
  /** In real time. */
  madeAt: Instant
}

/** The present moment by the account's clock and in real time. */
export interface Now {
  clock: Instant
  real: Instant
}

const isOver = (from: Instant, to: Instant): boolean => Date.parse(to) - Date.parse(from) >= HOURS_OPEN * HOUR_MS

/** Returns the state of a mandate. Rule: unsigned it ends 24 hours after it was made, by the account's clock or by real time. */
export function mandateState({ signedAt, endedAt, createdAt, madeAt }: MandateDates, now: Now): MandateState {
  if (signedAt !== null) return 'signed'
  return endedAt !== null || isOver(createdAt, now.clock) || isOver(madeAt, now.real) ? 'expired' : 'open'
}

/** Returns the reference by which a bank knows a mandate: UMR of SEPA. It is no secret, and no part of the token. */
export const mandateReference = ({ id }: { id: Id }): string => `EM${id}`
