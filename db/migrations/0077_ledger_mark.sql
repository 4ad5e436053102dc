/*
 * Takes a mark of the ledger: nothing with a lower identifier can be posted any more, and all that is below it can be seen from the next statement
 * on. It waits for those who may have drawn an identifier below it, by their locks on the sequence as settled_below does, and at most as long as its
 * caller's patience; after that, and where other servers write too, it returns what was settled before. It holds nothing that writers wait for.
 */
create function take_ledger_mark(patience interval) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  drawn_from regclass := pg_get_serial_sequence('perennial.ledger_entries', 'entry_id');
  deadline timestamptz := clock_timestamp() + patience;
  below bigint;
  drawers text[];
begin
  if is_only_writing_server() then
    -- Before the locks are looked at: whoever has drawn up to here is among their holders, or has ended.
    below := coalesce(pg_sequence_last_value(drawn_from), 0) + 1;
    loop
      select coalesce(array_agg(virtualtransaction), '{}') into drawers from pg_locks
       where locktype = 'relation' and relation = drawn_from and mode = 'RowExclusiveLock' and pid <> pg_backend_pid()
         and database = (select oid from pg_database where datname = current_database())
         and (drawers is null or virtualtransaction = any (drawers));
      if drawers = '{}' then return below; end if;
      exit when clock_timestamp() >= deadline;
      perform pg_sleep(0.01);
    end loop;
  end if;
  return coalesce((select settled_until from list_watermarks where list = 'ledger_entries'), 0);
end $$;
revoke all on function take_ledger_mark from public;
grant execute on function take_ledger_mark to perennial_app;
