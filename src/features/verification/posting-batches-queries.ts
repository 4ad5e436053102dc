import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A batch whose identifiers are another's too. */
export interface MisplacedBatch {
  id: Id
  what: 'entries' | 'invoices' | 'rows'
  /** Identifier that is given twice. */
  twice: Id
}

/** Lists the first thousand batches that share identifiers of entries or invoices with the next one, or of entries with one that was posted by itself. */
export const listMisplacedBatches = (db: Queryable, account: AccountId) =>
  db.rows<MisplacedBatch>(sql`
    with b as (
      select first_entry_id as id, first_entry_id + cardinality(customer_ids) * stride as entries_end,
             first_invoice_id + cardinality(customer_ids) as invoices_end,
             lead(first_entry_id) over (order by first_entry_id) as next_entry, lead(first_invoice_id) over (order by first_invoice_id) as next_invoice
        from posting_batches where account_id = ${account})
    select b.id, 'entries' as "what", b.next_entry as "twice" from b where b.next_entry < b.entries_end
    union all
    select b.id, 'invoices', b.next_invoice from b where b.next_invoice < b.invoices_end
    union all
    select b.id, 'rows', e.entry_id from b join ledger_entries e on e.account_id = ${account} and e.entry_id >= b.id and e.entry_id < b.entries_end
     order by 1, 2 limit 1000`)
