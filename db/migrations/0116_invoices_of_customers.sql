-- step by step
/*
 * Invoices are found by their customer alone. No two accounts have a customer of the same number, unless one was brought from another database, so the
 * account in front told nothing and was a quarter of each entry: months after months a run touches each page of this index once, and writes it to the log
 * whole.
 */
do $$
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off: it finds nothing.
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.invoices_of_customers') and not indisvalid) then
    drop index invoices_of_customers;
  end if;
end $$;
-- then
create index concurrently if not exists invoices_of_customers on invoices (customer_id, invoice_id);
-- then
set local lock_timeout = '500ms';
drop index if exists invoices_by_customer;
