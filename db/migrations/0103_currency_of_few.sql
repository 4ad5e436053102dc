-- step by step
/*
 * Invoices of a currency are found by the customers who have been billed in it, where these are few, and by an index of those whose lines are rows of
 * their own. An index of all invoices was a seventh of what a billing run wrote of them, to find what no account has much of.
 */
do $$
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off: it finds nothing.
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.invoices_in_rows_by_currency') and not indisvalid) then
    drop index invoices_in_rows_by_currency;
  end if;
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.customer_totals_by_currency') and not indisvalid) then
    drop index customer_totals_by_currency;
  end if;
end $$;
-- then
create index concurrently if not exists invoices_in_rows_by_currency on invoices (account_id, currency, invoice_id) where shape_id is null;
-- then
create index concurrently if not exists customer_totals_by_currency on customer_totals (account_id, currency, customer_id);
-- then
set local lock_timeout = '500ms';
drop index if exists invoices_by_currency;
