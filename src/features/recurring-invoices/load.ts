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

function grouped<Row extends { recurringInvoiceId: Id }>(rows: readonly Row[]): Map<Id, Row[]> {
  const found = new Map<Id, Row[]>()
  for (const row of rows) {
    const group = found.get(row.recurringInvoiceId)
    if (group) group.push(row)
    else found.set(row.recurringInvoiceId, [row])
  }
  return found
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
  const chargesOf = grouped(charges)
  const taxesOf = grouped(taxes)
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
