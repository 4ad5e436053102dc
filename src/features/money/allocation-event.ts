import type { Transaction } from '../../platform/database/database.ts'
import { writingOf } from '../../kernel/context.ts'
import { insertEvents } from '../events/queries.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { allocationEventShape, type AllocationOf } from './shapes.ts'

/** Records that the service made allocations, or took them away, on its own. */
export const recordAllocations = (
  tx: Transaction,
  context: IssueContext,
  type: 'allocation.created' | 'allocation.deleted',
  allocations: readonly AllocationOf[],
) =>
  insertEvents(
    tx,
    allocations.map((allocation) => ({
      type,
      recordId: allocation.id,
      customerId: allocation.customerId,
      happenedAt: context.moment.now,
      actor: context.actor,
      reason: null,
      record: allocationEventShape.write(allocation, writingOf(context)),
    })),
  )
