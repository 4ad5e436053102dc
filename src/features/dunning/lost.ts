import { afterLost } from '../../engine/collection/dunning.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { replan } from './save.ts'

/** Moves the dunning of invoices that received money was lost of: bounced, returned or disputed. Their customer is locked. */
export async function loseMoney(
  tx: Transaction,
  context: Pick<RequestContext, 'moment'>,
  invoiceIds: readonly InvoiceId[],
  declineClass: DeclineClass | null,
): Promise<void> {
  await replan(tx, context, invoiceIds, ({ dunning }, rules) =>
    afterLost(dunning, rules, declineClass, context.moment.today),
  )
}
