import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Makes the rest of the transaction read-only, whatever a check tries. */
export const makeReadOnly = (tx: Transaction) => tx.rows(sql`select set_config('transaction_read_only', 'on', true)`)
