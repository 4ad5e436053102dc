import { afterLost } from '../../engine/collection/dunning.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { wayOf } from '../invoices/collection.ts'
import { holdInvoice } from '../invoices/issue-queries.ts'
import { listDunned } from './queries.ts'
import { getCollectionRules } from './rules-queries.ts'
import { dayFactsOf, saveDunning } from './save.ts'

/** Moves the dunning of invoices that received money was lost of: bounced, returned or disputed. Their customer is locked. */
export async function loseMoney(
  tx: Transaction,
  { moment }: Pick<RequestContext, 'moment'>,
  invoiceIds: readonly InvoiceId[],
  declineClass: DeclineClass | null,
): Promise<void> {
  const { today, now } = moment
  const invoices = invoiceIds.length === 0 ? [] : await listDunned(tx, tx.account, invoiceIds)
  if (invoices.length === 0) return
  const rules = await getCollectionRules(tx, tx.account)
  for (const invoice of invoices) {
    const { dunning, isHeld } = afterLost(invoice.dunning, rules, declineClass, today)
    if (isHeld) await holdInvoice(tx, invoice.id, now)
    const facts = dayFactsOf(invoice, { today, rules, way: await wayOf(tx, invoice) })
    await saveDunning(tx, { ...invoice, dunning }, facts, false)
  }
}
