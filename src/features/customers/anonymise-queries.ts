import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { namesOf, sql } from '../../platform/database/sql.ts'
import { CUSTOMER_FIELD_NAMES, CUSTOMER_FIELDS } from './fields.ts'

const CLEARED = CUSTOMER_FIELD_NAMES.filter(
  (name) => CUSTOMER_FIELDS[name].isPersonal && name !== 'name' && name !== 'lastName',
)

/**
 * Replaces the names of a customer and the values of its custom fields by neutral text, and clears everything else that shows who it is.
 * Country and state stay as numbers, since taxes follow from them; so do the reference, amounts and dates. The version is not raised:
 * what documents froze is replaced as well.
 */
export const anonymiseCustomerRow = (tx: Transaction, account: AccountId, id: CustomerId, neutral: string) =>
  tx.rows(sql`
    update customers set name = ${neutral}, last_name = case when last_name is null then null else ${neutral}::text end,
      ${namesOf(CLEARED.map((name) => `${CUSTOMER_FIELDS[name].column} = null`).join(', '))},
      custom_values = (select jsonb_object_agg(key, ${neutral}::text) from jsonb_object_keys(custom_values) as set_ones(key))
    where account_id = ${account} and customer_id = ${id}`)

/** Does the same to what issued documents show of the customer. */
export const anonymiseCustomerVersions = (tx: Transaction, account: AccountId, id: CustomerId, neutral: string) =>
  tx.rows(sql`
    update customer_versions set document = jsonb_object(array['name', ${neutral}::text])
        || jsonb_set('{}', '{isCompany}', coalesce(document -> 'isCompany', 'null'))
        || jsonb_set('{}', '{locale}', coalesce(document -> 'locale', 'null'))
        || jsonb_object(array['lastName', case when document ->> 'lastName' is not null then ${neutral}::text end])
    where account_id = ${account} and customer_id = ${id}`)
