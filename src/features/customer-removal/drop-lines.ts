import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { loadPayment, takeBackPayment } from '../money/payments.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import { listOpenLinesOf } from '../batches/line-queries.ts'
import { lockBatch } from '../batches/queries.ts'

/**
 * Deletes the lines of a locked customer in batches that were not submitted. Throws a conflict where one was and has no result yet: a bank is
 * being asked for the customer's money.
 */
export async function dropLinesOf(
  tx: Transaction,
  context: RequestContext,
  hooks: LinesOfService,
  customerId: CustomerId,
): Promise<void> {
  for (const line of await listOpenLinesOf(tx, customerId)) {
    const batch = await lockBatch(tx, line.batchId)
    const payment = await loadPayment(tx, tx.account, line.id)
    if (!batch || !payment) continue
    if (batch.state !== 'open' && batch.state !== 'failed')
      throw conflict(
        'line_open',
        `Payment ${line.id} of customer ${customerId} is in batch ${batch.token}, which was submitted; wait for its result.`,
      )
    await takeBackPayment(tx, context, payment, 'The customer was made anonymous.')
    if (line.isServiceMade) await hooks.gone(tx, context, line.id)
  }
}
