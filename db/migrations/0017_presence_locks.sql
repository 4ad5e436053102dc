-- least: 14
-- answers as before: beat, leave, list_processes, wish_log_level, wished_log_level, begin_maintenance, end_maintenance
-- What processes write about themselves holds nothing up: no lock is waited for long, since the watch of a process asks behind it, and a commit that waited for
-- a standby would hold the locks that all others wait for.

create or replace function beat(process uuid, process_kind text, process_host text, process_pid integer, process_version text, process_schema integer,
    process_state text, process_log_level text, process_settings jsonb)
  returns void language plpgsql volatile security definer set search_path = perennial, pg_temp set lock_timeout = '1s' as $$
declare
  seen constant timestamp with time zone := clock_timestamp();
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into processes (process_id, kind, host, pid, version, schema, state, started_at, seen_at, log_level, settings)
    values (process, process_kind, process_host, process_pid, process_version, process_schema, process_state, seen, seen, process_log_level, process_settings)
    on conflict (process_id) do update set state = excluded.state, seen_at = excluded.seen_at, log_level = excluded.log_level;
  delete from processes where seen_at < seen - interval '1 day';
end $$;

-- A row that is left counts for a minute.
create or replace function leave(process uuid)
  returns void language plpgsql volatile security definer set search_path = perennial, pg_temp set lock_timeout = '1s' as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  delete from processes where process_id = process;
end $$;

alter function list_processes() set lock_timeout = '1s';
alter function wished_log_level(uuid) set lock_timeout = '1s';

-- Its commit, which notifies, waits for the one before that does: no longer than a few seconds, with the rows of all processes locked.
create or replace function wish_log_level(process uuid, level text, minutes integer)
  returns table(process_id uuid, kind text, host text, pid integer) language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  perform set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '3s', true);
  perform pg_notify('processes', '');
  return query
    update processes p set wished_log_level = level, wished_until = clock_timestamp() + make_interval(mins => minutes)
     where p.seen_at > clock_timestamp() - interval '60 seconds' and (process is null or p.process_id = process)
    returning p.process_id, p.kind, p.host, p.pid;
end $$;

-- Maintenance is not lost by a restart of the server, and does not wait for a standby.
create or replace function begin_maintenance(wanted_holder text, seconds integer)
  returns timestamp with time zone language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  perform set_config('synchronous_commit', 'local', true);
  insert into maintenance (holder, until) values (wanted_holder, clock_timestamp() + make_interval(secs => seconds))
    on conflict (holder) do update set until = excluded.until;
  perform pg_notify('watch', '');
  return maintenance_until();
end $$;

create or replace function end_maintenance(wanted_holder text)
  returns timestamp with time zone language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  perform set_config('synchronous_commit', 'local', true);
  delete from maintenance m where m.holder = wanted_holder;
  if wanted_holder = 'operator' and pg_try_advisory_xact_lock(7305861200411) then delete from maintenance; end if;
  perform pg_notify('watch', '');
  return maintenance_until();
end $$;
