/** A statement that breaks each rule. The account is the first parameter. */

export const BREAKING: Record<string, string> = {
  'an insert of what a query reads returns something':
    'insert into customer_totals (account_id, customer_id, currency) select $1, r.id, $2 from unnest($3::bigint[]) as r(id) order by r.id',
  'an insert computes nothing over all rows of a table':
    'insert into customer_totals (account_id, customer_id, currency) select $1, max(c.customer_id), $2 from customers c where c.account_id = $1 returning customer_id',
  'a write calls nothing volatile': 'update customers set name = random()::text where account_id = $1',
  'a write calls nothing stable in CASE, COALESCE, RETURNING or ON CONFLICT':
    'update leases set begun_at = coalesce(begun_at, moment()) where account_id = $1',
  'a part of a statement that inserts what tables have draws no identifiers by the default of a column':
    'with drawn as (insert into billing_runs (account_id, cause, until_date, created_at) select $1, name, $2, $3 from customers where account_id = $1 returning billing_run_id) select * from drawn',
  'the time of a write is moment(), not of a column': 'update leases set leased_until = now() where account_id = $1',
  'a lease is held until ten minutes beyond its length, and taken by an update':
    "update leases set holder = $2 where account_id = $1 and leased_until <= moment('30 seconds')",
  'every relation is compared with the account’s parameter itself':
    'select i.invoice_id from customers c join invoices i on i.account_id = c.account_id where c.account_id = $1',
  'a function that reads tables is not called in a statement about tables':
    'select s.subscription_id from subscription_billing s where s.account_id = $1 and s.cycle_day = any(cycle_days($1, $2))',
  'no select list is empty': 'select exists (select from customers where account_id = $1)',
  'a transaction of an account calls no function of the owner': 'select uncount_deleted($2, $3) where $1::bigint > 0',
  'a write for an account is into tables of accounts': 'update list_watermarks set sealed_until = $1 where list = $2',
  'a SET has no array subscript at its top':
    'update customers c set name = ($2::text[])[r.shape] from unnest($3::integer[]) as r(shape) where c.account_id = $1',
  'an update or delete calls nothing stable of a column':
    'delete from billing_runs where account_id = $1 and to_char(created_at, $2) = $3',
}
