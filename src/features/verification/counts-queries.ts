import type { AccountId } from '../../kernel/ids.ts'
import { type Queryable } from '../../platform/database/database.ts'
import { fragment, type Fragment, namesOf, sql } from '../../platform/database/sql.ts'

/** The identifiers of the records of every counted list. */
const IDENTIFIERS: Readonly<Record<string, (account: AccountId) => Fragment>> = {
  customers: (account) => fragment`select customer_id as id from customers where account_id = ${account}`,
  subscriptions: (account) => fragment`select subscription_id as id from subscriptions where account_id = ${account}`,
  invoices: (account) => fragment`select invoice_id as id from invoices where account_id = ${account}`,
  payments: (account) => fragment`select payment_id as id from payments where account_id = ${account}`,
  ledger: (account) => fragment`select entry_id as id from ledger where account_id = ${account}`,
  events: (account) => fragment`select event_id as id from events where account_id = ${account}`,
}

/** Counts the records of every counted list by block. */
const countedAnew = (account: AccountId): Fragment =>
  Object.entries(IDENTIFIERS)
    .map(
      ([list, of]) =>
        fragment`select '${namesOf(list)}' as list, id / 4096 as block, count(*) as n from (${of(account)}) r group by 2`,
    )
    .reduce((some, next) => fragment`${some} union all ${next}`)

/** Lists the blocks of long lists whose count is not what is there. */
export const listCountDifferences = (db: Queryable, account: AccountId) =>
  db.rows<{ list: string; block: bigint; records: number; counted: bigint }>(sql`
    with counted as (${countedAnew(account)})
    select b.list, b.block, b.records, coalesce(c.n, 0) as "counted"
      from list_blocks b left join counted c on c.list = b.list and c.block = b.block
     where b.account_id = ${account} and b.records <> coalesce(c.n, 0) order by b.list, b.block limit 1000`)
