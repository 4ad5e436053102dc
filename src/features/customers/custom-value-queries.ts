import { notingChanged } from '../events/queries.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'

/** A label that the account has defined; customers carry values by its identifier. */
export interface CustomLabel {
  id: Id
  label: string
}

/** Values of a customer by custom_field_id, as text since it is a name in JSON; null where nothing is set. */
export type CustomValues = Readonly<Record<string, string>>

const COLUMNS = fragment`custom_field_id as "id", label`

/** Lists all labels of an account in the order of creation: at most 100. */
export const listCustomLabels = (db: Queryable, account: AccountId) =>
  db.rows<CustomLabel>(sql`select ${COLUMNS} from custom_fields where account_id = ${account} order by custom_field_id`)

/** Lists all labels of an account, held until the commit: a label is not deleted while a value for it is being written. */
export const holdCustomLabels = (tx: Transaction, account: AccountId) =>
  tx.rows<CustomLabel>(
    sql`select ${COLUMNS} from custom_fields where account_id = ${account} order by custom_field_id for key share`,
  )

/** Deletes every customer's value for a label. */
export const dropCustomValues = (tx: Transaction, account: AccountId, fieldId: Id) =>
  tx.rows(sql`
    with changed as (
      update customers set custom_values = nullif(custom_values - ${String(fieldId)}::text, '{}')
     where account_id = ${account} and custom_values ? ${String(fieldId)}::text returning customer_id as id)
    ${notingChanged(account, 'customer')}`)

/** Returns the form in which labels are compared: two that differ in letter case only would be taken for each other. */
export const labelKey = (label: string): string => label.normalize('NFKC').toLowerCase()
