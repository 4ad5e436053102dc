import type { RequestContext } from '../../kernel/context.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listLineInvoices } from '../batches/line-queries.ts'
import { replan } from '../dunning/save.ts'
import { recordInvoice, rereadInvoice } from '../invoices/manual.ts'
import { holdInvoice } from '../invoices/state-queries.ts'
import { loadPayment } from '../money/payments.ts'

/** Invoices of debits that somebody had the bank cancel: they are put on hold, because that somebody decides what comes next. */

/** Lists the invoices that a line was to pay, or pays. */
export async function invoicesOfLine(tx: Transaction, paymentId: Id): Promise<InvoiceId[]> {
  const [payment, sent] = await Promise.all([loadPayment(tx, tx.account, paymentId), listLineInvoices(tx, paymentId)])
  const paid = payment?.allocations.flatMap(({ owedKind, owedId }) => (owedKind === 'invoice' ? [owedId] : [])) ?? []
  return [...new Set([...sent, ...paid])]
}

/** Puts invoices of a locked customer on hold, with an event each; those on hold and those cancelled stay as they are. */
export async function holdInvoices(
  tx: Transaction,
  context: RequestContext,
  ids: readonly InvoiceId[],
  reason: string,
): Promise<void> {
  const held: InvoiceId[] = []
  for (const id of ids) {
    const { invoice } = await rereadInvoice(tx, context, id)
    if (invoice.isCollectionHold || invoice.isCancelled) continue
    await holdInvoice(tx, id, context.moment.now)
    held.push(id)
  }
  // From now on nothing comes to them.
  await replan(tx, context, held, ({ dunning }) => ({ dunning }))
  for (const id of held)
    await recordInvoice(tx, context, 'invoice.updated', await rereadInvoice(tx, context, id), reason)
}
