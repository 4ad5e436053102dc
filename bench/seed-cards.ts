/**
 * Cards of the first $1 customers at the sandbox with the identifier $2, all of them approved, and the beginning of the dunning of their open
 * invoices (`seed-money.ts`), as the service writes them. The invoices are due on 1 January 2027.
 */
export const CARDS = [
  `insert into payment_methods (account_id, payment_method_id, customer_id, kind, token, is_primary, state, last_four, created_at, gateway_id,
       gateway_token, fingerprint, card_brand, name_on_card, last_name_on_card, expiry_month, expiry_year)
     select 1, n, n, 'credit_card', md5(n::text), true, 'verified', '4242', '2026-01-01', $2::int, 'card_' || n, md5('f' || n), 'Visa', 'Ada',
         'Lovelace', 12, 2099
       from generate_series(1, $1::int) n`,
  `insert into sandbox_cards (account_id, gateway_id, token, reference, conduct, fingerprint, brand, last_four, expiry_year, expiry_month, stored_at)
     select 1, $2::int, 'card_' || n, 'reference ' || n, 'approved', md5('f' || n), 'Visa', '4242', 2099, 12, '2026-01-01'
       from generate_series(1, $1::int) n`,
  `update customers set payment_method = 'credit_card' where account_id = 1 and customer_id <= $1::int and $2::int > 0`,
  `update invoices set collection_method = 'credit_card', due_date = '2027-01-01', gateway_id = $2::int, payment_method_id = invoice_id
     where account_id = 1 and invoice_id <= $1::int`,
  `insert into dunning (account_id, invoice_id, customer_id, due_on, counted_from)
     select 1, n, n, '2027-01-01', '2027-01-01' from generate_series(1, $1::int) n where $2::int > 0`,
]
