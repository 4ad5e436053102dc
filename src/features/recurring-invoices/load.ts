import { groupBy } from '../../kernel/grouping.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import {
  findRecurring,
  listRecurringCharges,
  listRecurringTaxes,
  type RecurringCharge,
  type RecurringInvoice,
  type RecurringTax,
} from './queries.ts'

/** A recurring invoice with its lines and its own taxes. */
export interface Loaded {
  recurring: RecurringInvoice
  charges: readonly RecurringCharge[]
  taxes: readonly RecurringTax[]
}

/** Loads lines and taxes of recurring invoices, in one statement for each table whatever their number. */
export async function loadRecurring(
  db: Queryable,
  account: AccountId,
  records: readonly RecurringInvoice[],
): Promise<Loaded[]> {
  if (records.length === 0) return []
  const ids = records.map(({ id }) => id)
  const [charges, taxes] = await Promise.all([
    listRecurringCharges(db, account, ids),
    listRecurringTaxes(db, account, ids),
  ])
  const chargesOf = groupBy(charges, ({ recurringInvoiceId }) => recurringInvoiceId)
  const taxesOf = groupBy(taxes, ({ recurringInvoiceId }) => recurringInvoiceId)
  return records.map((recurring) => ({
    recurring,
    charges: chargesOf.get(recurring.id) ?? [],
    taxes: taxesOf.get(recurring.id) ?? [],
  }))
}

export async function findLoaded(db: Queryable, account: AccountId, id: Id): Promise<Loaded | undefined> {
  const [recurring, charges, taxes] = await Promise.all([
    findRecurring(db, account, id),
    listRecurringCharges(db, account, [id]),
    listRecurringTaxes(db, account, [id]),
  ])
  return recurring && { recurring, charges, taxes }
}
