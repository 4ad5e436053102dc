-- step by step
/*
 * Events of mails with invoices that are queued together share rows with those of issued invoices: a row with `mailed` is one of mails. Its invoices lie within 256
 * identifiers from a multiple of that on, which is its first invoice, and `mailed` has the distance of each from there in the order of the events. All that such an
 * event says is which invoice it was.
 */
set local lock_timeout = '500ms';
alter table issued_events
  add column if not exists mailed smallint[],
  drop constraint if exists issued_events_mailed,
  add constraint issued_events_mailed check (
    mailed is null
    or cardinality(mailed) = last_event_id - first_event_id + 1 and 0 <= all (mailed) and 255 >= all (mailed) and array_position(mailed, null) is null
      and (first_invoice_id & 255) = 0 and records = '[{}]' and num_nonnulls(places, method_ids, po_numbers) = 0) not valid;
-- then
alter table issued_events validate constraint issued_events_mailed;
-- then
do $$
declare
  name text;
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off: it finds nothing.
  foreach name in array array['issued_events_of_invoice', 'issued_events_of_mailed', 'issued_events_of_mails'] loop
    if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.' || name) and not indisvalid) then
      execute format('drop index %I', name);
    end if;
  end loop;
end $$;
-- then
create unique index concurrently if not exists issued_events_of_invoice on issued_events (account_id, first_invoice_id) where mailed is null;
-- then
create index concurrently if not exists issued_events_of_mailed on issued_events (account_id, first_invoice_id) where mailed is not null;
-- then
create index concurrently if not exists issued_events_of_mails on issued_events (account_id, first_event_id) where mailed is not null;
-- then
set local lock_timeout = '500ms';
drop index if exists issued_events_by_invoice;
