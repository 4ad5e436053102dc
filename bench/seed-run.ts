import { createAccount } from '../src/features/accounts/actions.ts'
import type { Connection } from '../src/platform/database/database.ts'
import { asOwner, type BenchServer, createMigrated, openAsService, settle } from './measure/database.ts'
import { COMPONENTS, ON_SUBSCRIPTIONS } from './seed-components.ts'
import { SHAPES } from './seed-shapes.ts'

/** Databases with subscriptions that renew on one day, from which rounds are copied. */

export const RENEWS_ON = '2027-02-01'

/** A package with one price, and one tax. */
export const CATALOGUE = `
  insert into package_groups (account_id, package_group_id, name) values (1, 1, 'Packages');
  insert into packages (account_id, package_id, package_group_id, code, name, description, is_active, last_version_no)
    values (1, 1, 1, 'standard', 'Standard package', '', true, 1);
  insert into package_versions (account_id, package_version_id, package_id, version_no, name, is_default, is_active) values (1, 1, 1, 1, 'One', true, true);
  insert into package_rates (account_id, package_rate_id, package_version_id, currency, setup_fee_minor, trial_fee_minor, trial_period, trial_period_type)
    values (1, 1, 1, 'USD', 0, 0, 0, 'days');
  insert into package_rate_terms (account_id, package_rate_term_id, package_rate_id, price, term, term_type) values (1, 1, 1, 99.99, 1, 'months');
  insert into tax_settings (account_id, tax_setting_id, name) values (1, 1, 'VAT');
  insert into tax_rules (account_id, tax_setting_id, rate) values (1, 1, 0.15);`

/** Customers who want no mail, with a subscription each, begun and invoiced on 2027-01-01, whose second month is due: in their cycle, as a run leaves them. */
export const RECORDS = `
  insert into customers (account_id, customer_id, reference, is_company, name, email, currency, created_at, is_waive_taxes, payment_method,
      auto_send_invoice, auto_send_statement, is_collection_hold)
    select 1, n, 'C' || n, false, 'Customer ' || n, 'customer' || n || '@example.com', 'USD', '2026-12-31', false, 'cash', false, false, false
      from generate_series(1, $1::int) n;
  insert into customer_totals select 1, n, 'USD', 11499 from generate_series(1, $1::int) n;
  insert into subscriptions (account_id, subscription_id, customer_id, package_id, package_version_id, package_rate_term_id, currency, start_date,
      anchor, anchor_day, term, term_type, is_pro_rata, lead_days, created_at, last_modified)
    select 1, n, n, 1, 1, 1, 'USD', '2027-01-01', '2027-01-01', 1, 1, 'months', true, 0, '2026-12-31', '2026-12-31'
      from generate_series(1, $1::int) n;
  insert into subscription_billing (account_id, subscription_id, customer_id, next_from, last_from, last_invoice_date, due_on, due_in_cycle_on, cycle_day)
    select 1, n, n, '${RENEWS_ON}', '2027-01-01', '2027-01-01', null, '${RENEWS_ON}', 1 from generate_series(1, $1::int) n;
  insert into billing_cycles select 1, '2027-01-31' where $1::int > 0`

/** The same customers, who owe nothing yet, with subscriptions that begin on a day: all that is ever written of them is the service's. */
export const newRecords = (day: string): string =>
  RECORDS.replace(/insert into customer_totals.*?;/s, '')
    .replaceAll("'2027-01-01'", `'${day}'`)
    .replace(/;\s*insert into billing_cycles.*/s, '')
    .replace(
      `'${RENEWS_ON}', '${day}', '${day}', null, '${RENEWS_ON}', 1 from`,
      `'${day}', null, null, '${day}', null, null from`,
    )

/** First day of the month that comes so many months after RENEWS_ON. */
export const monthAfter = (months: number): string => new Date(Date.UTC(2027, 1 + months, 1)).toISOString().slice(0, 10)

export interface SeedWish {
  count: number
  /** Prices that they are spread over, with half of the customers having a card, mail or VAT number; left out: all are alike. */
  shapes?: number
  /** With seats charged in advance and calls by tiers on every subscription. */
  hasComponents?: boolean
  /** Everything about money is left to the service, so that the books hold. */
  isNew?: boolean
}

/** Makes a database of subscriptions that are all due on RENEWS_ON. */
export async function seed(server: BenchServer, name: string, wish: SeedWish): Promise<void> {
  const connection = await createMigrated(server, name)
  const db = openAsService(connection)
  const account = { mode: 'test', name: 'Bench', currency: 'USD', clockAt: `${RENEWS_ON}T12:00:00.000Z` } as const
  await createAccount(db, Date.now, account, 'bench')
  await db.close()
  const { count, shapes, hasComponents, isNew } = wish
  await asOwner(connection, async (client) => {
    await client.query(CATALOGUE)
    for (const statement of (isNew ? newRecords(RENEWS_ON) : RECORDS).split(';')) await client.query(statement, [count])
    for (const statement of shapes === undefined ? [] : SHAPES) await client.query(statement, [shapes])
    if (hasComponents) await client.query(COMPONENTS)
    for (const statement of hasComponents ? ON_SUBSCRIPTIONS : []) await client.query(statement)
    await client.query(shapes === undefined && !hasComponents ? 'vacuum (analyze)' : 'vacuum (full, analyze)')
  })
  await settle(connection)
}

/** Moves the clock of a seeded account to noon of a day. */
export const moveClock = (connection: Connection, day: string) =>
  asOwner(connection, (client) =>
    client.query('update accounts set clock_at = $1 where account_id = 1', [`${day}T12:00:00Z`]),
  )
