-- step by step
/*
 * Lines that are alike are looked for in other files than their own: the first of an earlier file is found at once, however many alike lines
 * the file itself has.
 */
do $$
declare
  name text;
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off: it finds nothing.
  foreach name in array array['result_lines_alike_in_files', 'result_lines_of_reference', 'result_lines_of_entry'] loop
    if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.' || name) and not indisvalid) then
      execute 'drop index ' || name;
    end if;
  end loop;
end $$;
-- then
create index concurrently if not exists result_lines_alike_in_files
  on result_lines (account_id, likeness, has_bank_reference, result_file_id, result_line_id);
-- then
create index concurrently if not exists result_lines_of_reference
  on result_lines (account_id, reference_likeness, dated, result_file_id, result_line_id) where reference_likeness is not null;
-- then
create index concurrently if not exists result_lines_of_entry
  on result_lines (account_id, entry_key, is_sum, result_file_id, result_line_id) where entry_key is not null;
-- then
set local lock_timeout = '500ms';
drop index if exists result_lines_alike;
