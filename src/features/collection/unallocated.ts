import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { applyUnallocatedTo } from '../money/apply-unallocated.ts'
import { listPayablePastDue } from './unallocated-queries.ts'

/**
 * Pays what a locked customer is due to have paid by their unallocated money, the oldest invoice first, where the account applies such money on its own.
 * Rule: before an action of a step, and before it is looked whether they come back; invoices on hold take none. Returns whether there was any.
 */
export async function payPastDue(tx: Transaction, context: RequestContext, customerId: CustomerId): Promise<boolean> {
  if (!context.account.isAutoApply) return false
  const invoices = await listPayablePastDue(tx, customerId, context.moment.today)
  return applyUnallocatedTo(tx, context, invoices)
}
