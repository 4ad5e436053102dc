import { afterLost } from '../../engine/collection/dunning.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { recordInvoice, rereadInvoice } from '../invoices/manual.ts'
import { replan } from './save.ts'

/** Moves the dunning of invoices that received money was lost of: bounced, returned or disputed. Records those that it puts on hold. Their customer is locked. */
export async function loseMoney(
  tx: Transaction,
  context: RequestContext,
  invoiceIds: readonly InvoiceId[],
  declineClass: DeclineClass | null,
): Promise<void> {
  const held = await replan(tx, context, invoiceIds, ({ dunning }, rules) =>
    afterLost(dunning, rules, declineClass, context.moment.today),
  )
  for (const id of held)
    await recordInvoice(
      tx,
      context,
      'invoice.updated',
      await rereadInvoice(tx, context, id),
      `Its payment was lost as ${declineClass}.`,
    )
}
