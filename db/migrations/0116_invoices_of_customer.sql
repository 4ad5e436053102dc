-- step by step
/*
 * Invoices of a customer without their identifiers, so that PostgreSQL keeps the entries of one customer together on few pages, of which a run touches each
 * once a month and writes it to the log whole. A page of invoices finds those that are kept with shapes, of which a customer has one a period, and sorts them; the
 * others, of which a customer may have any number, are in an index of their own in their order.
 */
do $$
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off: it finds nothing.
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.invoices_of_customer') and not indisvalid) then
    drop index invoices_of_customer;
  end if;
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.invoices_in_rows_of_customer') and not indisvalid) then
    drop index invoices_in_rows_of_customer;
  end if;
end $$;
-- then
create index concurrently if not exists invoices_of_customer on invoices (account_id, customer_id, (shape_id is not null));
-- then
create index concurrently if not exists invoices_in_rows_of_customer on invoices (account_id, customer_id, invoice_id) where shape_id is null;
-- then
set local lock_timeout = '500ms';
drop index if exists invoices_by_customer;
