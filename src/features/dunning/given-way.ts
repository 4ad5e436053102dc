import type { Moment } from '../../kernel/context.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { replan } from './save.ts'

/** Part of a line of the service that gave way to other money, to credit, or to the cancelling of its invoice. */
export interface GivenWay {
  paymentId: Id
  invoiceId: InvoiceId
  /** The amount that it is allocated less to the invoice, in minor units. */
  loweredMinor: bigint
  /** Nothing of the line is left, and it was deleted. */
  isDeleted: boolean
}

/** Plans anew what comes of invoices whose lines gave way. What took their place is allocated by now; the customer is locked. */
export async function onGivenWay(
  tx: Transaction,
  context: { moment: Moment },
  changes: readonly GivenWay[],
): Promise<void> {
  const ids = [...new Set(changes.map(({ invoiceId }) => invoiceId))]
  await replan(tx, context, ids, ({ dunning }) => ({ dunning }))
}
