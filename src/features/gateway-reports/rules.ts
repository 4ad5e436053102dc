import type { GatewayReport } from '../gateways/contract.ts'
import type { Payment } from '../money/payment-queries.ts'
import { isPending } from '../money/rules.ts'

/** Rules of reports of gateways, as functions of facts. */

/**
 * Verdict on a report: it was applied; it cannot be, for a reason that a person reads; or it waits, because the gateway has not answered or the
 * outcome of the payment is not known yet.
 */
export type Verdict = { kind: 'applied' } | { kind: 'refused'; reason: string } | { kind: 'waits' }

export const APPLIED: Verdict = { kind: 'applied' }
export const WAITS: Verdict = { kind: 'waits' }
export const refused = (reason: string): Verdict => ({ kind: 'refused', reason })

const NAME = /^[\x21-\x7e]{1,255}$/

/** Returns true where the names in a signed report can be kept: printable, not empty, 255 characters at most. */
export const isKeepable = ({ id, reference, gatewayReference }: GatewayReport): boolean =>
  [id, reference, gatewayReference].every((text) => text === undefined || NAME.test(text))

/** Returns true for a payment whose charge was recorded as failed before it ever counted as received. */
export const wasNeverReceived = ({ failedOn, settledOn }: Payment): boolean => failedOn !== null && settledOn === null

/** Part of a payment that its charge lost. */
export interface LostShare<P extends Payment> {
  payment: P
  lostMinor: bigint
}

/**
 * Returns which of a charge's payments an amount is taken back from. Rule: from those that are received, in the order of their making; what is
 * over is `beyondMinor`, money that the books do not have.
 */
export function lostShares<P extends Payment>(
  payments: readonly P[],
  amountMinor: bigint,
): { shares: LostShare<P>[]; beyondMinor: bigint } {
  let left = amountMinor
  const shares: LostShare<P>[] = []
  for (const payment of payments) {
    if (left <= 0n || payment.failedOn !== null || isPending(payment)) continue
    const lostMinor = payment.amountMinor < left ? payment.amountMinor : left
    shares.push({ payment, lostMinor })
    left -= lostMinor
  }
  return { shares, beyondMinor: left > 0n ? left : 0n }
}
