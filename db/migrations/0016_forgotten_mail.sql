-- Mail is forgotten 90 days after it was written, by real time, whatever became of it.
create or replace function delete_old_mail(before_instant timestamptz) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  delete from outbox where written_at < before_instant;
  get diagnostics gone = row_count;
  return gone;
end $$;

-- Usage that a component opened with moves with a start that moves, and nothing else of a report ever changes.
grant update (usage_date, cycle_from) on usage_entries to perennial_app;
