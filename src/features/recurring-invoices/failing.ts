import type { PlannedPeriod } from '../../engine/recurring.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, type Fault } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { reasonsOf } from '../billing-run/due-kind.ts'
import { markFailing, tried } from '../billing-run/failing.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { applyRecurringPlans, billRecurring, isRecurringDue, planRecurringSkip, recurringContext } from './bill.ts'
import type { Loaded } from './load.ts'

/** Recurring invoices of which what is due cannot be billed: the refusal of operations, with the ways out. */

/** The constraint that refuses to bill a period twice. */
export const RECURRING_CHARGED_ONCE = 'charges_once_recurring'

/** Makes the refusal (409) of an operation on a recurring invoice that cannot be billed. */
const billingFailed = ({ recurring: { id } }: Loaded, reason: string): Fault =>
  conflict(
    'billing_failed',
    `What is due on recurring invoice ${id} cannot be billed: ${reason} ` +
      `Correct the tax rules that its invoices take, or bill what is due at 0.00 (POST /v1/recurring-invoices/${id}/skip).`,
  )

/** Invoices what is due today on one recurring invoice; where that fails, only the failure is written, and the refusal is returned. */
async function tryToBillRecurring(tx: Transaction, context: IssueContext, loaded: Loaded): Promise<Fault | undefined> {
  if (!isRecurringDue(loaded, context)) return undefined
  const failed = await tried(tx, () => billRecurring(tx, context, loaded))
  if (!failed) return undefined
  const { id: recordId, customerId } = loaded.recurring
  const reasons = reasonsOf(failed.error, RECURRING_CHARGED_ONCE)
  await markFailing(tx, context, [{ recordType: 'recurring_invoice', recordId, customerId, ...reasons }])
  return billingFailed(loaded, reasons.reason)
}

/** Invoices what is due today before an operation does its own work; refused (409) where that cannot be billed. */
export async function billRecurringBefore(tx: Transaction, context: IssueContext, loaded: Loaded): Promise<void> {
  const failure = await tryToBillRecurring(tx, context, loaded)
  if (failure) throw failure
}

/**
 * Bills what is due up to a day, which is not after today, at 0.00, and returns its periods. What is due after it is billed as ever: `reload`
 * reads the recurring invoice as it then is.
 */
export async function skipRecurringDue(
  tx: Transaction,
  context: IssueContext,
  loaded: Loaded,
  until: IsoDate,
  reload: () => Promise<Loaded>,
): Promise<{ skipped: readonly PlannedPeriod[]; isBilled: boolean }> {
  const { id, dueOn } = loaded.recurring
  let skipped: readonly PlannedPeriod[] = []
  if (dueOn !== null && dueOn <= until) {
    const { plan, periods } = planRecurringSkip(loaded, until, await recurringContext(tx, context, [id]))
    await applyRecurringPlans(tx, context, [plan])
    skipped = periods
  }
  return { skipped, isBilled: (await tryToBillRecurring(tx, context, await reload())) === undefined }
}
