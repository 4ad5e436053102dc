import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { recordKind } from '../../platform/http/record.ts'
import { lockCustomer } from '../customers/queries.ts'
import type { EventType } from '../events/types.ts'
import { recordChange } from '../events/record.ts'
import { recurringAmounts, type RecurringContext, recurringContext } from './bill.ts'
import { findLoaded, type Loaded } from './load.ts'
import { findRecurringCustomer } from './queries.ts'
import { recurringEtag, recurringShape, type ShownRecurring } from './wire.ts'

/** Adds the amounts that the lines of a recurring invoice have by the given tax rules. */
export const shownRecurring = (loaded: Loaded, taxes: RecurringContext): ShownRecurring => ({
  ...loaded,
  amounts: recurringAmounts(loaded, taxes),
})

async function findShown(db: Queryable, context: RequestContext, id: Id): Promise<ShownRecurring | undefined> {
  const [loaded, taxes] = await Promise.all([findLoaded(db, context.account.id, id), recurringContext(db, context)])
  return loaded && shownRecurring(loaded, taxes)
}

export const recurringKind = recordKind<ShownRecurring, 'recurring_invoice'>({
  code: 'recurring_invoice',
  name: 'recurring invoice',
  param: 'recurInvoiceID',
  path: '/v1/recurring-invoices',
  out: recurringShape,
  idOf: ({ recurring }) => recurring.id,
  find: findShown,
  lock: async (tx, context, id) => {
    const owner = await findRecurringCustomer(tx, tx.account, id)
    if (!owner) return undefined
    await lockCustomer(tx, tx.account, owner.customerId)
    return findShown(tx, context, id)
  },
  etag: recurringEtag,
})

/** Loads a recurring invoice that exists, as it now is. */
export async function loadRecurringInvoice(tx: Transaction, context: RequestContext, id: Id): Promise<ShownRecurring> {
  const shown = await findShown(tx, context, id)
  assert(shown, `recurring invoice ${id} exists`)
  return shown
}

/** Records an event of a recurring invoice with its fields as they now are, and returns it. */
export async function recordRecurringEvent(
  tx: Transaction,
  context: RequestContext,
  type: EventType & `recurring_invoice.${string}`,
  id: Id,
  reason: string | null = null,
): Promise<ShownRecurring> {
  const row = await loadRecurringInvoice(tx, context, id)
  await recordChange(tx, context, recurringKind, { type, row, customerId: row.recurring.customerId, reason })
  return row
}
