-- step by step
/*
 * What is due is counted without a look at each customer: only those who are paused are looked for. And the sums of what customers owe stay on their page
 * when a run moves all of them.
 */
set local lock_timeout = '500ms';
alter table customer_totals set (fillfactor = 45);
-- then
do $$
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off.
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.customers_paused') and not indisvalid) then
    drop index customers_paused;
  end if;
end $$;
-- then
create index concurrently if not exists customers_paused on customers (account_id, customer_id) where paused_on is not null;
