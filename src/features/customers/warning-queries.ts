import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Returns whether a tax rule of the account is for a country, a state or an area. */
export const hasPlacedTaxRules = (tx: Transaction): Promise<boolean> =>
  tx.value<boolean>(sql`
    select exists (select 1 from tax_rules where account_id = ${tx.account}
                    and (country_id is not null or country_state_id is not null or area is not null)) as "has"`)
