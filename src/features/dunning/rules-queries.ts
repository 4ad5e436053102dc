import type { CollectionRules } from '../../engine/collection/rules.ts'
import { DEFAULT_RULES } from '../../engine/collection/rules.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Returns the rules of an account: its own, or those that every account starts with. */
export const getCollectionRules = async (db: Queryable, account: AccountId): Promise<CollectionRules> =>
  (await db.first<CollectionRules>(sql`
    select attempts, reminders, untried_since as "untriedSince" from collection_rules where account_id = ${account}`)) ??
  DEFAULT_RULES

/** Locks the rules of an account against other changes of them, and returns them. The row is made where there is none to lock. */
export async function lockCollectionRules(tx: Transaction): Promise<CollectionRules> {
  await tx.rows(sql`
    insert into collection_rules (account_id, attempts, reminders)
    values (${tx.account}, ${JSON.stringify(DEFAULT_RULES.attempts)}::jsonb, ${JSON.stringify(DEFAULT_RULES.reminders)}::jsonb)
    on conflict (account_id) do nothing`)
  await tx.rows(sql`select 1 from collection_rules where account_id = ${tx.account} for no key update`)
  return getCollectionRules(tx, tx.account)
}

export const updateCollectionRules = (tx: Transaction, rules: CollectionRules) =>
  tx.rows(sql`
    update collection_rules
       set attempts = ${JSON.stringify(rules.attempts)}::jsonb, reminders = ${JSON.stringify(rules.reminders)}::jsonb,
           untried_since = ${rules.untriedSince}
     where account_id = ${tx.account}`)
