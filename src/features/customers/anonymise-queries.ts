import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/**
 * Replaces what tells who a customer is by neutral text. Country and state stay as numbers, since taxes follow from them; so do the
 * reference, amounts and dates. The version is not raised: what documents froze is replaced as well.
 */
export const anonymiseCustomerRow = (tx: Transaction, account: AccountId, id: CustomerId, neutral: string) =>
  tx.rows(sql`
    update customers set name = ${neutral}, last_name = case when last_name is null then null else ${neutral}::text end,
      registration_number = null, vat_number = null, company = null, email = null, email_cc = null, cell = null, tel = null, fax = null,
      address1 = null, address2 = null, city = null, state = null, country = null, country_state = null, zip_code = null,
      custom_values = (select jsonb_object_agg(key, ${neutral}::text) from jsonb_object_keys(custom_values) as set_ones(key))
    where account_id = ${account} and customer_id = ${id}`)

/** The same for what issued documents show of the customer. */
export const anonymiseCustomerVersions = (tx: Transaction, account: AccountId, id: CustomerId, neutral: string) =>
  tx.rows(sql`
    update customer_versions set document = jsonb_object(array['name', ${neutral}::text])
        || jsonb_set('{}', '{isCompany}', coalesce(document -> 'isCompany', 'null'))
        || jsonb_set('{}', '{locale}', coalesce(document -> 'locale', 'null'))
        || jsonb_object(array['lastName', case when document ->> 'lastName' is not null then ${neutral}::text end])
    where account_id = ${account} and customer_id = ${id}`)
