/** Customers with money to measure on; $1 is how many. Invoices are posted to the ledger as the service posts them. */

export const CUSTOMERS = `
  insert into customers (account_id, customer_id, reference, is_company, name, email, currency, created_at, is_waive_taxes, payment_method,
      auto_send_invoice, auto_send_statement, is_collection_hold)
    select 1, n, 'C' || n, false, 'Customer ' || n, 'customer' || n || '@example.com', 'USD', '2026-01-01', false, 'cash', true, false, false
      from generate_series(1, $1::int) n`

/** An open invoice each of 1,149,900.00, under the number and the identifier of its customer. */
export const OPEN_INVOICES = [
  `insert into invoices (account_id, invoice_id, customer_id, number, currency, invoice_date, due_date, last_updated, issued_at, source,
       collection_method, total_minor, account_version, customer_version)
     select 1, n, n, n, 'USD', '2026-01-01', '2026-01-15', '2026-01-01', '2026-01-01', 'Auto', 'cash', 114990000, 1, 1
       from generate_series(1, $1::int) n`,
  `insert into charge_rows (account_id, invoice_id, display_order, kind, name, quantity, unit_price, net_minor, gross_minor, price, period_from,
       period_until, whole_from, whole_until)
     select 1, n, 1, 'package', 'Standard package', 1, 999900, 99990000, 114990000, 999900, '2026-01-01', '2026-02-01', '2026-01-01', '2026-02-01'
       from generate_series(1, $1::int) n`,
  `insert into invoice_tax_rows (account_id, invoice_id, name, rate, base_minor, amount_minor)
     select 1, n, 'VAT', 0.15, 99990000, 15000000 from generate_series(1, $1::int) n`,
  `insert into customer_totals (account_id, customer_id, currency, receivable_minor, links, head)
     select 1, n, 'USD', 114990000, 1, sha256('') from generate_series(1, $1::int) n`,
  `insert into ledger_rows (account_id, customer_id, link, record_id, amount_minor, posted_at, dated, is_reversal, currency, event, record_type,
       debit, credit, tax_name, tax_rate)
     select 1, n, 1, n, case side when 'tax' then 15000000 else 99990000 end, '2026-01-01', '2026-01-01', false, 'USD', 'invoice_issued', 'invoice',
         'receivable', side, case side when 'tax' then 'VAT' end, case side when 'tax' then 0.15 end
       from generate_series(1, $1::int) n, unnest('{revenue,tax}'::text[]) side`,
]

/** A payment that is applied $2 times, 0.01 each, to the open invoice with the identifier $1. */
export const MUCH_APPLIED = [
  `insert into payments (account_id, customer_id, paid_at, dated, currency, amount_minor, applied_minor, method, origin, created_at)
     select 1, $1::int, '2026-01-15', '2026-01-15', 'USD', $2::int, $2::int, 'eft', 'recorded', '2026-01-15'`,
  `insert into allocations (account_id, customer_id, given_kind, given_id, owed_kind, owed_id, amount_minor, dated, is_service_made, created_at)
     select 1, $1::int, 'payment', 1, 'invoice', $1::int, 1, '2026-01-15', false, '2026-01-15' from generate_series(1, $2::int)`,
  `update invoices set paid_minor = $2::int where account_id = 1 and invoice_id = $1::int`,
]

/**
 * $1 invoices of 114.99 over $2 customers, each of two lines, one tax and a payment of its half, one a day and customer. All but the ledger,
 * which what reads documents never looks at.
 */
export const PAID_INVOICES = [
  `insert into invoices (account_id, invoice_id, customer_id, number, currency, invoice_date, due_date, last_updated, issued_at, source,
       collection_method, total_minor, paid_minor, account_version, customer_version)
     select 1, n, 1 + n % $2::int, n, 'USD', date '2026-01-01' + n / $2::int % 300, date '2026-01-15' + n / $2::int % 300, '2026-01-01', '2026-01-01',
         'Auto', 'cash', 11499, 5000, 1, 1
       from generate_series(1, $1::int) n`,
  `insert into charge_rows (account_id, invoice_id, display_order, kind, name, quantity, unit_price, net_minor, gross_minor, price, period_from,
       period_until, whole_from, whole_until)
     select 1, 1 + n / 2, 1 + n % 2, 'package', 'Standard package', 1, 49.995, 5000 - n % 2, 5750 - n % 2, 49.995, '2026-01-01', '2026-02-01',
         '2026-01-01', '2026-02-01'
       from generate_series(0, 2 * $1::int - 1) n where $2::int > 0`,
  `insert into invoice_tax_rows (account_id, invoice_id, name, rate, base_minor, amount_minor)
     select 1, n, 'VAT', 0.15, 9999, 1500 from generate_series(1, $1::int) n where $2::int > 0`,
  `insert into payments (account_id, payment_id, customer_id, paid_at, dated, currency, amount_minor, applied_minor, method, origin, created_at)
     select 1, n, 1 + n % $2::int, '2026-01-15', date '2026-01-10' + n / $2::int % 300, 'USD', 5000, 5000, 'eft', 'recorded', '2026-01-15'
       from generate_series(1, $1::int) n`,
  `insert into allocations (account_id, customer_id, given_kind, given_id, owed_kind, owed_id, amount_minor, dated, is_service_made, created_at)
     select 1, 1 + n % $2::int, 'payment', n, 'invoice', n, 5000, date '2026-01-10' + n / $2::int % 300, false, '2026-01-15'
       from generate_series(1, $1::int) n`,
  `insert into customer_totals (account_id, customer_id, currency, receivable_minor, links, head)
     select 1, 1 + n % $2::int, 'USD', sum(6499), 1, sha256('') from generate_series(1, $1::int) n group by 2`,
]
