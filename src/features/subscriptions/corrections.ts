import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import { type ComponentState, isMetered } from '../../engine/subscription/components.ts'
import { givenBackAtEnd } from '../../engine/subscription/cancel.ts'
import type { Correction } from '../../engine/subscription/credits.ts'
import type { GivenBack } from '../../engine/subscription/coverage.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listChargesBeyond, listUsageCharges } from './change-queries.ts'
import type { BillableSubscription } from './queries.ts'

/** Credits that billing itself gives: what it makes notes of together with whatever else an operation credits. */

/**
 * Lists what negative lines credit. Rule: if an invoice would be negative, its negative lines become credits for the invoices that charged
 * those cycles.
 */
export async function listCorrections(
  tx: Transaction,
  s: BillableSubscription,
  credited: readonly PlannedCharge[],
): Promise<Correction[]> {
  const corrections: Correction[] = []
  for (const { itemId, from, netMinor } of credited) {
    if (from === null) continue
    const charges = await listUsageCharges(tx, tx.account, s.id, { componentId: itemId, from })
    corrections.push({ amountMinor: -netMinor, charges })
  }
  return corrections
}

/** Lists what cycles of components were charged beyond the end. Rule: a cancellation at renewal gives this back on the day of the end. */
export async function listBeyondEnd(
  tx: Transaction,
  s: BillableSubscription,
  end: IsoDate | null,
  components: readonly ComponentState[],
): Promise<readonly GivenBack[]> {
  if (end === null || !components.some((component) => !isMetered(component) && component.nextFrom > end)) return []
  return givenBackAtEnd(s, await listChargesBeyond(tx, tx.account, s.id, end), end)
}
