import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sendUncount } from '../../platform/database/housekeeping.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'
import { sendDeletedWords } from '../finding/word-queries.ts'
import { deleteZeroCharges } from '../invoices/state-queries.ts'
import { deleteUsage } from '../subscription-components/usage-queries.ts'

/**
 * Deletes subscriptions and everything that belongs to them. Reports of usage have no foreign key, so a statement of their own deletes
 * them.
 */
export async function deleteSubscriptions(
  tx: Transaction,
  account: AccountId,
  ids: readonly SubscriptionId[],
): Promise<void> {
  if (ids.length === 0) return
  const list = arrayLiteral(ids)
  await deleteUsage(tx, account, ids)
  await tx.rows(
    sql`delete from subscriptions where account_id = ${account} and subscription_id = any(${list}::bigint[])`,
  )
  sendDeletedWords(tx, 'subscriptions', ids)
  sendUncount(tx, 'subscriptions', ids)
}

/** Deletes the subscriptions of a customer, which have all ended, and their periods that were billed at zero. */
export async function deleteEndedSubscriptions(
  tx: Transaction,
  account: AccountId,
  customerId: CustomerId,
): Promise<void> {
  await deleteZeroCharges(tx, account, customerId)
  const ended = await tx.rows<{ id: SubscriptionId }>(
    sql`select subscription_id as "id" from subscriptions where account_id = ${account} and customer_id = ${customerId}`,
  )
  await deleteSubscriptions(
    tx,
    account,
    ended.map(({ id }) => id),
  )
}
