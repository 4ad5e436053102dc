/*
 * What was changed since an instant (decision 27). Every change of a record writes an event, so events bear when they were written, in real time;
 * those of before stay without. Changes that have no event of their record (money allocated to an invoice) are noted in a table of their own.
 */
alter table events add column recorded_at timestamptz;
alter table events alter column recorded_at set default clock_timestamp();
create index events_by_time on events (account_id, type, recorded_at) where recorded_at is not null;

create table record_changes (
  account_id bigint not null,
  record_type text not null,
  record_id bigint not null,
  changed_at timestamptz not null default clock_timestamp()
);
create index record_changes_by_time on record_changes (account_id, record_type, changed_at);
select own_by_account('record_changes', 'select, insert');

/*
 * Since when changes are known: all records count as changed then. It moves when the database was carried elsewhere, by an import, a copy or a server that
 * took over: what was committed after the copy was made is undone, and readers may have seen it.
 */
create table updates_floor (
  since timestamptz not null,
  place text not null
);
create unique index updates_floor_once on updates_floor ((true));
alter table updates_floor enable row level security;

/* Names the server, its history and the database; a restored or promoted server has another history. */
create function place_of_database() returns text
  language plpgsql set search_path = perennial, pg_temp as $$
begin
  return (select system_identifier from pg_control_system())::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/'
    || (select oid from pg_database where datname = current_database())::text;
end $$;
revoke all on function place_of_database from public;
insert into updates_floor values (clock_timestamp(), place_of_database());

/*
 * The instant before which no change can be committed any more that is not seen by statements which begin after this one, and the one up to which
 * all records count as changed. Whoever writes a change stamps it after he has locked the table that it is written into, and holds that lock until his
 * commit can be seen: so whoever is not seen with the lock stamps later than now, and whoever is stamps later than his transaction began.
 * Nobody waits for anybody. Where transactions of others cannot be seen, the longest one of the service counts, three times (TRANSACTION_MS).
 */
create function settle_updates(is_restored boolean, out until timestamptz, out floor timestamptz, out taken_at timestamptz)
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  here text := place_of_database();
  longest interval := interval '30 minutes';
begin
  taken_at := clock_timestamp();
  select u.since into floor from updates_floor u where u.place = here and not is_restored;
  if floor is null then
    insert into updates_floor as u values (taken_at, here)
      on conflict ((true)) do update set since = excluded.since, place = excluded.place returning u.since into floor;
  end if;
  if is_only_writing_server() then
    select min(case when l.pid is null then taken_at - longest
                    when a.pid is null then taken_at
                    when a.state is null or a.state = 'disabled' then taken_at - longest
                    else coalesce(a.xact_start, taken_at) end) into until
      from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'relation' and l.relation in ('perennial.events'::regclass, 'perennial.record_changes'::regclass)
       and l.mode = 'RowExclusiveLock' and l.pid is distinct from pg_backend_pid()
       and l.database = (select oid from pg_database where datname = current_database());
  else
    until := taken_at - longest;
  end if;
  until := date_trunc('milliseconds', least(until, taken_at));
end $$;
revoke all on function settle_updates from public;
grant execute on function settle_updates to perennial_app;
