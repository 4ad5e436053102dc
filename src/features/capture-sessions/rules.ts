import type { Instant } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { BANK_KINDS, type BankKind, type MethodKind } from '../../kernel/rails.ts'
import { gatewayFactsOf, takesCardsOnPages } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { kindsOf } from '../gateways/rules.ts'
import type { CaptureSession, SaleState, SessionSale } from './queries.ts'

/** Rules of sessions: what is captured in a currency, when a session ends, whose money a charge is. */

/** Refused tries after which nothing is captured any more: nobody is to try out stolen cards here. */
export const TRIES_MAX = 5

const HOUR_MS = 3_600_000
/** Hours in which a captured session can be completed, beyond the end of capturing. */
export const COMPLETION_HOURS = 24

export const STATES = ['open', 'captured', 'completed', 'expired', 'failed'] as const
export type SessionState = (typeof STATES)[number]

type Dated = Pick<
  CaptureSession,
  | 'expiresAt'
  | 'isReallyOver'
  | 'refusedTries'
  | 'giveBackAt'
  | 'completedAt'
  | 'givenBackAt'
  | 'giveBackRefusedAt'
  | 'sale'
>

const hasEnded = ({ isReallyOver }: Pick<CaptureSession, 'isReallyOver'>, end: Instant, now: Instant): boolean =>
  isReallyOver || Date.parse(end) <= Date.parse(now)

/** Returns whether nothing is captured in a session any more at a moment of the account's clock. */
export const isCapturingOver = (session: Pick<CaptureSession, 'isReallyOver' | 'expiresAt'>, now: Instant): boolean =>
  hasEnded(session, session.expiresAt, now)

/**
 * Returns the state of a session at a moment of the account's clock. Rule: it ends by that or by real time, whichever comes first; one whose charge has no
 * known outcome waits for it, also after its end.
 */
export function sessionState(session: Dated, now: Instant): SessionState {
  if (session.completedAt !== null) return 'completed'
  if (session.givenBackAt !== null) return 'expired'
  if (session.giveBackAt !== null)
    return session.giveBackRefusedAt === null && hasEnded(session, session.giveBackAt, now) ? 'expired' : 'captured'
  if (session.sale?.state === 'open') return 'open'
  if (session.refusedTries >= TRIES_MAX) return 'failed'
  return hasEnded(session, session.expiresAt, now) ? 'expired' : 'open'
}

/** Returns until when a session that is captured now can be completed. What was found only after its end has the same hours from then. */
export const giveBackAfter = ({ expiresAt }: Pick<CaptureSession, 'expiresAt'>, now: Instant): Instant =>
  new Date(Math.max(Date.parse(expiresAt), Date.parse(now)) + COMPLETION_HOURS * HOUR_MS).toISOString()

/** Returns whether nothing is taken in a session because its gateway is held. Rule: what only keeps a card or an account goes on. */
export const isSaleHeld = (
  { saleType }: Pick<CaptureSession, 'saleType'>,
  { heldFor }: Pick<Gateway, 'heldFor'>,
): boolean => heldFor !== null && saleType !== 'VaultOnly'

/** Rule: a card is kept though its sale was declined, where the caller wants it so. */
export const isKeptWithoutSale = ({
  saleType,
  isVaultOnlyOnSuccess,
}: Pick<CaptureSession, 'saleType' | 'isVaultOnlyOnSuccess'>): boolean =>
  saleType === 'VaultSale' && !isVaultOnlyOnSuccess

/** Returns the sale of a session whose money is there: charged, and not given back or about to be. */
export const soldOf = ({ sale }: Pick<CaptureSession, 'sale'>): SessionSale | undefined =>
  sale?.state === 'charged' && (sale.refundState === null || sale.refundState === 'refused') ? sale : undefined

/** Hours after which a gateway that was asked about a sale in vain counts as silent. */
const SILENT_HOURS = 24

/** Returns whether a gateway has been silent about a sale for so long that a person may settle it. */
export const isSilent = ({ silentSince }: { silentSince: Instant }, now: Instant): boolean =>
  Date.parse(now) >= Date.parse(silentSince) + SILENT_HOURS * HOUR_MS

/** Reasons for which a sale waits: the outcome of its charge, or of its refund; or that somebody sees to a refund that was refused for good. */
export const SALE_WAITINGS = ['charge', 'refund', 'refused'] as const
export type SaleWaiting = (typeof SALE_WAITINGS)[number]

/** Returns what a sale waits for; null where its money is in one place. Rule: a refused refund is settled, too, by a customer who has the session. */
export function waitingOf(
  session: Pick<CaptureSession, 'sale' | 'completedAt'>,
  { chargeId, state, refundState }: { chargeId: Id; state: SaleState; refundState: SessionSale['refundState'] },
): SaleWaiting | null {
  if (state === 'open') return 'charge'
  if (refundState === 'open') return 'refund'
  const isTaken = session.sale?.chargeId === chargeId && session.completedAt !== null
  return refundState === 'refused' && !isTaken ? 'refused' : null
}

/** Seconds of real time after which a gateway is asked again: at first after a minute, in the end every hour. */
export const askAgainSeconds = (asks: number): number => Math.min(60 * 2 ** Math.min(asks, 6), HOUR_MS / 1000)

/** How long a customer has to confirm a charge to their bank; then it is ended at the gateway. */
export const CONFIRM_SECONDS = 30 * 60

/** Returns the kinds of methods that pages of sessions take for a gateway. Rule: accounts that a gateway keeps itself are none of a form of ours. */
export const kindsOnPages = (gateway: Pick<Gateway, 'type' | 'debitMethods' | 'currencies'>): MethodKind[] => {
  const facts = gatewayFactsOf(gateway.type)
  return kindsOf(gateway).filter((kind) => (kind === 'credit_card' ? takesCardsOnPages(facts) : !facts.keepsAccounts))
}

/** Returns the kind of bank account that is captured in a currency, as far as a gateway takes it. */
export function bankKindOf(currency: string, kinds: readonly MethodKind[]): BankKind | undefined {
  const wanted = currency === 'EUR' ? 'sepa' : currency === 'USD' ? 'ach' : 'debit_order'
  return kinds.includes(wanted) ? BANK_KINDS.find((kind) => kind === wanted) : undefined
}

const EXPIRES_IN = /^(\d{1,2}):([0-5]\d):([0-5]\d)$/

/** Reads a span of shape hh:mm:ss in milliseconds; undefined unless it is over 0 and at most 24 hours. */
export function readSpan(text: string): number | undefined {
  const [, hours, minutes, seconds] = EXPIRES_IN.exec(text.trim()) ?? []
  if (hours === undefined) return undefined
  const span = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return span > 0 && span <= 24 * HOUR_MS ? span : undefined
}
