import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, type Fault } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { reasonOf } from '../billing-run/due-kind.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { applyPlans, type BillingPlan, isDue, planContext, planSkip, planSubscription } from './bill.ts'
import type { BillableSubscription } from './queries.ts'
import { loadSubscription } from './record.ts'

/** Subscriptions of which what is due cannot be billed: the refusal of operations, with the ways out. */

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
    await applyPlans(tx, context, [plan])
    skipped = plan.zeroCharges.map(({ charge }) => charge)
  }
  const failure = await tryToBill(tx, context, await loadSubscription(tx, s.id))
  return { skipped, isBilled: failure === undefined }
}

/** Makes the refusal (409) of an operation on a subscription that cannot be billed. */
const billingFailed = ({ id }: BillableSubscription, error: unknown): Fault =>
  conflict(
    'billing_failed',
    `What is due on subscription ${id} cannot be billed: ${reasonOf(error)} ` +
      `Correct its usage (PUT /v1/subscriptions/${id}/components/recordusage, dated in its cycle), or bill what is due at 0.00 (POST /v1/subscriptions/${id}/skip).`,
  )

/** Invoices what is due today on one subscription; where that cannot be planned, nothing is written and the refusal is returned. */
export async function tryToBill(
  tx: Transaction,
  context: IssueContext,
  s: BillableSubscription,
): Promise<Fault | undefined> {
  if (!isDue(s, context)) return undefined
  const plans = await planContext(tx, context, [s])
  let plan: BillingPlan
  try {
    plan = planSubscription(s, plans)
  } catch (error) {
    return billingFailed(s, error)
  }
  await applyPlans(tx, context, [plan])
  return undefined
}

/** Invoices what is due today before an operation does its own work; refused (409) where that cannot be billed. */
export async function billBefore(tx: Transaction, context: IssueContext, s: BillableSubscription): Promise<void> {
  const failure = await tryToBill(tx, context, s)
  if (failure) throw failure
}
