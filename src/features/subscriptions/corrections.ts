import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import { type ComponentState, isMetered } from '../../engine/subscription/components.ts'
import { givenBackAtEnd } from '../../engine/subscription/cancel.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { makeCorrection, makeCreditNotes, type MadeCreditNote } from '../money/credit-notes.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { listChargesBeyond, listUsageCharges } from './change-queries.ts'
import type { BillableSubscription } from './queries.ts'

/** Credit notes that billing itself makes. */

const causeOf = (context: IssueContext, s: BillableSubscription, made: readonly InvoiceId[]) => ({
  customerId: s.customerId,
  subscriptionId: s.id,
  currency: s.currency,
  made,
  isAutoApply: context.account.isAutoApply,
})

/**
 * Credits negative lines. Rule: if an invoice would be negative, its negative lines become credit notes for the invoices that charged those
 * cycles.
 */
export async function creditNegativeLines(
  tx: Transaction,
  context: IssueContext,
  s: BillableSubscription,
  credited: readonly PlannedCharge[],
  made: readonly InvoiceId[],
): Promise<MadeCreditNote[]> {
  const notes: MadeCreditNote[] = []
  for (const { itemId, name, from, until, netMinor } of credited) {
    if (from === null || until === null) continue
    const charges = await listUsageCharges(tx, tx.account, s.id, { componentId: itemId, from })
    const cause = { ...causeOf(context, s, made), usage: { name, from, until } }
    notes.push(...(await makeCorrection(tx, context, cause, -netMinor, charges)))
  }
  return notes
}

/** Credits what cycles of components were charged beyond the end. Rule: a cancellation at renewal gives this back on the day of the end. */
export async function creditBeyondEnd(
  tx: Transaction,
  context: IssueContext,
  s: BillableSubscription,
  end: IsoDate | null,
  components: readonly ComponentState[],
  made: readonly InvoiceId[],
): Promise<void> {
  if (end === null || !components.some((component) => !isMetered(component) && component.nextFrom > end)) return
  const charges = await listChargesBeyond(tx, tx.account, s.id, end)
  const givenBack = givenBackAtEnd(s, charges, end)
  await makeCreditNotes(tx, context, { ...causeOf(context, s, made), givenBack })
}
