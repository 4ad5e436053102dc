-- What a process asks every two seconds: which server answers, and how it is. A server that belongs to somebody else may not tell all of it, and in
-- recovery there is no log that is written: null then, which decides nothing. The timeline stands in the name of a file of the log; the last checkpoint
-- has it minutes after a promotion.
create function watch()
  returns jsonb language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
declare
  is_writing constant boolean := not pg_is_in_recovery();
  server_system text;
  server_timeline integer;
begin
  begin
    select system_identifier::text into server_system from pg_control_system();
  exception when insufficient_privilege then server_system := null;
  end;
  begin
    if is_writing then server_timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer; end if;
  exception when insufficient_privilege then server_timeline := null;
  end;
  return jsonb_build_object(
    'system', server_system,
    'startedAt', pg_postmaster_start_time()::text,
    'timeline', server_timeline,
    'flushed', case when is_writing then pg_current_wal_flush_lsn()::text end,
    'isReadOnly', current_setting('transaction_read_only') = 'on',
    'nowMs', extract(epoch from clock_timestamp()) * 1000);
end $$;
revoke all on function watch from public;
grant execute on function watch to perennial_app;
