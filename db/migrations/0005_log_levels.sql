-- Level of the log of a process for a while, wished by a command and read by the process itself.

alter table processes add column wished_log_level text, add column wished_until timestamp with time zone;
comment on column processes.wished_log_level is 'The level at which the process is to log until a moment.';

-- Wishes a level of one live process, or of all, and lets them know; answers those that it reached.
create function wish_log_level(process uuid, level text, minutes integer)
  returns table(process_id uuid, kind text, host text, pid integer) language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  perform pg_notify('processes', '');
  return query
    update processes p set wished_log_level = level, wished_until = clock_timestamp() + make_interval(mins => minutes)
     where p.seen_at > clock_timestamp() - interval '60 seconds' and (process is null or p.process_id = process)
    returning p.process_id, p.kind, p.host, p.pid;
end $$;

-- Finds the level that is wished of a process, and for how much longer by the clock of the database.
create function wished_log_level(process uuid)
  returns table(level text, seconds double precision, until timestamp with time zone)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return query
    select p.wished_log_level, extract(epoch from p.wished_until - clock_timestamp())::double precision, p.wished_until
      from processes p where p.process_id = process and p.wished_until > clock_timestamp();
end $$;

revoke all on function wish_log_level, wished_log_level from public;
grant execute on function wish_log_level, wished_log_level to perennial_app;
