import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { PaymentRecord } from '../money/records.ts'
import { type AppliedChange, insertAppliedChange } from './queries.ts'

/** The charge that changes are applied to, and those that were; its customer is locked. */
export interface Applying {
  gatewayId: Id
  chargeId: Id
  /** The payment that the charge was first. */
  charge: PaymentRecord
  applied: AppliedChange[]
}

export async function noteChange(
  tx: Transaction,
  { gatewayId, chargeId, applied }: Applying,
  change: AppliedChange,
): Promise<void> {
  await insertAppliedChange(tx, gatewayId, chargeId, change)
  applied.push(change)
}

/** Returns what of an amount is booked, and what is over, in minor units; `mostMinor` null bounds nothing. */
export function bookableOf(amountMinor: bigint, mostMinor: bigint | null): { bookedMinor: bigint; overMinor: bigint } {
  const most = mostMinor === null ? amountMinor : mostMinor < 0n ? 0n : mostMinor
  const bookedMinor = amountMinor < most ? amountMinor : most
  return { bookedMinor, overMinor: amountMinor - bookedMinor }
}
