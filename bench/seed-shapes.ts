/**
 * Many shapes for the subscriptions of the billing run's benchmark: as many packages as $1 says, each with a price of its own, and half of the
 * customers with a card, mail or VAT number, a sixth each. Customers with a VAT number have one of their own, as they do in life.
 */
export const SHAPES = [
  `insert into packages (account_id, package_id, package_group_id, code, name, description, is_active, last_version_no)
     select 1, n, 1, 'package ' || n, 'Package ' || n, '', true, 1 from generate_series(2, $1::int) n`,
  `insert into package_versions (account_id, package_version_id, package_id, version_no, name, is_default, is_active)
     select 1, n, n, 1, 'One', true, true from generate_series(2, $1::int) n`,
  `insert into package_rates (account_id, package_rate_id, package_version_id, currency, setup_fee_minor, trial_fee_minor, trial_period, trial_period_type)
     select 1, n, n, 'USD', 0, 0, 0, 'days' from generate_series(2, $1::int) n`,
  `insert into package_rate_terms (account_id, package_rate_term_id, package_rate_id, price, term, term_type)
     select 1, n, n, 10 + n / 100.0, 1, 'months' from generate_series(2, $1::int) n`,
  // Spread, so that neighbours differ.
  `update subscriptions set (package_id, package_version_id, package_rate_term_id) = (select p, p, p from (select 1 + subscription_id * 7919 % $1::int) as of_(p))
     where account_id = 1`,
  `update customers set vat_number = 'DE' || lpad(customer_id::text, 9, '0'), is_company = true
     where account_id = 1 and customer_id % 6 = 1 and $1::int > 0`,
  `update customers set auto_send_invoice = true where account_id = 1 and customer_id % 6 = 3 and $1::int > 0`,
  `update customers set payment_method = 'credit_card' where account_id = 1 and customer_id % 6 = 5 and $1::int > 0`,
  `insert into payment_methods (account_id, customer_id, kind, token, is_primary, state, last_four, created_at, gateway_id, gateway_token,
       fingerprint, card_brand, name_on_card, last_name_on_card, expiry_month, expiry_year)
     select 1, customer_id, 'credit_card', md5(customer_id::text), true, 'verified', '4242', '2026-12-31',
         (select min(gateway_id) from gateways where account_id = 1), 'card_' || customer_id, md5('f' || customer_id), 'Visa', 'Ada', 'Lovelace', 12, 2099
       from customers where account_id = 1 and payment_method = 'credit_card' and $1::int > 0`,
]
