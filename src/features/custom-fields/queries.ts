import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { CustomLabel } from '../customers/custom-value-queries.ts'

const COLUMNS = fragment`custom_field_id as "id", label`

export const listCustomFields = (db: Queryable, account: AccountId, _all: object, start: PageStart, limit: number) =>
  db.rows<CustomLabel>(sql`
    select ${COLUMNS} from custom_fields where account_id = ${account} order by custom_field_id ${inPage(start, limit)}`)

export const countCustomFields = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" from custom_fields where account_id = ${account}`)

export const lockCustomField = (tx: Transaction, account: AccountId, label: string) =>
  tx.first<CustomLabel>(sql`
    select ${COLUMNS} from custom_fields where account_id = ${account} and label = ${label} for update`)

// Any constant will do, as long as no other lock of this database uses it with an account.
const LABELS = 7307

/** Labels of an account are added one transaction after the other, so that two cannot both be the last one allowed. */
export const lockLabels = (tx: Transaction, account: AccountId) =>
  tx.rows(sql`select pg_advisory_xact_lock(hashtextextended(${String(account)}, ${LABELS}))`)

export const insertCustomField = (tx: Transaction, account: AccountId, label: string, labelKey: string) =>
  tx.one<CustomLabel>(sql`
    insert into custom_fields (account_id, label, label_key) values (${account}, ${label}, ${labelKey}) returning ${COLUMNS}`)

export const deleteCustomField = (tx: Transaction, account: AccountId, id: Id) =>
  tx.rows(sql`delete from custom_fields where account_id = ${account} and custom_field_id = ${id}`)
