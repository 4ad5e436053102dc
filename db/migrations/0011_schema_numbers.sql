-- Schema numbers and maintenance, which every process reads with its watch: the newest migration, the newest one that a program must know to work here, and
-- how long maintenance lasts.

-- Whoever holds the service in maintenance does so until a moment, which ends it also where the holder was killed.
create table maintenance (
  holder text not null primary key,
  until timestamp with time zone not null,
  constraint maintenance_holder_check check (holder in ('operator', 'migration'))
);
alter table maintenance enable row level security;
comment on table maintenance is 'Who holds the service in maintenance, and until when; over as soon as that moment is past.';

-- Returns the moment at which maintenance ends; null: there is none.
create function maintenance_until()
  returns timestamp with time zone language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return (select max(m.until) from maintenance m where m.until > clock_timestamp());
end $$;

-- Begins maintenance for a holder, or gives it another end; every process learns of it at the commit.
create function begin_maintenance(wanted_holder text, seconds integer)
  returns timestamp with time zone language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  insert into maintenance (holder, until) values (wanted_holder, clock_timestamp() + make_interval(secs => seconds))
    on conflict (holder) do update set until = excluded.until;
  perform pg_notify('watch', '');
  return maintenance_until();
end $$;

-- Ends maintenance of a holder. That of migrations is theirs to end while they are at work; later it is what a killed one has left.
create function end_maintenance(wanted_holder text)
  returns timestamp with time zone language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  delete from maintenance m where m.holder = wanted_holder;
  if wanted_holder = 'operator' and pg_try_advisory_xact_lock(7305861200411) then delete from maintenance; end if;
  perform pg_notify('watch', '');
  return maintenance_until();
end $$;

-- Returns the newest migration that a program must know to work on this schema. Every new connection asks for it first.
create function schema_least()
  returns integer language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return (select max(coalesce(m.least, m.version)) from migrations m);
end $$;

revoke all on function maintenance_until, begin_maintenance, end_maintenance, schema_least from public;
grant execute on function maintenance_until, begin_maintenance, end_maintenance, schema_least to perennial_app;

create or replace function watch()
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
    'nowMs', extract(epoch from clock_timestamp()) * 1000,
    'schema', (select max(m.version) from migrations m),
    'least', schema_least(),
    'maintenanceSeconds', extract(epoch from maintenance_until() - clock_timestamp()));
end $$;
