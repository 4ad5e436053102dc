import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, type Fault } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { reasonsOf } from '../billing-run/due-kind.ts'
import { markFailing, tried } from '../billing-run/failing.ts'
import type { IssueContext, ZeroCharge } from '../invoices/issue.ts'
import { applyPlans, planContext, planSkip, planSubscription } from './bill.ts'
import { listCharged } from './change-queries.ts'
import type { BillableSubscription } from './queries.ts'
import { loadSubscription } from './record.ts'
import { isDue } from './state.ts'

/** Subscriptions of which what is due cannot be billed: the refusal of operations, with the ways out. */

/** The constraint that refuses to bill a period twice. */
export const CHARGED_ONCE = 'charges_once'

/** Bills what is due up to a day, which is not after today, at 0.00, and returns its charges. What is due after it is billed as ever. */
export async function skipDue(
  tx: Transaction,
  context: IssueContext,
  s: BillableSubscription,
  until: IsoDate,
): Promise<{ skipped: readonly PlannedCharge[]; isBilled: boolean }> {
  let skipped: readonly PlannedCharge[] = []
  if (s.dueOn !== null && s.dueOn <= until) {
    const plan = planSkip(s, until, await planContext(tx, context, [s]))
    plan.zeroCharges = await notCharged(tx, plan.zeroCharges)
    await applyPlans(tx, context, [plan])
    skipped = plan.zeroCharges.map(({ charge }) => charge)
  }
  const failure = await tryToBill(tx, context, await loadSubscription(tx, s.id))
  return { skipped, isBilled: failure === undefined }
}

/** Leaves out charges of which the period was billed before: where that is why what is due cannot be billed, there is nothing to count. */
async function notCharged(tx: Transaction, charges: readonly ZeroCharge[]): Promise<ZeroCharge[]> {
  const isCharged = await listCharged(tx, tx.account, charges)
  return charges.filter((_, index) => !isCharged.has(index))
}

/** Makes the refusal (409) of an operation on a subscription that cannot be billed. */
const billingFailed = ({ id }: BillableSubscription, reason: string): Fault =>
  conflict(
    'billing_failed',
    `What is due on subscription ${id} cannot be billed: ${reason} ` +
      `Correct its usage (PUT /v1/subscriptions/${id}/components/recordusage, dated in its cycle), or bill what is due at 0.00 (POST /v1/subscriptions/${id}/skip).`,
  )

/** Invoices what is due today on one subscription; where that fails, only the failure is written, and the refusal is returned. */
export async function tryToBill(
  tx: Transaction,
  context: IssueContext,
  s: BillableSubscription,
): Promise<Fault | undefined> {
  if (!isDue(s, context)) return undefined
  const plans = await planContext(tx, context, [s])
  const failed = await tried(tx, () => applyPlans(tx, context, [planSubscription(s, plans)]))
  if (!failed) return undefined
  const reasons = reasonsOf(failed.error, CHARGED_ONCE)
  await markFailing(tx, context, [{ recordType: 'subscription', recordId: s.id, customerId: s.customerId, ...reasons }])
  return billingFailed(s, reasons.reason)
}

/** Invoices what is due today before an operation does its own work; refused (409) where that cannot be billed. */
export async function billBefore(tx: Transaction, context: IssueContext, s: BillableSubscription): Promise<void> {
  const failure = await tryToBill(tx, context, s)
  if (failure) throw failure
}
