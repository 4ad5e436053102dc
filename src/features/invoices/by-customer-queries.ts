import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'

/**
 * Finding invoices by what those that a run stamps have no index of, because it would be written with each: by the customers whom they are for. Nearly all of an
 * account are of one currency, and those of a subscription are among those of its customer.
 */

/** More customers than these have so many invoices of a currency that a page of them is found by going through all invoices. */
const CUSTOMERS_OF_CURRENCY_MAX = 500

/** Lists the customers who have been billed in a currency, whatever theirs is now; null where they are many. Drafts bill nobody. */
export async function listCustomersOfCurrency(
  db: Queryable,
  account: AccountId,
  currency: string,
): Promise<CustomerId[] | null> {
  const rows = await db.rows<{ id: CustomerId }>(sql`
    select customer_id as "id" from customer_totals where account_id = ${account} and currency = ${currency}
     order by customer_id limit ${CUSTOMERS_OF_CURRENCY_MAX + 1}`)
  return rows.length > CUSTOMERS_OF_CURRENCY_MAX ? null : rows.map(({ id }) => id)
}

/** Returns the condition that narrows invoices of a currency to those of its customers. Invoices whose lines are rows have an index by currency; the others are issued, so their customers are among these. */
export const ofCustomers = (customers: readonly CustomerId[] | null | undefined): Fragment =>
  customers == null
    ? NOTHING
    : fragment`and (i.template_id is null or i.customer_id = any(${arrayLiteral(customers)}::bigint[]))`

/** No identifier is as low. */
const NOBODY = 0n as CustomerId

/** Finds the customer whom the invoices of a subscription are for; nobody where there is no such subscription. */
export const findBilledCustomer = async (db: Queryable, account: AccountId, id: SubscriptionId): Promise<CustomerId> =>
  (
    await db.first<{ id: CustomerId }>(sql`
      select customer_id as "id" from subscriptions where account_id = ${account} and subscription_id = ${id}`)
  )?.id ?? NOBODY
