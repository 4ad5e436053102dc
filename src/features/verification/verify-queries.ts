import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** From here on the transaction can write nothing, whatever a check says. */
export const makeReadOnly = (tx: Transaction) => tx.rows(sql`select set_config('transaction_read_only', 'on', true)`)
