/** Batches that have left for a gateway of account 1; $1 is how many lines, $2 the gateway. Each pays 1.00 of the invoice of its number. */
export const SENT_BATCHES = [
  `insert into payments (account_id, payment_id, customer_id, paid_at, dated, currency, amount_minor, applied_minor, method, origin, created_at)
     select 1, n, n, '2027-01-25', '2027-01-25', 'USD', 100, 100, 'bank_account', 'batch', '2027-01-20' from generate_series(1, $1::int) n where $2::int > 0`,
  `select setval('payments_payment_id_seq', $1::int + $2::int)`,
  `insert into allocations (account_id, customer_id, given_kind, given_id, owed_kind, owed_id, amount_minor, dated, is_service_made, created_at)
     select 1, n, 'payment', n, 'invoice', n, 100, '2027-01-25', true, '2027-01-20' from generate_series(1, $1::int) n where $2::int > 0`,
  `update invoices set pending_minor = 100 where account_id = 1 and invoice_id <= $1::int and $2::int > 0`,
  `insert into payment_batches (account_id, gateway_id, gateway_token, currency, action_date, state, created_at, submitted_at, sent_count, sent_minor)
     select 1, $2::int, gen_random_uuid(), 'USD', '2027-01-25', 'submitted', '2027-01-20', '2027-01-20', 500, 50000
       from generate_series(0, ($1::int - 1) / 500) n`,
  `insert into batch_lines (account_id, payment_id, batch_id, customer_id, payment_method_id)
     select 1, n, (select min(batch_id) from payment_batches where account_id = 1) + (n - 1) / 500, n, n
       from generate_series(1, $1::int) n where $2::int > 0`,
]
