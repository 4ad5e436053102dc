-- Processes of the service, on whichever machine: each writes every ten seconds that it is there.

create table processes (
  process_id uuid primary key,
  kind text not null,
  host text not null,
  pid integer not null,
  version text not null,
  schema integer not null,
  state text not null,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  log_level text not null,
  settings jsonb not null,
  constraint processes_kind_check check (kind in ('serve', 'work')),
  constraint processes_state_check check (state in ('ready', 'draining', 'maintenance', 'outdated'))
);
alter table processes enable row level security;
comment on table processes is 'Processes of the service that were there in the last day; live if seen within a minute.';
comment on column processes.schema is 'The newest migration that the process knows.';
comment on column processes.settings is 'A keyed hash of each setting that must be equal in all processes, by its name.';

-- Neither disk nor standby is waited for: what is lost is written again ten seconds later.
create function beat(process uuid, process_kind text, process_host text, process_pid integer, process_version text, process_schema integer,
    process_state text, process_log_level text, process_settings jsonb)
  returns void language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
declare
  seen constant timestamp with time zone := clock_timestamp();
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into processes (process_id, kind, host, pid, version, schema, state, started_at, seen_at, log_level, settings)
    values (process, process_kind, process_host, process_pid, process_version, process_schema, process_state, seen, seen, process_log_level, process_settings)
    on conflict (process_id) do update set state = excluded.state, seen_at = excluded.seen_at, log_level = excluded.log_level;
  delete from processes where seen_at < seen - interval '1 day';
end $$;

create function leave(process uuid)
  returns void language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  delete from processes where process_id = process;
end $$;

create function list_processes()
  returns table(process_id uuid, kind text, host text, pid integer, version text, schema integer, state text, started_at timestamp with time zone,
    seen_at timestamp with time zone, is_live boolean, log_level text, settings jsonb)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return query select p.process_id, p.kind, p.host, p.pid, p.version, p.schema, p.state, p.started_at, p.seen_at,
         p.seen_at > clock_timestamp() - interval '60 seconds', p.log_level, p.settings
    from processes p order by p.started_at, p.process_id;
end $$;

revoke all on function beat, leave, list_processes from public;
grant execute on function beat, leave, list_processes to perennial_app;
