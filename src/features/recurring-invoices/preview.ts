import type { Moment } from '../../kernel/context.ts'
import type { AccountSettings } from '../accounts/queries.ts'
import { paperTextsOf } from '../accounts/texts.ts'
import { collectionMethodOf } from '../collection-terms/rules.ts'
import type { CustomerView } from '../customers/queries.ts'
import { writePreviewed } from '../invoices/preview.ts'
import { composeNext, type RecurringContext } from './bill.ts'
import type { Loaded } from './load.ts'

/** Writes the preview of the next invoice, made from the facts of today and not stored. */
export function writeRecurringPreview(
  loaded: Loaded,
  context: RecurringContext,
  about: { customer: CustomerView; account: AccountSettings; moment: Moment },
): string {
  const { recurring: r } = loaded
  const next = composeNext(loaded, context)
  const texts = paperTextsOf(about.account, about.customer.locale ?? about.account.locale)
  return writePreviewed({
    ...about,
    currency: r.currency,
    poNumber: null,
    collectionMethod: r.collectionMethod ?? collectionMethodOf(r.paymentMethod),
    notes: r.notes ?? texts.notes,
    terms: r.terms ?? texts.terms,
    subscriptionId: null,
    recurringInvoiceId: r.id,
    composed: next,
  })
}
