import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'

export const listCurrencies = (db: Queryable, account: AccountId) =>
  db.rows<{ currency: string }>(
    sql`select currency from account_currencies where account_id = ${account} order by currency collate "C"`,
  )

export const hasCurrency = async (db: Queryable, account: AccountId, currency: string): Promise<boolean> =>
  (await db.rows(sql`select 1 from account_currencies where account_id = ${account} and currency = ${currency}`))
    .length > 0

/** Lists which of some currencies the account has, and keeps these from being deleted until the commit. */
export const holdCurrencies = (tx: Transaction, account: AccountId, currencies: readonly string[]) =>
  tx.rows<{ currency: string }>(sql`
    select currency from account_currencies where account_id = ${account} and currency = any (${arrayLiteral(currencies)}::text[]) for key share`)

/** Adds a currency; false when the account has it already. */
export const insertCurrency = async (tx: Transaction, account: AccountId, currency: string): Promise<boolean> =>
  (
    await tx.rows(
      sql`insert into account_currencies (account_id, currency) values (${account}, ${currency}) on conflict do nothing returning currency`,
    )
  ).length > 0

export const deleteCurrency = (tx: Transaction, account: AccountId, currency: string) =>
  tx.rows(sql`delete from account_currencies where account_id = ${account} and currency = ${currency}`)

/** Locks a currency of the account, so that nothing starts to use it meanwhile. */
export const lockCurrency = (tx: Transaction, account: AccountId, currency: string) =>
  tx.first<{ currency: string }>(sql`
    select currency from account_currencies where account_id = ${account} and currency = ${currency} for update`)

/** Finds the uses of a currency: the account as its default, rates, component prices, customers, recurring invoices, and money records, which keep it even when their customer has another now. */
export const currencyUses = (db: Queryable, account: AccountId, currency: string) =>
  db.one<{
    isDefault: boolean
    rates: boolean
    components: boolean
    customers: boolean
    recurring: boolean
    invoices: boolean
  }>(sql`
    select exists (select 1 from accounts where account_id = ${account} and currency = ${currency}) as "isDefault",
           exists (select 1 from package_rates where account_id = ${account} and currency = ${currency}) as "rates",
           exists (select 1 from component_version_currencies where account_id = ${account} and currency = ${currency}) as "components",
           exists (select 1 from customers where account_id = ${account} and currency = ${currency}) as "customers",
           exists (select 1 from recurring_invoices where account_id = ${account} and currency = ${currency}) as "recurring",
           exists (select 1 from customer_totals where account_id = ${account} and currency = ${currency})
           or exists (select 1 from invoices where account_id = ${account} and currency = ${currency} and template_id is null) as "invoices"`)
