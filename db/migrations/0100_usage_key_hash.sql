-- step by step
/*
 * Keys of usage are found by 64 bits of their hash: texts of up to 255 characters were the larger part of what a report cost. A hash finds, and the text
 * decides: keys of one hash are told apart by their number. Nobody waits for the index of a large table, which is made beside running work: each
 * step commits by itself, waits half a second at most for a lock that others would wait behind, and one that was broken off is begun again.
 */
set local lock_timeout = '500ms';
alter table usage_entries add column if not exists key_no smallint not null default 0;
-- then
do $$
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off: it finds nothing.
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.usage_entries_hash') and not indisvalid) then
    drop index usage_entries_hash;
  end if;
end $$;
-- then
create unique index concurrently if not exists usage_entries_hash
  on usage_entries (account_id, subscription_id, component_id, hashtextextended(usage_key, 0), key_no);
-- then
set local lock_timeout = '500ms';
alter table usage_entries drop constraint if exists usage_entries_key;
